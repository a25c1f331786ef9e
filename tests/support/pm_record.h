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
 *       Until then they may land on top of what another thread stored later
 *       and made durable.
 *   M4  A window holds anything between old and new words from pm_window()
 *       on; what a flush inside the window caught counts for nothing.
 *   M5  A fence of one thread says nothing about the flushes of another.
 *   M6  When a process dies (REC_DEATH) what its threads stored and copied
 *       is in memory, as far as other programs see, but no more durable than
 *       before; what they flushed and did not fence has not been flushed.
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
	REC_WINDOW, REC_WINDOW_DONE, REC_FLUSH, REC_FENCE, REC_MARK, REC_DEATH,
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
	unsigned nr_tag;	/* REC_MARK: a number that goes with it */
	const struct pm_site *site;	/* who called, if it said so (site.h) */
};

struct pm_rec;
struct pm_site;
extern const struct pm_backend pm_backend_record;	/* arg: struct pm_rec */

/* ---- recording --------------------------------------------------------- */

struct pm_rec *rec_new(const struct pm_backend *inner, void *inner_arg);
void rec_free(struct pm_rec *rec);

/* Events so far, so the number of the next one. */
size_t rec_now(struct pm_rec *rec);
const struct rec_event *rec_at(struct pm_rec *rec, size_t i);
/* A remark in the log; tag must stay. Returns its number. */
size_t rec_mark(struct pm_rec *rec, const char *tag);
size_t rec_mark_nr(struct pm_rec *rec, const char *tag, unsigned nr);
/* The process that wrote so far is gone (M6). */
void rec_death(struct pm_rec *rec);
/* The number that events of this thread carry from now on. */
void rec_thread(unsigned nr);
/* Forget the log; what memory holds now counts as durable. Pool open. */
void rec_restart(struct pm_rec *rec);
/*
 * The same without a copy: memory held the bytes at start when the log began
 * and start stays as it is while walks look at it. rec_new_on() for a
 * recorder that never takes a snapshot of its own.
 */
void rec_restart_on(struct pm_rec *rec, const uint8_t *start);
struct pm_rec *rec_new_on(const struct pm_backend *inner, void *inner_arg,
			  const uint8_t *start);
/*
 * Continue the first `upto` events of another log, whose data are shared, so
 * that one has to stay as it is. rec was made by rec_new_on().
 */
void rec_continue(struct pm_rec *rec, const struct pm_rec *from, size_t upto);
/*
 * A mutation: what this site (NULL: none) asks for is not done, as if its
 * line were missing. Stores are done; a copy becomes an ordinary store.
 */
void rec_mutate(struct pm_rec *rec, const struct pm_site *site);
/* Called with the lock not held, before each call is carried out (NULL: no one). */
void rec_hook(struct pm_rec *rec, void (*fn)(void *arg, enum rec_kind kind), void *arg);
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
const uint8_t *rec_walk_durable(struct rec_walk *w);
const uint8_t *rec_walk_stored(struct rec_walk *w);

/*
 * Lines with words that may or may not have arrived, numbered 0..n-1 until
 * the next rec_walk_to(): the raw material of an enumerator. Patch the newest
 * value of the words in mask into an image, or take it out again by copying
 * the line from rec_walk_durable().
 */
struct rec_line { uint64_t off; uint8_t mask; unsigned versions; size_t event; };
size_t rec_walk_nr_pending(const struct rec_walk *w);
/* event: of its newest version. */
struct rec_line rec_walk_pending(const struct rec_walk *w, size_t i);
void rec_walk_patch(const struct rec_walk *w, size_t i, uint8_t mask, uint8_t *image);
/*
 * The bytes of a pending line: as durable (skip == versions), with everything
 * (skip 0), or as before its `skip` newest versions were stored.
 */
void rec_walk_version(const struct rec_walk *w, size_t i, unsigned skip, uint8_t out[64]);
/* The line as the REC_RANDOM engine leaves it. */
void rec_walk_random(const struct rec_walk *w, size_t i, uint64_t seed, uint8_t out[64]);

/* All lines that the log touched so far and what is durable of them; they
 * keep their numbers. */
size_t rec_walk_nr_touched(const struct rec_walk *w);
uint64_t rec_walk_touched(const struct rec_walk *w, size_t i, const uint8_t **durable);
/* Numbers of lines whose durable bytes changed since the last call; the list
 * lives until the next rec_walk_to(). */
size_t rec_walk_changed(struct rec_walk *w, const uint32_t **nr);

/* Cost: flushes that had nothing to flush, fences that made nothing durable.
 * Events, in order; of the walk so far. */
size_t rec_walk_idle(const struct rec_walk *w, const uint32_t **event);

/* From the start again, after the recorder began a new log of the same pool. */
void rec_walk_reset(struct rec_walk *w);

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
