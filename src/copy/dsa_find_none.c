/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_find_none.c - a build without libaccel-config finds no queue by itself
 */
#include <stdio.h>

#include "copy/dsa_sysfs.h"

unsigned dsa_find(int node, struct dsa_wq *wq, unsigned max, bool *any, char *why, size_t size)
{
	(void)node;
	(void)wq;
	(void)max;
	*any = dsa_sysfs_any("");
	snprintf(why, size, *any ? "built without libaccel-config, so the queue has to be named "
		 "(dsa_wq=)" : "this machine has none (/sys/bus/dsa)");
	return 0;
}
