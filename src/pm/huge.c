/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * huge.c - how much of a pool can be mapped in pages of 2 MiB
 *
 * A fault can be served by one large page only where address, offset in the
 * pool and place on the medium agree in their lowest 21 bits. The address is
 * libpmem2's doing, the offset the allocator's (it prefers aligned runs for
 * large files); here is looked at what only the medium knows.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <linux/fiemap.h>
#include <linux/fs.h>

#include "base/bytes.h"
#include "pm/backend.h"

#define NR_EXTENTS	128u
#define MAX_EXTENTS	65536u	/* so scattered a file has no large pages anyway */

/* Large pages begin at multiples of 2 MiB of the device, not of a partition. */
static uint64_t partition_start(dev_t dev)
{
	unsigned long long sectors = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/start", major(dev), minor(dev));
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &sectors) != 1)
			sectors = 0;
		fclose(f);
	}
	return sectors * 512;
}

/* Bytes of an extent that lie in whole, aligned pieces of 2 MiB. */
static uint64_t aligned_bytes(const struct fiemap_extent *e, uint64_t start, uint64_t size)
{
	uint64_t end = min64(e->fe_logical + e->fe_length, size);
	uint64_t from = align_up(e->fe_logical, PM_HUGE);

	if ((e->fe_physical + start - e->fe_logical) % PM_HUGE ||
	    e->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC))
		return 0;
	end = align_down(end, PM_HUGE);
	return end > from ? end - from : 0;
}

/* Percent of a file on a DAX filesystem; -1: it does not tell. */
static int of_extents(const struct pm_map *m, uint64_t start)
{
	struct fiemap *x = calloc(1, sizeof(*x) + NR_EXTENTS * sizeof(x->fm_extents[0]));
	uint64_t pos = 0, huge = 0;
	unsigned seen = 0, i;
	bool last = false;

	while (x && !last && pos < m->size && seen < MAX_EXTENTS) {
		memset(x, 0, sizeof(*x));
		x->fm_start = pos;
		x->fm_length = m->size - pos;
		x->fm_extent_count = NR_EXTENTS;
		if (ioctl(m->fd, FS_IOC_FIEMAP, x) < 0) {
			free(x);
			return -1;
		}
		last = x->fm_mapped_extents == 0;
		for (i = 0; i < x->fm_mapped_extents; i++, seen++) {
			huge += aligned_bytes(&x->fm_extents[i], start, m->size);
			pos = x->fm_extents[i].fe_logical + x->fm_extents[i].fe_length;
			last |= x->fm_extents[i].fe_flags & FIEMAP_EXTENT_LAST;
		}
	}
	free(x);
	return (int)(huge * 100 / align_down(m->size, PM_HUGE));
}

/* tmpfs has large pages if it was mounted so: the option huge= of the mount. */
static bool tmpfs_has_huge(dev_t dev)
{
	static const char *const yes[] = { "huge=always", "huge=within_size", "huge=advise" };
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], want[32];
	bool found = false;

	snprintf(want, sizeof(want), " %u:%u ", major(dev), minor(dev));
	while (f && !found && fgets(line, sizeof(line), f))
		for (size_t i = 0; strstr(line, want) && i < ARRAY_SIZE(yes); i++)
			found |= strstr(line, yes[i]) != NULL;
	if (f)
		fclose(f);
	return found;
}

int pm_huge_percent(const struct pm_map *m)
{
	struct stat st;

	if (m->kind == PM_DEVDAX)
		return m->unit % PM_HUGE == 0 ? 100 : 0;
	if (m->private || m->size < PM_HUGE || fstat(m->fd, &st) < 0)
		return -1;
	if (m->kind != PM_TMPFS && m->kind != PM_FSDAX)
		return -1;
	if ((uintptr_t)m->base % PM_HUGE)
		return 0;
	if (m->kind == PM_TMPFS && m->unit >= PM_HUGE)
		return 100;			/* hugetlbfs */
	if (m->kind == PM_TMPFS)
		return tmpfs_has_huge(st.st_dev) ? 100 : 0;
	return of_extents(m, partition_start(st.st_dev));
}
