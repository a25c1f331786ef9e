/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_mem.c - a pool in ordinary memory, for tests
 *
 * Says that it is cache-line granular (or what the configuration forces), so
 * that the code above takes the paths of real persistent memory; flushes and
 * fences do nothing. Wrap it in pm_record to check those.
 */
#include "support/pm_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"

#define HUGE_ALIGN	(2ull << 20)

struct mem_priv { bool copy; };		/* base is a private copy */

void *pm_mem_map(uint64_t size)
{
	uint64_t all = size + HUGE_ALIGN;
	uint8_t *p, *at;

	p = mmap(NULL, all, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	at = p + (align_up((uintptr_t)p, HUGE_ALIGN) - (uintptr_t)p);
	if (at > p)
		munmap(p, (size_t)(at - p));
	if (at + size < p + all)
		munmap(at + size, (size_t)(p + all - (at + size)));
	return at;
}

void pm_mem_unmap(void *buf, uint64_t size)
{
	if (buf)
		munmap(buf, size);
}

void pm_mem_free(struct pm_mem *mem)
{
	if (mem->owned)
		pm_mem_unmap(mem->buf, mem->size);
	mem->buf = NULL;
	mem->owned = false;
}

static int private_copy(struct pm_map *m, const struct pm_mem *mem)
{
	struct mem_priv *p = m->priv;

	m->base = pm_mem_map(mem->size);
	if (!m->base)
		return -ENOMEM;
	memcpy(m->base, mem->buf, mem->size);
	m->private = true;
	p->copy = true;
	return 0;
}

static int mem_open(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	struct pm_mem *mem = cfg->backend_arg;
	int err = 0;

	(void)path;
	if (!mem->size || mem->size % 4096)
		return -EINVAL;
	if (!mem->buf) {
		mem->buf = pm_mem_map(mem->size);
		mem->owned = true;
		if (!mem->buf)
			return -ENOMEM;
	}
	m->priv = calloc(1, sizeof(struct mem_priv));
	if (!m->priv)
		return -ENOMEM;
	m->base = mem->buf;
	m->size = mem->size;
	m->granularity = cfg->granularity < 0 ? PM_GRAN_LINE :
			 (enum pm_granularity)cfg->granularity;
	m->forced = cfg->granularity >= 0;
	m->kind = PM_MEMORY;
	m->fd = -1;
	if (cfg->flags & PM_RDONLY)
		err = private_copy(m, mem);
	if (err)
		free(m->priv);
	return err;
}

static void mem_close(struct pm_map *m)
{
	struct mem_priv *p = m->priv;

	if (p->copy)
		pm_mem_unmap(m->base, m->size);
	free(p);
}

static void mem_write(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	memcpy(m->base + off, src, len);
}

static void mem_zero(struct pm_map *m, uint64_t off, size_t len)
{
	memset(m->base + off, 0, len);
}

static void mem_bits(struct pm_map *m, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	pm_plain_bits(m->base, off, bit, nr, set);
}

static void mem_range(struct pm_map *m, uint64_t off, size_t len)
{
	(void)m, (void)off, (void)len;
}

static int mem_fence(struct pm_map *m)
{
	(void)m;
	return 0;
}

const struct pm_backend pm_backend_mem = {
	.name		= "memory",
	.open		= mem_open,
	.close		= mem_close,
	.write		= mem_write,
	.zero		= mem_zero,
	.bits		= mem_bits,
	.copy		= mem_write,
	.copy_zero	= mem_zero,
	.window		= mem_range,
	.window_done	= mem_range,
	.flush		= mem_range,
	.fence		= mem_fence,
};
