/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gone.h - unlinked inodes whose space is still to come back
 *
 * The kernel says only afterwards, by requests of their own (RELEASE, FORGET),
 * that nobody uses an unlinked file any more. So a pool can be full although
 * rm(1) has returned; whoever meets -ENOSPC then waits here, and tries again.
 */
#ifndef META_GONE_H
#define META_GONE_H

#include "meta/inode.h"

struct gone;

/* One request's waiting: from its first attempt to its last. */
struct patience {
	uint64_t seen;			/* frees counted when it last tried */
	int64_t since;			/* when it first waited; 0: not yet */
};

int gone_open(struct fs *fs);
void gone_close(struct fs *fs);

/* The bucket of ip, which is unlinked, is locked: somebody uses it, or only the
 * kernel knows it. */
void gone_note(struct inode *ip, enum gone_class class);
/* Freeing ip begins; a part of it is free; all of it is, or it failed. */
void gone_begin(struct inode *ip);
void gone_step(struct fs *fs);
void gone_end(struct inode *ip);

/* Before the first attempt. */
void gone_start(struct fs *fs, struct patience *p);
/*
 * After one that failed, with no lock held. 1: something was freed since, try
 * again; 0: not yet, call again; -ENOSPC: nothing more is to be expected. Returns
 * after a tenth of a second at most.
 */
int gone_wait(struct fs *fs, struct patience *p);

#endif
