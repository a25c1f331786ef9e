/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namekey.h - the key of a name in a directory or an xattr tree
 *
 * 55 bits of a keyed hash; the low 8 bits tell colliding names apart. Keys
 * below PMEMFS_DIR_MIN_KEY are never used (readdir's "." and "..").
 */
#ifndef META_NAMEKEY_H
#define META_NAMEKEY_H

#include "base/siphash.h"
#include "pmemfs/format.h"

static inline uint64_t name_key(const uint8_t seed[16], const char *name, size_t len)
{
	uint64_t k = siphash24(seed, name, len) & PMEMFS_KEY_MASK;

	return k ? k : PMEMFS_DIR_MIN_KEY;
}

#endif
