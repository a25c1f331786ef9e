/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.h - counters that are always on
 *
 * A struct counters has a row for each thread, on cache lines of its own; a
 * thread adds to its row with an ordinary load and store, no bus lock and no
 * line that another core writes to. Whoever asks for a sum adds the rows up:
 * it sees each row at some moment while it does, nothing more.
 *
 *   K1  A row below the last belongs to one living thread at a time. When that
 *       thread ends, the next to come takes its row over, and counts on.
 *   K2  The last row is shared by all for whom no other was left; they add
 *       atomically.
 *
 * The list names what upper layers count as well: the names are all that is
 * known of them here.
 */
#ifndef BASE_COUNT_H
#define BASE_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

enum counter {
	/* pm/: calls and bytes */
	COUNT_FENCES, COUNT_FLUSHES, COUNT_FLUSHED, COUNT_COPIES, COUNT_COPIED, COUNT_STORED,
	/* copy/: bytes of file data by the way they went */
	COUNT_NOCACHE, COUNT_PIPE, COUNT_SPLICED, COUNT_ZERO, COUNT_WITHIN, COUNT_LANDED,
	/* by DSA: jobs, what they became, bytes of them by device and by CPU; then a counter
	 * for each reason of copy/dsa.h why not */
	COUNT_DSA_JOBS, COUNT_DSA_DESCRIPTORS, COUNT_DSA_BATCHES, COUNT_DSA_DEVICE,
	COUNT_DSA_CPU, COUNT_DSA_WHY, COUNT_DSA_WHY_LAST = COUNT_DSA_WHY + 10,
	/* answers to READ by the way they went */
	COUNT_READ_MAPPED, COUNT_READ_COPIED,
	/* meta/: the log */
	COUNT_RECORDS, COUNT_RECORD_BYTES, COUNT_CHECKPOINTS,
	/* times a thread found a lock taken and had to wait for it */
	COUNT_WAIT_LANE, COUNT_WAIT_LOG_ROOM, COUNT_WAIT_INODE, COUNT_WAIT_ICACHE,
	COUNT_WAIT_RENAME, COUNT_WAIT_ITABLE, COUNT_WAIT_GROUP, COUNT_WAIT_QUARANTINE,
	COUNT_WAIT_ORPHAN,
	NR_COUNTERS
};

#define COUNT_ROWS	128u
#define COUNT_SHARED	(COUNT_ROWS - 1)

struct count_row {			/* begins a pair of lines: they are fetched so */
	_Alignas(128) _Atomic uint64_t n[NR_COUNTERS];
};

struct counters { struct count_row row[COUNT_ROWS]; };

/* The row of the calling thread plus 1; 0: it has none yet. */
extern _Thread_local unsigned count_thread_row;
unsigned count_take_row(void);

/* Which row is this thread's? For whoever keeps rows of something else. */
static inline unsigned count_row(void)
{
	unsigned mine = count_thread_row;

	return (__builtin_expect(!mine, 0) ? count_take_row() : mine) - 1;
}

/* Add to a value of a row that count_row() gave. */
static inline void count_to(_Atomic uint64_t *c, unsigned row, uint64_t n)
{
	if (__builtin_expect(row == COUNT_SHARED, 0))
		atomic_fetch_add_explicit(c, n, memory_order_relaxed);	/* K2 */
	else
		atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
				      memory_order_relaxed);		/* K1 */
}

static inline void count_add(struct counters *c, enum counter id, uint64_t n)
{
	unsigned row = count_row();

	count_to(&c->row[row].n[id], row, n);
}

uint64_t count_sum(const struct counters *c, enum counter id);

#endif
