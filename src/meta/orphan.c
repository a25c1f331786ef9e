/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphan.c - inodes that must not be forgotten by a crash
 *
 * Unlinked but still known to the kernel, never named (O_TMPFILE), or with a
 * truncation to finish. Sixteen doubly linked lists; the links live in a line
 * of the inode of their own, with their own checksum, so that a neighbour can
 * be relinked without that neighbour's lock (L15).
 *
 *   O1  All links of a shard and its head change under the shard's lock, which
 *       is held until the record is applied (L2).
 *   O2  New ones go to the head. What was there at mount time is behind them,
 *       and is what draining walks: `old` is the first of those.
 *   O3  Taking an inode off needs no space (L9).
 *   O4  Draining follows only links whose checksum is right, and no list longer
 *       than there are inodes: a hostile one may be a circle.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "meta/contend.h"
#include "meta/inode.h"

struct shard {
	pthread_mutex_t lock;
	struct txn *_Atomic holder;	/* the transaction that holds lock */
	unsigned index;
	uint64_t old;			/* O2, under lock; 0: none */
	uint64_t old_next;		/* what old becomes if this txn commits */
	bool old_moves;
	uint64_t steps;			/* links followed by draining (O4) */
};

struct orphans {
	struct shard shard[PMEMFS_SHARDS];
};

static uint64_t link_off(uint64_t inode_off)
{
	return inode_off + offsetof(struct pmemfs_inode, link);
}

int orphan_open(struct fs *fs)
{
	const struct pmemfs_shard *h;
	struct orphans *o;
	unsigned s;

	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	fs->orphans = o;
	for (s = 0; s < PMEMFS_SHARDS; s++) {
		pthread_mutex_init(&o->shard[s].lock, NULL);
		o->shard[s].index = s;
	}
	for (s = 0; s < PMEMFS_SHARDS; s++) {
		h = pm_at(fs->pm, orphan_head_off(s), sizeof(*h));
		if (get32(h->crc) != seal_crc(h, sizeof(*h), orphan_head_off(s))) {
			if (fs->opt.salvage)
				continue;
			return damaged(fs, orphan_head_off(s), "orphan list %u: wrong checksum", s);
		}
		o->shard[s].old = get64(h->first);
	}
	return 0;
}

void orphan_close(struct fs *fs)
{
	unsigned s;

	if (!fs->orphans)
		return;
	for (s = 0; s < PMEMFS_SHARDS; s++)
		pthread_mutex_destroy(&fs->orphans->shard[s].lock);
	free(fs->orphans);
	fs->orphans = NULL;
}

static bool link_ok(const struct pmemfs_link *l, uint64_t off)
{
	if (get32(l->crc) == seal_crc(l, sizeof(*l), off))
		return true;
	return !get32(l->crc) && !get32(l->listed) && !get64(l->next) && !get64(l->prev);
}

static const struct pmemfs_link *link_at(struct fs *fs, uint64_t inode_off)
{
	return pm_at(fs->pm, link_off(inode_off), sizeof(struct pmemfs_link));
}

/* A neighbour's or one's own link, checked, as a shadow. */
static struct pmemfs_link *link_edit(struct txn *t, uint64_t inode_off)
{
	uint64_t off = link_off(inode_off);

	if (!txn_has_shadow(t, off) && !link_ok(link_at(txn_fs(t), inode_off), off)) {
		txn_fail(t, damaged(txn_fs(t), off, "orphan link: wrong checksum"));
		return NULL;
	}
	return txn_edit(t, off, sizeof(struct pmemfs_link));
}

static struct pmemfs_link *neighbour(struct txn *t, uint64_t ino)
{
	uint64_t off;
	int err = itable_slot(txn_fs(t), ino, &off);

	if (err) {
		txn_fail(t, err == -ESTALE ? damaged(txn_fs(t), 0, "orphan link to inode %llu, "
			 "which cannot be", (unsigned long long)ino) : err);
		return NULL;
	}
	return link_edit(t, off);
}

static void shard_unlock(struct fs *fs, void *arg, bool committed)
{
	struct shard *s = arg;

	(void)fs;
	if (committed && s->old_moves)
		s->old = s->old_next;
	s->old_moves = false;
	s->holder = NULL;
	pthread_mutex_unlock(&s->lock);
}

static struct shard *shard_lock(struct txn *t, uint64_t ino)
{
	struct shard *s = &txn_fs(t)->orphans->shard[ino % PMEMFS_SHARDS];

	if (s->holder == t)			/* only true if we set it */
		return s;
	contend_lock(txn_fs(t), &s->lock, COUNT_WAIT_ORPHAN);	/* O1 */
	s->holder = t;
	txn_at_end(t, shard_unlock, s);
	return s;
}

bool orphan_listed(const struct inode *ip)
{
	return get32(link_at(ip->fs, ip->off)->listed);
}

/* l: the inode's own link. */
static void add(struct txn *t, uint64_t ino, struct pmemfs_link *l)
{
	struct shard *s = shard_lock(t, ino);
	struct pmemfs_shard *head = txn_edit(t, orphan_head_off(s->index), sizeof(*head));
	struct pmemfs_link *next;

	if (!head || get32(l->listed))
		return;
	l->listed = put32(1);
	l->prev = put64(0);
	l->next = head->first;
	if (get64(head->first)) {
		next = neighbour(t, get64(head->first));
		if (!next)
			return;
		next->prev = put64(ino);
	}
	head->first = put64(ino);		/* O2 */
}

void orphan_add(struct txn *t, struct inode *ip)
{
	struct pmemfs_link *l;

	if (txn_error(t) || orphan_listed(ip))
		return;
	shard_lock(t, ip->ino);
	l = link_edit(t, ip->off);
	if (l)
		add(t, ip->ino, l);
}

/* The slot may lie in a chunk that this very record adds to the table: what the
 * medium holds there now is somebody's old bytes. */
void orphan_add_new(struct txn *t, uint64_t ino, uint64_t off)
{
	struct pmemfs_link *l;

	if (txn_error(t))
		return;
	shard_lock(t, ino);
	l = txn_new(t, link_off(off), sizeof(*l));
	if (l)
		add(t, ino, l);
}

void orphan_del(struct txn *t, struct inode *ip)
{
	struct pmemfs_link *l, *other;
	struct pmemfs_shard *head;
	struct shard *s;
	uint64_t prev, next;

	if (txn_error(t) || !orphan_listed(ip))
		return;
	s = shard_lock(t, ip->ino);
	l = link_edit(t, ip->off);
	if (!l)
		return;
	prev = get64(l->prev);
	next = get64(l->next);
	memset(l, 0, sizeof(*l));
	if (prev) {
		other = neighbour(t, prev);
		if (other)
			other->next = put64(next);
	} else {
		head = txn_edit(t, orphan_head_off(s->index), sizeof(*head));
		if (head)
			head->first = put64(next);
	}
	if (next) {
		other = neighbour(t, next);
		if (other)
			other->prev = put64(prev);
	}
	if (s->old == ip->ino) {
		s->old_moves = true;
		s->old_next = next;
	}
}

/* ---- draining -------------------------------------------------------------------------- */

static uint64_t first_old(struct shard *s)
{
	uint64_t ino;

	pthread_mutex_lock(&s->lock);
	ino = s->old;
	pthread_mutex_unlock(&s->lock);
	return ino;
}

/* What is behind ino on its list, 0: nothing that can be believed (O4). */
static uint64_t behind(struct fs *fs, struct shard *s, uint64_t ino)
{
	uint64_t off;

	if (itable_slot(fs, ino, &off))
		return 0;
	if (!link_ok(link_at(fs, off), link_off(off))) {
		damaged(fs, link_off(off), "orphan link: wrong checksum");
		return 0;
	}
	if (++s->steps > itable_slots(fs)) {
		damaged(fs, orphan_head_off(s->index), "orphan list %u: a circle", s->index);
		return 0;
	}
	return get64(link_at(fs, off)->next);
}

/* It could not be freed, or someone uses it: leave it to them, go on behind. */
static void skip(struct fs *fs, struct shard *s, uint64_t ino)
{
	pthread_mutex_lock(&s->lock);
	if (s->old == ino)
		s->old = behind(fs, s, ino);
	pthread_mutex_unlock(&s->lock);
}

static int finish(struct fs *fs, uint64_t ino)
{
	struct inode *ip;
	int err = inode_get_ino(fs, ino, &ip);

	if (err)
		return err;
	if (get32(inode_media(ip)->nlink)) {
		inode_wrlock(ip);
		err = inode_finish_trunc(ip);
		inode_unlock(ip);
	}
	inode_put(ip);			/* an unlinked one is freed here */
	return err;
}

int orphan_drain_one(struct fs *fs)
{
	struct shard *s;
	uint64_t ino;
	unsigned i;
	int err;

	for (i = 0; i < PMEMFS_SHARDS; i++) {
		s = &fs->orphans->shard[i];
		ino = first_old(s);
		if (!ino)
			continue;
		err = finish(fs, ino);
		skip(fs, s, ino);
		if (err && err != -ESTALE)
			log_warn("orphan inode %llu could not be freed (%d)",
				 (unsigned long long)ino, err);
		return err == -EROFS || err == -EIO ? err : 1;
	}
	return 0;
}
