/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk.h - the header of a chunk of inodes, by itself
 *
 * One place says what a sound one is, for the mount, mkfs, verify and repair.
 */
#ifndef META_CHUNK_H
#define META_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

struct pmemfs_chunk;

/* What h->crc should be where the header is at pool offset off. */
uint32_t chunk_crc(const struct pmemfs_chunk *h, uint64_t off);
unsigned chunk_free(const struct pmemfs_chunk *h);
/*
 * NULL, or what the header does that the one of the chunk of inode `first`
 * would not. *sealed: it has its magic and checksum, so its bits say something.
 */
const char *chunk_bad(const struct pmemfs_chunk *h, uint64_t first, uint64_t off, bool *sealed);

#endif
