/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_find.c - what the daemon would find, in lines for s_dsafind.sh
 *
 *	dsa_find [NODE]		the queues for a pool on that NUMA node, best first
 *	dsa_find /dev/dsa/wqX.Y	that queue
 *
 * Each queue: name, mode, entries, threshold, largest transfer, largest batch (0: none),
 * engines, node, path. Without one, why not, and exit status 1.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/log.h"
#include "copy/dsa_int.h"

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "-1";
	struct dsa_wq wq[8];
	unsigned nr = 0;
	char why[256];
	bool any = true;

	log_init("dsa_find");
	if (*what == '/')
		nr = !dsa_find_named(what, wq, why, sizeof(why));
	else
		nr = dsa_find((int)strtol(what, NULL, 10), wq, ARRAY_SIZE(wq), &any, why,
			      sizeof(why));
	for (unsigned i = 0; i < nr; i++)
		printf("%s %s %u %u %llu %u %u %d %s\n", wq[i].name,
		       wq[i].shared ? "shared" : "dedicated", wq[i].size, wq[i].threshold,
		       (unsigned long long)wq[i].max_transfer,
		       wq[i].batch ? wq[i].max_batch : 0, wq[i].engines, wq[i].node, wq[i].path);
	if (!nr)
		printf("%s: %s\n", any ? "none" : "no DSA", why);
	return !nr;
}
