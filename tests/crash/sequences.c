/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sequences.c - every operation, every two, and some threes, on a plain tree
 */
#include <string.h>

#include "base/bytes.h"
#include "crash/loads.h"

static void name_it(struct crash_load *l, const char *family)
{
	size_t n = (size_t)snprintf(l->name, sizeof(l->name), "%s/", family);

	for (unsigned i = 0; i < l->nr_ops && n < sizeof(l->name); i++)
		n += (size_t)snprintf(l->name + n, sizeof(l->name) - n, "%s%s", i ? "+" : "",
				      cops[l->op[i]].name);
}

static void sequence(struct crash_load *l, const char *family)
{
	l->setup = &setup_plain;
	l->actors = 1;
	l->run = run_ops;
	name_it(l, family);
}

bool get_one(uint64_t i, struct crash_load *l)
{
	if (i >= nr_cops)
		return false;
	*l = (struct crash_load){
		.flags = LOAD_DEPTH2 | LOAD_KILL | LOAD_AGAIN, .op = { (unsigned)i },
		.nr_ops = 1,
	};
	sequence(l, "one");
	return true;
}

/* What the first does alone is covered by the loads of one operation. */
bool get_two(uint64_t i, struct crash_load *l)
{
	if (i >= (uint64_t)nr_cops * nr_cops)
		return false;
	*l = (struct crash_load){
		.op = { (unsigned)(i / nr_cops), (unsigned)(i % nr_cops) },
		.nr_ops = 2, .from_op = 1,
	};
	sequence(l, "two");
	return true;
}

/* All of them, in an order whose beginning is a good sample: SCATTER is prime. */
#define SCATTER	1000003u

bool get_three(uint64_t i, struct crash_load *l)
{
	uint64_t n = nr_cops, nr = i * SCATTER % (n * n * n);

	if (i >= n * n * n)
		return false;
	*l = (struct crash_load){
		.op = { (unsigned)(nr / (n * n)), (unsigned)(nr / n % n), (unsigned)(nr % n) },
		.nr_ops = 3, .from_op = 2,
	};
	sequence(l, "three");
	return true;
}

/* Access times are written late, and durable after fsync. */
bool get_atime(uint64_t i, struct crash_load *l)
{
	static const char *const then[] = { "checkpoint", "chmod", "rename_onto", "unlink" };

	if (i >= ARRAY_SIZE(then))
		return false;
	*l = (struct crash_load){
		.flags = LOAD_ATIME, .nr_ops = 2,
		.op = { (unsigned)(cop_named("read_sync") - cops),
			(unsigned)(cop_named(then[i]) - cops) },
	};
	sequence(l, "atime");
	return true;
}
