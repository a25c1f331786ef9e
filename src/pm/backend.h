/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.h - the table behind pm.h
 *
 * pm.c checks bounds, counts, and calls one of these. A backend owns its
 * mapping; wrapping backends keep an inner one and add to it.
 */
#ifndef PM_BACKEND_H
#define PM_BACKEND_H

#include <sys/types.h>

#include "pm/pm.h"

#define PM_HUGE		(2u << 20)

struct pm_map {			/* what open() fills in */
	uint8_t *base;		/* mapped bytes; 2 MiB aligned if possible */
	uint64_t size;
	enum pm_granularity granularity;
	enum pm_kind kind;
	int fd;
	bool holes;
	bool forced;		/* granularity was forced or assumed */
	bool map_sync;
	bool survives;		/* a loss of power, once fenced */
	bool private;		/* PM_RDONLY: stores stay in DRAM */
	bool by_hand;		/* open() failed because the kernel has no private
				   mapping of it (devdax): use an overlay */
	int prot;		/* mmap(2) protection of the mapping */
	int map_flags;		/* mmap(2) flags that made the mapping */
	uint32_t unit;		/* smallest piece that can be mapped anew;
				   0: faults are not handled (no file) */
	const uint8_t *copied;	/* private: bit n set, page n has been stored to
				   and cannot be had from the file again */
	int numa;		/* node the memory belongs to; -1: not known */
	int huge;		/* percent that 2 MiB pages can map; -1: not known */
	struct pm_range *bad;	/* bad memory that is known already (malloc) */
	unsigned nr_bad;
	void *priv;		/* the backend's own */
};

struct pm_backend {
	const char *name;
	int  (*open)(struct pm_map *m, const char *path, const struct pm_config *cfg);
	void (*close)(struct pm_map *m);
	void (*write)(struct pm_map *m, uint64_t off, const void *src, size_t len);
	void (*zero)(struct pm_map *m, uint64_t off, size_t len);
	void (*bits)(struct pm_map *m, uint64_t off, uint32_t bit, uint32_t nr, bool set);
	void (*copy)(struct pm_map *m, uint64_t off, const void *src, size_t len);
	void (*copy_zero)(struct pm_map *m, uint64_t off, size_t len);
	void (*window)(struct pm_map *m, uint64_t off, size_t len);
	void (*window_done)(struct pm_map *m, uint64_t off, size_t len);
	/* see pm_splice(); NULL: it cannot be done */
	ssize_t (*splice)(struct pm_map *m, uint64_t off, int pipe, size_t len);
	void (*flush)(struct pm_map *m, uint64_t off, size_t len);
	int  (*fence)(struct pm_map *m);
	/* see pm_bad_clear(); NULL: it cannot be done */
	int  (*clear)(struct pm_map *m, struct pm_range r);
};

extern const struct pm_backend pm_backend_pmem2;

/* Does a character device, or the block device under a file, keep its contents? */
bool pm_device_keeps(dev_t dev, bool chr);
/* How much of it can be mapped in 2 MiB pages; see struct pm_map. */
int pm_huge_percent(const struct pm_map *m);

/* Plain stores, for backends that wrap or run in memory. */
void pm_plain_bits(uint8_t *base, uint64_t off, uint32_t bit, uint32_t nr, bool set);

#endif
