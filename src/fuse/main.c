/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - pmemfs-fuse, the daemon
 *
 * In this order, each step depending on the one before:
 *
 *   options -> fork (the parent waits) -> open the pool, recover -> open the DSA
 *   queues -> mount -> answer INIT -> start the workers -> tell the parent -> serve
 *   -> workers gone -> close /dev/fuse -> close the queues -> close the pool
 *
 * The fork comes first because opening a pool starts a thread and takes a
 * lock, and neither survives one; a queue does not either. The parent leaves
 * when the mount can be used, or with the exit code of mount(8) that fits the
 * failure.
 *
 * The first thread serves no request: it waits for signals, so that it is
 * free to call into its own mount when one comes (leave.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/leave.h"

/* A daemon that is just finishing still holds the pool: umount && mount. */
#define BUSY_TRIES	50
#define BUSY_WAIT_US	100000
#define WATCH_SECONDS	10

struct daemon {
	const struct options *opt;
	char pool[PATH_MAX], mountpoint[PATH_MAX];
	struct fs *fs;
	struct dsa *dsa;
	struct mount m;
	struct session s;
	int parent;			/* pipe to it, or -1 */
};

/* ---- places -------------------------------------------------------------- */

static int find_places(struct daemon *d)
{
	const struct options *o = d->opt;
	struct stat st;

	if (!realpath(o->mountpoint, d->mountpoint) ||
	    stat(d->mountpoint, &st)) {
		log_err("mount point %s: %s", o->mountpoint, strerror(errno));
		return EXIT_MOUNT;
	}
	if (!S_ISDIR(st.st_mode)) {
		log_err("mount point %s: not a directory", o->mountpoint);
		return EXIT_MOUNT;
	}
	if (o->remount)
		return 0;
	if (!realpath(o->pool, d->pool) || stat(d->pool, &st)) {
		log_err("pool %s: %s", o->pool, strerror(errno));
		return EXIT_MOUNT;
	}
	if (S_ISBLK(st.st_mode)) {
		pm_refuse_block(o->pool);
		return EXIT_MOUNT;
	}
	return 0;
}

/* ---- the pool ------------------------------------------------------------- */

/*
 * Lines of an attempt that may be repeated, held back. A busy pool says no
 * more than one; what does not fit is printed at once.
 */
#define HELD_LINES	8

static struct { enum log_level lvl; char text[512]; } held[HELD_LINES];
static unsigned nr_held;

static void hold_line(enum log_level lvl, const char *line)
{
	if (nr_held == HELD_LINES) {
		fprintf(stderr, "pmemfs-fuse: %s\n", line);
		return;
	}
	held[nr_held].lvl = lvl;
	snprintf(held[nr_held].text, sizeof(held[nr_held].text), "%s", line);
	nr_held++;
}

static int open_pool(struct daemon *d)
{
	int err = 0;

	for (int i = 0; i < BUSY_TRIES; i++) {
		nr_held = 0;
		log_to(hold_line);
		err = fs_open(&d->fs, d->pool, &d->opt->fs);
		log_to(NULL);
		if (err != -EBUSY)
			break;
		usleep(BUSY_WAIT_US);
	}
	for (unsigned i = 0; i < nr_held; i++)
		log_line(held[i].lvl, "%s", held[i].text);
	if (err && !nr_held)
		log_err("pool %s: %s", d->pool, strerror(-err));
	return err;
}

/* One line on what the pool stands on, and what that means. */
static void say_what(struct daemon *d, bool to_user)
{
	bool safe = pm_survives_power_loss(d->fs->pm);
	char what[256], again[64] = "", how[192] = "";

	if (d->fs->replayed)
		snprintf(again, sizeof(again), "; recovered %llu records",
			 (unsigned long long)d->fs->replayed);
	if (to_user && safe)
		return;
	if (!to_user) {
		memcpy(how, "; ", 2);
		session_describe(&d->s, how + 2, sizeof(how) - 2);
	}
	log_line(safe ? LOG_LVL_INFO : LOG_LVL_WARN, "%s on %s: %s; %s%s%s",
		 d->pool, d->mountpoint,
		 pm_describe(d->fs->pm, what, sizeof(what)),
		 safe ? "survives power loss" : "does NOT survive power loss",
		 again, how);
}

/* And one on what copies besides the CPU. */
static void say_dsa(const struct daemon *d)
{
	char what[256];

	if (d->dsa)
		log_info("large writes to %s are copied by %s", d->mountpoint,
			 dsa_describe(d->dsa, what, sizeof(what)));
}

/* Where nobody writes, or by another route, there is nothing to copy. */
static int open_dsa(struct daemon *d)
{
	const struct options *o = d->opt;

	if (d->fs->ro || o->splice || o->landing)
		return 0;
	return dsa_open(&d->dsa, d->fs->pm, &o->dsa) ? EXIT_MOUNT : 0;
}

static int check_holes(struct daemon *d)
{
	bool sparse = d->fs->geo.sparse;

	if (!sparse && !pm_has_holes(d->fs->pm))
		return 0;
	if (!sparse && !d->fs->ro) {
		log_err("pool %s has holes, and was not made with --sparse:"
			" refused, since a store into a hole can fail;"
			" fallocate -l %llu %s fills them (or -o ro)", d->pool,
			(unsigned long long)pm_size(d->fs->pm), d->pool);
		return EXIT_MOUNT;
	}
	if (d->opt->fs.require_pmem) {
		log_err("pool %s has holes, so a write can fail for lack of"
			" space below it: refused (require-pmem)", d->pool);
		return EXIT_MOUNT;
	}
	log_warn("pool %s has holes: a write can fail for lack of space below"
		 " it", d->pool);
	return 0;
}

/* ---- signals --------------------------------------------------------------- */

static void block_signals(sigset_t *set)
{
	static const int mine[] = {
		SIGTERM, SIGINT, SIGHUP, SESSION_GONE_SIGNAL,
	};

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		sigaddset(set, mine[i]);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* a splice into the pool counts as a write to it */
}

/*
 * Until the workers have gone or must go. An abort of the connection is
 * noticed by the workers; if it was and they are still there when we look
 * again, they hang, and the process is of no use any more.
 */
static void supervise(struct daemon *d, const sigset_t *set)
{
	struct leave l = { .started = false };
	bool dead = false;

	while (session_serves(&d->s) && !leave_is_over(&l)) {
		struct timespec tick = { l.started ? 0 : WATCH_SECONDS,
					 l.started ? 100000000 : 0 };
		int sig = sigtimedwait(set, NULL, &tick);

		if (sig > 0 && sig != SESSION_GONE_SIGNAL) {
			if (l.started)
				leave_hurry(&l);
			else if (leave_start(&l, &d->s, &d->m))
				break;
			else
				log_info("signal %d: unmounting %s", sig,
					 d->mountpoint);
		} else if (sig < 0 && !l.started) {
			if (dead)
				break;
			dead = session_is_dead(&d->s);
		}
	}
	if (session_stop(&d->s)) {
		log_err("some workers hang: leaving without them");
		_exit(EXIT_SYSTEM);	/* the log is made for this */
	}
	if (!l.started && mount_is_there(&d->m)) {
		log_warn("the connection of %s was aborted", d->mountpoint);
		mount_down(&d->m, true);	/* no dead mount stays */
	}
	mount_close(&d->m);			/* wakes the leaving thread */
	leave_join(&l);
}

/* ---- the process -------------------------------------------------------------- */

/* Memory for a writeback must not wait for that writeback. Best effort. */
static void favour_process(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (fd >= 0) {
		put = write(fd, "-900", 4);
		(void)put;
		close(fd);
	}
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
}

/*
 * Go on in a child. Returns 0 there, with d->parent set; the parent does not
 * return: it waits for one byte, the exit code.
 */
static int into_background(struct daemon *d)
{
	unsigned char code = EXIT_SYSTEM;
	ssize_t got;
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) || (pid = fork()) < 0) {
		log_err("cannot start a process: %s", strerror(errno));
		return EXIT_SYSTEM;
	}
	if (pid == 0) {
		close(p[0]);
		d->parent = p[1];
		setsid();
		return 0;
	}
	close(p[1]);
	do
		got = read(p[0], &code, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		log_err("the daemon died while it started");
	exit(code);
}

static void tell_parent(struct daemon *d, int rc)
{
	unsigned char code = (unsigned char)rc;
	ssize_t put;

	if (d->parent < 0)
		return;
	put = write(d->parent, &code, 1);
	(void)put;
	close(d->parent);
	d->parent = -1;
}

static void leave_terminal(struct daemon *d)
{
	int fd;

	if (d->parent < 0)
		return;
	log_to_syslog();
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i <= STDERR_FILENO; i++)
		dup2(fd, i);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* From an opened pool to a served mount. 0 or an exit code. */
static int go_up(struct daemon *d)
{
	int err = check_holes(d);

	if (!err)
		err = open_dsa(d);
	if (err)
		return err;
	err = mount_up(&d->m, d->opt, d->pool, d->mountpoint);
	if (err)
		return err == -ENODEV ? EXIT_SYSTEM : EXIT_MOUNT;
	err = session_init(&d->s, d->fs, d->opt, d->dsa, d->m.fd);
	if (!err)
		err = session_handshake(&d->s);
	if (!err)
		err = session_start(&d->s);
	if (!err)
		return 0;
	if (err != -EPROTO && err != -ENOTSUP)		/* those were told */
		log_err("cannot serve %s: %s", d->mountpoint, strerror(-err));
	if (session_stop(&d->s)) {	/* they use what would be freed */
		mount_down(&d->m, true);
		tell_parent(d, EXIT_MOUNT);
		_exit(EXIT_MOUNT);
	}
	mount_down(&d->m, true);
	mount_close(&d->m);
	return EXIT_MOUNT;
}

static int serve(struct daemon *d)
{
	sigset_t set;
	int rc;

	umask(0);
	block_signals(&set);
	favour_process();
	pm_fault_install();
	if (open_pool(d))
		return EXIT_MOUNT;
	rc = go_up(d);
	if (rc) {
		dsa_close(d->dsa);
		fs_close(d->fs);
		return rc;
	}
	if (d->parent >= 0)
		say_what(d, true);
	leave_terminal(d);
	say_what(d, false);
	say_dsa(d);
	if (chdir("/"))
		log_debug("chdir /: %s", strerror(errno));
	fs_start_drain(d->fs);
	tell_parent(d, 0);
	supervise(d, &set);
	dsa_close(d->dsa);
	fs_close(d->fs);
	log_info("%s unmounted", d->mountpoint);
	return 0;
}

static int run(struct daemon *d)
{
	int rc = find_places(d);

	if (rc)
		return rc;
	if (d->opt->fake)
		return 0;
	if (d->opt->remount)
		return mount_remount(d->opt, d->mountpoint);
	if (!d->opt->foreground) {
		rc = into_background(d);
		if (rc)
			return rc;
	}
	rc = serve(d);
	tell_parent(d, rc);
	return rc;
}

int main(int argc, char **argv)
{
	struct daemon d = { .parent = -1 };
	struct options o;
	int rc = EXIT_USAGE;

	log_init("pmemfs-fuse");
	if (options_parse(&o, argc, argv))
		goto out;
	rc = 0;
	if (o.help || o.version) {
		o.help ? options_help() : options_version();
		goto out;
	}
	if (o.debug)
		log_set_level(LOG_LVL_DEBUG);
	if (geteuid() == 0 && !o.deny_other && !o.allow_root)
		o.allow_other = true;
	d.opt = &o;
	rc = run(&d);
out:
	options_free(&o);
	return rc;
}
