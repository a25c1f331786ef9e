/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - the command line of pmemfs-fuse
 *
 *	pmemfs-fuse POOL MOUNTPOINT [-o OPTION,...] [-f] [-d] [-V] [-h]
 */
#ifndef FUSE_OPTIONS_H
#define FUSE_OPTIONS_H

#include <stdbool.h>

#include "copy/dsa.h"
#include "meta/fs.h"

/* Exit codes, those of mount(8). */
#define EXIT_USAGE	1
#define EXIT_SYSTEM	2
#define EXIT_MOUNT	32

#define FS_SUBTYPE	"pmemfs-fuse"

enum dax_mode { DAX_ALWAYS, DAX_NEVER, DAX_INODE };
enum transport_choice { TRANSPORT_AUTO, TRANSPORT_URING, TRANSPORT_DEV };
enum read_route { READ_AUTO, READ_MAP, READ_COPY };

#define MAX_THREADS	256u

struct options {
	const char *pool, *mountpoint;	/* as given */
	bool foreground, debug;
	bool help, version;
	bool fake;			/* mount -f: all but the mount */
	bool remount;
	enum dax_mode dax;
	enum read_route read;
	enum transport_choice transport;
	bool splice, landing;
	struct dsa_opt dsa;
	unsigned threads;		/* 0: by the number of CPUs */
	bool allow_other;		/* asked for, or root mounts */
	bool deny_other;		/* asked not to */
	bool allow_root;		/* besides the owner, root only */
	bool idmap;			/* mounts may map user numbers */
	struct fs_options fs;
	/* options of mount(2): MS_*, for a remount; and for libfuse, joined by
	 * commas, fsname and the like included */
	unsigned long ms_set, ms_clear;
	char *mount_opts;
};

/*
 * 0, or -EINVAL after one line that names the word which was not understood.
 * Options of other programs that fstab(5) carries (nofail, _netdev, x-*, ...)
 * are ignored.
 */
int options_parse(struct options *o, int argc, char **argv);
void options_free(struct options *o);
void options_help(void);	/* to standard output */
void options_version(void);

#endif
