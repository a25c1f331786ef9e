/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlay.c - a pool to try things on: stores stay in memory
 *
 * Wraps a backend. Where the kernel can, the pool is mapped privately and
 * copies pages by itself. devdax cannot; there the unit that is about to be
 * stored to is replaced by anonymous memory with the same bytes.
 *
 *   O1  No store reaches the pool: each one passes touch() first. If memory
 *       runs out there, the store is not done and every later fence fails.
 *   O2  A block that was stored to is remembered before the store.
 *
 * For one thread at a time.
 */
#include "pm/overlay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "pm/backend.h"

struct pm_overlay {
	const struct pm_backend *be;
	struct pm_map inner;
	uint64_t *dirty;		/* a bit a block */
	uint8_t *copied;		/* by hand: a bit a page that is ours now */
	bool by_hand, failed;
};

/* Room for a bit a block; only what is touched costs memory. */
static size_t bits_size(uint64_t size)
{
	return align_up(off_blk(size) / 8 + 8, 4096);
}

static void *bits_new(uint64_t size)
{
	void *p = mmap(NULL, bits_size(size), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int pm_overlay_new(struct pm_overlay **out, const char *path,
		   const struct pm_config *cfg, bool by_hand)
{
	struct pm_overlay *ov = calloc(1, sizeof(*ov));
	struct pm_config in = *cfg;
	int err;

	if (!ov)
		return -ENOMEM;
	in.flags = (cfg->flags & PM_NOLOCK) | (by_hand ? PM_LOOK : PM_RDONLY);
	ov->be = cfg->backend ? cfg->backend : &pm_backend_pmem2;
	ov->inner.fd = -1;
	err = ov->be->open(&ov->inner, path, &in);
	if (err && ov->inner.by_hand) {
		by_hand = true;
		in.flags = (cfg->flags & PM_NOLOCK) | PM_LOOK;
		ov->inner = (struct pm_map){ .fd = -1 };
		err = ov->be->open(&ov->inner, path, &in);
	}
	ov->by_hand = by_hand;
	if (err) {
		free(ov);
		return err;
	}
	ov->dirty = bits_new(ov->inner.size);
	ov->copied = by_hand ? bits_new(ov->inner.size) : NULL;
	if (!ov->dirty || (by_hand && (!ov->copied || !ov->inner.unit))) {
		pm_overlay_free(ov);
		return -ENOMEM;
	}
	*out = ov;
	return 0;
}

void pm_overlay_free(struct pm_overlay *ov)
{
	uint64_t size;

	if (!ov)
		return;
	size = bits_size(ov->inner.size);
	if (ov->dirty)
		munmap(ov->dirty, size);
	if (ov->copied)
		munmap(ov->copied, size);
	ov->be->close(&ov->inner);
	free(ov);
}

bool pm_overlay_next(const struct pm_overlay *ov, uint64_t *blk)
{
	uint64_t end = off_blk(ov->inner.size), b = *blk, word;

	for (; b < end; b = (b / 64 + 1) * 64) {
		word = ov->dirty[b / 64] & ~0ull << b % 64;
		if (!word)
			continue;
		*blk = b / 64 * 64 + (uint64_t)__builtin_ctzll(word);
		return *blk < end;
	}
	return false;
}

/* ---- stores ------------------------------------------------------------ */

static bool is_copied(const struct pm_overlay *ov, uint64_t page)
{
	return ov->copied[page / 8] >> page % 8 & 1;
}

/* Memory of our own under one unit, with what is there now. */
static bool copy_unit(struct pm_overlay *ov, uint64_t off)
{
	uint64_t page, unit = ov->inner.unit;
	uint8_t *at = ov->inner.base + off;
	void *bytes = malloc(unit), *p;

	if (!bytes)
		return false;
	memcpy(bytes, at, unit);
	p = mmap(at, unit, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	if (p != MAP_FAILED) {
		memcpy(at, bytes, unit);
		for (page = off_blk(off); page < off_blk(off + unit); page++)
			ov->copied[page / 8] |= (uint8_t)(1u << page % 8);
	}
	free(bytes);
	return p != MAP_FAILED;
}

/* O1, O2 */
static bool touch(struct pm_overlay *ov, uint64_t off, uint64_t len)
{
	uint64_t b, end;

	if (!len)
		return false;
	end = off_blk(off + len - 1);
	for (b = off_blk(off); b <= end; b++) {
		if (ov->by_hand && !is_copied(ov, b) &&
		    !copy_unit(ov, align_down(blk_off(b), ov->inner.unit)))
			ov->failed = true;
		ov->dirty[b / 64] |= 1ull << b % 64;
	}
	return !ov->failed;
}

static void overlay_write(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	struct pm_overlay *ov = m->priv;

	if (touch(ov, off, len))
		ov->be->write(&ov->inner, off, src, len);
}

static void overlay_zero(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_overlay *ov = m->priv;

	if (touch(ov, off, len))
		ov->be->zero(&ov->inner, off, len);
}

static void overlay_bits(struct pm_map *m, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	uint64_t first = bit / 64 * 8, end = align_up((uint64_t)bit + nr, 64) / 8;
	struct pm_overlay *ov = m->priv;

	if (touch(ov, off + first, end - first))
		ov->be->bits(&ov->inner, off, bit, nr, set);
}

static void overlay_window(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_overlay *ov = m->priv;

	if (touch(ov, off, len))
		ov->be->window(&ov->inner, off, len);
}

static void overlay_window_done(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_overlay *ov = m->priv;

	ov->be->window_done(&ov->inner, off, len);
}

static void overlay_flush(struct pm_map *m, uint64_t off, size_t len)
{
	(void)m, (void)off, (void)len;
}

static int overlay_fence(struct pm_map *m)
{
	const struct pm_overlay *ov = m->priv;

	return ov->failed ? -EIO : 0;
}

/* ---- open and close ------------------------------------------------------ */

static int overlay_open(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	struct pm_overlay *ov = cfg->backend_arg;

	(void)path;
	*m = ov->inner;
	m->private = true;
	m->by_hand = false;
	if (ov->by_hand)
		m->copied = ov->copied;
	m->priv = ov;
	return 0;
}

static void overlay_close(struct pm_map *m)
{
	(void)m;
}

const struct pm_backend pm_backend_overlay = {
	.name		= "overlay",
	.open		= overlay_open,
	.close		= overlay_close,
	.write		= overlay_write,
	.zero		= overlay_zero,
	.bits		= overlay_bits,
	.copy		= overlay_write,
	.copy_zero	= overlay_zero,
	.window		= overlay_window,
	.window_done	= overlay_window_done,
	.flush		= overlay_flush,
	.fence		= overlay_fence,
};
