/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sysfs.c - what sysfs knows about the device under a pool
 *
 * Does it keep its contents? devdax also serves volatile memory (CXL, HMAT),
 * and the kernel parameter memmap=SIZE!START makes a pmem device of ordinary
 * DRAM. And a block device is not a pool: the command that makes one of it
 * names the namespace, so that it can be copied from the terminal.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/log.h"
#include "pm/backend.h"

/* One line of a file, without its end. */
static bool read_line(const char *path, char *buf, int size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, size, f) && strcspn(buf, "\n");

	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	if (f)
		fclose(f);
	return ok;
}

static bool is_dram_set_aside(const char *real)
{
	char line[4096], *at = line;

	if (!strstr(real, "/e820_pmem/") || !read_line("/proc/cmdline", line, sizeof(line)))
		return false;
	while ((at = strstr(at, "memmap="))) {
		at += strcspn(at, "! ");
		if (*at == '!')
			return true;
	}
	return false;
}

bool pm_device_keeps(dev_t dev, bool chr)
{
	char link[64], real[PATH_MAX];

	snprintf(link, sizeof(link), "/sys/dev/%s/%u:%u", chr ? "char" : "block", major(dev),
		 minor(dev));
	if (!realpath(link, real))
		return !chr;	/* of a filesystem: believe MAP_SYNC */
	if (chr && !strstr(real, "/ndbus"))
		return false;
	return !is_dram_set_aside(real);
}

/*
 * The namespace of a pmem device: an attribute of the pfn or btt device that
 * claims it, else (raw mode) part of its path in sysfs. false: no pmem.
 */
static bool find_namespace(dev_t dev, char *name, int size)
{
	char link[64], real[PATH_MAX], attr[PATH_MAX + 32];
	const char *at;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(link, real) || !strstr(real, "/ndbus"))
		return false;
	snprintf(attr, sizeof(attr), "%s/device/namespace", real);
	if (read_line(attr, name, size))
		return true;
	at = strstr(real, "/namespace");
	if (!at)
		return false;
	at++;
	snprintf(name, (size_t)size, "%.*s", (int)strcspn(at, "/"), at);
	return true;
}

int pm_refuse_block(const char *path)
{
	struct stat st;
	char name[64];

	if (!stat(path, &st) && find_namespace(st.st_rdev, name, sizeof(name)))
		log_err("%s is a block device, and those cannot be mapped; make the namespace "
			"devdax (destroys its contents): ndctl create-namespace -f -e %s "
			"--mode=devdax, and use /dev/daxX.Y; or mkfs.ext4 -b 4096 or mkfs.xfs, "
			"mount -o dax, and make the pool a file there", path, name);
	else
		log_err("%s is a block device, and not of persistent memory; a pool is a file "
			"or a devdax device (of an NVDIMM: ndctl create-namespace -f -e "
			"namespaceX.Y --mode=devdax)", path);
	return -ENOTBLK;
}
