/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lab.h - a pool to damage, repair and look at, again and again
 *
 * For Check tests; everything here fails the running one by itself.
 * T_REPAIR_PRINT in the environment shows what the repairer says.
 */
#ifndef FSCK_LAB_H
#define FSCK_LAB_H

#include <stdbool.h>

#include "fsck/image.h"
#include "meta/repair.h"

#define LAB_NUMBERS	2000u		/* more than any enum problem */

extern struct image lab;		/* the pool on the table */
extern bool lab_told[LAB_NUMBERS];	/* what the last lab_try() told */

void lab_open(void);
/* A sound pool again. */
void lab_start(enum ending end);
/* Try to repair it; opt NULL: plainly. */
struct repair *lab_try(const struct repair_options *opt, struct repair_result *res);
/* The verifier finds nothing; then orphans are freed, and it still does not;
 * everything can be walked. Leaves the pool open. */
struct fs *lab_look(const char *name);
/* Nothing is left to be repaired. */
void lab_again(const char *name);
bool lab_prints(void);

#endif
