/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_sys.c - the system, as the DSA engine uses it; tests put another in its place
 *
 * The node of a work queue can be opened, mapped (one page, the portal), written
 * (descriptors, where mapping is refused: kernels that do not trust the hardware
 * with an unprivileged user's descriptors) and closed, which waits until all that
 * was submitted through it is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "copy/dsa_int.h"

static int sys_open(void *arg, const char *path)
{
	/* nonblocking: a queue that is full says so */
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	(void)arg;
	return fd < 0 ? -errno : fd;
}

static void sys_close(void *arg, int fd)
{
	(void)arg;
	close(fd);
}

static void *sys_map(void *arg, int fd)
{
	void *p = mmap(NULL, DSA_PORTAL_SIZE, PROT_WRITE, MAP_SHARED, fd, 0);

	(void)arg;
	return p == MAP_FAILED ? NULL : p;
}

static void sys_unmap(void *arg, void *portal)
{
	(void)arg;
	munmap(portal, DSA_PORTAL_SIZE);
}

static int sys_write(void *arg, int fd, const struct dsa_desc *d, unsigned nr)
{
	ssize_t n = write(fd, d, nr * sizeof(*d));

	(void)arg;
	return n < 0 ? -errno : (int)((size_t)n / sizeof(*d));
}

static void sys_movdir64b(void *arg, void *place, const struct dsa_desc *d)
{
	(void)arg;
	dsa_door_movdir64b(place, d);
}

static bool sys_enqcmd(void *arg, void *place, const struct dsa_desc *d)
{
	(void)arg;
	return dsa_door_enqcmd(place, d);
}

static uint64_t sys_now(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static enum dsa_wq_state sys_look(void *arg, struct dsa_wq *wq)
{
	(void)arg;
	return dsa_find_again(wq);
}

void dsa_sys_real(struct dsa_sys *sys)
{
	*sys = (struct dsa_sys){
		.open = sys_open, .close = sys_close, .map = sys_map, .unmap = sys_unmap,
		.write = sys_write, .movdir64b = sys_movdir64b, .enqcmd = sys_enqcmd,
		.now = sys_now, .look = sys_look,
	};
	dsa_door_has(&sys->has_movdir64b, &sys->has_enqcmd);
}
