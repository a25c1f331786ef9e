/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inode.c - inodes in use
 *
 *   N1  An inode is in the cache exactly while somebody refers to it: the
 *       kernel (nlookup) or a call in progress or an open file (refs). The
 *       cache answers no question the medium could answer.
 *   N2  What enters the cache has been verified: seal, generation, mode.
 *   N3  The last to leave an inode with no links frees it. While that happens
 *       it is `dying`: nobody can get it any more (-ESTALE), so no lock is
 *       contended and nobody sees half of it gone (L2).
 *   N4  What is changed is verified again when the change begins: a hostile pool
 *       may map a file over the inode table, and would see its bytes sealed.
 *   N5  Eviction is a row of records, each of which leaves a valid pool with
 *       the inode still on the orphan list; the last one takes it off (L9).
 */
#include "meta/inode.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "meta/contend.h"
#include "meta/extent.h"
#include "meta/gone.h"
#include "meta/xattr.h"

#define LOCKS		1024u
#define MAX_HEADS	(1u << 20)		/* DRAM is touched as it fills */

struct bucket {
	struct fs *fs;
	pthread_mutex_t *lock;
	struct inode **first;
};

struct icache {
	pthread_mutex_t lock[LOCKS];		/* head h: lock h % LOCKS */
	struct inode **head;
	unsigned heads;				/* (c) a power of two, LOCKS at least */
	_Atomic uint64_t count;
	_Atomic int64_t dirty;			/* atimes waiting, roughly */
};

int icache_open(struct fs *fs)
{
	unsigned i;

	fs->icache = calloc(1, sizeof(*fs->icache));
	if (!fs->icache)
		return -ENOMEM;
	for (i = 0; i < LOCKS; i++)
		pthread_mutex_init(&fs->icache->lock[i], NULL);
	fs->icache->heads = LOCKS;		/* one for a block, as far as that makes sense */
	while (fs->icache->heads < min64(fs->geo.nr_blocks, MAX_HEADS))
		fs->icache->heads *= 2;
	fs->icache->head = calloc(fs->icache->heads, sizeof(struct inode *));
	return fs->icache->head ? 0 : -ENOMEM;
}

static struct bucket bucket_at(struct fs *fs, unsigned h)
{
	return (struct bucket){ fs, &fs->icache->lock[h % LOCKS], &fs->icache->head[h] };
}

static struct bucket bucket_of(struct fs *fs, uint64_t ino)
{
	return bucket_at(fs, (unsigned)((ino ^ ino >> 20) % fs->icache->heads));
}

static void inode_free(struct inode *ip)
{
	pthread_rwlock_destroy(&ip->lock);
	free(ip);
}

uint64_t icache_count(struct fs *fs) { return atomic_load(&fs->icache->count); }

bool inode_known_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: case S_IFDIR: case S_IFLNK: case S_IFCHR: case S_IFBLK:
	case S_IFIFO: case S_IFSOCK:
		return !(mode & ~(uint32_t)(S_IFMT | 07777));
	default:
		return false;
	}
}

/* ---- getting -------------------------------------------------------------------------- */

/* What an inode in use must look like to be read and changed safely (N2). */
static bool fields_ok(const struct pmemfs_inode *mi)
{
	uint8_t kind = mi->root_kind;

	if (get32(mi->gen) > PMEMFS_MAX_GEN || !inode_known_type(get32(mi->mode)) ||
	    get64(mi->size) > PMEMFS_MAX_SIZE)
		return false;
	if (kind == PMEMFS_ROOT_INLINE ? mi->nr_inline > PMEMFS_ROOT_EXTENTS : mi->nr_inline)
		return false;
	switch (get32(mi->mode) & S_IFMT) {
	case S_IFREG:
		return kind <= PMEMFS_ROOT_TREE;
	case S_IFDIR:
		return kind == PMEMFS_ROOT_NONE || kind == PMEMFS_ROOT_TREE;
	case S_IFLNK:
		return kind != PMEMFS_ROOT_NONE && kind <= PMEMFS_ROOT_BYTES;
	default:
		return kind == PMEMFS_ROOT_NONE;
	}
}

/* N2. -ESTALE: free, or of another generation than asked for. */
static int check(struct fs *fs, uint64_t ino, uint64_t off, uint32_t gen)
{
	const struct pmemfs_inode *mi = pm_at(fs->pm, off, sizeof(*mi));
	unsigned tries;

	/* A stranger's number may name a slot that is being written right now. */
	for (tries = 0; get32(mi->crc) != seal_crc(mi, PMEMFS_INODE_SEALED, off); tries++) {
		if (!get32(mi->crc) && !get32(mi->mode) && !get32(mi->gen))
			return -ESTALE;
		if (tries == 100)
			return damaged(fs, off, "inode %llu: wrong checksum",
				       (unsigned long long)ino);
		sched_yield();
	}
	if (!get32(mi->mode) || get32(mi->gen) != gen)
		return -ESTALE;
	if (!fields_ok(mi))
		return damaged(fs, off, "inode %llu: a field is out of range",
			       (unsigned long long)ino);
	return 0;
}

static struct inode *find(struct bucket b, uint64_t ino, uint32_t gen)
{
	struct inode *ip;

	for (ip = *b.first; ip; ip = ip->next)
		if (ip->ino == ino && ip->gen == gen)
			return ip;
	return NULL;
}

static struct inode *add(struct fs *fs, struct bucket b, uint64_t ino, uint32_t gen, uint64_t off)
{
	struct inode *ip = calloc(1, sizeof(*ip));

	if (!ip)
		return NULL;
	ip->fs = fs;
	ip->ino = ino;
	ip->gen = gen;
	ip->off = off;
	ip->refs = 1;
	pthread_rwlock_init(&ip->lock, NULL);
	ip->next = *b.first;
	__atomic_store_n(b.first, ip, __ATOMIC_RELAXED);
	atomic_fetch_add(&fs->icache->count, 1);
	return ip;
}

static int get(struct fs *fs, uint64_t ino, uint32_t gen, struct inode **out)
{
	struct bucket b = bucket_of(fs, ino);
	struct inode *ip;
	uint64_t off;
	int err = 0;

	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	ip = find(b, ino, gen);
	if (ip && ip->dying) {
		err = -ESTALE;
	} else if (ip) {
		ip->refs++;
	} else {
		err = itable_slot(fs, ino, &off);
		if (!err)
			err = check(fs, ino, off, gen);
		if (!err) {
			ip = add(fs, b, ino, gen, off);
			err = ip ? 0 : -ENOMEM;
		}
	}
	pthread_mutex_unlock(b.lock);
	*out = err ? NULL : ip;
	return err;
}

int inode_get(struct fs *fs, uint64_t nodeid, struct inode **out)
{
	return get(fs, nodeid & PMEMFS_MAX_INO, (uint32_t)(nodeid >> PMEMFS_INO_BITS), out);
}

/* The generation is the slot's: its name or the orphan list says it is alive. */
int inode_get_ino(struct fs *fs, uint64_t ino, struct inode **out)
{
	const struct pmemfs_inode *mi;
	uint64_t off;
	int err = itable_slot(fs, ino, &off);

	if (err)
		return err;
	mi = pm_at(fs->pm, off, sizeof(*mi));
	return get(fs, ino, get32(mi->gen), out);
}

int inode_get_new(struct fs *fs, uint64_t ino, uint32_t gen, uint64_t off, struct inode **out)
{
	(void)off;
	return get(fs, ino, gen, out);
}

/* ---- evicting --------------------------------------------------------------------------- */

/* Frees what it can in one record: 1 more to do, 0 nothing left but the slot. */
static int evict_step(struct txn *t, struct inode *ip)
{
	const struct pmemfs_inode *mi = inode_view(t, ip);
	int err = 1;

	if (inode_is_dir(mi) && mi->root_kind != PMEMFS_ROOT_NONE)
		return damaged(ip->fs, ip->off, "removed directory %llu is not empty",
			       (unsigned long long)ip->ino);
	/* attributes first: a symbolic link keeps its target to the last record */
	while (err > 0 && get64(inode_view(t, ip)->xattr)) {
		if (txn_room_to_free(t) < 32)	/* a value: 16 runs and some nodes */
			return 1;
		err = xattr_remove_any(t, ip);
	}
	if (err < 0)
		return err;
	mi = inode_view(t, ip);
	if (mi->root_kind == PMEMFS_ROOT_INLINE || mi->root_kind == PMEMFS_ROOT_TREE)
		return extent_remove(t, ip, 0, bytes_blks(PMEMFS_MAX_SIZE));
	return 0;
}

static int evict(struct inode *ip)
{
	struct txn *t;
	int more, err;

	do {
		t = txn_begin(ip->fs, PMEMFS_OP_EVICT);
		if (!t)
			return -ENOMEM;
		more = evict_step(t, ip);
		if (more < 0)
			txn_fail(t, more);
		if (!more) {
			orphan_del(t, ip);
			inode_destroy(t, ip);
		}
		err = txn_commit(t);			/* N5 */
		gone_step(ip->fs);
	} while (!err && more);
	return err;
}

static void write_atime(struct inode *ip)
{
	struct txn *t;

	if (!atomic_load(&ip->atime_dirty) || !fs_writable(ip->fs))
		return;
	t = txn_begin(ip->fs, PMEMFS_OP_ATIME);
	if (!t) {
		atomic_store(&ip->atime_dirty, false);	/* lost; never a loop */
		return;
	}
	inode_wrlock(ip);
	inode_edit(t, ip);
	txn_commit(t);
	inode_unlock(ip);
}

static void unhash(struct bucket b, struct inode *ip)
{
	struct inode **p = b.first;

	while (*p != ip)
		p = &(*p)->next;
	*p = ip->next;
	atomic_fetch_sub(&ip->fs->icache->count, 1);
}

/* N3. The bucket is locked and ip has neither refs nor lookups; unlocks. */
static void leave(struct bucket b, struct inode *ip)
{
	const struct pmemfs_inode *mi = inode_media(ip);
	int err;

	if (get32(mi->nlink) == 0 && fs_writable(ip->fs)) {
		ip->dying = true;
		gone_begin(ip);
		pthread_mutex_unlock(b.lock);
		err = evict(ip);
		gone_end(ip);
		if (err && err != -EROFS)
			log_warn("inode %llu stays on the orphan list (%d)",
				 (unsigned long long)ip->ino, err);
		contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	} else if (atomic_load(&ip->atime_dirty) && fs_writable(ip->fs)) {
		ip->refs = 1;			/* others may get it meanwhile */
		pthread_mutex_unlock(b.lock);
		write_atime(ip);
		inode_put(ip);
		return;
	}
	gone_note(ip, GONE_NOT);
	unhash(b, ip);
	pthread_mutex_unlock(b.lock);
	inode_free(ip);
}

/* Somebody who only looks at it changes nothing. */
static void note_gone(struct inode *ip)
{
	if (atomic_load(&ip->opens))
		gone_note(ip, GONE_OPEN);
	else if (!ip->refs)
		gone_note(ip, GONE_KNOWN);
}

void inode_put(struct inode *ip)
{
	struct bucket b = bucket_of(ip->fs, ip->ino);

	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	assert(ip->refs > 0);
	if (--ip->refs || ip->nlookup) {
		if (atomic_load_explicit(&ip->unlinked, memory_order_relaxed))
			note_gone(ip);
		pthread_mutex_unlock(b.lock);
	} else {
		leave(b, ip);
	}
}

void inode_unlinked(struct inode *ip, bool unlinked)
{
	struct bucket b = bucket_of(ip->fs, ip->ino);

	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	atomic_store(&ip->unlinked, unlinked);
	if (!unlinked)
		gone_note(ip, GONE_NOT);
	pthread_mutex_unlock(b.lock);
}

void inode_opened(struct inode *ip)
{
	struct bucket b = bucket_of(ip->fs, ip->ino);

	if (!atomic_load_explicit(&ip->unlinked, memory_order_relaxed))
		return;
	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	note_gone(ip);
	pthread_mutex_unlock(b.lock);
}

void inode_lookup_add(struct inode *ip, uint64_t n)
{
	struct bucket b = bucket_of(ip->fs, ip->ino);

	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	ip->nlookup += n;
	pthread_mutex_unlock(b.lock);
}

void inode_forget(struct fs *fs, uint64_t nodeid, uint64_t n)
{
	uint32_t gen = (uint32_t)(nodeid >> PMEMFS_INO_BITS);
	struct bucket b = bucket_of(fs, nodeid & PMEMFS_MAX_INO);
	struct inode *ip;

	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	ip = find(b, nodeid & PMEMFS_MAX_INO, gen);
	if (!ip || ip->dying) {
		pthread_mutex_unlock(b.lock);
		return;
	}
	ip->nlookup -= min64(n, ip->nlookup);
	if (ip->refs || ip->nlookup)
		pthread_mutex_unlock(b.lock);
	else
		leave(b, ip);
}

/* ---- the whole cache ---------------------------------------------------------------------- */

static struct inode *find_dirty(struct fs *fs, unsigned h)
{
	struct bucket b = bucket_at(fs, h);
	struct inode *ip;

	if (!__atomic_load_n(b.first, __ATOMIC_RELAXED))
		return NULL;
	contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
	for (ip = *b.first; ip; ip = ip->next)
		if (atomic_load(&ip->atime_dirty) && !ip->dying)
			break;
	if (ip)
		ip->refs++;
	pthread_mutex_unlock(b.lock);
	return ip;
}

void icache_sync_atimes(struct fs *fs, unsigned max)
{
	struct inode *ip;
	unsigned h;

	if (atomic_exchange(&fs->icache->dirty, 0) <= 0)
		return;
	for (h = 0; h < fs->icache->heads && max; h++) {
		while (max && (ip = find_dirty(fs, h))) {
			write_atime(ip);
			inode_put(ip);
			max--;
		}
	}
	if (!max)
		atomic_store(&fs->icache->dirty, 1);
}

void icache_forget_all(struct fs *fs)
{
	struct inode *ip;
	struct bucket b;
	unsigned h;

	for (h = 0; h < fs->icache->heads && icache_count(fs); h++) {
		b = bucket_at(fs, h);
		while ((ip = *b.first) && !ip->refs && !ip->dying) {
			contend_lock(b.fs, b.lock, COUNT_WAIT_ICACHE);
			ip->nlookup = 0;
			leave(b, ip);
		}
	}
}

void icache_close(struct fs *fs)
{
	struct inode *ip, *next;
	uint64_t left;
	unsigned i;

	if (!fs->icache)
		return;
	left = icache_count(fs);
	for (i = 0; left && i < fs->icache->heads; i++)
		for (ip = fs->icache->head[i]; ip; ip = next, left--) {
			next = ip->next;
			inode_free(ip);
		}
	for (i = 0; i < LOCKS; i++)
		pthread_mutex_destroy(&fs->icache->lock[i]);
	free(fs->icache->head);
	free(fs->icache);
	fs->icache = NULL;
}

/* ---- looking and changing ------------------------------------------------------------------ */

const struct pmemfs_inode *inode_media(const struct inode *ip)
{
	return pm_at(ip->fs->pm, ip->off, PMEMFS_INODE_SEALED);
}

const struct pmemfs_inode *inode_view(struct txn *t, const struct inode *ip)
{
	return txn_view(t, ip->off, PMEMFS_INODE_SEALED);
}

struct pmemfs_inode *inode_edit(struct txn *t, struct inode *ip)
{
	bool first = !txn_has_shadow(t, ip->off);
	struct pmemfs_inode *mi = txn_edit(t, ip->off, PMEMFS_INODE_SEALED);

	if (!mi || !first)
		return mi;
	if (get32(mi->crc) != seal_crc(mi, PMEMFS_INODE_SEALED, ip->off) ||
	    !fields_ok(mi)) {
		txn_fail(t, damaged(ip->fs, ip->off, "inode %llu: its bytes changed in use",
				    (unsigned long long)ip->ino));	/* N4 */
		return NULL;
	}
	mi->version = put64(get64(mi->version) + 1);
	if (atomic_exchange(&ip->atime_dirty, false)) {
		mi->atime = put64((uint64_t)atomic_load(&ip->atime_sec));
		mi->atime_ns = put32(atomic_load(&ip->atime_nsec));
	}
	return mi;
}

void inode_rdlock(struct inode *ip) { contend_rdlock(ip->fs, &ip->lock, COUNT_WAIT_INODE); }
void inode_wrlock(struct inode *ip) { contend_wrlock(ip->fs, &ip->lock, COUNT_WAIT_INODE); }
bool inode_try_wrlock(struct inode *ip) { return !pthread_rwlock_trywrlock(&ip->lock); }
bool inode_try_rdlock(struct inode *ip) { return !pthread_rwlock_tryrdlock(&ip->lock); }
void inode_unlock(struct inode *ip) { pthread_rwlock_unlock(&ip->lock); }

void inode_set_mtime(struct pmemfs_inode *mi, const struct timespec *ts)
{
	mi->mtime = put64((uint64_t)ts->tv_sec);
	mi->mtime_ns = put32((uint32_t)ts->tv_nsec);
}

void inode_set_ctime(struct pmemfs_inode *mi, const struct timespec *ts)
{
	mi->ctime = put64((uint64_t)ts->tv_sec);
	mi->ctime_ns = put32((uint32_t)ts->tv_nsec);
}

static bool before(int64_t s, uint32_t ns, int64_t s2, uint32_t ns2)
{
	return s < s2 || (s == s2 && ns <= ns2);
}

/* relatime: only when atime is not behind mtime and ctime, or a day old. */
static bool wants_atime(const struct inode *ip, const struct pmemfs_inode *mi,
			const struct timespec *now)
{
	int64_t s = (int64_t)get64(mi->atime);
	uint32_t ns = get32(mi->atime_ns);

	if (ip->fs->opt.atime == FS_STRICTATIME)
		return true;
	if (atomic_load(&ip->atime_dirty)) {
		s = atomic_load(&ip->atime_sec);
		ns = atomic_load(&ip->atime_nsec);
	}
	return before(s, ns, (int64_t)get64(mi->mtime), get32(mi->mtime_ns)) ||
	       before(s, ns, (int64_t)get64(mi->ctime), get32(mi->ctime_ns)) ||
	       now->tv_sec - s >= 24 * 3600;
}

void inode_accessed(struct inode *ip)
{
	const struct pmemfs_inode *mi = inode_media(ip);
	struct timespec now;

	if (ip->fs->opt.atime == FS_NOATIME || get32(mi->flags) & PMEMFS_FL_NOATIME ||
	    !fs_writable(ip->fs))
		return;
	fs_now(ip->fs, &now);
	if (!wants_atime(ip, mi, &now))
		return;
	atomic_store(&ip->atime_sec, now.tv_sec);
	atomic_store(&ip->atime_nsec, (uint32_t)now.tv_nsec);
	if (!atomic_exchange(&ip->atime_dirty, true))
		atomic_fetch_add_explicit(&ip->fs->icache->dirty, 1, memory_order_relaxed);
}

/* ---- making and unmaking ------------------------------------------------------- */

struct pmemfs_inode *inode_create(struct txn *t, uint32_t mode, uint32_t uid, uint32_t gid,
				  uint64_t parent, uint64_t *ino, uint32_t *gen, uint64_t *off)
{
	struct pmemfs_inode *mi;
	struct timespec now;

	if (txn_error(t) || itable_alloc(t, ino, off, gen))
		return NULL;
	mi = txn_new(t, *off, PMEMFS_INODE_SEALED);
	if (!mi)
		return NULL;
	fs_now(txn_fs(t), &now);
	mi->gen = put32(*gen);
	mi->mode = put32(mode);
	mi->uid = put32(uid);
	mi->gid = put32(gid);
	mi->nlink = put32(S_ISDIR(mode) ? 2 : 1);
	mi->atime = mi->btime = put64((uint64_t)now.tv_sec);
	mi->atime_ns = mi->btime_ns = put32((uint32_t)now.tv_nsec);
	inode_set_mtime(mi, &now);
	inode_set_ctime(mi, &now);
	mi->parent = put64(parent);
	mi->version = put64(1);
	return mi;
}

void inode_destroy(struct txn *t, struct inode *ip)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	uint32_t gen = ip->gen;

	if (!mi)
		return;
	memset(mi, 0, PMEMFS_INODE_SEALED);
	mi->gen = put32(gen);
	if (gen < PMEMFS_MAX_GEN)		/* L16: else the slot retires */
		itable_free(t, ip->ino);
}

int inode_finish_trunc(struct inode *ip)
{
	struct pmemfs_inode *mi;
	uint64_t from;
	struct txn *t;
	int more, err;

	if (!(get32(inode_media(ip)->flags) & PMEMFS_FL_TRUNC))
		return 0;
	from = bytes_blks(get64(inode_media(ip)->size));
	do {
		t = txn_begin(ip->fs, PMEMFS_OP_TRUNCATE);
		if (!t)
			return -ENOMEM;
		more = extent_remove(t, ip, from, bytes_blks(PMEMFS_MAX_SIZE));
		if (more < 0)
			txn_fail(t, more);
		mi = inode_edit(t, ip);
		if (!more && mi) {
			mi->flags = put32(get32(mi->flags) & ~PMEMFS_FL_TRUNC);
			if (get32(mi->nlink))
				orphan_del(t, ip);
		}
		err = txn_commit(t);
	} while (!err && more);
	return err;
}
