/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_find.c - which work queues there are: the only user of libaccel-config
 *
 * The library lists devices and queues, and knows the node of each; what a queue
 * can do is read from sysfs (dsa_sysfs.c). Without the library there is no list
 * (dsa_find_none.c), and a queue has to be named.
 *
 * Best first: queues of the pool's NUMA node before others, and dedicated ones before
 * shared ones.
 */
#include <accel-config/libaccel_config.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "copy/dsa_sysfs.h"

static void log_library(struct accfg_ctx *ctx, int priority, const char *file, int line,
			const char *fn, const char *fmt, va_list ap)
{
	char text[256];

	(void)ctx;
	(void)priority;
	(void)file;
	(void)line;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("DSA: libaccel-config: %s: %s", fn, text);
}

/* Lower is better. */
static unsigned rank(const struct dsa_wq *wq, int node)
{
	bool near = node < 0 || wq->node < 0 || wq->node == node;

	return (near ? 0 : 2) + wq->shared;
}

struct found {
	struct dsa_wq *wq;
	unsigned nr, max;
	int node;
	char *why;
	size_t size;
};

/* In its place; what was found first stays first among equals. */
static void insert(struct found *f, const struct dsa_wq *wq)
{
	unsigned i = f->nr;

	while (i && rank(&f->wq[i - 1], f->node) > rank(wq, f->node))
		i--;
	if (i == f->max)
		return;
	if (f->nr < f->max)
		f->nr++;
	memmove(&f->wq[i + 1], &f->wq[i], (f->nr - 1 - i) * sizeof(*wq));
	f->wq[i] = *wq;
}

static void consider(struct found *f, struct accfg_wq *w)
{
	struct dsa_wq wq = { .node = -1 };
	int err;

	if (accfg_wq_get_type(w) != ACCFG_WQT_USER || accfg_wq_get_state(w) != ACCFG_WQ_ENABLED)
		return;
	snprintf(wq.name, sizeof(wq.name), "%s", accfg_wq_get_devname(w));
	err = accfg_wq_get_user_dev_path(w, wq.path, sizeof(wq.path));
	if (err) {
		snprintf(f->why, f->size, "%s has no node in /dev/dsa", wq.name);
		return;
	}
	if (!dsa_sysfs_wq("", &wq, f->why, f->size))
		insert(f, &wq);
}

unsigned dsa_find(int node, struct dsa_wq *wq, unsigned max, bool *any, char *why, size_t size)
{
	struct found f = { .wq = wq, .max = max, .node = node, .why = why, .size = size };
	struct accfg_device *dev;
	struct accfg_ctx *ctx;
	struct accfg_wq *w;

	*any = dsa_sysfs_any("");
	if (!*any) {
		snprintf(why, size, "this machine has none (/sys/bus/dsa)");
		return 0;
	}
	if (!dsa_sysfs_sound("", why, size))
		return 0;
	snprintf(why, size, "no work queue of type user is enabled (accel-config)");
	if (accfg_new(&ctx)) {
		snprintf(why, size, "libaccel-config cannot start");
		return 0;
	}
	accfg_set_log_fn(ctx, log_library);
	accfg_device_foreach(ctx, dev) {
		if (accfg_device_get_type(dev) != ACCFG_DEVICE_DSA ||
		    accfg_device_get_state(dev) != ACCFG_DEVICE_ENABLED)
			continue;
		accfg_wq_foreach(dev, w)
			consider(&f, w);
	}
	accfg_unref(ctx);
	return f.nr;
}
