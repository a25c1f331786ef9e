/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.c - the command line
 *
 * fuse_opt of libfuse takes the line apart (-o lists, escapes); the words are
 * looked up here, in one table, so that a word nobody knows is refused with
 * its name before anything has happened. Called as mount.pmemfs, the program is
 * the helper that mount(8) runs for the type pmemfs, whose flags mean something
 * else.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 312
#include "fuse/options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.1"
#endif

/* A word of -o, without its value. */
struct word {
	const char *name;		/* ends in '=' when a value follows */
	int (*take)(struct options *o, const struct word *w, const char *value);
	unsigned long flag;		/* MS_*, or what take() likes */
	bool on;
};

struct choice { const char *name; int value; };

/* One of the names, or -EINVAL after a line that lists them. */
static int choose(const struct choice *c, const char *word, const char *value,
		  int *out)
{
	char all[128] = "";

	for (; c->name; c++) {
		if (!strcmp(c->name, value)) {
			*out = c->value;
			return 0;
		}
		if (all[0])
			strncat(all, ", ", sizeof(all) - strlen(all) - 1);
		strncat(all, c->name, sizeof(all) - strlen(all) - 1);
	}
	log_err("-o %s%s: must be one of %s", word, value, all);
	return -EINVAL;
}

/* Hand a word on to libfuse. */
static int pass(struct options *o, const char *text)
{
	return fuse_opt_add_opt_escaped(&o->mount_opts, text) ? -ENOMEM : 0;
}

static int take_dax(struct options *o, const struct word *w, const char *value)
{
	static const struct choice modes[] = {
		{ "always", DAX_ALWAYS }, { "never", DAX_NEVER },
		{ "inode", DAX_INODE }, { NULL, 0 },
	};
	int mode = DAX_ALWAYS, err = 0;

	if (value)			/* a bare "dax" means always */
		err = choose(modes, w->name, value, &mode);
	o->dax = (enum dax_mode)mode;
	return err;
}

static int take_read(struct options *o, const struct word *w, const char *value)
{
	static const struct choice routes[] = {
		{ "auto", READ_AUTO }, { "map", READ_MAP },
		{ "copy", READ_COPY }, { NULL, 0 },
	};
	int route = READ_AUTO;
	int err = choose(routes, w->name, value, &route);

	o->read = (enum read_route)route;
	return err;
}

static int take_transport(struct options *o, const struct word *w,
			  const char *value)
{
	static const struct choice ways[] = {
		{ "auto", TRANSPORT_AUTO }, { "uring", TRANSPORT_URING },
		{ "dev", TRANSPORT_DEV }, { NULL, 0 },
	};
	int way = TRANSPORT_AUTO;
	int err = choose(ways, w->name, value, &way);

	o->transport = (enum transport_choice)way;
	return err;
}

static int take_errors(struct options *o, const struct word *w,
		       const char *value)
{
	static const struct choice ways[] = {
		{ "remount-ro", FS_ERRORS_REMOUNT_RO },
		{ "continue", FS_ERRORS_CONTINUE }, { NULL, 0 },
	};
	int way = FS_ERRORS_REMOUNT_RO;
	int err = choose(ways, w->name, value, &way);

	o->fs.errors = (enum fs_errors)way;
	return err;
}

static int take_granularity(struct options *o, const struct word *w,
			    const char *value)
{
	static const struct choice grains[] = {
		{ "byte", PM_GRAN_BYTE }, { "line", PM_GRAN_LINE },
		{ "page", PM_GRAN_PAGE }, { NULL, 0 },
	};

	return choose(grains, w->name, value, &o->fs.granularity);
}

static int take_data(struct options *o, const struct word *w,
		     const char *value)
{
	static const struct choice modes[] = {
		{ "ordered", FS_DATA_ORDERED }, { "atomic", FS_DATA_ATOMIC },
		{ NULL, 0 },
	};
	int mode = FS_DATA_ORDERED;
	int err = choose(modes, w->name, value, &mode);

	o->fs.data = (enum fs_data)mode;
	return err;
}

static int take_dsa(struct options *o, const struct word *w, const char *value)
{
	static const struct choice modes[] = {
		{ "auto", DSA_AUTO }, { "off", DSA_OFF }, { "on", DSA_ON }, { NULL, 0 },
	};
	int mode = DSA_AUTO;
	int err = choose(modes, w->name, value, &mode);

	o->dsa.mode = (enum dsa_mode)mode;
	return err;
}

static int take_dsa_durable(struct options *o, const struct word *w, const char *value)
{
	static const struct choice ways[] = {
		{ "flush", false }, { "readback", true }, { NULL, 0 },
	};
	int way = false;
	int err = choose(ways, w->name, value, &way);

	o->dsa.readback = way;
	return err;
}

/* Bytes, KiB or MiB; at least 1. */
static int take_dsa_min(struct options *o, const struct word *w, const char *value)
{
	unsigned shift = 0;
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (*end == 'K' || *end == 'M')
		shift = *end++ == 'K' ? 10 : 20;
	if (errno || value[0] < '0' || value[0] > '9' || *end || n < 1 || n > UINT32_MAX) {
		log_err("-o %s%s: must be a size in bytes, or with K or M behind it",
			w->name, value);
		return -EINVAL;
	}
	o->dsa.min = (uint64_t)n << shift;
	return 0;
}

static int take_dsa_wq(struct options *o, const struct word *w, const char *value)
{
	if (value[0] != '/') {
		log_err("-o %s%s: must be the path of a work queue, /dev/dsa/wqX.Y", w->name,
			value);
		return -EINVAL;
	}
	free((char *)(uintptr_t)o->dsa.wq);
	o->dsa.wq = strdup(value);
	return o->dsa.wq ? 0 : -ENOMEM;
}

static int take_threads(struct options *o, const struct word *w,
			const char *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || end == value || *end || value[0] == '-' ||
	    n < 1 || n > MAX_THREADS) {
		log_err("-o %s%s: must be a number from 1 to %u", w->name,
			value, MAX_THREADS);
		return -EINVAL;
	}
	o->threads = (unsigned)n;
	return 0;
}

/* Flags of mount(2). They matter to libfuse now and to a remount later. */
static int take_ms(struct options *o, const struct word *w, const char *value)
{
	unsigned long *to = w->on ? &o->ms_set : &o->ms_clear;
	unsigned long *from = w->on ? &o->ms_clear : &o->ms_set;

	(void)value;
	*to |= w->flag;
	*from &= ~w->flag;
	if (w->flag == MS_RDONLY)
		o->fs.ro = w->on;
	return pass(o, w->name);
}

/* When access times are kept is op's affair; the kernel keeps none. */
static int take_atime(struct options *o, const struct word *w,
		      const char *value)
{
	(void)value;
	o->fs.atime = (enum fs_atime)w->flag;
	return 0;
}

enum {
	SET_NORECOVERY, SET_PMEM, SET_SPLICE, SET_LANDING, SET_OTHER, SET_ROOT, SET_IDMAP, SET_LAZY,
	SET_REMOUNT,
};

static int take_bool(struct options *o, const struct word *w,
		     const char *value)
{
	(void)value;
	switch (w->flag) {
	case SET_NORECOVERY:
		o->fs.norecovery = w->on;
		break;
	case SET_PMEM:
		o->fs.require_pmem = w->on;
		break;
	case SET_SPLICE:
		o->splice = w->on;
		break;
	case SET_LANDING:
		o->landing = w->on;
		break;
	case SET_OTHER:
		o->allow_other = w->on;
		o->deny_other = !w->on;
		break;
	case SET_ROOT:
		o->allow_root = w->on;
		break;
	case SET_IDMAP:
		o->idmap = w->on;
		break;
	case SET_LAZY:
		o->fs.lazytime = w->on;
		break;
	case SET_REMOUNT:
		o->remount = w->on;
		break;
	}
	return 0;
}

/* Understood by libfuse or fusermount3. */
static int take_passed(struct options *o, const struct word *w,
		       const char *value)
{
	char *text;
	int err;

	if (asprintf(&text, "%s%s", w->name, value ? value : "") < 0)
		return -ENOMEM;
	err = pass(o, text);
	free(text);
	return err;
}

static int take_nothing(struct options *o, const struct word *w,
			const char *value)
{
	(void)o;
	(void)w;
	(void)value;
	return 0;
}

static const struct word words[] = {
	{ "ro", take_ms, MS_RDONLY, true },
	{ "rw", take_ms, MS_RDONLY, false },
	{ "nosuid", take_ms, MS_NOSUID, true },
	{ "suid", take_ms, MS_NOSUID, false },
	{ "nodev", take_ms, MS_NODEV, true },
	{ "dev", take_ms, MS_NODEV, false },
	{ "noexec", take_ms, MS_NOEXEC, true },
	{ "exec", take_ms, MS_NOEXEC, false },
	{ "sync", take_ms, MS_SYNCHRONOUS, true },
	{ "async", take_ms, MS_SYNCHRONOUS, false },
	{ "dirsync", take_ms, MS_DIRSYNC, true },
	{ "noatime", take_atime, FS_NOATIME, true },
	{ "atime", take_atime, FS_RELATIME, true },
	{ "relatime", take_atime, FS_RELATIME, true },
	{ "norelatime", take_atime, FS_RELATIME, true },
	{ "strictatime", take_atime, FS_STRICTATIME, true },
	{ "nostrictatime", take_atime, FS_RELATIME, true },
	{ "norecovery", take_bool, SET_NORECOVERY, true },
	{ "require-pmem", take_bool, SET_PMEM, true },
	{ "splice", take_bool, SET_SPLICE, true },
	{ "nosplice", take_bool, SET_SPLICE, false },
	{ "landing", take_bool, SET_LANDING, true },
	{ "nolanding", take_bool, SET_LANDING, false },
	{ "allow_other", take_bool, SET_OTHER, true },
	{ "noallow_other", take_bool, SET_OTHER, false },
	{ "allow_root", take_bool, SET_ROOT, true },
	{ "idmap", take_bool, SET_IDMAP, true },
	{ "noidmap", take_bool, SET_IDMAP, false },
	{ "lazytime", take_bool, SET_LAZY, true },
	{ "nolazytime", take_bool, SET_LAZY, false },
	{ "remount", take_bool, SET_REMOUNT, true },
	{ "dax", take_dax, 0, true },
	{ "dax=", take_dax, 0, true },
	{ "read=", take_read, 0, true },
	{ "transport=", take_transport, 0, true },
	{ "errors=", take_errors, 0, true },
	{ "granularity=", take_granularity, 0, true },
	{ "data=", take_data, 0, true },
	{ "threads=", take_threads, 0, true },
	{ "dsa=", take_dsa, 0, true },
	{ "dsa_min=", take_dsa_min, 0, true },
	{ "dsa_wq=", take_dsa_wq, 0, true },
	{ "dsa_durable=", take_dsa_durable, 0, true },
	{ "auto_unmount", take_passed, 0, true },
	{ "context=", take_passed, 0, true },
	{ "fscontext=", take_passed, 0, true },
	{ "defcontext=", take_passed, 0, true },
	{ "rootcontext=", take_passed, 0, true },
	/* always on, or for the eyes of mount(8) and systemd only */
	{ "default_permissions", take_nothing, 0, true },
	{ "defaults", take_nothing, 0, true },
	{ "auto", take_nothing, 0, true },
	{ "noauto", take_nothing, 0, true },
	{ "nofail", take_nothing, 0, true },
	{ "_netdev", take_nothing, 0, true },
	{ "user", take_nothing, 0, true },
	{ "user=", take_nothing, 0, true },
	{ "nouser", take_nothing, 0, true },
	{ "users", take_nothing, 0, true },
	{ "owner", take_nothing, 0, true },
	{ "group", take_nothing, 0, true },
	{ "comment=", take_nothing, 0, true },
	{ "user_id=", take_nothing, 0, true },	/* from mountinfo, at a remount */
	{ "group_id=", take_nothing, 0, true },
	{ "uhelper=", take_nothing, 0, true },
	{ "diratime", take_nothing, 0, true },
	{ "silent", take_nothing, 0, true },
	{ "loud", take_nothing, 0, true },
	{ "", take_nothing, 0, true },
};

static int take_word(struct options *o, const char *text)
{
	size_t head = strcspn(text, "=");

	if (!strncasecmp(text, "x-", 2))
		return 0;
	if (text[head] == '=')
		head++;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const struct word *w = &words[i];

		if (strlen(w->name) == head && !strncmp(w->name, text, head))
			return w->take(o, w, text[head] || (head &&
				       text[head - 1] == '=') ?
				       text + head : NULL);
	}
	log_err("unknown option: -o %s", text);
	return -EINVAL;
}

enum { KEY_HELP, KEY_VERSION, KEY_FOREGROUND, KEY_DEBUG, KEY_PMEM, KEY_FAKE, KEY_IGNORE };

static const struct fuse_opt specs[] = {
	FUSE_OPT_KEY("-h", KEY_HELP),
	FUSE_OPT_KEY("--help", KEY_HELP),
	FUSE_OPT_KEY("-V", KEY_VERSION),
	FUSE_OPT_KEY("--version", KEY_VERSION),
	FUSE_OPT_KEY("-f", KEY_FOREGROUND),
	FUSE_OPT_KEY("-d", KEY_DEBUG),
	FUSE_OPT_KEY("--require-pmem", KEY_PMEM),
	FUSE_OPT_END
};

/* What mount(8) says to a helper: mount.pmemfs POOL DIR [-sfnv] [-o ...] [-t TYPE]. */
static const struct fuse_opt helper_specs[] = {
	FUSE_OPT_KEY("-f", KEY_FAKE),
	FUSE_OPT_KEY("-s", KEY_IGNORE),
	FUSE_OPT_KEY("-n", KEY_IGNORE),
	FUSE_OPT_KEY("-v", KEY_IGNORE),
	FUSE_OPT_KEY("-t ", KEY_IGNORE),
	FUSE_OPT_KEY("-N ", KEY_IGNORE),
	FUSE_OPT_END
};

static int take_place(struct options *o, const char *arg)
{
	if (!o->pool) {
		o->pool = strdup(arg);
	} else if (!o->mountpoint) {
		o->mountpoint = strdup(arg);
	} else {
		log_err("one argument too many: %s", arg);
		return -EINVAL;
	}
	return 0;
}

static int take_arg(struct options *o, const char *arg, int key)
{
	switch (key) {
	case FUSE_OPT_KEY_NONOPT:
		return take_place(o, arg);
	case KEY_HELP:
		o->help = true;
		return 0;
	case KEY_VERSION:
		o->version = true;
		return 0;
	case KEY_DEBUG:
		o->debug = true;
		o->foreground = true;
		return 0;
	case KEY_FOREGROUND:
		o->foreground = true;
		return 0;
	case KEY_FAKE:
		o->fake = true;
		return 0;
	case KEY_IGNORE:
		return 0;
	case KEY_PMEM:
		o->fs.require_pmem = true;
		return 0;
	}
	if (arg[0] == '-') {
		log_err("unknown option: %s", arg);
		return -EINVAL;
	}
	return take_word(o, arg);
}

/* fuse_opt knows only -1 as an error. */
static int on_arg(void *data, const char *arg, int key, struct fuse_args *out)
{
	(void)out;
	return take_arg(data, arg, key) ? -1 : 0;
}

static int check(struct options *o)
{
	if (o->help || o->version)
		return 0;
	if (!o->pool || !o->mountpoint) {
		log_err("usage: pmemfs-fuse POOL MOUNTPOINT [-o OPTION,...]"
			" (-h tells more)");
		return -EINVAL;
	}
	if (o->fs.norecovery && !o->fs.ro) {
		log_err("-o norecovery needs -o ro: the log is the truth");
		return -EINVAL;
	}
	if (o->fs.data == FS_DATA_ATOMIC && o->dax != DAX_ALWAYS) {
		log_err("-o data=atomic needs -o dax=always: a cached write is"
			" cut into requests as the kernel likes");
		return -EINVAL;
	}
	if (o->allow_root && o->allow_other) {
		log_err("-o allow_root and allow_other: which of them?");
		return -EINVAL;
	}
	if (o->allow_root && o->idmap) {
		log_err("-o idmap: most requests then do not say who asks, as allow_root"
			" has to know");
		return -EINVAL;
	}
	if ((o->splice || o->landing) && (o->dsa.mode == DSA_ON || o->dsa.wq)) {
		log_err("-o %s and -o dsa are different ways for the same bytes",
			o->splice ? "splice" : "landing");
		return -EINVAL;
	}
	if (o->splice || o->landing) {		/* routes of /dev/fuse */
		if (o->transport == TRANSPORT_URING) {
			log_err("-o %s needs -o transport=dev", o->splice ? "splice" : "landing");
			return -EINVAL;
		}
		o->transport = TRANSPORT_DEV;
	}
	return 0;
}

static bool is_helper(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return !strncmp(slash ? slash + 1 : argv0, "mount.", 6);
}

/* mount(8) gives these to whoever may have them, unless told otherwise; libfuse
 * takes them away unless told otherwise. */
static int as_mount_does(struct options *o)
{
	int err = 0;

	if (geteuid() == 0 && !(o->ms_set & MS_NOSUID))
		err = pass(o, "suid");
	if (!err && geteuid() == 0 && !(o->ms_set & MS_NODEV))
		err = pass(o, "dev");
	return err;
}

int options_parse(struct options *o, int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	bool helper = argc && is_helper(argv[0]);
	int err;

	memset(o, 0, sizeof(*o));
	o->fs.granularity = -1;
	err = fuse_opt_parse(&args, o, helper ? helper_specs : specs, on_arg);
	fuse_opt_free_args(&args);
	if (!err)
		err = check(o);
	if (!err && helper)
		err = as_mount_does(o);
	return err ? -EINVAL : 0;
}

void options_free(struct options *o)
{
	free((char *)(uintptr_t)o->pool);
	free((char *)(uintptr_t)o->mountpoint);
	free((char *)(uintptr_t)o->dsa.wq);
	free(o->mount_opts);
}

void options_version(void)
{
	printf("pmemfs-fuse %s\n", PACKAGE_VERSION);
}

void options_help(void)
{
	fputs("usage: pmemfs-fuse POOL MOUNTPOINT [-o OPTION,...] [-f] [-d]\n"
	      "       pmemfs-fuse -V | -h\n\n"
	      "  -f                    stay in the foreground, log to standard error\n"
	      "  -d                    the same, and trace every request\n"
	      "  --require-pmem        as -o require-pmem\n\n"
	      "options of -o:\n"
	      "  ro, rw                read-only, or not (default)\n"
	      "  norecovery            with ro: look at the pool without its log\n"
	      "  errors=WHAT           remount-ro (default) or continue\n"
	      "  require-pmem          refuse a pool that does not survive power loss\n"
	      "  granularity=SIZE      byte, line or page: what a flush is (not detected)\n"
	      "  dax=MODE              always (default), never or inode\n"
	      "  data=MODE             what a write cut by a crash may leave: old and new\n"
	      "                        bytes mixed, ordered (default); or all or nothing\n"
	      "                        of a write of up to 1 MiB - 4 KiB, atomic\n"
	      "  relatime, noatime, strictatime\n"
	      "  lazytime              keep times of access in memory while that is possible\n"
	      "  transport=WAY         how requests come: auto (default), uring or dev\n"
	      "  threads=N             threads that read /dev/fuse\n"
	      "  read=ROUTE            auto (default), map or copy\n"
	      "  splice                receive written data through a pipe\n"
	      "  landing               receive large writes into free blocks of the pool\n"
	      "  dsa=MODE              copy large writes by Intel DSA: auto (default), off, or\n"
	      "                        on, which refuses the mount where there is none\n"
	      "  dsa_min=SIZE          smallest write that a device is asked to copy\n"
	      "  dsa_wq=PATH           this work queue and no other (/dev/dsa/wqX.Y)\n"
	      "  dsa_durable=WAY       flush (default), or readback by the device\n"
	      "  allow_other           let other users in (default when root mounts)\n"
	      "  noallow_other         do not\n"
	      "  allow_root            let root in, and no other user\n"
	      "  idmap                 let mounts of it show other user numbers\n"
	      "  suid, dev             honour set-user-id bits and devices (root only)\n"
	      "  nosuid, nodev, noexec, sync, dirsync   as for any mount\n"
	      "  remount               change ro, rw, nosuid and the like of a mount\n",
	      stdout);
}
