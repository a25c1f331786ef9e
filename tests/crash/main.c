/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - the crash tests' program
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "crash/loads.h"

const struct family families[] = {
	{ "one", "every operation", get_one, false },
	{ "two", "every two operations", get_two, false },
	{ "three", "a sample of three operations", get_three, false },
};
const unsigned nr_families = ARRAY_SIZE(families);

static const struct crash_limits full = {
	.exhaustive = 10, .seeds = 8, .lines = 64, .per_recovery = 12,
};
static const struct crash_limits capped = {
	.exhaustive = 10, .per_point = 40, .seeds = 3, .lines = 24, .per_recovery = 6,
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct crash_stats *st = mmap(NULL, sizeof(*st), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *want = argc > 1 ? argv[1] : "one";
	struct crash_load l;
	double t = now();
	struct crash *c;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;

	for (unsigned f = 0; f < nr_families; f++) {
		size_t len = strlen(families[f].name);
		if (strncmp(want, families[f].name, len))
			continue;
		c = crash_new(-1, f == 0 ? &full : &capped, st);
		for (uint64_t i = 0; families[f].get(i, &l) && i < n; i++) {
			size_t ln = strlen(l.name);
			if (strcmp(want, families[f].name) && (strncmp(want, l.name, ln) || (want[ln] && want[ln] != ':')))
				continue;
			if (want[len] && want[ln]) {
				printf("rerun: %d\n", crash_rerun(c, &l, want + ln + 1));
				continue;
			}
			double t0 = now();
			uint64_t d0 = st->distinct, c0 = st->cut_images;
			crash_explore(c, &l);
			if (getenv("V"))
				printf("%s %.0f ms distinct %lu cut %lu\n", l.name, (now() - t0) * 1e3, (unsigned long)(st->distinct - d0), (unsigned long)(st->cut_images - c0));
		}
		crash_free(c);
	}
	printf("loads %lu calls %lu points %lu exhausted %lu images %lu distinct %lu cut %lu killed %lu idle %lu flushes %lu fences violations %lu, %.1f s\n",
	       (unsigned long)st->loads, (unsigned long)st->calls, (unsigned long)st->points, (unsigned long)st->exhausted, (unsigned long)st->images,
	       (unsigned long)st->distinct, (unsigned long)st->cut_images, (unsigned long)st->killed, (unsigned long)st->idle_flushes, (unsigned long)st->idle_fences,
	       (unsigned long)st->violations, now() - t);
	return st->violations != 0;
}
