/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_map.c - who owns which block
 *
 * A bit a block, kept by group and only for groups in which something is
 * owned, so that a large empty pool costs next to nothing. When all owners
 * have spoken the bits must equal the block bitmap: a difference one way is
 * a leak, the other way a block that will be given out twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/verify_int.h"

#define WORD_BITS	64u
#define GROUP_WORDS	(PMEMFS_GROUP_BLOCKS / WORD_BITS)

bool verify_in_data(const struct verify *v, uint64_t blk, uint64_t len)
{
	uint64_t end = v->geo->nr_blocks - 1;	/* the replica */

	return len && blk >= v->geo->data_blk && blk < end && len <= end - blk;
}

static uint64_t *owned_group(struct verify *v, uint64_t g)
{
	if (!v->owned[g]) {
		v->owned[g] = calloc(GROUP_WORDS, sizeof(uint64_t));
		if (!v->owned[g])
			v->nomem = true;
	}
	return v->owned[g];
}

/* Bits of a word from bit `from`, at most len of them. */
static uint64_t word_mask(unsigned from, uint64_t len)
{
	uint64_t m = len >= WORD_BITS ? ~0ull : (1ull << len) - 1;

	return m << from;
}

/*
 * Set the bits of [blk, blk + len); *first is the first that was set already
 * and the return value how many were.
 */
static uint64_t take(struct verify *v, uint64_t blk, uint64_t len, uint64_t *first)
{
	uint64_t *map, mask, twice = 0, both;
	uint32_t bit, n;

	for (; len; blk += n, len -= n) {
		map = owned_group(v, blk / PMEMFS_GROUP_BLOCKS);
		if (!map)
			return twice;
		bit = blk % PMEMFS_GROUP_BLOCKS;
		n = min64(len, WORD_BITS - bit % WORD_BITS);
		mask = word_mask(bit % WORD_BITS, n);
		both = map[bit / WORD_BITS] & mask;
		if (both && !twice)
			*first = blk - bit % WORD_BITS + (uint64_t)__builtin_ctzll(both);
		twice += (uint64_t)__builtin_popcountll(both);
		map[bit / WORD_BITS] |= mask;
	}
	return twice;
}

bool verify_own(struct verify *v, uint64_t blk, uint64_t len, struct vplace at)
{
	uint64_t first = 0, twice = take(v, blk, len, &first);

	if (!twice)
		return true;
	verify_problem(v, VERIFY_DOUBLE, at,
		       "%llu of the blocks %llu+%llu have another owner, the first is block %llu",
		       (unsigned long long)twice, (unsigned long long)blk,
		       (unsigned long long)len, (unsigned long long)first);
	return false;
}

void verify_own_quietly(struct verify *v, uint64_t blk, uint64_t len)
{
	uint64_t first;

	take(v, blk, len, &first);
}

/* ---- against the bitmap ------------------------------------------------ */

static const le64 no_words[GROUP_WORDS];

/* Report a run of blocks that owner and bitmap see differently. */
static void report_run(struct verify *v, uint64_t blk, uint64_t len, bool marked)
{
	struct vplace at = { .off = blk_off(blk) };

	if (marked)
		verify_problem(v, VERIFY_LEAK, at,
			       "blocks %llu+%llu are marked used and owned by nobody",
			       (unsigned long long)blk, (unsigned long long)len);
	else
		verify_problem(v, VERIFY_UNMARKED, at,
			       "blocks %llu+%llu are in use and marked free",
			       (unsigned long long)blk, (unsigned long long)len);
}

static void compare_bits(struct verify *v, uint64_t g, const le64 *bitmap)
{
	uint64_t base = g * PMEMFS_GROUP_BLOCKS, start = 0, bit, mine, theirs;
	int run = -1, state;		/* -1: equal, else: marked */

	for (bit = 0; bit < PMEMFS_GROUP_BLOCKS; bit++) {
		mine = v->owned[g] ? v->owned[g][bit / WORD_BITS] : 0;
		theirs = get64(bitmap[bit / WORD_BITS]);
		if (bit % WORD_BITS == 0 && run < 0 && mine == theirs) {
			bit += WORD_BITS - 1;
			continue;
		}
		mine = mine >> bit % WORD_BITS & 1;
		theirs = theirs >> bit % WORD_BITS & 1;
		state = mine == theirs ? -1 : (int)theirs;
		if (state == run)
			continue;
		if (run >= 0)
			report_run(v, base + start, bit - start, run);
		run = state;
		start = bit;
	}
	if (run >= 0)
		report_run(v, base + start, bit - start, run);
}

static uint32_t count_clear(const le64 *bitmap)
{
	uint32_t i, set = 0;

	for (i = 0; i < GROUP_WORDS; i++)
		set += (uint32_t)__builtin_popcountll(bitmap[i].raw);
	return PMEMFS_GROUP_BLOCKS - set;
}

/* The descriptor is derived: it must say what its bitmap block is. */
static void check_group(struct verify *v, uint32_t g, const le64 *bitmap,
			uint32_t nr_free)
{
	uint64_t off = blk_off(v->geo->groups_blk) + g * sizeof(struct pmemfs_group);
	const struct pmemfs_group *d = pm_at(v->pm, off, sizeof(*d));
	struct vplace at = { .off = off };

	if (get32(d->crc) != seal_crc(d, sizeof(*d), off))
		verify_problem(v, VERIFY_GROUP, at,
			       "descriptor of group %u has a wrong checksum", g);
	else if (get32(d->free) != nr_free)
		verify_problem(v, VERIFY_GROUP, at,
			       "group %u says %u blocks are free, its bitmap says %u",
			       g, get32(d->free), nr_free);
	else if (get32(d->bitmap_crc) != crc32c(0, bitmap, PMEMFS_BLOCK_SIZE))
		verify_problem(v, VERIFY_GROUP, at,
			       "bitmap of group %u does not match its checksum", g);
	else if (get32(d->zero))
		verify_problem(v, VERIFY_GROUP, at,
			       "descriptor of group %u has reserved bytes set", g);
}

void verify_groups(struct verify *v)
{
	uint64_t end = (uint64_t)v->geo->nr_groups * PMEMFS_GROUP_BLOCKS;
	const le64 *bitmap;
	uint32_t g, nr_free;

	/* what lies behind the pool's end is nobody's, and marked */
	verify_own_quietly(v, v->geo->nr_blocks, end - v->geo->nr_blocks);
	for (g = 0; g < v->geo->nr_groups && !v->nomem; g++) {
		bitmap = pm_at(v->pm, blk_off(v->geo->bitmap_blk + g), PMEMFS_BLOCK_SIZE);
		nr_free = count_clear(bitmap);
		check_group(v, g, bitmap, nr_free);
		if (v->owned[g] || memcmp(bitmap, no_words, sizeof(no_words)))
			compare_bits(v, g, bitmap);
		v->res->blocks_free += nr_free;
	}
	v->res->blocks_used = v->geo->nr_blocks - min64(v->res->blocks_free,
							v->geo->nr_blocks);
}
