/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leave.c - unmount on a signal, without losing what was written
 *
 * Dirty pages are in the kernel; they reach the pool only through WRITE
 * requests that our workers serve. So the daemon goes on serving while it
 * unmounts, and this thread, which serves nothing, does the blocking calls:
 *
 *   E1  syncfs, then umount. Not busy: the connection ends, done.
 *   E2  Busy: syncfs again, on a descriptor that is kept, and detach. The
 *       mount is gone from the tree; who has a file open can go on using it
 *       until it is closed or the grace is over.
 *   E3  Before the daemon stops serving, syncfs once more on that descriptor.
 *   E4  Still mounted elsewhere (bind mount, another namespace), so that no
 *       descriptor of ours keeps it: sync(2), which reaches it as well.
 *   E5  All this is bounded. If a call here hangs, the daemon closes the
 *       connection all the same, and that wakes it.
 */
#define _GNU_SOURCE
#include "fuse/leave.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define SECOND		1000000000ll
#define GRACE		(30 * SECOND)
#define LAST_GRACE	(1 * SECOND)	/* for an end that should come at once */
#define HANG_GRACE	(10 * SECOND)	/* E5 */

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

static void detach(struct leave *l)
{
	int fd, err;

	mount_sync(l->m, &fd);						/* E2 */
	err = mount_down(l->m, true);
	log_info("%s is in use: detached%s%s; open files are served for up to"
		 " %d seconds more", l->m->path, err ? ": " : "",
		 err ? strerror(-err) : "", (int)(GRACE / SECOND));
	while (atomic_load(&l->s->open_files) && !is_late(l))
		usleep(20000);
	if (fd < 0)
		return;
	if (syncfs(fd))							/* E3 */
		log_err("syncfs of %s: %s", l->m->path, strerror(errno));
	close(fd);
	wait_end(l, now() + LAST_GRACE);
}

static void *leave_main(void *arg)
{
	struct leave *l = arg;
	int err;

	mount_sync(l->m, NULL);						/* E1 */
	err = mount_down(l->m, false);
	if (err == -EBUSY)
		detach(l);
	else if (!wait_end(l, INT64_MAX))
		sync();							/* E4 */
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
