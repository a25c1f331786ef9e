/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recipes.h - hostile pools, each made to break one thing
 *
 * What chance finds rarely. cook() spoils the specimen; serve(), where it is
 * not NULL, does what should then go wrong, besides the survey, the poking and
 * the razing that every hostile pool gets.
 */
#ifndef BITROT_RECIPES_H
#define BITROT_RECIPES_H

#include "bitrot/map.h"

struct recipe {
	const char *name;
	void (*cook)(const struct map *m);
	void (*serve)(const struct map *m, struct fs *fs);
};

extern const struct recipe recipes[];
extern const unsigned nr_recipes;

#endif
