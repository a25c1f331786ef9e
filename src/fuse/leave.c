/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leave.c - unmount on a signal, without losing what was written
 *
 * Dirty pages are in the kernel; they reach the pool only through WRITE
 * requests that our workers serve. So the daemon goes on serving while it
 * unmounts, and somebody who serves nothing does the blocking calls: a child
 * process, the usher, led by a thread of the daemon.
 *
 *   E1  syncfs, then umount. Not busy: the connection ends, done.
 *   E2  Busy: syncfs again, on a descriptor that is kept, and detach. The
 *       mount is gone from the tree; who has a file open can go on using it
 *       until it is closed or the grace is over.
 *   E3  Before the daemon stops serving, syncfs once more on that descriptor.
 *   E4  Still mounted elsewhere (bind mount, another namespace), so that no
 *       descriptor of ours keeps it: sync(2), which reaches it as well.
 *   E5  All this is bounded. If a call here hangs, the daemon closes the
 *       connection all the same, and that wakes the usher.
 *   E6  A wait for an answer cannot be killed, and no thread of the daemon ever
 *       waits for one of its own: killed in the middle of this, it would keep
 *       the connection open for ever, by its table of descriptors or by the
 *       rings that are mapped. The usher closes the ones and does not have the others.
 *
 * The usher is forked from a process with threads: it makes system calls, and does
 * not log. It says what came of a step, goes on when it gets a byte, and ends when
 * the daemon has ended.
 */
#define _GNU_SOURCE
#include "fuse/leave.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "copy/dsa.h"

#define SECOND		1000000000ll
#define GRACE		(30 * SECOND)
#define LAST_GRACE	(1 * SECOND)	/* for an end that should come at once */
#define HANG_GRACE	(10 * SECOND)	/* E5 */
#define FDS_MAX		65536u

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static bool is_late(const struct leave *l)
{
	return now() >= atomic_load(&l->deadline);
}

/* Until the kernel has ended the connection. */
static bool wait_end(struct leave *l, int64_t until)
{
	while (session_serves(l->s)) {
		if (is_late(l) || now() >= until)
			return false;
		usleep(20000);
	}
	return true;
}

/* ---- between the two: an int as the result of a step, a byte to go on ------------ */

static void tell(int fd, int err)
{
	ssize_t put = write(fd, &err, sizeof(err));

	(void)put;			/* the daemon has gone: so do we, soon */
}

/* The result, or -EPIPE: the other side has gone. */
static int hear(int fd)
{
	ssize_t got;
	int err;

	do
		got = read(fd, &err, sizeof(err));
	while (got < 0 && errno == EINTR);
	return got == sizeof(err) ? err : -EPIPE;
}

static void let_go_on(int fd)
{
	ssize_t put = write(fd, "", 1);

	(void)put;
}

static bool may_go_on(int fd)
{
	ssize_t got;
	char c;

	do
		got = read(fd, &c, 1);
	while (got < 0 && errno == EINTR);
	return got == 1;
}

/* ---- the usher --------------------------------------------------------------------- */

static void close_from_to(unsigned from, unsigned to)
{
	if (from > to || !close_range(from, to, 0))
		return;
	for (; from <= to && from < FDS_MAX; from++)	/* before Linux 5.9 */
		close((int)from);
}

/* All but 0 to 2 and these. */
static void close_others(int a, int b)
{
	unsigned lo = (unsigned)(a < b ? a : b), hi = (unsigned)(a < b ? b : a);

	close_from_to(STDERR_FILENO + 1, lo - 1);
	close_from_to(lo + 1, hi - 1);
	close_from_to(hi + 1, ~0u);
}

static void usher_detach(const struct mount *m, int in, int out)
{
	int fd;

	mount_sync(m, &fd);						/* E2 */
	tell(out, mount_down(m, true));
	if (may_go_on(in))
		tell(out, fd >= 0 && syncfs(fd) ? -errno : 0);		/* E3 */
}

__attribute__((noreturn))
static void usher(const struct leave *l, int in, int out)
{
	int err;

	close_others(in, out);						/* E6 */
	tell(out, 0);
	mount_sync(l->m, NULL);						/* E1 */
	err = mount_down(l->m, false);
	tell(out, err);
	if (err == -EBUSY) {
		usher_detach(l->m, in, out);
	} else if (may_go_on(in)) {
		sync();							/* E4 */
		tell(out, 0);
	}
	_exit(0);
}

/* ---- the daemon's thread ------------------------------------------------------------- */

static void detached(struct leave *l, int from, int to)
{
	int err = hear(from);

	log_info("%s is in use: detached%s%s; open files are served for up to"
		 " %d seconds more", l->m->path, err ? ": " : "",
		 err ? strerror(-err) : "", (int)(GRACE / SECOND));
	while (atomic_load(&l->s->open_files) && !is_late(l))
		usleep(20000);
	let_go_on(to);
	err = hear(from);
	if (err)
		log_err("syncfs of %s: %s", l->m->path, strerror(-err));
	wait_end(l, now() + LAST_GRACE);
}

static void lead(struct leave *l, int from, int to)
{
	if (hear(from) == -EBUSY) {
		detached(l, from, to);
	} else if (!wait_end(l, INT64_MAX)) {
		let_go_on(to);
		hear(from);
	}
}

/* Its process number, or -errno: there is none. */
static pid_t start_usher(struct leave *l, int down[2], int up[2])
{
	pid_t pid;
	int err;

	dsa_fork_begin(l->s->dsa);
	pid = fork();
	if (pid == 0)
		usher(l, down[0], up[1]);
	err = errno;
	close(up[1]);
	if (pid > 0)
		hear(up[0]);			/* that it has closed its copies */
	dsa_fork_end(l->s->dsa);
	return pid < 0 ? -err : pid;
}

static pid_t with_usher(struct leave *l)
{
	int down[2], up[2], err;
	pid_t pid;

	if (pipe2(down, O_CLOEXEC))
		return -errno;
	if (pipe2(up, O_CLOEXEC)) {
		err = errno;
		close(down[0]);
		close(down[1]);
		return -err;
	}
	pid = start_usher(l, down, up);
	if (pid > 0)
		lead(l, up[0], down[1]);
	close(up[0]);
	close(down[0]);
	close(down[1]);				/* lets it end */
	return pid;
}

static void *leave_main(void *arg)
{
	struct leave *l = arg;
	pid_t pid = with_usher(l);

	if (pid < 0) {
		log_err("cannot start a process to unmount %s: %s", l->m->path,
			strerror(-pid));
		mount_down(l->m, true);
	} else {
		waitpid(pid, NULL, 0);
	}
	atomic_store(&l->done, true);
	return NULL;
}

int leave_start(struct leave *l, struct session *s, struct mount *m)
{
	int err;

	l->s = s;
	l->m = m;
	atomic_store(&l->deadline, now() + GRACE);
	err = -pthread_create(&l->tid, NULL, leave_main, l);
	l->started = !err;
	return err;
}

void leave_hurry(struct leave *l)
{
	int64_t t = now();

	if (t < atomic_load(&l->deadline))
		atomic_store(&l->deadline, t);
}

bool leave_is_over(struct leave *l)
{
	return l->started && (atomic_load(&l->done) ||
			      now() >= atomic_load(&l->deadline) + HANG_GRACE);
}

void leave_join(struct leave *l)
{
	if (l->started)
		pthread_join(l->tid, NULL);
}
