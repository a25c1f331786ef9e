/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * touched.h - the lines, groups and chunk headers that a set of records touched
 *
 * Shared by the checkpoint and by recovery: feed it records, it flushes their
 * lines (each once, mostly) and then recomputes what is derived (L7).
 */
#ifndef META_TOUCHED_H
#define META_TOUCHED_H

#include "meta/fs.h"

#define TOUCHED_RECENT	2048u

struct touched {
	struct fs *fs;
	uint64_t *groups;		/* a bit per group */
	uint64_t *headers;		/* pool offsets of chunk headers */
	size_t nr_headers, room;
	uint64_t recent[TOUCHED_RECENT];/* lines flushed lately */
	int64_t dblocks, dinodes;
	uint64_t bytes;
	bool any_group;
};

int touched_init(struct touched *t, struct fs *fs);
void touched_free(struct touched *t);
/* Flush what rec touched; note what is derived from it. -ENOMEM. */
int touched_record(struct touched *t, const struct pmemfs_record *rec);
/* Recompute and flush the derived fields. Not fenced. */
void touched_derive(struct touched *t);

#endif
