/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_pmem2.c - the backend for real pools, on libpmem2
 *
 * The only file that knows libpmem2. What it takes from it: the mapping, the
 * granularity, non-temporal copies, cache-line flushes and the drain. What it
 * does itself, and why:
 *
 *   P1  In-place stores are ordinary cached ones. libpmem2 goes non-temporal
 *       from 256 bytes, and glibc from some size of its own; such stores can
 *       sit in a core's buffers while another core flushes the line (L11).
 *   P2  Page granularity collects what was flushed and calls msync once per
 *       fence: libpmem2's flush is an msync each and aborts on an error. One
 *       call over the hull of the ranges, because its price is the device
 *       flush; syncing more than was asked is always right.
 *   P3  A failed msync is remembered: every later fence fails too (L6).
 *   P4  The drain is always called where the CPU is what makes things
 *       durable, byte granularity included (L19).
 *
 * Refuses: block devices, directories and anything else that is neither a
 * file nor devdax, with a line that says what to do instead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/bytes.h"
#include "base/log.h"
#include "pm/backend.h"
#include "pm/badblocks.h"

#define FORCE_ENV	"PMEM2_FORCE_GRANULARITY"
#define PAGE		4096u

#ifndef MAP_SYNC
#define MAP_SYNC	0x80000
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 0x03
#endif

enum flushing { FLUSH_NONE, FLUSH_LINES, FLUSH_PAGES };

struct pool {
	struct pmem2_source *src;	/* (c) */
	struct pmem2_map *map;		/* (c) */
	enum flushing flushing;		/* (c) */
	pmem2_flush_fn flush;		/* (c) */
	pmem2_drain_fn drain;		/* (c) */
	pmem2_memcpy_fn memcpy_fn;	/* (c) */
	pmem2_memset_fn memset_fn;	/* (c) */
	void *own;			/* private: our mapping, libpmem2 adopted it */
	size_t own_size;		/* (c) */
	uint8_t *copied;		/* private: pages stored to, see backend.h */
	size_t copied_size;		/* (c) */
	pthread_mutex_t sync;		/* one msync at a time; before range */
	pthread_mutex_t range;
	uint64_t lo, hi;		/* (range) flushed, not synced yet */
	bool failed;			/* (sync) */
};					/* (c) constant */

/* ---- open: is it something to map? ------------------------------------- */

static int refuse(const char *path, mode_t mode)
{
	if (S_ISBLK(mode))
		return pm_refuse_block(path);
	log_err("%s is %s; a pool is a regular file or a devdax device", path,
		S_ISDIR(mode) ? "a directory" : "not something to map");
	return -EMEDIUMTYPE;
}

static int open_file(const char *path, unsigned flags, struct stat *st)
{
	bool ro = flags & (PM_RDONLY | PM_LOOK);
	int oflags = (ro ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY;
	int fd, err;

	/* look before opening: opening some devices does things */
	if (stat(path, st) < 0) {
		err = -errno;
		log_err("%s: %s", path, strerror(-err));
		return err;
	}
	if (!S_ISREG(st->st_mode) && !S_ISCHR(st->st_mode))
		return refuse(path, st->st_mode);
	fd = open(path, oflags);
	if (fd < 0 || fstat(fd, st) < 0) {
		err = -errno;
		log_err("cannot open %s: %s%s", path, strerror(-err),
			(err == -EACCES || err == -EROFS) && !ro ?
			" (read-only use is possible: -o ro)" : "");
		if (fd >= 0)
			close(fd);
		return err;
	}
	return fd;
}

static int lock_file(int fd, const char *path, unsigned flags)
{
	int err;

	if (flags & PM_NOLOCK)
		return 0;
	if (!flock(fd, (flags & (PM_RDONLY | PM_LOOK) ? LOCK_SH : LOCK_EX) | LOCK_NB))
		return 0;
	err = -errno;
	if (err == -EWOULDBLOCK) {
		log_err("%s is in use by another mount, fsck.pmemfs or "
			"mkfs.pmemfs; unmount it or wait (fuser %s names the "
			"process)", path, path);
		return -EBUSY;
	}
	log_err("cannot lock %s: %s", path, strerror(-err));
	return err;
}

/* ---- open: what is it? ------------------------------------------------- */

/* An independent answer to whether stores are durable without msync. */
static bool can_map_sync(int fd)
{
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, PAGE);
	return true;
}

static void classify(struct pm_map *m, const struct stat *st)
{
	struct statfs sf;

	m->unit = PAGE;
	if (S_ISCHR(st->st_mode)) {
		m->kind = PM_DEVDAX;
		m->map_sync = true;
		return;
	}
	m->kind = PM_FILE;
	/* blocks alone would call a compressed file full of holes */
	m->holes = (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size &&
		lseek(m->fd, 0, SEEK_HOLE) < st->st_size;
	m->map_sync = can_map_sync(m->fd);
	if (m->map_sync)
		m->kind = PM_FSDAX;
	if (fstatfs(m->fd, &sf) < 0)
		return;
	if (sf.f_type == TMPFS_MAGIC || sf.f_type == RAMFS_MAGIC ||
	    sf.f_type == HUGETLBFS_MAGIC)
		m->kind = PM_TMPFS;
	if (sf.f_type == HUGETLBFS_MAGIC)
		m->unit = (uint32_t)sf.f_bsize;
}

/* ---- open: granularity ------------------------------------------------- */

static const struct { const char *name; enum pm_granularity gran; } gran_names[] = {
	{ "BYTE", PM_GRAN_BYTE }, { "CACHE_LINE", PM_GRAN_LINE },
	{ "CACHELINE", PM_GRAN_LINE }, { "PAGE", PM_GRAN_PAGE },
};

static int gran_from_env(void)
{
	const char *env = getenv(FORCE_ENV);

	for (size_t i = 0; env && i < ARRAY_SIZE(gran_names); i++)
		if (!strcasecmp(env, gran_names[i].name))
			return (int)gran_names[i].gran;
	if (env)
		log_warn("%s: unknown value ignored", FORCE_ENV);
	return -1;
}

/* Forced by the caller, by the environment, or by what it is; -1: ask. */
static int wanted_granularity(const struct pm_map *m, int forced)
{
	if (forced < 0)
		forced = gran_from_env();
	if (forced < 0 && m->kind == PM_TMPFS)
		forced = PM_GRAN_LINE;
	return forced;
}

/*
 * libpmem2 takes a forced granularity only from the environment, which it
 * reads at every pmem2_map_new(); it is put back as it was.
 */
static int map_new(struct pool *p, const struct pmem2_config *cfg, int wanted)
{
	char *old = getenv(FORCE_ENV) ? strdup(getenv(FORCE_ENV)) : NULL;
	int err;

	if (wanted >= 0)
		setenv(FORCE_ENV, wanted == PM_GRAN_BYTE ? "BYTE" :
		       wanted == PM_GRAN_LINE ? "CACHE_LINE" : "PAGE", 1);
	err = pmem2_map_new(&p->map, cfg, p->src);
	if (wanted >= 0) {
		if (old)
			setenv(FORCE_ENV, old, 1);
		else
			unsetenv(FORCE_ENV);
	}
	free(old);
	return err;
}

/*
 * libpmem2's own private mappings reserve swap for all of the pool, which
 * fails for pools larger than memory; few pages of one are ever stored to.
 */
static int map_private(struct pm_map *m, struct pool *p)
{
	void *at;
	int err;

	err = pmem2_source_size(p->src, &p->own_size);
	if (err)
		return err;
	at = mmap(NULL, p->own_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		  m->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	p->own = at;
	return pmem2_map_from_existing(&p->map, p->src, at, p->own_size,
				       PMEM2_GRANULARITY_BYTE);
}

static int map_pool(struct pm_map *m, struct pool *p, int wanted)
{
	struct pmem2_config *cfg;
	int err;

	if (m->private)
		return map_private(m, p);
	err = pmem2_config_new(&cfg);
	if (err)
		return err;
	err = pmem2_config_set_required_store_granularity(cfg,
						PMEM2_GRANULARITY_PAGE);
	if (!err && !(m->prot & PROT_WRITE))
		err = pmem2_config_set_protection(cfg, PMEM2_PROT_READ);
	if (!err)
		err = map_new(p, cfg, wanted);
	pmem2_config_delete(&cfg);
	return err;
}

/* Which granularity does the medium have, mapped privately or not? */
static enum pm_granularity found_granularity(const struct pm_map *m,
					     const struct pool *p, int wanted)
{
	if (wanted >= 0)
		return (enum pm_granularity)wanted;
	if (m->private)		/* libpmem2 says byte of every private mapping */
		return m->map_sync ? PM_GRAN_LINE : PM_GRAN_PAGE;
	switch (pmem2_map_get_store_granularity(p->map)) {
	case PMEM2_GRANULARITY_BYTE:
		return PM_GRAN_BYTE;
	case PMEM2_GRANULARITY_CACHE_LINE:
		return PM_GRAN_LINE;
	default:
		return PM_GRAN_PAGE;
	}
}

static bool found_survival(const struct pm_map *m, const struct stat *st)
{
	if (m->kind == PM_DEVDAX)
		return m->granularity != PM_GRAN_PAGE && pm_device_keeps(st->st_rdev, true);
	if (m->kind == PM_TMPFS)
		return false;
	if (m->granularity == PM_GRAN_PAGE)
		return true;
	return m->map_sync && pm_device_keeps(st->st_dev, false);
}

static void adopt_map(struct pm_map *m, struct pool *p, int wanted)
{
	m->base = pmem2_map_get_address(p->map);
	m->size = align_down(pmem2_map_get_size(p->map), PAGE);
	m->granularity = found_granularity(m, p, wanted);
	m->forced = wanted >= 0;
	m->map_flags = m->private ? MAP_PRIVATE :
		       m->map_sync ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
	p->flushing = m->private || m->granularity == PM_GRAN_BYTE ? FLUSH_NONE :
		      m->granularity == PM_GRAN_LINE ? FLUSH_LINES : FLUSH_PAGES;
	p->flush = pmem2_get_flush_fn(p->map);
	p->drain = pmem2_get_drain_fn(p->map);
	p->memcpy_fn = pmem2_get_memcpy_fn(p->map);
	p->memset_fn = pmem2_get_memset_fn(p->map);
}

/* A bit a page of what a private mapping holds and the file does not. */
static int track_copies(struct pm_map *m, struct pool *p)
{
	void *bits;

	if (!m->private)
		return 0;
	p->copied_size = m->size / PAGE / 8 + 1;
	bits = mmap(NULL, p->copied_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bits == MAP_FAILED)
		return -ENOMEM;
	p->copied = bits;
	m->copied = bits;
	return 0;
}

/* libpmem2's own conversion is declared in its header but not exported. */
static int to_errno(int err)
{
	if (err > PMEM2_E_UNKNOWN)
		return err;
	return err == PMEM2_E_NOSUPP ? -EOPNOTSUPP :
	       err == PMEM2_E_NO_ACCESS ? -EACCES : -EINVAL;
}

static int check_source(struct pm_map *m, struct pool *p, const char *path)
{
	size_t size, align;
	int err;

	err = pmem2_source_from_fd(&p->src, m->fd);
	if (err == PMEM2_E_INVALID_FILE_TYPE)
		return refuse(path, S_IFCHR);
	if (!err)
		err = pmem2_source_size(p->src, &size);
	if (!err)
		err = pmem2_source_alignment(p->src, &align);
	if (err) {
		log_err("%s: %s", path, pmem2_errormsg());
		return to_errno(err);
	}
	if (m->kind == PM_DEVDAX)
		m->unit = (uint32_t)align;
	if (size < PAGE) {
		log_err("%s is empty; make it as large as the pool shall be, then "
			"run mkfs.pmemfs", path);
		return -EINVAL;
	}
	if (m->kind == PM_DEVDAX && m->private) {
		m->by_hand = true;		/* pm.c knows what to do */
		return -EOPNOTSUPP;
	}
	return 0;
}

static int open_mapped(struct pm_map *m, struct pool *p, const char *path, int forced,
		       const struct stat *st)
{
	int wanted, err;

	classify(m, st);
	err = check_source(m, p, path);
	if (err)
		return err;
	wanted = wanted_granularity(m, forced);
	err = map_pool(m, p, wanted);
	if (err) {
		log_err("cannot map %s: %s", path, pmem2_errormsg());
		return to_errno(err);
	}
	adopt_map(m, p, wanted);
	m->survives = found_survival(m, st);
	if (pmem2_source_numa_node(p->src, &m->numa))
		m->numa = -1;
	m->huge = pm_huge_percent(m);
	badblocks_find(m, p->src);
	return track_copies(m, p);
}

static void drop_pool(struct pool *p)
{
	if (p->copied)
		munmap(p->copied, p->copied_size);
	if (p->map)
		pmem2_map_delete(&p->map);
	if (p->own)
		munmap(p->own, p->own_size);
	if (p->src)
		pmem2_source_delete(&p->src);
	pthread_mutex_destroy(&p->sync);
	pthread_mutex_destroy(&p->range);
	free(p);
}

static int pmem2_open(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	struct stat st;
	struct pool *p;
	int err;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->sync, NULL);
	pthread_mutex_init(&p->range, NULL);
	m->private = cfg->flags & PM_RDONLY;
	m->prot = cfg->flags & PM_LOOK ? PROT_READ : PROT_READ | PROT_WRITE;
	m->priv = p;
	err = open_file(path, cfg->flags, &st);
	if (err < 0)
		goto drop;
	m->fd = err;
	err = lock_file(m->fd, path, cfg->flags);
	if (!err)
		err = open_mapped(m, p, path, cfg->granularity, &st);
	if (!err)
		return 0;
	free(m->bad);
	close(m->fd);
drop:
	drop_pool(p);
	return err;
}

static void pmem2_close(struct pm_map *m)
{
	free(m->bad);
	drop_pool(m->priv);
	close(m->fd);		/* and with it the lock */
}

/* ---- stores ------------------------------------------------------------ */

static void note_copied(const struct pool *p, uint64_t off, size_t len)
{
	if (!p->copied || !len)
		return;
	for (uint64_t n = off / PAGE; n <= (off + len - 1) / PAGE; n++)
		__atomic_fetch_or(&p->copied[n / 8], (uint8_t)(1u << n % 8),
				  __ATOMIC_RELAXED);
}

static void note_range(struct pool *p, uint64_t off, size_t len)
{
	pthread_mutex_lock(&p->range);
	if (p->lo == p->hi) {
		p->lo = off;
		p->hi = off + len;
	} else {
		p->lo = min64(p->lo, off);
		p->hi = max64(p->hi, off + len);
	}
	pthread_mutex_unlock(&p->range);
}

/* Page by page: glibc has no reason to go non-temporal for so little (P1). */
static void pmem2_write(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	const uint8_t *from = src;

	note_copied(m->priv, off, len);
	for (size_t n; len; off += n, from += n, len -= n) {
		n = min64(len, PAGE);
		memcpy(m->base + off, from, n);
	}
}

static void pmem2_zero(struct pm_map *m, uint64_t off, size_t len)
{
	note_copied(m->priv, off, len);
	for (size_t n; len; off += n, len -= n) {
		n = min64(len, PAGE);
		memset(m->base + off, 0, n);
	}
}

static void pmem2_bits(struct pm_map *m, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	note_copied(m->priv, off + bit / 8, nr / 8 + 2);
	pm_plain_bits(m->base, off, bit, nr, set);
}

static void pmem2_copy(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	struct pool *p = m->priv;

	if (p->flushing == FLUSH_PAGES) {
		memcpy(m->base + off, src, len);
		note_range(p, off, len);
		return;
	}
	note_copied(p, off, len);
	p->memcpy_fn(m->base + off, src, len,
		     PMEM2_F_MEM_NONTEMPORAL | PMEM2_F_MEM_NODRAIN);
}

static void pmem2_copy_zero(struct pm_map *m, uint64_t off, size_t len)
{
	struct pool *p = m->priv;

	if (p->flushing == FLUSH_PAGES) {
		memset(m->base + off, 0, len);
		note_range(p, off, len);
		return;
	}
	note_copied(p, off, len);
	p->memset_fn(m->base + off, 0, len,
		     PMEM2_F_MEM_NONTEMPORAL | PMEM2_F_MEM_NODRAIN);
}

static void pmem2_window(struct pm_map *m, uint64_t off, size_t len)
{
	note_copied(m->priv, off, len);
}

static void pmem2_window_done(struct pm_map *m, uint64_t off, size_t len)
{
	(void)m, (void)off, (void)len;
}

/* The mapping begins where the file does, and on DAX both are the same memory. */
static ssize_t pmem2_splice(struct pm_map *m, uint64_t off, int pipe, size_t len)
{
	off_t at = (off_t)off;
	ssize_t n;

	do
		n = splice(pipe, NULL, m->fd, &at, len, SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* ---- durability -------------------------------------------------------- */

static void pmem2_flush(struct pm_map *m, uint64_t off, size_t len)
{
	struct pool *p = m->priv;

	if (p->flushing == FLUSH_LINES)
		p->flush(m->base + off, len);
	else if (p->flushing == FLUSH_PAGES)
		note_range(p, off, len);
}

static int sync_range(const struct pm_map *m, uint64_t lo, uint64_t hi)
{
	uint8_t *from = m->base + align_down(lo, PAGE);
	int err;

	do
		err = msync(from, (size_t)(m->base + hi - from), MS_SYNC);
	while (err < 0 && errno == EINTR);
	if (err < 0)
		log_err("msync of pool offset %llu: %s; nothing more will be "
			"written", (unsigned long long)lo, strerror(errno));
	return err;
}

/*
 * Another thread's fence may have taken our range along: it holds the lock
 * until its msync is over, so we return after it in any case.
 */
static int fence_pages(const struct pm_map *m, struct pool *p)
{
	uint64_t lo, hi;
	int err;

	pthread_mutex_lock(&p->sync);
	pthread_mutex_lock(&p->range);
	lo = p->lo;
	hi = p->hi;
	p->lo = p->hi = 0;
	pthread_mutex_unlock(&p->range);
	if (lo != hi && !p->failed && sync_range(m, lo, hi) < 0)
		p->failed = true;			/* P3 */
	err = p->failed ? -EIO : 0;
	pthread_mutex_unlock(&p->sync);
	return err;
}

static int pmem2_fence(struct pm_map *m)
{
	struct pool *p = m->priv;

	if (p->flushing == FLUSH_PAGES)
		return fence_pages(m, p);		/* P2 */
	p->drain();					/* P4 */
	return 0;
}

/* ---- bad memory -------------------------------------------------------- */

static int pmem2_clear(struct pm_map *m, struct pm_range r)
{
	const struct pool *p = m->priv;

	return badblocks_clear(p->src, r);
}

const struct pm_backend pm_backend_pmem2 = {
	.name		= "pmem2",
	.open		= pmem2_open,
	.close		= pmem2_close,
	.write		= pmem2_write,
	.zero		= pmem2_zero,
	.bits		= pmem2_bits,
	.copy		= pmem2_copy,
	.copy_zero	= pmem2_copy_zero,
	.window		= pmem2_window,
	.window_done	= pmem2_window_done,
	.splice		= pmem2_splice,
	.flush		= pmem2_flush,
	.fence		= pmem2_fence,
	.clear		= pmem2_clear,
};
