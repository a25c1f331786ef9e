/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.c - fsck.pmemfs --media: the memory itself
 *
 * Three steps: find, by the kernel's list and by reading every line; name, by
 * a walk through the pool as recovery would leave it; clear, if allowed. What
 * was in a page that is cleared is gone: zeros are in its place. For metadata
 * that is damage like any other, which the checks and repairs that follow
 * know how to deal with; for a file's bytes the line printed here is all.
 * In the end the pool's own list is made to agree with what was found.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "meta/badlist.h"
#include "meta/owner.h"
#include "meta/super.h"
#include "tools/media.h"

#define STEP	(2u << 20)

static void tell(struct media *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void tell(struct media *m, const char *fmt, ...)
{
	char line[OWNER_PATH_MAX + 256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	m->tell(m->arg, line);
}

/* ---- find -------------------------------------------------------------------- */

static bool is_readable(struct pm *pm, uint64_t blk)
{
	uint64_t mark = pm_fault_mark(pm);
	bool faulted;

	pm_touch(pm_at(pm, blk_off(blk), PMEMFS_BLOCK_SIZE), PMEMFS_BLOCK_SIZE);
	faulted = pm_faulted(pm, mark);
	pm_fault_repair(pm);
	return !faulted;
}

/* A stand-in hides the rest of its unit: where one was needed, block by block. */
static void read_step(struct pm *pm, uint64_t off, uint64_t end)
{
	uint64_t mark = pm_fault_mark(pm);

	pm_touch(pm_at(pm, off, end - off), end - off);
	if (!pm_faulted(pm, mark))
		return;
	pm_fault_repair(pm);
	for (; off < end; off += PMEMFS_BLOCK_SIZE)
		is_readable(pm, off_blk(off));
}

/* Every line of the pool once; what is bad is in pm_bad() afterwards. */
static int read_all(struct media *m, struct pm *pm)
{
	uint64_t off, n, size = pm_size(pm);

	for (off = 0; off < size; off += n) {
		n = min64(STEP, size - off);
		read_step(pm, off, off + n);
		if (m->stop(m->arg))
			return -EINTR;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The bad pages, sorted, each once. */
static int list_pages(struct pm *pm, uint64_t **out, size_t *nr)
{
	unsigned n = pm_bad_count(pm), i;
	size_t room = 0, k = 0;
	struct pm_range r;
	uint64_t blk, *v;

	for (i = 0; i < n; i++)
		room += (size_t)off_blk(pm_bad(pm, i).len);
	v = malloc((room + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		for (r = pm_bad(pm, i), blk = off_blk(r.off); blk < off_blk(r.off + r.len); blk++)
			v[k++] = blk;
	qsort(v, k, sizeof(*v), by_value);
	for (i = 0, *nr = 0; i < k; i++)
		if (!*nr || v[*nr - 1] != v[i])
			v[(*nr)++] = v[i];
	*out = v;
	return 0;
}

/* ---- name -------------------------------------------------------------------- */

struct naming { struct media *m; const struct pm *pm; const struct geometry *geo; };

static void name_one(void *arg, const struct owner *o)
{
	unsigned long long off = blk_off(o->blk);
	char path[OWNER_PATH_MAX];
	struct naming *n = arg;

	if (!o->ino || (o->kind != OWNER_DATA && o->kind != OWNER_XATTR && o->kind != OWNER_TREE)) {
		tell(n->m, "bad memory at 0x%llx: %s", off, o->text);
		return;
	}
	owner_path(n->pm, n->geo, o->ino, path, sizeof(path));
	if (o->kind != OWNER_DATA)
		tell(n->m, "bad memory at 0x%llx: %s: %s", off, path, o->text);
	else
		tell(n->m, "bad memory at 0x%llx: %s: 4096 bytes from %llu on", off, path,
		     (unsigned long long)o->pos);
}

static void name_without(struct media *m, const uint64_t *blk, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		tell(m, "bad memory at 0x%llx: whose it is cannot be told",
		     (unsigned long long)blk_off(blk[i]));
}

/* With the log replayed in memory if that can be done, else as the pool is. */
static int name_pages(struct media *m, struct pm *raw, const uint64_t *blk, size_t nr)
{
	struct fs_options opt = {
		.ro = true, .no_background = true, .nolock = true, .granularity = -1,
		.errors = FS_ERRORS_CONTINUE, .atime = FS_NOATIME,
	};
	struct geometry geo;
	struct naming n = { .m = m, .pm = raw, .geo = &geo };
	struct fs *fs = NULL;
	const char *bad;
	int which, err;

	if (!fs_open(&fs, m->path, &opt)) {
		n.pm = fs->pm;
		n.geo = &fs->geo;
	} else if (super_read(raw, &geo, &which, &bad)) {
		name_without(m, blk, nr);
		return 0;
	}
	err = owner_find(n.pm, n.geo, blk, nr, name_one, &n);
	if (fs)
		fs_close(fs);
	return err;
}

/* ---- clear ------------------------------------------------------------------- */

static int clear_pages(struct media *m, const uint64_t *blk, size_t nr)
{
	struct pm_config cfg = { .granularity = -1 };
	struct pm *pm;
	int err, one;

	m->left = malloc(nr * sizeof(*m->left));
	if (!m->left)
		return -ENOMEM;
	err = pm_open(&pm, m->path, &cfg);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		one = pm_bad_clear(pm, (struct pm_range){ blk_off(blk[i]), PMEMFS_BLOCK_SIZE });
		if ((!one || one == -ENOENT) && is_readable(pm, blk[i])) {
			m->cleared++;
			continue;
		}
		m->left[m->nr_left++] = blk[i];
		tell(m, "bad memory at 0x%llx: the device %s", (unsigned long long)blk_off(blk[i]),
		     one == -ENOENT ? "does not list it, so it cannot be cleared" :
		     "could not clear it");
	}
	pm_close(pm);
	return 0;
}

int media_check(struct media *m)
{
	struct pm_config cfg = {
		.flags = PM_RDONLY | (m->in_use ? PM_NOLOCK : 0), .granularity = -1,
	};
	uint64_t *blk = NULL;
	struct pm *pm;
	size_t nr = 0;
	int err;

	err = pm_open(&pm, m->path, &cfg);
	if (err)
		return err;
	err = read_all(m, pm);
	if (!err)
		err = list_pages(pm, &blk, &nr);
	if (!err && pm_bad_count(pm) == PM_BAD_MAX) {
		tell(m, "there may be more bad memory than is remembered; run this again");
		m->more = true;
	}
	m->found = nr;
	if (!err && nr)
		err = name_pages(m, pm, blk, nr);
	pm_close(pm);
	m->allowed = !err && nr && m->may_clear(m->arg, nr);
	if (m->allowed)
		err = clear_pages(m, blk, nr);
	free(blk);
	return err;
}

int media_settle(struct media *m, struct fs *fs)
{
	int err;

	for (size_t i = 0; i < m->nr_left; i++)
		is_readable(fs->pm, m->left[i]);	/* so that it is known */
	err = badlist_record(fs, &m->listed);
	if (!err)
		err = badlist_review(fs, &m->returned);
	return err;
}
