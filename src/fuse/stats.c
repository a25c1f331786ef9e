/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.c - numbers about requests, kept by each thread for itself
 *
 * A thread's block is made when it serves its first request and is never
 * freed: the next thread to have that row (base/count.h, K1) goes on with it,
 * so a sum never falls when threads end.
 */
#include "fuse/stats.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count.h"

struct kind {				/* of one opcode */
	_Atomic uint64_t errors, total, max;
	_Atomic uint64_t bucket[STATS_BUCKETS];
};

struct block {
	_Alignas(128) struct kind kind[FUSE_OPCODES];
	_Atomic uint64_t eio, enospc, euclean;
};

static struct block *_Atomic blocks[COUNT_ROWS];

unsigned stats_bucket(uint64_t ns)
{
	unsigned top, b;

	if (ns < 1u << STATS_LOW_BITS)
		return 0;
	top = 63 - (unsigned)__builtin_clzll(ns);
	b = (top - STATS_LOW_BITS) * 4 + (unsigned)(ns >> (top - 2) & 3) + 1;
	return b < STATS_BUCKETS ? b : STATS_BUCKETS - 1;
}

uint64_t stats_bound(unsigned b)
{
	if (b == 0)
		return 1u << STATS_LOW_BITS;
	if (b >= STATS_BUCKETS - 1)
		return UINT64_MAX;
	b--;
	return (uint64_t)(b % 4 + 5) << (b / 4 + STATS_LOW_BITS - 2);
}

/* NULL: no memory; then this is not counted. */
static struct block *block_of(unsigned row)
{
	struct block *none = NULL, *b;

	b = aligned_alloc(_Alignof(struct block), sizeof(*b));
	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b));
	if (atomic_compare_exchange_strong(&blocks[row], &none, b))
		return b;
	free(b);			/* the shared row: somebody was faster */
	return none;
}

static void note_error(struct block *b, unsigned row, int err)
{
	if (err == -EIO)
		count_to(&b->eio, row, 1);
	else if (err == -ENOSPC)
		count_to(&b->enospc, row, 1);
	else if (err == -EUCLEAN)
		count_to(&b->euclean, row, 1);
}

void stats_note(uint32_t opcode, int err, uint64_t start)
{
	uint64_t ns = stats_clock() - start, max;
	unsigned row = count_row();
	struct block *b = atomic_load_explicit(&blocks[row], memory_order_acquire);
	struct kind *k;

	if (!b)
		b = block_of(row);
	if (!b)
		return;
	k = &b->kind[opcode < FUSE_OPCODES ? opcode : 0];
	count_to(&k->bucket[stats_bucket(ns)], row, 1);
	count_to(&k->total, row, ns);
	max = atomic_load_explicit(&k->max, memory_order_relaxed);
	while (ns > max && !atomic_compare_exchange_weak_explicit(&k->max, &max, ns,
				memory_order_relaxed, memory_order_relaxed))
		;			/* K2; seldom more than a look */
	if (err) {
		count_to(&k->errors, row, 1);
		note_error(b, row, err);
	}
}

static uint64_t get(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

void stats_sum(uint32_t opcode, struct stats_sum *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned row = 0; row < COUNT_ROWS; row++) {
		const struct block *b = atomic_load_explicit(&blocks[row], memory_order_acquire);
		const struct kind *k;

		if (!b)
			continue;
		k = &b->kind[opcode];
		out->errors += get(&k->errors);
		out->total += get(&k->total);
		out->max = max64(out->max, get(&k->max));
		for (unsigned i = 0; i < STATS_BUCKETS; i++)
			out->bucket[i] += get(&k->bucket[i]);
	}
	for (unsigned i = 0; i < STATS_BUCKETS; i++)
		out->count += out->bucket[i];
}

uint64_t stats_quantile(const struct stats_sum *sum, unsigned permille)
{
	uint64_t above = sum->count * (1000 - permille) / 1000, seen = 0;
	unsigned b = STATS_BUCKETS - 1;

	if (!sum->count)
		return 0;
	while (seen + sum->bucket[b] <= above && b > 0)
		seen += sum->bucket[b--];
	return min64(stats_bound(b), sum->max);
}

uint64_t stats_errors(int err)
{
	uint64_t sum = 0;

	for (unsigned row = 0; row < COUNT_ROWS; row++) {
		const struct block *b = atomic_load_explicit(&blocks[row], memory_order_acquire);

		if (b)
			sum += get(err == EIO ? &b->eio : err == ENOSPC ? &b->enospc : &b->euclean);
	}
	return sum;
}
