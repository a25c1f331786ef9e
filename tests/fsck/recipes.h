/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recipes.h - how to damage a pool, and what is to become of it
 */
#ifndef FSCK_RECIPES_H
#define FSCK_RECIPES_H

#include "fsck/image.h"

struct recipe {
	const char *name;
	unsigned number;	/* enum problem that is told */
	bool safe;		/* fsck -p repairs all of it */
	enum ending end;	/* of the pool that it is for */
	uint32_t lost;		/* things that are not whole afterwards */
	int found;		/* names in /lost+found; -1: there is none */
	void (*damage)(struct image *img);
	unsigned logged;	/* files of the log that are there, at least */
};

/* Ends with a name of NULL. */
extern const struct recipe recipes[];

#endif
