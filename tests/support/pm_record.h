/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_record.h - a backend that remembers, and the images a power cut leaves
 *
 * The recorder wraps another backend (pm_mem) and keeps the ordered log of
 * what the program did to the medium. A *walk* replays the log from the
 * snapshot taken at the first open and can, in front of any event, produce
 * every image that a loss of power could leave there:
 *
 *	struct pm_rec *rec = rec_new(&pm_backend_mem, &mem);
 *	... pm_open() with &pm_backend_record and rec, work ...
 *	struct rec_walk *w = rec_walk_new(rec);
 *	for (size_t i = from; i <= rec_now(rec); i++) {
 *		rec_walk_to(w, i);
 *		rec_walk_image(w, REC_RANDOM, seed, image);
 *		... open image, check ...
 *	}
 *
 * The model (x86, cache-line granularity; the others at the end):
 *   M1  What was stored, flushed and then fenced by one thread is durable:
 *       with the value it had at the flush.
 *   M2  Whatever else was stored may have arrived or not, each aligned
 *       8-byte word on its own: the cache evicts when it likes, a line may
 *       tear between words, never inside one. A word stored several times
 *       may have arrived with any of its values since the last durable one.
 *   M3  Copies are non-temporal: flushed by themselves, in any order, and
 *       made durable by a fence of the thread that copied, no other (L20).
 *   M4  A window holds anything between old and new words from pm_window()
 *       on; what a flush inside the window caught counts for nothing.
 *   M5  A fence of one thread says nothing about the flushes of another.
 *   Page: a flush covers whole pages, and the fence takes the value of the
 *   time of the fence. Byte: every store counts as flushed.
 */
#ifndef SUPPORT_PM_RECORD_H
#define SUPPORT_PM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pm/backend.h"

enum rec_kind {
	REC_STORE, REC_ZERO, REC_BITS, REC_COPY, REC_COPY_ZERO,
	REC_WINDOW, REC_WINDOW_DONE, REC_FLUSH, REC_FENCE, REC_MARK,
};

struct rec_event {
	enum rec_kind kind;
	unsigned thread;	/* small number of who did it */
	uint64_t off, len;
	uint32_t bit, nr;	/* REC_BITS */
	bool set;		/* REC_BITS */
	bool failed;		/* REC_FENCE */
	size_t peer;		/* REC_WINDOW: its end, 0: none. _DONE: its start */
	const uint8_t *data;	/* STORE, COPY: len bytes. WINDOW_DONE: the window */
	const char *tag;	/* REC_MARK */
};

struct pm_rec;
extern const struct pm_backend pm_backend_record;	/* arg: struct pm_rec */

/* ---- recording --------------------------------------------------------- */

struct pm_rec *rec_new(const struct pm_backend *inner, void *inner_arg);
void rec_free(struct pm_rec *rec);

/* Events so far, so the number of the next one. */
size_t rec_now(struct pm_rec *rec);
const struct rec_event *rec_at(struct pm_rec *rec, size_t i);
/* A remark in the log; tag must stay. Returns its number. */
size_t rec_mark(struct pm_rec *rec, const char *tag);
/* Forget the log; what memory holds now counts as durable. Pool open. */
void rec_restart(struct pm_rec *rec);
/* Count only (false) or log too (true, implies rec_restart). */
void rec_log(struct pm_rec *rec, bool on);
/* The nth fence from now (1: the next) and all later ones fail; 0: none. */
void rec_fail_fence(struct pm_rec *rec, unsigned nth);
/* For people: events [from, to). */
void rec_print(struct pm_rec *rec, size_t from, size_t to, FILE *out);

struct rec_counts {
	uint64_t fences, flushes, flushed_bytes;
	uint64_t stores, stored_bytes;	/* write, zero, bits */
	uint64_t copies, copied_bytes;	/* copy, copy_zero */
	uint64_t windows;
};
/* Since the last reset. */
void rec_counts(struct pm_rec *rec, struct rec_counts *out);
void rec_counts_reset(struct pm_rec *rec);

/* ---- walking ----------------------------------------------------------- */

enum rec_engine {
	REC_NONE,		/* only what is durable */
	REC_ALL,		/* everything stored has arrived */
	REC_RANDOM,		/* each line: nothing, all, or word by word */
};

struct rec_walk;
struct rec_walk *rec_walk_new(struct pm_rec *rec);
void rec_walk_free(struct rec_walk *w);
/* Go on until just before event at; never backwards. */
void rec_walk_to(struct rec_walk *w, size_t at);
/* out holds pm_size() bytes. The same seed gives the same image. */
void rec_walk_image(const struct rec_walk *w, enum rec_engine engine,
		    uint64_t seed, uint8_t *out);

/* What is durable for sure, and what the program sees. */
const uint8_t *rec_walk_durable(const struct rec_walk *w);
const uint8_t *rec_walk_stored(const struct rec_walk *w);

/*
 * Lines with words that may or may not have arrived, numbered 0..n-1 until
 * the next rec_walk_to(): the raw material of an enumerator. Patch the newest
 * value of the words in mask into an image, or take it out again by copying
 * the line from rec_walk_durable().
 */
struct rec_line { uint64_t off; uint8_t mask; unsigned versions; };
size_t rec_walk_nr_pending(const struct rec_walk *w);
struct rec_line rec_walk_pending(const struct rec_walk *w, size_t i);
void rec_walk_patch(const struct rec_walk *w, size_t i, uint8_t mask, uint8_t *image);

/*
 * Lines stored to and covered by no flush that a later fence would complete.
 * After a clean unmount there must be none. *first: the lowest such offset.
 */
size_t rec_walk_uncovered(const struct rec_walk *w, uint64_t *first);

/* Shortcuts that walk from the start each time. */
void rec_image(struct pm_rec *rec, size_t at_event, enum rec_engine engine,
	       uint64_t seed, uint8_t *out);
size_t rec_uncovered(struct pm_rec *rec, uint64_t *first);

#endif
