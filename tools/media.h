/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.h - fsck.pmemfs --media: the memory itself
 */
#ifndef TOOLS_MEDIA_H
#define TOOLS_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs;

struct media {
	const char *path;
	bool in_use;			/* somebody has it mounted: look all the same */
	void (*tell)(void *arg, const char *line);	/* a line for people */
	/* of so many bad pages: may they be given up? */
	bool (*may_clear)(void *arg, uint64_t pages);
	bool (*stop)(void *arg);
	void *arg;
	uint64_t found, cleared;	/* pages */
	bool more;			/* than can be remembered: look again */
	bool allowed;			/* may_clear() said yes */
	uint64_t *left;			/* the pages that were not cleared (malloc) */
	size_t nr_left;
	uint64_t listed, returned;	/* blocks that the pool's own list got, and lost */
};

/*
 * Read all of the pool, name whose each bad page is, clear them if allowed.
 * 0, also if some could not be cleared (cleared < found); -EINTR; what pm_open()
 * says.
 */
int media_check(struct media *m);

/*
 * The same for the list that the pool keeps (badlist.h): what is left bad and is
 * free goes onto it, what can be read again is freed. The pool is sound.
 */
int media_settle(struct media *m, struct fs *fs);

#endif
