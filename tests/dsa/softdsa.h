/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa.h - a Data Streaming Accelerator made of software, for tests
 *
 * It takes the 64-byte descriptors of real hardware, moves the bytes, and
 * writes completion records, as the device of whoever submits: in the same
 * process or in another one, through process_vm_readv(2) and _writev(2), page
 * by page, so that a page that is not there ends an operation the way it does
 * on hardware. It does what a script of faults says, and judges whoever uses it.
 *
 * No threads and no clock of its own: softdsa_step() does one thing. Layouts are
 * those of <linux/idxd.h>, not ours, so that a mistake is not made twice.
 *
 *   Z1  The status byte is written last, after bytes, result and address.
 *   Z2  What is not successful leaves nonsense in the destination behind
 *       bytes_completed: nobody may rely on it. (A page that faults by itself
 *       is left alone.)
 *   Z3  An operation that never completes still moves its bytes, at the latest
 *       moment there is: when its queue is closed. Behind softdsa_close() nothing
 *       of that queue is read or written any more.
 *   Z4  A violation is remembered and told; a test ends with softdsa_violations()
 *       zero. Judged is
 *       - at submission: reserved fields, flags, alignment, limits of the queue,
 *         the instruction that belongs to its kind, a dedicated queue that has no
 *         room, a record whose status is not 0, a record or a destination that
 *         an operation in flight uses;
 *       - at execution: source, destination and list are as they were at
 *         submission.
 */
#ifndef DSA_SOFTDSA_H
#define DSA_SOFTDSA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SOFT_WQS	8u
#define SOFT_DESC	64u		/* bytes */
#define SOFT_RECORD	32u

struct softdsa_wq {
	bool shared;			/* else dedicated */
	bool block_on_fault;
	unsigned size;			/* entries */
	unsigned threshold;		/* shared: entries that users get */
	unsigned max_batch;		/* 0: no batches */
	uint64_t max_xfer;
};

struct softdsa_conf {
	unsigned nr_wq;
	struct softdsa_wq wq[SOFT_WQS];
	bool readback;			/* gen_cap has the destination readback */
	bool batch_by_write;		/* the kernel lets batches through write(2) */
	bool lazy;			/* no sums of bytes: for measurements */
	bool present;			/* a page without an entry in its user's page table
					   faults, as on hardware; else it is brought in.
					   Lazy, too: looking would bring it in */
	pid_t pid;			/* whose memory it is; 0: our own */
	uint64_t (*now)(void *arg);	/* ns */
	void *arg;
};

/* Two queues like those of the configurations in use: 0 shared, 1 dedicated. */
extern const struct softdsa_conf softdsa_usual;

struct softdsa_stats {
	uint64_t submitted, executed;	/* without children */
	uint64_t moves, bytes;		/* with them */
	uint64_t readbacks;		/* moves that were to be read back */
	uint64_t batches, children;
	uint64_t faults, errors;	/* completions with status 3 or 6; others */
	uint64_t full;			/* not taken */
	uint64_t lost;			/* by a halt, a disabled or overrun queue */
	uint64_t never;			/* no completion record was written */
	uint64_t queued_max;
};

struct softdsa;

struct softdsa *softdsa_new(const struct softdsa_conf *conf);
void softdsa_free(struct softdsa *d);
/*
 * More faults: see softdsa_script.c for the language. False: err says what is
 * not understood, in which line.
 */
bool softdsa_script(struct softdsa *d, const char *text, char *err, size_t size);
/* Forget all faults; what is halted or disabled comes back. */
void softdsa_well(struct softdsa *d);

void softdsa_set_pid(struct softdsa *d, pid_t pid);

/* ---- the user's side -------------------------------------------------------- */

/* 0, -EBUSY (a dedicated queue has one user), -ENODEV (disabled). */
int softdsa_open(struct softdsa *d, unsigned wq);
/* The kernel lets a user go: all of it is over when this returns (Z3). */
void softdsa_close(struct softdsa *d, unsigned wq);
/* What was taken and not executed is dropped: for users who went unnoticed. */
void softdsa_forget(struct softdsa *d, unsigned wq);

void softdsa_movdir64b(struct softdsa *d, unsigned wq, const void *desc);
/* True: not taken (the zero flag is set). */
bool softdsa_enqcmd(struct softdsa *d, unsigned wq, const void *desc);
/* As the driver does it: bytes taken, or -errno. */
ssize_t softdsa_write(struct softdsa *d, unsigned wq, const void *desc, size_t len);

/* ---- the device's side ------------------------------------------------------ */

/* Execute one operation. False: there was none that could be. */
bool softdsa_step(struct softdsa *d);
/* When to call it again: a time, or UINT64_MAX when only a submission helps. */
uint64_t softdsa_next(struct softdsa *d);
/* Operations that were taken and are not over. */
unsigned softdsa_queued(struct softdsa *d);
/* Would this queue take another one? */
bool softdsa_room(struct softdsa *d, unsigned wq);
/* Does one of them use any of these bytes? */
bool softdsa_holds(struct softdsa *d, const void *p, size_t len);

void softdsa_halt(struct softdsa *d);
void softdsa_resume(struct softdsa *d);
void softdsa_disable(struct softdsa *d, unsigned wq, bool disabled);
/* Does nothing come of a submission? halted: because the device is. */
bool softdsa_stopped(struct softdsa *d, unsigned wq, bool *halted);

/* ---- the judge -------------------------------------------------------------- */

/* Something is not as it should be. */
void softdsa_complain(struct softdsa *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
unsigned softdsa_violations(const struct softdsa *d);
/* The first of them; "": none. */
const char *softdsa_first(const struct softdsa *d);
void softdsa_stats(struct softdsa *d, struct softdsa_stats *out);
void softdsa_print(struct softdsa *d, FILE *out);

#endif
