/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.h - fsck.pmemfs --media: the memory itself
 */
#ifndef TOOLS_MEDIA_H
#define TOOLS_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

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
};

/*
 * Read all of the pool, name whose each bad page is, clear them if allowed.
 * 0, also if some could not be cleared (cleared < found); -EINTR; what pm_open()
 * says.
 */
int media_check(struct media *m);

#endif
