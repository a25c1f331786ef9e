/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_pipe.c - the routes from a pipe
 *
 * On fsdax the kernel moves the bytes from the pipe to the pool's file by itself,
 * with non-temporal stores: splice(2), pm_splice(). What it does not take goes as
 * anywhere else.
 *
 * The kernel's copy out of a pipe uses the CPU's ordinary stores. Where lines
 * must be flushed it goes to a buffer that stays in the cache, and on from
 * there by a non-temporal copy: the second copy costs less than to fetch the
 * pool's lines into the cache and to flush them out again (pmemfs-bench copy:
 * pipe+nocache against pipe+flush). Where nothing is flushed, or whole pages
 * are, the kernel copies straight into the pool, on this thread, and what it
 * stored is flushed here (L20).
 *
 * A write request's bytes are in the pipe, all of them, before we are asked; a
 * pipe that runs dry, even one that says "try again", has therefore lost some:
 * -EIO.
 */
#include <errno.h>
#include <unistd.h>

#include "base/bytes.h"
#include "copy/engine.h"
#include "pm/pm.h"

#define BOUNCE		(64u << 10)	/* fits the second cache of any CPU */

/* How many of len bytes came. */
static size_t take(int fd, uint8_t *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, to + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT)
			pm_touch(to + got, len - got);	/* bad memory: where? */
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

static size_t take_through(struct pm *pm, uint64_t off, int fd, size_t len)
{
	_Alignas(64) uint8_t buf[BOUNCE];
	size_t all = 0, want, got;

	do {
		want = min64(len - all, BOUNCE);
		got = take(fd, buf, want);
		pm_copy(pm, off + all, buf, got);
		all += got;
	} while (got == want && all < len);
	return all;
}

static size_t take_into(struct pm *pm, uint64_t off, int fd, size_t len)
{
	size_t got = take(fd, pm_window(pm, off, len), len);

	pm_window_done(pm, off, got);
	pm_flush(pm, off, got);
	return got;
}

int copy_splice(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	ssize_t n;

	while (len) {
		n = pm_splice(pm, off, p->fd, len);
		if (n <= 0)
			break;
		p->len -= (size_t)n;
		off += (size_t)n;
		len -= (size_t)n;
	}
	return len ? copy_pipe(pm, off, p, len) : 0;
}

int copy_pipe(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	size_t got = pm_granularity(pm) == PM_GRAN_LINE ?
		     take_through(pm, off, p->fd, len) : take_into(pm, off, p->fd, len);

	p->len -= got;
	return got == len ? 0 : -EIO;
}
