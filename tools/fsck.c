/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsck.c - fsck.pmemfs: look at everything, mend what can be mended safely
 *
 * The walk is meta/verify.c. What is changed without -n: the log is replayed
 * (as a mount would do), a bad superblock copy is rewritten from the good
 * one, and, once the whole walk found nothing, orphans are freed and the mark
 * that damage was met is taken away. Nothing is freed in a pool that has a
 * problem: a block with two owners would be given out while in use (L22).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "meta/fs.h"
#include "meta/mend.h"
#include "meta/redo.h"
#include "meta/super.h"
#include "meta/verify.h"
#include "pm/pm.h"

/* fsck(8): added up */
enum { FSCK_CLEAN = 0, FSCK_MENDED = 1, FSCK_LEFT = 4, FSCK_FAILED = 8, FSCK_USAGE = 16 };

#define JSON_PROBLEMS	10000u		/* more are counted, not listed */

struct check {
	const char *path;
	bool look, yes, preen, force, verbose, bar, json;
	struct json_object *list;	/* of problems, with --json */
	struct verify_result res;
	uint64_t problems, replayed, drained;
	bool mended, in_use, quick;
	unsigned percent;		/* last shown */
};

static void usage(FILE *f)
{
	fputs("usage: fsck.pmemfs [options] POOL\n"
	      "Check a pmemfs pool that is not mounted, and mend what is safe to mend.\n\n"
	      "  -n             change nothing\n"
	      "  -y             also write a superblock over what is no superblock at all\n"
	      "  -p, -a         at boot: leave a pool that was unmounted cleanly\n"
	      "  -f, --force    with -p: check it all the same\n"
	      "  -v, --verbose  print statistics\n"
	      "  -C             show progress\n"
	      "      --json     print one JSON object\n"
	      "  -h, --help\n"
	      "  -V, --version\n", f);
}

/* ---- arguments --------------------------------------------------------- */

static bool parse_option(struct check *c, int opt)
{
	switch (opt) {
	case 'n': c->look = true; return true;
	case 'y': c->yes = true; return true;
	case 'a':
	case 'p': c->preen = true; return true;
	case 'f': c->force = true; return true;
	case 'v': c->verbose = true; return true;
	case 'C': c->bar = true; return true;
	case 'J': c->json = true; return true;
	default: return false;
	}
}

/* -1: go on; else the exit status. */
static int parse_args(struct check *c, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, 'f' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'J' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int opt;

	/* fsck(8) may pass a descriptor with -C; there is nothing to send it */
	while ((opt = getopt_long(argc, argv, "nyapfvC::hV", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			return FSCK_CLEAN;
		}
		if (opt == 'V') {
			puts("fsck.pmemfs " PACKAGE_VERSION);
			return FSCK_CLEAN;
		}
		if (!parse_option(c, opt)) {
			usage(stderr);
			return FSCK_USAGE;
		}
	}
	if (optind != argc - 1 || c->look + c->yes + c->preen > 1) {
		if (optind == argc - 1)
			log_err("choose one of -n, -y and -p");
		usage(stderr);
		return FSCK_USAGE;
	}
	c->path = argv[optind];
	return -1;
}

/* ---- telling ------------------------------------------------------------ */

static void hide_bar(struct check *c)
{
	if (c->bar && c->percent)
		fputs("\r\033[K", stderr);
	c->percent = 0;
}

static void show_bar(void *arg, unsigned permille)
{
	struct check *c = arg;

	if (permille / 10 == c->percent)
		return;
	c->percent = permille / 10;
	fprintf(stderr, "\r%s: %3u%%", c->path, c->percent);
	if (permille == 1000)
		hide_bar(c);
}

static void list_problem(struct check *c, const struct verify_problem *p)
{
	struct json_object *o;

	if (c->problems > JSON_PROBLEMS)
		return;
	o = json_object_new_object();
	json_object_object_add(o, "number", json_object_new_int((int)p->kind));
	json_object_object_add(o, "kind", json_object_new_string(verify_kind_name(p->kind)));
	json_object_object_add(o, "inode", json_object_new_uint64(p->ino));
	json_object_object_add(o, "offset", json_object_new_uint64(p->off));
	json_object_object_add(o, "text", json_object_new_string(p->text));
	json_object_array_add(c->list, o);
}

static void on_problem(void *arg, const struct verify_problem *p)
{
	struct check *c = arg;
	char ino[40] = "", off[40] = "";
	bool placed = p->ino || p->off;

	c->problems++;
	if (c->json) {
		list_problem(c, p);
		return;
	}
	hide_bar(c);
	if (p->ino)
		snprintf(ino, sizeof(ino), " inode %llu", (unsigned long long)p->ino);
	if (p->off)
		snprintf(off, sizeof(off), " at 0x%llx", (unsigned long long)p->off);
	printf("%02d %s:%s%s%s %s\n", p->kind, verify_kind_name(p->kind), ino, off,
	       placed ? ":" : "", p->text);
}

static void report(struct check *c, enum verify_kind kind, const char *text)
{
	struct verify_problem p = { .kind = kind, .text = text };

	on_problem(c, &p);
}

static void say(const struct check *c, const char *text)
{
	if (!c->json)
		printf("%s: %s\n", c->path, text);
}

static const struct { const char *name; size_t off; } stats[] = {
	{ "inodes", offsetof(struct verify_result, inodes) },
	{ "directories", offsetof(struct verify_result, dirs) },
	{ "files", offsetof(struct verify_result, files) },
	{ "symlinks", offsetof(struct verify_result, symlinks) },
	{ "others", offsetof(struct verify_result, others) },
	{ "orphans", offsetof(struct verify_result, orphans) },
	{ "extents", offsetof(struct verify_result, extents) },
	{ "tree_nodes", offsetof(struct verify_result, nodes) },
	{ "blocks_used", offsetof(struct verify_result, blocks_used) },
	{ "blocks_free", offsetof(struct verify_result, blocks_free) },
};

static uint64_t stat_value(const struct verify_result *r, unsigned i)
{
	uint64_t v;

	memcpy(&v, (const char *)r + stats[i].off, sizeof(v));
	return v;
}

static void print_json(struct check *c, int status)
{
	struct json_object *o = json_object_new_object();
	struct json_object *st = json_object_new_object();
	unsigned i;

	json_object_object_add(o, "pool", json_object_new_string(c->path));
	json_object_object_add(o, "exit", json_object_new_int(status));
	json_object_object_add(o, "problems", json_object_new_uint64(c->problems));
	json_object_object_add(o, "replayed", json_object_new_uint64(c->replayed));
	json_object_object_add(o, "drained", json_object_new_uint64(c->drained));
	json_object_object_add(o, "superblock_mended", json_object_new_boolean(c->mended));
	json_object_object_add(o, "quick", json_object_new_boolean(c->quick));
	json_object_object_add(o, "in_use", json_object_new_boolean(c->in_use));
	for (i = 0; i < ARRAY_SIZE(stats); i++)
		json_object_object_add(st, stats[i].name,
				       json_object_new_uint64(stat_value(&c->res, i)));
	json_object_object_add(o, "statistics", st);
	json_object_object_add(o, "list", c->list);
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void print_result(struct check *c, int status)
{
	unsigned i;

	if (c->json) {
		print_json(c, status);
		return;
	}
	if (status & FSCK_FAILED)
		return;
	if (c->quick) {
		say(c, "clean");
		return;
	}
	for (i = 0; c->verbose && i < ARRAY_SIZE(stats); i++)
		printf("%12llu %s\n", (unsigned long long)stat_value(&c->res, i),
		       stats[i].name);
	if (status & FSCK_LEFT)
		printf("%s: %llu problem%s left\n", c->path,
		       (unsigned long long)c->problems, c->problems == 1 ? "" : "s");
	else
		printf("%s: clean, %llu inodes, %llu/%llu blocks%s\n", c->path,
		       (unsigned long long)c->res.inodes,
		       (unsigned long long)c->res.blocks_used,
		       (unsigned long long)(c->res.blocks_used + c->res.blocks_free),
		       c->mended ? " (mended)" : "");
}

/* ---- the quick way ------------------------------------------------------ */

static int count_record(void *arg, const struct pmemfs_record *rec, uint32_t lane,
			uint64_t off)
{
	const struct redo_start *st = arg;

	(void)lane;
	(void)off;
	return get64(rec->seq) > st->watermark;
}

/* Both superblocks and slots good, unmounted cleanly, nothing in the log. */
static bool is_clean(struct pm *pm)
{
	struct fs fs = { .pm = pm };	/* enough of it to read the log */
	struct redo_start st;
	const char *other_bad;
	bool other_ok;
	uint32_t i;
	int which;

	if (super_read(pm, &fs.geo, &which, &other_bad) || other_bad)
		return false;
	if (fs.geo.ro_compat & ~PMEMFS_RO_COMPAT_ALL)
		return false;
	if (slot_read(&fs, &st, &other_ok) || !other_ok)
		return false;
	if ((st.flags & (PMEMFS_SLOT_CLEAN | PMEMFS_SLOT_ERROR)) != PMEMFS_SLOT_CLEAN)
		return false;
	for (i = 0; i < 2 * fs.geo.nr_lanes; i++)
		if (redo_scan_half(&fs, st.epoch, i / 2, i % 2, count_record, &st))
			return false;
	return true;
}

/* Is there anything to do with -p? false also when it cannot be told. */
static bool looks_clean(const struct check *c)
{
	struct pm_config cfg = { .flags = PM_RDONLY, .granularity = -1 };
	struct pm *pm;
	bool clean;

	if (pm_open(&pm, c->path, &cfg))
		return false;
	clean = is_clean(pm);
	pm_close(pm);
	return clean;
}

/*
 * A daemon that has just been unmounted may still be sealing its pool: wait
 * up to two seconds for it. true: somebody still works on it.
 */
static bool wait_for_users(const char *path)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool busy = fd >= 0;
	unsigned i;

	for (i = 0; busy && i < 100; i++) {
		busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
		if (busy)
			nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		close(fd);
	return busy;
}

/* ---- opening ------------------------------------------------------------ */

static int open_fs(struct check *c, struct fs **fs, bool ro)
{
	struct fs_options opt = {
		.ro = ro, .no_background = true, .nolock = c->in_use, .granularity = -1,
		.errors = FS_ERRORS_CONTINUE, .atime = FS_NOATIME,
	};
	int err = fs_open(fs, c->path, &opt);

	if (err != -EUCLEAN)
		return err;
	report(c, VERIFY_LOG, "the pool cannot be opened: superblock, slots or log are damaged");
	opt.ro = true;
	opt.salvage = true;
	return fs_open(fs, c->path, &opt);
}

/* ---- mending ------------------------------------------------------------ */

/* Rewrite the bad copy of the superblock, if there is a good one. */
static int mend_super(struct check *c, struct fs *fs)
{
	const char *other_bad;
	struct geometry geo;
	int which, err;

	if (fs->ro)
		return 0;
	err = super_read(fs->pm, &geo, &which, &other_bad);
	if (err || !other_bad)
		return err;
	if (which == 1 && mend_is_overwritten(fs->pm) && !c->yes) {
		say(c, "the primary superblock is something else; -y overwrites it");
		return 0;
	}
	err = super_repair(fs->pm, which);
	if (!err) {
		c->mended = true;
		say(c, which ? "primary superblock rewritten from the replica" :
		    "replica of the superblock rewritten from the primary");
	}
	return err;
}

static int walk(struct check *c, struct fs *fs)
{
	int err;

	c->problems = 0;
	err = verify_fs(fs, on_problem, c, c->bar ? show_bar : NULL, &c->res);
	hide_bar(c);
	return err;
}

/* The walk found nothing: what was left behind may be freed. */
static int tidy(struct check *c, struct fs *fs)
{
	int err = 0;

	if (mend_has_error(fs)) {
		say(c, "damage was met before; nothing of it is left");
		mend_clear_error(fs);
	}
	c->drained = c->res.orphans;
	if (c->drained) {
		err = fs_drain(fs);
		if (!err)
			err = fs_checkpoint(fs);
		if (!err && !c->json)
			printf("%s: %llu orphans freed\n", c->path,
			       (unsigned long long)c->drained);
		if (!err)
			err = walk(c, fs);
	}
	return err;
}

/* All of it, on an open pool; salvaged: it would not open by itself. */
static int check_fs(struct check *c, struct fs *fs, bool salvaged)
{
	uint64_t before = c->problems;
	int err;

	c->replayed = fs->replayed;
	if (c->replayed && !c->json)
		printf("%s: %llu records of the log replayed%s\n", c->path,
		       (unsigned long long)c->replayed, fs->ro ? " (in memory only)" : "");
	err = mend_super(c, fs);
	if (!err && !fs->ro)
		err = fs_checkpoint(fs);
	if (!err)
		err = walk(c, fs);
	if (!err && !c->problems && !fs->ro && !salvaged)
		err = tidy(c, fs);
	c->problems += before;
	return err;
}

static int status_of(const struct check *c, int err)
{
	int status = c->mended ? FSCK_MENDED : FSCK_CLEAN;

	if (c->problems || err == -EUCLEAN)
		status |= FSCK_LEFT;
	if (err && err != -EUCLEAN)
		status |= FSCK_FAILED;
	return status;
}

static int run(struct check *c)
{
	struct fs *fs;
	int err;

	c->in_use = wait_for_users(c->path) && c->look;
	if (c->in_use)
		log_warn("%s is in use: what is found may be wrong", c->path);
	c->quick = c->preen && !c->force && looks_clean(c);
	if (c->quick)
		return FSCK_CLEAN;
	err = open_fs(c, &fs, c->look);
	if (!err) {
		err = check_fs(c, fs, c->problems != 0);
		if (err)
			log_err("%s: %s", c->path, strerror(-err));
		fs_close(fs);
	}
	return status_of(c, err);
}

int main(int argc, char **argv)
{
	struct check c = { 0 };
	int status;

	log_init("fsck.pmemfs");
	status = parse_args(&c, argc, argv);
	if (status >= 0)
		return status;
	c.bar = c.bar && !c.json && isatty(STDERR_FILENO);
	c.list = json_object_new_array();
	pm_fault_install();
	status = run(&c);
	print_result(&c, status);
	if (!c.json)
		json_object_put(c.list);
	return status;
}
