/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsck.c - fsck.pmemfs: look at everything, and repair it
 *
 * Look: the pool is opened into memory as a read-only mount would, and walked
 * (meta/verify.c). If nothing is wrong, what a mount does too is done: replay
 * the log, free orphans. Otherwise meta/repair.c finds out in memory what the
 * repair would be; one decision is made about all of it, and then it is
 * written, through the log (L22), and the pool is walked once more.
 *
 * Promise: without a yes to all that was found nothing is written at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <limits.h>
#include <signal.h>
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
#include "meta/repair.h"
#include "meta/super.h"
#include "meta/verify.h"
#include "pm/pm.h"
#include "tools/media.h"

/* fsck(8): added up */
enum {
	FSCK_CLEAN = 0, FSCK_MENDED = 1, FSCK_LEFT = 4, FSCK_FAILED = 8,
	FSCK_USAGE = 16, FSCK_CANCELLED = 32,
};

#define WAIT_SECONDS	30	/* for a daemon that was unmounted */
#define SILENT_SECONDS	2
#define LIST_MAX	10000u		/* JSON: more are counted, not listed */
#define NO_BAR		(-2)		/* as a descriptor */
#define TTY_BAR		(-1)

enum pass { PASS_LOOK = 1, PASS_REPAIR, PASS_AGAIN };

struct check {
	const char *path;
	bool look, yes, preen, force, verbose, json, media;
	int bar;			/* NO_BAR, TTY_BAR or where to write it */
	struct json_object *list;	/* of problems, with --json */
	struct verify_result res;
	struct repair_result rep;
	uint64_t replayed, drained;
	struct media m;			/* with --media */
	bool mended, in_use, quick, cancelled;
	bool may_stop;			/* nothing has been written yet */
	enum pass pass;
	unsigned percent;		/* last shown */
};

static void usage(FILE *f)
{
	fputs("usage: fsck.pmemfs [options] POOL\n"
	      "Check a pmemfs pool that is not mounted, and repair it.\n\n"
	      "  -n             change nothing; say what would be done\n"
	      "  -y             repair everything\n"
	      "  -p, -a         at boot: repair what is safe to repair, or nothing;\n"
	      "                 leave a pool that was unmounted cleanly\n"
	      "  -f, --force    with -p: check it all the same\n"
	      "  -v, --verbose  print statistics\n"
	      "  -C[FD]         show progress, on the terminal or to a descriptor\n"
	      "      --media    read all of the memory, name the files that lost some of it\n"
	      "      --json     print one JSON object\n"
	      "      --problems print the table of problems\n"
	      "  -h, --help\n"
	      "  -V, --version\n", f);
}

/* The table of problem.h, one a line. */
static void print_table(void)
{
	static const char *const fix[] = {
		[FIX_SAFE] = "safe", [FIX_ASK] = "ask", [FIX_NEVER] = "never",
	};
	const struct problem_info *p;

	for (p = problem_table(); p->number; p++)
		printf("%04d %s %s: %s\n", p->number, fix[p->fix], p->what, p->repair);
}

/* ---- arguments --------------------------------------------------------- */

/* -C alone, -C3, and -C 3 as e2fsck has it: *next is then an argument. */
static void parse_bar(struct check *c, char *const *next)
{
	const char *fd = optarg;

	c->bar = TTY_BAR;
	if (!fd && next[0] && next[1] && next[0][strspn(next[0], "0123456789")] == '\0') {
		fd = next[0];
		optind++;
	}
	if (fd && *fd && fd[strspn(fd, "0123456789")] == '\0' && strtol(fd, NULL, 10) > 0)
		c->bar = (int)strtol(fd, NULL, 10);
}

static bool parse_option(struct check *c, int opt, char *const *next)
{
	switch (opt) {
	case 'n': c->look = true; return true;
	case 'y': c->yes = true; return true;
	case 'a':
	case 'p': c->preen = true; return true;
	case 'f': c->force = true; return true;
	case 'v': c->verbose = true; return true;
	case 'C': parse_bar(c, next); return true;
	case 'J': c->json = true; return true;
	case 'M': c->media = true; return true;
	default: return false;
	}
}

/* Options that only print; -1: none of them. */
static int print_option(int opt)
{
	switch (opt) {
	case 'h': usage(stdout); return FSCK_CLEAN;
	case 'V': puts("fsck.pmemfs " PACKAGE_VERSION); return FSCK_CLEAN;
	case 'P': print_table(); return FSCK_CLEAN;
	default: return -1;
	}
}

/* -1: go on; else the exit status. */
static int parse_args(struct check *c, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, 'f' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'J' },
		{ "media", no_argument, NULL, 'M' },
		{ "problems", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int opt, status;

	while ((opt = getopt_long(argc, argv, "nyapfvC::hV", longs, NULL)) != -1) {
		status = print_option(opt);
		if (status >= 0)
			return status;
		if (!parse_option(c, opt, argv + optind)) {
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

/* ---- interrupts ---------------------------------------------------------- */

/* Signals are blocked from the start and only asked for. */
static bool interrupted(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGINT) || sigismember(&set, SIGTERM);
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool stop(void *arg)
{
	struct check *c = arg;

	c->cancelled |= interrupted();
	return c->cancelled;
}

/* ---- telling ------------------------------------------------------------ */

static void hide_bar(struct check *c)
{
	if (c->bar == TTY_BAR && c->percent)
		fputs("\r\033[K", stderr);
	c->percent = 0;
}

static int status_of(const struct check *c, int err);
static void print_result(struct check *c, int status);

static void show_bar(void *arg, unsigned permille)
{
	struct check *c = arg;

	if (c->may_stop && interrupted()) {
		c->cancelled = true;
		print_result(c, status_of(c, 0));
		exit(status_of(c, 0));
	}
	if (c->bar == NO_BAR || permille / 10 == c->percent)
		return;
	c->percent = permille / 10;
	if (c->bar >= 0)
		dprintf(c->bar, "%d %u 100 %s\n", c->pass, c->percent, c->path);
	else
		fprintf(stderr, "\r%s: %s %3u%%", c->path, c->pass == PASS_LOOK ? "looking" :
			c->pass == PASS_REPAIR ? "repairing" : "looking again", c->percent);
	if (permille == 1000)
		hide_bar(c);
}

static void list_problem(struct check *c, const struct repair_problem *p,
			 const struct problem_info *info)
{
	struct json_object *o;

	if (c->rep.problems > LIST_MAX)
		return;
	o = json_object_new_object();
	json_object_object_add(o, "number", json_object_new_int((int)p->number));
	json_object_object_add(o, "kind", json_object_new_string(
		verify_kind_name((enum verify_kind)(p->number / 100))));
	json_object_object_add(o, "inode", json_object_new_uint64(p->ino));
	json_object_object_add(o, "offset", json_object_new_uint64(p->off));
	json_object_object_add(o, "text", json_object_new_string(p->text));
	json_object_object_add(o, "safe", json_object_new_boolean(info->fix == FIX_SAFE));
	json_object_object_add(o, "repair", json_object_new_string(info->repair));
	json_object_array_add(c->list, o);
}

static void on_problem(void *arg, const struct repair_problem *p)
{
	const struct problem_info *info = problem_info(p->number);
	struct check *c = arg;
	char ino[40] = "", off[40] = "";

	if (c->json) {
		list_problem(c, p, info);
		return;
	}
	hide_bar(c);
	if (p->ino)
		snprintf(ino, sizeof(ino), " inode %llu", (unsigned long long)p->ino);
	if (p->off)
		snprintf(off, sizeof(off), " at 0x%llx", (unsigned long long)p->off);
	printf("%04d %s:%s%s%s %s (repair: %s)\n", p->number,
	       verify_kind_name((enum verify_kind)(p->number / 100)), ino, off,
	       p->ino || p->off ? ":" : "", p->text, info->repair);
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
	json_object_object_add(o, "problems", json_object_new_uint64(c->rep.problems));
	json_object_object_add(o, "safe", json_object_new_uint64(
		c->rep.problems - c->rep.ask - c->rep.never));
	json_object_object_add(o, "repaired", json_object_new_boolean(c->mended));
	if (c->media) {
		json_object_object_add(o, "bad_pages", json_object_new_uint64(c->m.found));
		json_object_object_add(o, "bad_cleared", json_object_new_uint64(c->m.cleared));
		json_object_object_add(o, "bad_listed", json_object_new_uint64(c->m.listed));
		json_object_object_add(o, "bad_returned", json_object_new_uint64(c->m.returned));
	}
	json_object_object_add(o, "replayed", json_object_new_uint64(c->replayed));
	json_object_object_add(o, "drained", json_object_new_uint64(c->drained));
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

static void print_left(const struct check *c)
{
	uint64_t left = c->mended ? c->res.problems : c->rep.problems;
	uint64_t bad = c->m.found - c->m.cleared;

	printf("%s: %llu problem%s left", c->path, (unsigned long long)left,
	       left == 1 ? "" : "s");
	if (bad || c->m.more)
		printf(", %llu page%s of bad memory%s", (unsigned long long)bad,
		       bad == 1 ? "" : "s", c->m.more ? " or more" : "");
	putchar('\n');
}

static void print_result(struct check *c, int status)
{
	unsigned i;

	hide_bar(c);
	if (c->json) {
		print_json(c, status);
		return;
	}
	if (status & (FSCK_FAILED | FSCK_CANCELLED)) {
		if (status & FSCK_CANCELLED)
			say(c, c->may_stop && !c->m.cleared ?
			    "interrupted, nothing was changed" :
			    "interrupted; run fsck.pmemfs again to finish");
		return;
	}
	if (c->quick && !(status & FSCK_LEFT)) {
		say(c, "clean");
		return;
	}
	for (i = 0; c->verbose && i < ARRAY_SIZE(stats); i++)
		printf("%12llu %s\n", (unsigned long long)stat_value(&c->res, i),
		       stats[i].name);
	if (status & FSCK_LEFT)
		print_left(c);
	else
		printf("%s: clean, %llu inodes, %llu/%llu blocks%s\n", c->path,
		       (unsigned long long)c->res.inodes,
		       (unsigned long long)c->res.blocks_used,
		       (unsigned long long)(c->res.blocks_used + c->res.blocks_free),
		       c->mended ? " (repaired)" : "");
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

/* "\\040" and the like, as the kernel writes them into mountinfo, undone. */
static void unescape(char *s)
{
	char *out = s;
	unsigned c;

	while (*s) {
		if (sscanf(s, "\\%3o", &c) == 1) {
			*out++ = (char)c;
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

/* Is the pool mounted, as far as can be seen from here? */
static bool is_mounted(const char *path)
{
	char *line = NULL, *dash, type[64], source[PATH_MAX], *pool = realpath(path, NULL);
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;
	size_t room = 0;

	while (f && pool && !found && getline(&line, &room, f) > 0) {
		dash = strstr(line, " - fuse");
		if (!dash || sscanf(dash, " - %63s %4095s", type, source) != 2)
			continue;
		unescape(source);
		found = !strcmp(source, pool);
	}
	free(line);
	free(pool);
	if (f)
		fclose(f);
	return found;
}

/*
 * umount comes back before the daemon does: the kernel does not wait for it.
 * Until it has sealed its pool, a matter of milliseconds on an idle machine,
 * it holds the lock. So wait for whoever holds it, but not for a mount that is
 * there, which may last. true: somebody still works on it.
 */
static bool wait_for_users(const struct check *c)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool busy = fd >= 0;
	unsigned i;

	for (i = 0; busy && i < 50 * WAIT_SECONDS && !interrupted(); i++) {
		busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
		if (busy && is_mounted(c->path))
			break;
		if (busy && i == 50 * SILENT_SECONDS)
			log_warn("waiting for a daemon that has not yet let go of %s", c->path);
		if (busy)
			nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		close(fd);
	return busy;
}

/* ---- the memory itself ------------------------------------------------------ */

static void tell_media(void *arg, const char *line)
{
	const struct check *c = arg;

	if (c->json)
		fprintf(stderr, "%s: %s\n", c->path, line);
	else
		printf("%s: %s\n", c->path, line);
}

/* A yes from the terminal. Nothing is being written, so ^C may simply end us. */
static bool answer(void)
{
	char line[16];
	sigset_t set;
	bool yes;

	fflush(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	yes = fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
	sigprocmask(SIG_BLOCK, &set, NULL);
	return yes;
}

static bool may_clear(void *arg, uint64_t pages)
{
	const struct check *c = arg;

	if (c->yes || c->look || c->preen)
		return c->yes;
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !c->json) {
		printf("%s: give up what was in %llu pages, zeros take its place? [y/N] ",
		       c->path, (unsigned long long)pages);
		if (answer())
			return true;
	}
	say(c, "bad memory was left as it is; fsck.pmemfs --media -y clears it");
	return false;
}

static int check_media(struct check *c)
{
	int err;

	c->m = (struct media){ .path = c->path, .in_use = c->in_use, .tell = tell_media,
			       .may_clear = may_clear, .stop = stop, .arg = c };
	err = media_check(&c->m);
	if (!c->json && c->m.found && err != -EINTR)
		printf("%s: %llu pages of bad memory, %llu of them cleared\n", c->path,
		       (unsigned long long)c->m.found, (unsigned long long)c->m.cleared);
	return err;
}

/* The pool's own list of bad memory, with a yes. Changes the bitmap. */
static int settle_media(struct check *c, struct fs *fs)
{
	int err;

	if (!c->media || !(c->yes || c->m.allowed))
		return 0;
	err = media_settle(&c->m, fs);
	if (!c->json && (c->m.listed || c->m.returned))
		printf("%s: list of bad blocks: %llu more, %llu given back\n", c->path,
		       (unsigned long long)c->m.listed, (unsigned long long)c->m.returned);
	return err;
}

/* ---- looking --------------------------------------------------------------- */

static int open_fs(struct check *c, struct fs **fs, bool ro)
{
	struct fs_options opt = {
		.ro = ro, .no_background = true, .nolock = c->in_use, .granularity = -1,
		.errors = FS_ERRORS_CONTINUE, .atime = FS_NOATIME,
	};

	return fs_open(fs, c->path, &opt);
}

static int walk(struct check *c, struct fs *fs, enum pass pass)
{
	int err;

	c->pass = pass;
	err = verify_fs(fs, NULL, c, show_bar, &c->res);
	hide_bar(c);
	return err;
}

static void say_replayed(struct check *c, const struct fs *fs)
{
	if (fs->replayed && !c->json)
		printf("%s: %llu records of the log replayed%s\n", c->path,
		       (unsigned long long)fs->replayed, fs->ro ? " (in memory only)" : "");
	c->replayed += fs->ro && !c->look ? 0 : fs->replayed;
}

/* Is anything wrong? *sound: nothing is. */
static int look(struct check *c, bool *sound)
{
	struct fs *fs;
	int err = open_fs(c, &fs, true);

	*sound = false;
	if (err == -EUCLEAN)
		return 0;		/* superblock, slots, log: repair.c says what */
	if (err)
		return err;
	if (c->look)
		say_replayed(c, fs);
	c->may_stop = fs->ro;
	err = walk(c, fs, PASS_LOOK);
	*sound = !err && !c->res.problems;
	fs_close(fs);
	return err;
}

/* Nothing is wrong: what a mount would do, and free what was left behind. */
static int tidy(struct check *c)
{
	struct fs *fs;
	int err = open_fs(c, &fs, false);

	if (err)
		return err;
	c->may_stop = false;
	say_replayed(c, fs);
	if (mend_has_error(fs)) {
		say(c, "damage was met before; nothing of it is left");
		mend_clear_error(fs);
	}
	c->drained = c->res.orphans;
	if (c->drained) {
		err = fs_drain(fs);
		if (!err && !c->json)
			printf("%s: %llu orphans freed\n", c->path,
			       (unsigned long long)c->drained);
	}
	if (!err)
		err = settle_media(c, fs);
	if (!err && (c->drained || c->m.listed || c->m.returned))
		err = fs_checkpoint(fs);
	if (!err && (c->drained || c->m.listed || c->m.returned))
		err = walk(c, fs, PASS_AGAIN);
	fs_close(fs);
	return err;
}

/* ---- repairing ------------------------------------------------------------- */

/* One question about all of it; anything but a yes is a no. */
static bool ask(const struct check *c)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || c->json)
		return false;
	printf("%s: %llu problem%s, of which %llu cannot be repaired without loss or doubt. "
	       "Repair all? [y/N] ", c->path, (unsigned long long)c->rep.problems,
	       c->rep.problems == 1 ? "" : "s", (unsigned long long)c->rep.ask);
	return answer();
}

static bool may_repair(struct check *c)
{
	if (c->rep.left || c->rep.never || c->look)
		return false;
	if (c->yes)
		return true;
	if (!c->rep.ask && (c->preen || !isatty(STDIN_FILENO)))
		return true;
	if (!c->preen && ask(c))
		return true;
	say(c, "nothing was changed; fsck.pmemfs -y repairs all of it");
	return false;
}

static int repair(struct check *c)
{
	struct repair_options opt = {
		.path = c->path, .look = c->look, .nolock = c->in_use,
		.fn = on_problem, .arg = c, .progress = show_bar, .stop = stop,
	};
	struct repair *r;
	int err;

	c->pass = PASS_REPAIR;
	c->may_stop = true;
	err = repair_try(&r, &opt, &c->rep);
	hide_bar(c);
	if (err)
		return err;
	if (may_repair(c)) {
		c->may_stop = false;
		err = repair_write(r);
		c->mended = !err;
	}
	repair_free(r);
	return err;
}

/* A repair was written: is it so? */
static int look_again(struct check *c)
{
	struct fs *fs;
	int err = open_fs(c, &fs, false);

	if (err)
		return err;
	err = walk(c, fs, PASS_AGAIN);
	fs_close(fs);
	if (!err && c->res.problems)
		err = -EUCLEAN;
	return err ? err : tidy(c);
}

static int check(struct check *c)
{
	bool sound;
	int err = look(c, &sound);

	if (err)
		return err;
	if (sound)
		return c->look ? 0 : tidy(c);
	err = repair(c);
	if (!err && c->mended)
		err = look_again(c);
	return err;
}

static int status_of(const struct check *c, int err)
{
	int status = c->mended || c->m.cleared || c->m.listed || c->m.returned ?
		FSCK_MENDED : FSCK_CLEAN;

	if (c->cancelled)
		return status | FSCK_CANCELLED;
	if ((!c->mended && c->rep.problems) || err == -EUCLEAN ||
	    c->m.found > c->m.cleared || c->m.more)
		status |= FSCK_LEFT;
	if (err && err != -EUCLEAN)
		status |= FSCK_FAILED;
	return status;
}

static int run(struct check *c)
{
	int err;

	c->in_use = wait_for_users(c) && c->look;
	if (c->in_use)
		log_warn("%s is in use: what is found may be wrong", c->path);
	err = c->media ? check_media(c) : 0;
	c->quick = !err && c->preen && !c->force && looks_clean(c);
	if (c->quick)
		return status_of(c, 0);
	if (!err)
		err = check(c);
	if (err && err != -EINTR)
		log_err("%s: %s", c->path, strerror(-err));
	return status_of(c, err);
}

int main(int argc, char **argv)
{
	struct check c = { .bar = NO_BAR, .may_stop = true };
	int status;

	log_init("fsck.pmemfs");
	status = parse_args(&c, argc, argv);
	if (status >= 0)
		return status;
	if (c.bar == TTY_BAR && (c.json || !isatty(STDERR_FILENO)))
		c.bar = NO_BAR;
	c.list = json_object_new_array();
	pm_fault_install();
	block_signals();
	status = run(&c);
	print_result(&c, status);
	free(c.m.left);
	if (!c.json)
		json_object_put(c.list);
	return status;
}
