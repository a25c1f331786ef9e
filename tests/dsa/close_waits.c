/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * close_waits.c - a close of a work queue that waits for the device, as the driver's does
 *
 * Linked into a daemon that runs over nodes made of files (--wrap=dsa_sys_real). A
 * file's close waits for nobody: an operation that the software device has just begun
 * would end afterwards, in memory that is in use for something else by then, which no
 * hardware does (S1 of softdsa_serve.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "copy/dsa_int.h"
#include "dsa/close_waits.h"

#define TURNS	20000u			/* of 1 ms */

void __real_dsa_sys_real(struct dsa_sys *sys);
void __wrap_dsa_sys_real(struct dsa_sys *sys);

/* What the device has for this node; NULL: nothing, so there is none. */
static struct close_waits *shared_of(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;
	void *p;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - sizeof(CLOSE_SUFFIX));
	if (n < 0)
		return NULL;
	snprintf(path + n, sizeof(CLOSE_SUFFIX), CLOSE_SUFFIX);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	p = mmap(NULL, sizeof(struct close_waits), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void close_and_wait(void *arg, int fd)
{
	struct close_waits *w = shared_of(fd);
	uint64_t mine;
	unsigned i;
	pid_t pid;

	(void)arg;
	close(fd);
	if (!w)
		return;
	mine = atomic_fetch_add(&w->asked, 1) + 1;
	for (i = 0; i < TURNS && atomic_load(&w->done) < mine; i++) {
		pid = atomic_load(&w->pid);
		if (!pid || (kill(pid, 0) && errno == ESRCH))
			break;				/* and nothing of it is left */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	if (i == TURNS)
		abort();
	munmap(w, sizeof(*w));
}

/*
 * Where the CPU has no such instruction, so that portals are used everywhere: 64 bytes,
 * the record's address last, by which the device knows that a place is full.
 */
static void store_64(void *arg, void *place, const struct dsa_desc *d)
{
	uint64_t word[8];
	_Atomic uint64_t *to = place;

	(void)arg;
	memcpy(word, d, sizeof(word));
	for (unsigned i = 0; i < 8; i++)
		if (i != 1)
			atomic_store_explicit(&to[i], word[i], memory_order_relaxed);
	atomic_store_explicit(&to[1], word[1], memory_order_release);
}

void __wrap_dsa_sys_real(struct dsa_sys *sys)
{
	__real_dsa_sys_real(sys);
	sys->close = close_and_wait;
	if (sys->has_movdir64b)
		return;
	sys->has_movdir64b = true;
	sys->movdir64b = store_64;
}
