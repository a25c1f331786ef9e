/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.c - where the inode table lies, as a sorted list
 */
#include "meta/pieces.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "pmemfs/format.h"

bool pieces_add(struct pieces *p, uint64_t pos, uint64_t blk, uint64_t len)
{
	struct piece *last = p->nr ? &p->at[p->nr - 1] : NULL;
	size_t room = p->room ? p->room * 2 : 16;

	if (last && last->pos + last->len == pos && last->blk + last->len == blk &&
	    last->len + len <= PMEMFS_EXT_MAX_LEN) {
		last->len += len;
		return true;
	}
	if (p->nr == p->room) {
		last = realloc(p->at, room * sizeof(*last));
		if (!last)
			return false;
		p->at = last;
		p->room = room;
	}
	p->at[p->nr++] = (struct piece){ .pos = pos, .blk = blk, .len = len };
	return true;
}

uint64_t pieces_slot_off(const struct pieces *p, uint64_t ino)
{
	uint64_t pos = ino / PMEMFS_INODES_PER_BLOCK;
	size_t lo = 0, hi = p->nr, mid;
	const struct piece *at;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		at = &p->at[mid];
		if (pos < at->pos)
			hi = mid;
		else if (pos - at->pos >= at->len)
			lo = mid + 1;
		else
			return blk_off(at->blk + (pos - at->pos)) +
				ino % PMEMFS_INODES_PER_BLOCK * PMEMFS_INODE_SIZE;
	}
	return 0;
}

void pieces_free(struct pieces *p)
{
	free(p->at);
	*p = (struct pieces){ .nr = 0 };
}
