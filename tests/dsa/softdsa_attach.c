/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_attach.c - system calls and instructions that lead to a software device
 */
#include "dsa/softdsa_attach.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FD	1000			/* no file of ours has that number */

static int sys_open(void *arg, const char *path)
{
	struct soft_sys *s = arg;
	int err;

	for (unsigned i = 0; i < s->nr_wq; i++) {
		if (strcmp(s->wq[i].path, path) || s->gone)
			continue;
		err = softdsa_open(s->dev, i);
		if (err)
			return err;
		s->opens++;
		s->fds[i]++;
		return FD + (int)i;
	}
	return -ENOENT;
}

/* The queue of a descriptor, which has to be open. */
static unsigned queue_of(struct soft_sys *s, int fd)
{
	unsigned i = (unsigned)(fd - FD);

	if (fd >= FD && i < s->nr_wq && s->fds[i])
		return i;
	softdsa_complain(s->dev, "file %d is not open", fd);
	return SOFT_WQS;
}

static void sys_close(void *arg, int fd)
{
	struct soft_sys *s = arg;
	unsigned i = queue_of(s, fd);

	if (i == SOFT_WQS)
		return;
	if (s->maps[i] && s->fds[i] == 1)
		softdsa_complain(s->dev, "closed with its portal mapped: it is not drained");
	s->closes++;
	for (unsigned n = 0; s->slow && n < 100; n++)
		sched_yield();
	if (!--s->fds[i])
		softdsa_close(s->dev, i);
}

static void *sys_map(void *arg, int fd)
{
	struct soft_sys *s = arg;
	unsigned i = queue_of(s, fd);

	if (i == SOFT_WQS || s->no_map)
		return NULL;
	s->maps[i]++;
	return s->portal[i];
}

/* Any place of a portal. */
static unsigned portal_of(struct soft_sys *s, const void *place)
{
	uintptr_t at = (uintptr_t)place;

	for (unsigned i = 0; i < s->nr_wq; i++) {
		uintptr_t base = (uintptr_t)s->portal[i];

		if (at < base || at >= base + DSA_PORTAL_SIZE || !s->maps[i])
			continue;
		if (at % DSA_PORTAL_SLOT)
			softdsa_complain(s->dev, "a place of a portal that is not aligned");
		return i;
	}
	softdsa_complain(s->dev, "no portal is mapped there");
	return SOFT_WQS;
}

static void sys_unmap(void *arg, void *portal)
{
	struct soft_sys *s = arg;
	unsigned i = portal_of(s, portal);

	if (i != SOFT_WQS)
		s->maps[i]--;
}

static int sys_write(void *arg, int fd, const struct dsa_desc *d, unsigned nr)
{
	struct soft_sys *s = arg;
	unsigned i = queue_of(s, fd);
	ssize_t done;

	if (i == SOFT_WQS)
		return -EBADF;
	done = softdsa_write(s->dev, i, d, (size_t)nr * sizeof(*d));
	return done < 0 ? (int)done : (int)(done / (ssize_t)sizeof(*d));
}

static void sys_movdir64b(void *arg, void *place, const struct dsa_desc *d)
{
	struct soft_sys *s = arg;
	unsigned i = portal_of(s, place);

	if (i != SOFT_WQS)
		softdsa_movdir64b(s->dev, i, d);
}

static bool sys_enqcmd(void *arg, void *place, const struct dsa_desc *d)
{
	struct soft_sys *s = arg;
	unsigned i = portal_of(s, place);

	return i != SOFT_WQS && !softdsa_enqcmd(s->dev, i, d);
}

static uint64_t sys_now(void *arg)
{
	struct soft_sys *s = arg;

	return atomic_fetch_add(&s->now, SOFT_LOOK) + SOFT_LOOK;
}

/* The device's own clock, which is the same. */
static uint64_t device_now(void *arg)
{
	const struct soft_sys *s = arg;

	return s->now;
}

static enum dsa_wq_state sys_look(void *arg, struct dsa_wq *wq)
{
	struct soft_sys *s = arg;
	bool halted;

	for (unsigned i = 0; i < s->nr_wq && !s->gone; i++) {
		if (strcmp(s->wq[i].name, wq->name))
			continue;
		if (s->blind || !softdsa_stopped(s->dev, i, &halted))
			return DSA_WQ_ENABLED;
		return halted ? DSA_WQ_HALTED : DSA_WQ_DISABLED;
	}
	return DSA_WQ_GONE;
}

static void describe(struct soft_sys *s, unsigned i, const struct softdsa_conf *conf)
{
	const struct softdsa_wq *q = &conf->wq[i];
	struct dsa_wq *wq = &s->wq[i];

	*wq = (struct dsa_wq){
		.dev = "dsa0", .shared = q->shared, .size = q->size,
		.threshold = q->threshold, .max_transfer = q->max_xfer,
		.max_batch = q->max_batch, .node = -1, .batch = q->max_batch,
		.readback = conf->readback, .block_on_fault = q->block_on_fault,
	};
	snprintf(wq->name, sizeof(wq->name), "wq0.%u", i);
	snprintf(wq->path, sizeof(wq->path), "/dev/dsa/wq0.%u", i);
}

void soft_sys_init(struct soft_sys *s, const struct softdsa_conf *conf)
{
	struct softdsa_conf mine = *conf;

	*s = (struct soft_sys){
		.now = 1000000000u, .nr_wq = conf->nr_wq,
		.sys = {
			.arg = s, .open = sys_open, .close = sys_close, .map = sys_map,
			.unmap = sys_unmap, .write = sys_write, .movdir64b = sys_movdir64b,
			.enqcmd = sys_enqcmd, .now = sys_now, .look = sys_look,
			.has_movdir64b = true, .has_enqcmd = true,
		},
	};
	mine.now = device_now;
	mine.arg = s;
	s->dev = softdsa_new(&mine);
	for (unsigned i = 0; i < conf->nr_wq; i++) {
		/* only an address: whoever stores to it finds out */
		s->portal[i] = mmap(NULL, DSA_PORTAL_SIZE, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (s->portal[i] == MAP_FAILED)
			abort();
		describe(s, i, conf);
	}
}

void soft_sys_end(struct soft_sys *s)
{
	for (unsigned i = 0; i < s->nr_wq; i++) {
		if (s->fds[i] || s->maps[i])
			softdsa_complain(s->dev, "queue %u was left open", i);
		munmap(s->portal[i], DSA_PORTAL_SIZE);
	}
	softdsa_free(s->dev);
}
