/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inode.h - inodes: the table on the medium, the ones in use in DRAM
 *
 * The DRAM inode holds what the medium cannot: the lock, how often the
 * kernel knows it, who is using it, an access time not yet written.
 * Everything else is read from the medium under the lock, so there is
 * nothing that could disagree with it.
 *
 * Lock order (L1): fs->rename_lock; directories, ancestor before descendant
 * (two that are not related: lower number first, under rename_lock); other
 * inodes by number; growing the inode table; orphan shard; reading the inode
 * table's extents; allocator; lane.
 */
#ifndef META_INODE_H
#define META_INODE_H

#include "meta/txn.h"

/* Of an unlinked one (gone.h): somebody uses it; only the kernel knows it. */
enum gone_class { GONE_NOT, GONE_OPEN, GONE_KNOWN };

struct inode {
	struct fs *fs;			/* (c) */
	uint64_t ino;			/* (c) */
	uint32_t gen;			/* (c) */
	uint64_t off;			/* (c) of the pmemfs_inode in the pool */
	pthread_rwlock_t lock;		/*     (i) */
	struct inode *next;		/* (b) hash chain */
	uint64_t nlookup;		/* (b) the kernel's count */
	uint32_t refs;			/* (b) users right now, opens included */
	_Atomic uint32_t opens;		/*     references that op_open() left */
	bool dying;			/* (b) being freed: gets see -ESTALE */
	_Atomic bool unlinked;		/*     inode_unlinked() was called */
	enum gone_class gone;		/* (b) */
	uint32_t gone_round;		/* (b) */
	_Atomic bool atime_dirty;	/*     a newer atime waits in DRAM */
	_Atomic int64_t atime_sec;
	_Atomic uint32_t atime_nsec;
	/* (c) constant, (i) this lock, (b) the hash bucket's mutex */
};

static inline uint64_t node_id(uint64_t ino, uint32_t gen)
{
	return ino | (uint64_t)gen << PMEMFS_INO_BITS;
}

int icache_open(struct fs *fs);
/* Writes pending access times; unlinked inodes stay on the orphan list. */
void icache_close(struct fs *fs);
uint64_t icache_count(struct fs *fs);
/* Write up to max pending access times (background). */
void icache_sync_atimes(struct fs *fs, unsigned max);

/* The kernel is gone and knows nothing any more (unmount). */
void icache_forget_all(struct fs *fs);

/*
 * Get a reference: by the kernel's node id (-ESTALE: gone or never was), or
 * by number as found in a directory entry. The inode has been verified.
 * Never called with an inode lock held except the parent's.
 */
int inode_get(struct fs *fs, uint64_t nodeid, struct inode **out);
int inode_get_ino(struct fs *fs, uint64_t ino, struct inode **out);
/* An inode just created by a committed transaction. */
int inode_get_new(struct fs *fs, uint64_t ino, uint32_t gen, uint64_t off,
		  struct inode **out);
/* Drop it. The last one to leave an unlinked inode frees it (many records if
 * it is large). Hold no lock. */
void inode_put(struct inode *ip);
/* It has lost its last name, or got one again (locked, after the commit). */
void inode_unlinked(struct inode *ip, bool unlinked);
/* A reference stays with whoever opened it. */
void inode_opened(struct inode *ip);
/* The kernel's lookup count. */
void inode_lookup_add(struct inode *ip, uint64_t n);
void inode_forget(struct fs *fs, uint64_t nodeid, uint64_t n);

/* The inode on the medium (lock held). */
const struct pmemfs_inode *inode_media(const struct inode *ip);
/* Its shadow (lock held exclusively). Folds a pending atime in, bumps version
 * once. NULL: sticky error in t. */
struct pmemfs_inode *inode_edit(struct txn *t, struct inode *ip);
/* View through a transaction: shadow or medium. */
const struct pmemfs_inode *inode_view(struct txn *t, const struct inode *ip);

void inode_rdlock(struct inode *ip);
void inode_wrlock(struct inode *ip);
bool inode_try_wrlock(struct inode *ip);	/* false: somebody is in it */
bool inode_try_rdlock(struct inode *ip);	/* false: somebody changes it */
void inode_unlock(struct inode *ip);
/* Is there such a type, and nothing else in there? */
bool inode_known_type(uint32_t mode);
static inline bool inode_is_dir(const struct pmemfs_inode *mi)
{
	return (get32(mi->mode) & 0170000) == 0040000;
}
static inline bool inode_is_reg(const struct pmemfs_inode *mi)
{
	return (get32(mi->mode) & 0170000) == 0100000;
}
static inline bool inode_is_lnk(const struct pmemfs_inode *mi)
{
	return (get32(mi->mode) & 0170000) == 0120000;
}

/* times into a media inode */
void inode_set_mtime(struct pmemfs_inode *mi, const struct timespec *ts);
void inode_set_ctime(struct pmemfs_inode *mi, const struct timespec *ts);
/* A read happened: note an access time by the mount's rule (DRAM only). */
void inode_accessed(struct inode *ip);

/*
 * A new inode in t: slot reserved, generation advanced, all times now, nlink 1
 * (2 for a directory), parent noted, size 0. The shadow is returned for the
 * rest. -ENOSPC. Its number and offset come back for inode_get_new().
 */
struct pmemfs_inode *inode_create(struct txn *t, uint32_t mode, uint32_t uid,
				  uint32_t gid, uint64_t parent, uint64_t *ino,
				  uint32_t *gen, uint64_t *off);
/* Free the slot in t (blocks and xattrs are gone already). */
void inode_destroy(struct txn *t, struct inode *ip);

/* Free blocks at and beyond file block `from`, in as many records as it
 * takes, FL_TRUNC and the orphan list making it restartable. Lock held
 * exclusively. Used by truncate (after its first record) and eviction. */
int inode_finish_trunc(struct inode *ip);

/* ---- the table (itable.c) ------------------------------------------------ */

int itable_open(struct fs *fs);
void itable_close(struct fs *fs);
/* Pool offset of a slot. -ESTALE: beyond the table, or a chunk header. */
int itable_slot(struct fs *fs, uint64_t ino, uint64_t *off);
/* Reserve a free slot, mark it used in t; may grow the table in t. */
int itable_alloc(struct txn *t, uint64_t *ino, uint64_t *off, uint32_t *gen);
void itable_free(struct txn *t, uint64_t ino);
uint64_t itable_used(struct fs *fs);
uint64_t itable_slots(struct fs *fs);	/* there cannot be more inodes than these */
void itable_add_used(struct fs *fs, int64_t delta);
/* Recompute crc and free of a chunk header, flush (checkpoint, recovery). */
void itable_derive(struct fs *fs, uint64_t header_off);

/* ---- orphans (orphan.c) --------------------------------------------------- */

/* The pool offset of a list's head. */
static inline uint64_t orphan_head_off(unsigned shard)
{
	return blk_off(PMEMFS_BLK_SYSTEM) + offsetof(struct pmemfs_system, orphans) +
	       shard * sizeof(struct pmemfs_shard);
}
int orphan_open(struct fs *fs);
void orphan_close(struct fs *fs);
/* The shard's lock is taken and held until t ends (L2). Idempotent. */
void orphan_add(struct txn *t, struct inode *ip);
void orphan_add_new(struct txn *t, uint64_t ino, uint64_t off);	/* O_TMPFILE */
void orphan_del(struct txn *t, struct inode *ip);
bool orphan_listed(const struct inode *ip);
/*
 * Drain one orphan that no one in this process knows. 1: one was drained,
 * 0: none left, -errno.
 */
int orphan_drain_one(struct fs *fs);

#endif
