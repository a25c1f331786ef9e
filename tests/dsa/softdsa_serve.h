/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_serve.h - nodes of work queues, and a software device behind them
 *
 * A node is what stands in /dev/dsa: a file of one page, whose user maps it and
 * writes descriptors to it with MOVDIR64B (a place is full when its record's
 * address is not 0), or a FIFO, which cannot be mapped, so that its user has to
 * submit by write(2). Whoever submits must use all 64 places of a page in turn.
 *
 *   S1  The driver waits, when a node is closed, until the device is done with it. A
 *       file waits for nobody; so the device, before it does anything, looks whether
 *       its node has been closed (inotify), and forgets what was submitted before.
 *       An operation that has begun ends. So that its user can wait for that, as
 *       the driver would make him, there is a file NODE.closed (close_waits.h).
 *   S2  The user is another process: whoever has a node open when the first
 *       descriptor arrives. Or it is this one (struct soft_server.self).
 */
#ifndef DSA_SOFTDSA_SERVE_H
#define DSA_SOFTDSA_SERVE_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "dsa/close_waits.h"
#include "dsa/softdsa.h"

struct soft_node {
	unsigned wq;
	int fd;
	int watch;			/* inotify's number */
	uint8_t *page;			/* the portal; NULL: a FIFO */
	bool waits;			/* desc could not be taken yet */
	uint8_t desc[SOFT_DESC];
	struct stat st;
	struct close_waits *closed;
};

struct soft_server {
	struct softdsa *dev;
	bool self;			/* the user is this process */
	pid_t user;			/* the other one; 0: not known */
	int inotify;
	struct soft_node node[SOFT_WQS];
	unsigned nr;
	atomic_bool stop;
	atomic_int halt;		/* 1: halt; -1: resume */
};

int soft_server_init(struct soft_server *s, struct softdsa *dev);
/* A node of queue wq; made if there is none. 0 or -errno. */
int soft_node_add(struct soft_server *s, unsigned wq, const char *path, bool fifo);
/* Until s->stop. */
void soft_serve(struct soft_server *s);
void soft_server_end(struct soft_server *s);

#endif
