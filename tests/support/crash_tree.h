/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_tree.h - everything a user can see of a mounted pool
 *
 * As a digest (two trees that look alike have the same one), and as a picture
 * that is kept and can be compared in detail. Both are made through op.h
 * only, change nothing on the medium, and leave no lookup behind.
 *
 * Actors: when two threads work at once, each has its own part of the tree,
 * known by the first letter of a name: 'p' belongs to the first, 'q' to the
 * second, names that begin with neither are shared and only their insides
 * count. With one actor everything counts, the root and all numbers too.
 */
#ifndef SUPPORT_CRASH_TREE_H
#define SUPPORT_CRASH_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "op/op.h"

#define TREE_ACTORS	2u

struct tree_digest {
	uint64_t seen[TREE_ACTORS];	/* names, attributes, bytes, xattrs */
	uint64_t blocks[TREE_ACTORS];	/* blocks held, which nobody reads */
};

/* 0 or the first error that a call returned (that is a finding, too). */
int tree_digest(const struct op_ctx *c, unsigned actors, struct tree_digest *d);

struct tree_node {
	char path[320];			/* "" is the root */
	uint64_t nodeid;
	struct op_attr attr;
	uint8_t *data;			/* attr.size bytes, or the link's target */
	size_t len;
	uint64_t xattrs;		/* hash of all of them, in order */
};

struct tree_picture {
	struct tree_node *node;
	size_t nr, room;
};

int tree_picture(const struct op_ctx *c, struct tree_picture *p);
void tree_picture_free(struct tree_picture *p);

/* What may differ from both `was` and `will` while a call is in flight. */
struct tree_blur {
	uint64_t node;			/* of the file; 0: nothing may */
	uint64_t from, to;		/* bytes old or new, each for itself */
	bool cut;			/* any prefix of the growth may be there */
	bool priv;			/* set-id bits and capabilities may be gone already */
};

/*
 * Does p look like `was`, with the blur's file anything between `was` and
 * `will`? NULL, or the first difference.
 */
const char *tree_between(const struct tree_picture *p, const struct tree_picture *was,
			 const struct tree_picture *will, const struct tree_blur *blur);
/* For people: what differs. */
void tree_print_diff(FILE *out, const struct tree_picture *is, const struct tree_picture *want);

#endif
