/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.h - alignment, minimum and maximum, unaligned little-endian values
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pmemfs/format.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DIV_UP(n, d)	(((n) + (d) - 1) / (d))

static inline uint64_t align_down(uint64_t v, uint64_t a) { return v & ~(a - 1); }
static inline uint64_t align_up(uint64_t v, uint64_t a) { return (v + a - 1) & ~(a - 1); }
static inline uint64_t min64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Bytes of the medium need not be aligned (items of a tree node). */
static inline uint64_t load64(const void *p)
{
	le64 v;

	memcpy(&v, p, sizeof(v));
	return get64(v);
}

static inline void save64(void *p, uint64_t v)
{
	le64 x = put64(v);

	memcpy(p, &x, sizeof(x));
}

static inline bool all_zero(const void *p, size_t len)
{
	const uint8_t *b = p;

	return !len || (!*b && !memcmp(b, b + 1, len - 1));
}

/* Block number to pool offset and back. */
static inline uint64_t blk_off(uint64_t blk) { return blk << PMEMFS_BLOCK_SHIFT; }
static inline uint64_t off_blk(uint64_t off) { return off >> PMEMFS_BLOCK_SHIFT; }
/* Blocks needed for a number of bytes; does not overflow. */
static inline uint64_t bytes_blks(uint64_t n)
{
	return (n >> PMEMFS_BLOCK_SHIFT) + ((n & (PMEMFS_BLOCK_SIZE - 1)) != 0);
}

/* What an extent's `where` says (format.h): its first block, how many. */
static inline uint64_t ext_blk(uint64_t where) { return where & (PMEMFS_MAX_BLOCKS - 1); }
static inline uint64_t ext_len(uint64_t where)
{
	return where >> PMEMFS_EXT_BLK_BITS & PMEMFS_EXT_MAX_LEN;
}
static inline uint64_t ext_where(uint64_t blk, uint64_t len)
{
	return blk | len << PMEMFS_EXT_BLK_BITS;
}

#endif
