/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk.c - the header of a chunk of inodes, by itself
 */
#include "meta/chunk.h"

#include <stddef.h>

#include "base/bytes.h"
#include "base/crc32c.h"

/* Bytes 0..96 are covered: magic, first, used. */
#define COVERED		offsetof(struct pmemfs_chunk, zero2)
_Static_assert(COVERED == 96, "pmemfs.5: chunk");

uint32_t chunk_crc(const struct pmemfs_chunk *h, uint64_t off)
{
	le64 seed = put64(off);

	return crc32c(crc32c(0, &seed, sizeof(seed)), h, COVERED);
}

unsigned chunk_free(const struct pmemfs_chunk *h)
{
	unsigned i, n = 0;

	for (i = 0; i < sizeof(h->used); i += 8)
		n += (unsigned)__builtin_popcountll(~load64(h->used + i));
	return n;
}

const char *chunk_bad(const struct pmemfs_chunk *h, uint64_t first, uint64_t off, bool *sealed)
{
	*sealed = false;
	if (get32(h->magic) != PMEMFS_CHUNK_MAGIC)
		return "is not one";
	if (get32(h->crc) != chunk_crc(h, off))
		return "has a wrong checksum";
	*sealed = true;
	if (get64(h->first) != first)
		return "belongs to another chunk";
	if (get32(h->zero0) || !all_zero(h->zero1, sizeof(h->zero1)) ||
	    !all_zero(h->zero2, sizeof(h->zero2)) || !all_zero(h->zero3, sizeof(h->zero3)))
		return "has reserved bytes set";
	if (!(h->used[0] & 1))
		return "does not count itself";
	if (get32(h->free) != chunk_free(h))
		return "has a wrong number of free inodes";
	return NULL;
}
