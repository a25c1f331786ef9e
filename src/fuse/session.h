/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - one mount: what was negotiated, and the threads that serve it
 *
 * Life: session_handshake() answers INIT on the calling thread and chooses the
 * transport, session_start() starts the workers. They leave by themselves when the
 * kernel ends the connection (umount, abort); session_stop() makes them
 * leave. When the last has gone, SESSION_GONE_SIGNAL is sent to the process,
 * for whoever waits for signals.
 *
 * A worker that meets a full pool waits for the requests that free space
 * (gone.h). So that somebody reads them, one more reader of /dev/fuse is started
 * when all of them wait, and leaves when it is not needed any more.
 */
#ifndef FUSE_SESSION_H
#define FUSE_SESSION_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fuse/options.h"
#include "op/op.h"

#define SESSION_GONE_SIGNAL	SIGUSR2

/* One WRITE at most; with the buffers' slack it bounds every request. */
#define MAX_WRITE		OP_WRITE_MAX
#define MAX_PAGES		(MAX_WRITE / 4096)

struct dsa;
struct request;
struct session;
struct transport;
struct uring;

struct worker {
	struct session *s;
	const struct transport *tr;
	void *arg;			/* the transport's */
	pthread_t tid;
	unsigned nr;
	bool extra;			/* in place of one that waits */
	bool counted;			/* among the readers, under spawn_lock */
	_Atomic enum { WORKER_RUNS, WORKER_LEFT, WORKER_JOINED } state;
};

struct session {
	struct fs *fs;			/* (c) */
	const struct options *opt;	/* (c) */
	struct dsa *dsa;		/* (c) copying devices, NULL: none */
	int fd;				/* (c) /dev/fuse of this mount */
	uint64_t started;		/* (c) stats_clock() */

	/* settled by INIT, (c) from then on */
	const struct transport *transport;	/* most requests come by it */
	struct uring *uring;		/* NULL: no ring */
	const char *no_uring;		/* why not, NULL: not wanted */
	int no_uring_err;
	uint32_t minor;
	uint64_t flags;			/* offered and wanted */
	bool direct;			/* direct files can be mapped */
	bool writeback;			/* the page cache gathers writes */
	bool no_opendir;		/* OPENDIR is not needed */
	uint32_t valid;			/* seconds that an answer holds */
	bool read_map;			/* READ answers from the mapping */

	_Atomic uint64_t open_files;	/* OPEN and CREATE without RELEASE */
	_Atomic uint64_t no_room;	/* WRITEs without free blocks for a device */
	_Atomic unsigned running;	/* workers */
	_Atomic bool stop;
	_Atomic bool broken;		/* a worker failed: end the session */
	pthread_mutex_t spawn_lock;	/* guards what follows while serving */
	unsigned readers;		/* of /dev/fuse, running */
	unsigned waiting;		/* of these, for space */
	struct worker *workers;
	unsigned nr_workers, max_workers;
	unsigned nr_readers;		/* of /dev/fuse, without a ring */
};					/* (c) constant while serving */

/* fd: a mounted /dev/fuse. dsa: what the threads may copy by, or NULL. */
int session_init(struct session *s, struct fs *fs, const struct options *opt,
		 struct dsa *dsa, int fd);
/*
 * Answer INIT, and start what serves a ring if there is to be one. -EPROTO: the
 * kernel is too old, -ENOTSUP: no ring and -o transport=uring (both said so);
 * -ENODEV: unmounted meanwhile; or what read(2) said.
 */
int session_handshake(struct session *s);
/* Start the workers. Signals but the synchronous ones stay with the caller.
 * After an error: session_stop(). */
int session_start(struct session *s);
/*
 * Before a worker waits for requests that others are to serve, and after it. False: it
 * must not, since nobody would.
 */
bool session_may_wait(struct request *rq);
void session_waited(struct request *rq);
/* An extra reader asks whether it is still needed; if not, it leaves. */
bool session_needs(struct worker *w);
/* One more worker; for transports that bring their own. */
int session_spawn(struct session *s, const struct transport *tr, void *arg);
/* "requests by io_uring, 2 rings of 4": how they come; returns buf. */
char *session_describe(const struct session *s, char *buf, size_t size);
/*
 * Make the workers leave and wait for them, up to ten seconds. -ETIMEDOUT:
 * some are stuck; nothing of the session may be freed then.
 */
int session_stop(struct session *s);
/* The connection is gone (umount or abort), whatever the workers do. */
bool session_is_dead(const struct session *s);

static inline bool session_serves(struct session *s)
{
	return atomic_load(&s->running) != 0 && !atomic_load(&s->broken);
}

static inline bool session_stops(struct session *s)
{
	return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

#endif
