/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_undo.c - a pool in memory whose changes can be taken back
 *
 * One map at a time; not for several threads without a recorder around it,
 * which carries out one call at a time.
 */
#include "support/pm_undo.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/pm_mem.h"

static const uint8_t zeros[UNDO_LINE];

void undo_init(struct pm_undo *u, uint64_t size)
{
	memset(u, 0, sizeof(*u));
	u->size = size;
	u->base = pm_mem_map(size);
	u->kept = calloc(size / UNDO_LINE, sizeof(*u->kept));
	assert(u->base && u->kept);
}

void undo_free(struct pm_undo *u)
{
	pm_mem_unmap(u->base, u->size);
	free(u->kept);
	free(u->old);
	memset(u, 0, sizeof(*u));
}

static void keep_line(struct pm_undo *u, uint64_t line)
{
	if (u->kept[line])
		return;
	if (u->nr == u->room) {
		u->room = u->room ? u->room * 2 : 1024;
		u->old = realloc(u->old, u->room * sizeof(*u->old));
		assert(u->old);
	}
	u->old[u->nr].line = (uint32_t)line;
	memcpy(u->old[u->nr++].was, u->base + line * UNDO_LINE, UNDO_LINE);
	u->kept[line] = (uint32_t)u->nr;
}

void undo_keep(struct pm_undo *u, uint64_t off, uint64_t len)
{
	assert(off <= u->size && len <= u->size - off);
	for (uint64_t line = off / UNDO_LINE; line < DIV_UP(off + len, UNDO_LINE); line++)
		keep_line(u, line);
}

void undo_put(struct pm_undo *u, uint64_t off, const void *src, uint64_t len)
{
	if (!memcmp(u->base + off, src, len))
		return;
	undo_keep(u, off, len);
	memcpy(u->base + off, src, len);
}

void undo_back(struct pm_undo *u)
{
	for (size_t i = 0; i < u->nr; i++) {
		memcpy(u->base + (uint64_t)u->old[i].line * UNDO_LINE, u->old[i].was, UNDO_LINE);
		u->kept[u->old[i].line] = 0;
	}
	u->nr = 0;
}

void undo_settle(struct pm_undo *u)
{
	u->hash = undo_hash_now(u);
	for (size_t i = 0; i < u->nr; i++)
		u->kept[u->old[i].line] = 0;
	u->nr = 0;
}

/* ---- hashes ------------------------------------------------------------ */

static uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 u128;
	u128 m = (u128)(a ^ 0xa0761d6478bd642full) * (b ^ 0xe7037ed1a0b428dbull);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

uint64_t hash_line(uint64_t nr, const void *line)
{
	uint64_t w[8], h;

	if (!memcmp(line, zeros, UNDO_LINE))
		return 0;
	memcpy(w, line, sizeof(w));
	h = mix(w[0] ^ nr, w[1]) ^ mix(w[2] + nr, w[3]);
	h ^= mix(w[4] ^ ~nr, w[5]) + mix(w[6], w[7] + nr);
	return mix(h, nr + 0x9e3779b97f4a7c15ull);
}

uint64_t hash_bytes(uint64_t seed, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint8_t last[UNDO_LINE] = { 0 };
	uint64_t h = mix(seed, len + 1), nr = 0;

	for (; len >= UNDO_LINE; p += UNDO_LINE, len -= UNDO_LINE)
		h = mix(h, hash_line(++nr, p));
	if (len)
		memcpy(last, p, len);
	return mix(h, hash_line(++nr, last));
}

void undo_rehash(struct pm_undo *u)
{
	assert(!u->nr);
	u->hash = 0;
	for (uint64_t line = 0; line < u->size / UNDO_LINE; line++)
		u->hash += hash_line(line, u->base + line * UNDO_LINE);
}

uint64_t undo_hash_now(const struct pm_undo *u)
{
	uint64_t h = u->hash;

	for (size_t i = 0; i < u->nr; i++) {
		uint64_t line = u->old[i].line;

		h += hash_line(line, u->base + line * UNDO_LINE) -
		     hash_line(line, u->old[i].was);
	}
	return h;
}

/* ---- the backend ------------------------------------------------------- */

static int undo_open(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	struct pm_undo *u = cfg->backend_arg;

	(void)path;
	m->private = cfg->flags & PM_RDONLY;	/* until the next undo_back() */
	m->priv = u;
	m->base = u->base;
	m->size = u->size;
	m->granularity = cfg->granularity < 0 ? PM_GRAN_LINE :
			 (enum pm_granularity)cfg->granularity;
	m->forced = cfg->granularity >= 0;
	m->kind = PM_MEMORY;
	m->fd = -1;
	return 0;
}

static void undo_close(struct pm_map *m)
{
	(void)m;
}

static void undo_write(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	undo_keep(m->priv, off, len);
	memcpy(m->base + off, src, len);
}

static void undo_zero(struct pm_map *m, uint64_t off, size_t len)
{
	undo_keep(m->priv, off, len);
	memset(m->base + off, 0, len);
}

static void undo_bits(struct pm_map *m, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	undo_keep(m->priv, off + bit / 8, (bit % 8 + nr + 7) / 8);
	pm_plain_bits(m->base, off, bit, nr, set);
}

static void undo_window(struct pm_map *m, uint64_t off, size_t len)
{
	undo_keep(m->priv, off, len);
}

static void undo_range(struct pm_map *m, uint64_t off, size_t len)
{
	(void)m, (void)off, (void)len;
}

static int undo_fence(struct pm_map *m)
{
	struct pm_undo *u = m->priv;

	if (u->fail_in && --u->fail_in == 0)
		u->failing = true;
	return u->failing ? -EIO : 0;
}

const struct pm_backend pm_backend_undo = {
	.name		= "undo",
	.open		= undo_open,
	.close		= undo_close,
	.write		= undo_write,
	.zero		= undo_zero,
	.bits		= undo_bits,
	.copy		= undo_write,
	.copy_zero	= undo_zero,
	.window		= undo_window,
	.window_done	= undo_range,
	.flush		= undo_range,
	.fence		= undo_fence,
};
