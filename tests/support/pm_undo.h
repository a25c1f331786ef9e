/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_undo.h - a pool in memory whose changes can be taken back
 *
 * Every line is kept before it changes for the first time, so taking all of
 * it back costs what was changed and not what the pool holds. With hashes, it
 * also knows the hash of the whole memory, for the same price.
 */
#ifndef SUPPORT_PM_UNDO_H
#define SUPPORT_PM_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm/backend.h"

#define UNDO_LINE	64u

struct pm_undo {
	uint8_t *base;			/* the memory */
	uint64_t size;
	uint64_t hash;			/* of the memory as it was, see below */
	uint32_t *kept;			/* by line: its number in old + 1, 0: unchanged */
	struct undo_line { uint32_t line; uint8_t was[UNDO_LINE]; } *old;
	size_t nr, room;
	unsigned fail_in;		/* fences until they fail; 0: never */
	bool failing;
};

extern const struct pm_backend pm_backend_undo;	/* arg: struct pm_undo */

void undo_init(struct pm_undo *u, uint64_t size);
void undo_free(struct pm_undo *u);
/* [off, off + len) is about to change. */
void undo_keep(struct pm_undo *u, uint64_t off, uint64_t len);
/* Change it; leaves unchanged lines alone. */
void undo_put(struct pm_undo *u, uint64_t off, const void *src, uint64_t len);
/* Take everything back. */
void undo_back(struct pm_undo *u);
/* What is there now is what undo_back() leads to from now on. */
void undo_settle(struct pm_undo *u);

/*
 * The hash of memory is the sum of those of its lines, zero for a line of
 * zeros; u->hash has that of the state that undo_back() leads to.
 */
uint64_t hash_line(uint64_t nr, const void *line);
uint64_t hash_bytes(uint64_t seed, const void *buf, size_t len);
void undo_rehash(struct pm_undo *u);	/* from scratch */
uint64_t undo_hash_now(const struct pm_undo *u);

#endif
