/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * specimen.h - one small pool with one of everything, ready to be damaged
 *
 * 16 MiB, always the same bytes: every shape of inode, trees up to four
 * levels deep, both kinds of attribute, orphans, freed and retired slots, two
 * chunks of the inode table, a bad block, and a log in three lanes whose
 * records have not arrived in place, the last of them a truncation that is
 * not finished. What an experiment changes is taken back by specimen_back().
 */
#ifndef BITROT_SPECIMEN_H
#define BITROT_SPECIMEN_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/fs.h"
#include "op/op.h"
#include "support/pm_undo.h"

#define SPECIMEN_SIZE	(16u << 20)

struct specimen {
	struct pm_undo u;
	struct pm_backend be;		/* pm_undo, read-only opens allowed */
	struct geometry geo;
	uint64_t last_record;		/* pool offset of the newest in the log */
};

/* Ends the program if it cannot be made. */
void specimen_make(struct specimen *s);
void specimen_free(struct specimen *s);
/* As a mount would; ro: the log is replayed, and nothing else is written. */
int specimen_open(struct specimen *s, bool ro, enum fs_errors errors, struct fs **out);
/* Everything since specimen_make() or specimen_settle() is taken back. */
void specimen_back(struct specimen *s);

/* ---- specimen_hand.c: what no call makes, straight from format.h -------- */

/* On a pool at rest, each leaves a pool that is in order. */
void hand_deepen_file(struct specimen *s, uint64_t ino);
void hand_deepen_dir(struct specimen *s, uint64_t ino);
void hand_deepen_xattrs(struct specimen *s, uint64_t ino);
void hand_retire_a_slot(struct specimen *s);
void hand_bad_block(struct specimen *s);

/* Pool offset of a slot of the inode table. */
uint64_t hand_slot(const struct specimen *s, uint64_t ino);

/* The tag of a record at that place in the log. */
uint64_t hand_tag(const struct specimen *s, uint64_t off);
/* Call fn for every record of the log, lane by lane; its last word ends it. */
typedef bool (*hand_record_fn)(void *arg, uint64_t off, const struct pmemfs_record *rec);
void hand_records(const struct specimen *s, hand_record_fn fn, void *arg);

#endif
