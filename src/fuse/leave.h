/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leave.h - unmount on a signal, without losing what was written
 */
#ifndef FUSE_LEAVE_H
#define FUSE_LEAVE_H

#include "fuse/mount.h"
#include "fuse/session.h"

struct leave {
	struct session *s;
	struct mount *m;
	pthread_t tid;
	bool started;
	_Atomic int64_t deadline;	/* monotonic, nanoseconds */
	_Atomic bool done;
};

/* Begin, on a thread of its own; the workers must be serving. */
int leave_start(struct leave *l, struct session *s, struct mount *m);
/* Do not wait for others any longer (a second signal). */
void leave_hurry(struct leave *l);
/* True when serving on is pointless. Bounded, also if that thread hangs. */
bool leave_is_over(struct leave *l);
/* Wait for the thread. The connection must have been closed. */
void leave_join(struct leave *l);

#endif
