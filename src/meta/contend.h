/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contend.h - take a lock, and count it if that meant waiting
 *
 * A lock that is free costs what it always did: one attempt. The counters are
 * what pmemfs-stat shows as waits; pmemfs.7 (SCALING) says what each means.
 */
#ifndef META_CONTEND_H
#define META_CONTEND_H

#include <pthread.h>

#include "base/count.h"
#include "meta/fs.h"

static inline void fs_count(struct fs *fs, enum counter id, uint64_t n)
{
	count_add(pm_counters(fs->pm), id, n);
}

static inline void contend_lock(struct fs *fs, pthread_mutex_t *m, enum counter id)
{
	if (__builtin_expect(pthread_mutex_trylock(m) == 0, 1))
		return;
	fs_count(fs, id, 1);
	pthread_mutex_lock(m);
}

static inline void contend_rdlock(struct fs *fs, pthread_rwlock_t *l, enum counter id)
{
	if (__builtin_expect(pthread_rwlock_tryrdlock(l) == 0, 1))
		return;
	fs_count(fs, id, 1);
	pthread_rwlock_rdlock(l);
}

static inline void contend_wrlock(struct fs *fs, pthread_rwlock_t *l, enum counter id)
{
	if (__builtin_expect(pthread_rwlock_trywrlock(l) == 0, 1))
		return;
	fs_count(fs, id, 1);
	pthread_rwlock_wrlock(l);
}

#endif
