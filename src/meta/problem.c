/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * problem.c - the table of problem.h, as data
 */
#include "meta/problem.h"

#include <stddef.h>

#define ROW(name, nr, who, text, does) \
	{ .number = PROBLEM_##name, .fix = FIX_##who, .what = (text), .repair = (does) },

static const struct problem_info table[] = { PROBLEMS(ROW) { .number = 0 } };

const struct problem_info *problem_table(void)
{
	return table;
}

const struct problem_info *problem_info(unsigned number)
{
	const struct problem_info *p;

	for (p = table; p->number; p++)
		if (p->number == number)
			return p;
	return NULL;
}
