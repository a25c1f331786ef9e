/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_serve.c - fetch descriptors from nodes, step the device, mind its user
 */
#include "dsa/softdsa_serve.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE		4096u
#define SPIN		200u		/* turns without work, before it sleeps */
#define NAP		50		/* microseconds */

/* ---- nodes ----------------------------------------------------------------------- */

static int open_fifo(struct soft_node *n, const char *path)
{
	if (mkfifo(path, 0600) && errno != EEXIST)
		return -errno;
	/* for writing, too: so that there is no end of file when the user leaves */
	n->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (n->fd < 0)
		return -errno;
	/* 64 descriptors, then it is full */
	return fcntl(n->fd, F_SETPIPE_SZ, PAGE) < 0 ? -errno : 0;
}

static int open_page(struct soft_node *n, const char *path)
{
	n->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (n->fd < 0 || ftruncate(n->fd, PAGE))
		return -errno;
	n->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, n->fd, 0);
	if (n->page == MAP_FAILED) {
		n->page = NULL;
		return -errno;
	}
	memset(n->page, 0, PAGE);
	return 0;
}

static int open_closed(struct soft_node *n, const char *node)
{
	char path[PATH_MAX];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s" CLOSE_SUFFIX, node);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	p = ftruncate(fd, PAGE) ? MAP_FAILED :
	    mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -ENOMEM;
	n->closed = p;
	atomic_store(&n->closed->done, atomic_load(&n->closed->asked));
	atomic_store(&n->closed->pid, getpid());
	return 0;
}

int soft_server_init(struct soft_server *s, struct softdsa *dev)
{
	*s = (struct soft_server){ .dev = dev };
	s->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return s->inotify < 0 ? -errno : 0;
}

int soft_node_add(struct soft_server *s, unsigned wq, const char *path, bool fifo)
{
	struct soft_node *n = &s->node[s->nr];
	int err;

	if (s->nr == SOFT_WQS)
		return -ENOSPC;
	*n = (struct soft_node){ .wq = wq, .fd = -1 };
	err = fifo ? open_fifo(n, path) : open_page(n, path);
	if (!err && fstat(n->fd, &n->st))
		err = -errno;
	if (!err)
		err = open_closed(n, path);
	if (!err) {
		n->watch = inotify_add_watch(s->inotify, path, IN_CLOSE);
		err = n->watch < 0 ? -errno : softdsa_open(s->dev, wq);
	}
	if (!err)
		s->nr++;
	return err;
}

void soft_server_end(struct soft_server *s)
{
	for (unsigned i = 0; i < s->nr; i++) {
		softdsa_forget(s->dev, s->node[i].wq);
		softdsa_close(s->dev, s->node[i].wq);
		atomic_store(&s->node[i].closed->pid, 0);
		munmap(s->node[i].closed, PAGE);
		if (s->node[i].page)
			munmap(s->node[i].page, PAGE);
		close(s->node[i].fd);
	}
	close(s->inotify);
	s->nr = 0;
}

/* ---- the user -------------------------------------------------------------------- */

static bool is_node(const struct soft_server *s, const struct stat *st)
{
	for (unsigned i = 0; i < s->nr; i++)
		if (st->st_dev == s->node[i].st.st_dev && st->st_ino == s->node[i].st.st_ino)
			return true;
	return false;
}

/* Has this process one of the nodes open? */
static bool has_node(const struct soft_server *s, pid_t pid)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir)))
		found = !fstatat(dirfd(dir), e->d_name, &st, 0) && is_node(s, &st);
	if (dir)
		closedir(dir);
	return found;
}

static pid_t look_for_user(const struct soft_server *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (proc && !found && (e = readdir(proc))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (isdigit((unsigned char)e->d_name[0]) && pid != getpid() && has_node(s, pid))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

static bool user_known(struct soft_server *s)
{
	if (s->self || s->user)
		return true;
	s->user = look_for_user(s);
	if (s->user)
		softdsa_set_pid(s->dev, s->user);
	return s->user;
}

/* ---- closing (S1) ------------------------------------------------------------------ */

static void closed(struct soft_server *s, struct soft_node *n)
{
	uint8_t desc[SOFT_DESC];

	softdsa_forget(s->dev, n->wq);
	n->waits = false;
	s->user = 0;
	if (n->page) {
		for (unsigned at = 0; at < PAGE; at += SOFT_DESC)
			memset(n->page + at + 8, 0, 8);
		return;
	}
	while (read(n->fd, desc, sizeof(desc)) > 0)
		;
}

static void watch(struct soft_server *s)
{
	_Alignas(struct inotify_event) char buf[4096];
	const struct inotify_event *e;
	ssize_t got;

	while ((got = read(s->inotify, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < got; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const void *)(buf + at);
			for (unsigned i = 0; i < s->nr; i++)
				if (s->node[i].watch == e->wd && e->mask & IN_CLOSE)
					closed(s, &s->node[i]);
		}
}

/* Nothing is being executed now, and what was closed before has been seen (S1). */
static void answer_closers(struct soft_server *s)
{
	uint64_t asked[SOFT_WQS];

	for (unsigned i = 0; i < s->nr; i++)
		asked[i] = atomic_load(&s->node[i].closed->asked);
	watch(s);
	for (unsigned i = 0; i < s->nr; i++)
		atomic_store(&s->node[i].closed->done, asked[i]);
}

/* ---- fetching -------------------------------------------------------------------- */

static unsigned fetch_page(struct soft_server *s, struct soft_node *n)
{
	uint8_t desc[SOFT_DESC];
	unsigned nr = 0;

	for (unsigned at = 0; at < PAGE; at += SOFT_DESC) {
		_Atomic uint64_t *record = (void *)(n->page + at + 8);

		if (!atomic_load_explicit(record, memory_order_acquire))
			continue;
		if (!user_known(s))
			continue;
		memcpy(desc, n->page + at, sizeof(desc));
		atomic_store_explicit(record, 0, memory_order_release);
		softdsa_movdir64b(s->dev, n->wq, desc);
		nr++;
	}
	return nr;
}

/* What the device does not take yet waits, and so does the pipe behind it. */
static unsigned fetch_fifo(struct soft_server *s, struct soft_node *n)
{
	unsigned nr = 0;

	for (;;) {
		if (!n->waits && (!softdsa_room(s->dev, n->wq) ||
				  read(n->fd, n->desc, SOFT_DESC) != SOFT_DESC))
			return nr;
		n->waits = true;
		if (!user_known(s) ||
		    softdsa_write(s->dev, n->wq, n->desc, SOFT_DESC) == -EAGAIN)
			return nr;
		n->waits = false;
		nr++;
	}
}

static unsigned fetch(struct soft_server *s)
{
	unsigned nr = 0;

	watch(s);
	for (unsigned i = 0; i < s->nr; i++)
		nr += s->node[i].page ? fetch_page(s, &s->node[i]) : fetch_fifo(s, &s->node[i]);
	return nr;
}

/* ---- serving ----------------------------------------------------------------------- */

static void signals(struct soft_server *s)
{
	int halt = atomic_exchange(&s->halt, 0);

	if (halt > 0)
		softdsa_halt(s->dev);
	else if (halt < 0)
		softdsa_resume(s->dev);
}

/* Pages cannot be waited for, FIFOs can. */
static void rest(struct soft_server *s)
{
	struct pollfd p[SOFT_WQS];
	bool nap = softdsa_queued(s->dev);

	for (unsigned i = 0; i < s->nr; i++) {
		p[i] = (struct pollfd){ .fd = s->node[i].fd, .events = POLLIN };
		nap |= s->node[i].page || s->node[i].waits;
	}
	if (nap)
		usleep(NAP);
	else
		poll(p, s->nr, 20);
}

static bool step(struct soft_server *s)
{
	watch(s);
	return softdsa_step(s->dev);
}

void soft_serve(struct soft_server *s)
{
	unsigned idle = 0;

	while (!atomic_load(&s->stop)) {
		bool busy;

		signals(s);
		answer_closers(s);
		busy = fetch(s);
		busy |= step(s);
		idle = busy ? 0 : idle + 1;
		if (idle > SPIN)
			rest(s);
		else if (idle)
			sched_yield();
	}
}
