/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_pipe.c - the route from a pipe: the kernel copies into the pool
 *
 * read(2) stores with the CPU's ordinary cached stores, on this thread, so
 * the lines are flushed here afterwards (L20). A write request's bytes are in
 * the pipe, all of them, before we are asked; a pipe that runs dry, even one
 * that says "try again", has therefore lost some: -EIO.
 */
#include <errno.h>
#include <unistd.h>

#include "copy/engine.h"
#include "pm/pm.h"

int copy_pipe(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	char *to = pm_window(pm, off, len);
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(p->fd, to + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT)
			pm_touch(to + got, len - got);	/* bad memory: where? */
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	pm_window_done(pm, off, got);
	pm_flush(pm, off, got);
	p->len -= got;
	return got == len ? 0 : -EIO;
}
