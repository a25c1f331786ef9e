/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h - a pool in memory, mounted, for tests that speak through op.h
 *
 *	struct pool p;
 *	pool_make(&p, 16 << 20);
 *	node = pool_file(&p, PMEMFS_ROOT_INO, "a");
 *	...
 *	pool_end(&p);		verify, remount, drain, verify, free
 *
 * Everything here fails the running Check test by itself. The recorder lies
 * under every pool but only counts (rec_log() switches it on). The clock is
 * our own: each look at it is one second later than the last.
 */
#ifndef SUPPORT_POOL_H
#define SUPPORT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/fs.h"
#include "op/op.h"
#include "support/pm_mem.h"
#include "support/pm_record.h"

#define ROOT	((uint64_t)PMEMFS_ROOT_INO)

struct pool {
	struct pm_mem mem;
	struct pm_rec *rec;
	struct fs *fs;
	struct op_ctx c;		/* root, pid 1 */
	struct fs_options opt;
};

void pool_make(struct pool *p, uint64_t size);
void pool_mount(struct pool *p);
void pool_unmount(struct pool *p);
void pool_remount(struct pool *p);		/* unmount, mount */
void pool_set_data(struct pool *p, enum fs_data data);	/* remounts */
/* The daemon dies (memory survives); the next one recovers. */
void pool_crash(struct pool *p);
void pool_verify(struct pool *p);		/* checkpoint, then no problems */
void pool_end(struct pool *p);

int64_t pool_now(void);				/* of the clock; does not advance */

/* ---- nodes; all keep one lookup ------------------------------------------- */

uint64_t pool_file(struct pool *p, uint64_t dir, const char *name);
uint64_t pool_dir(struct pool *p, uint64_t dir, const char *name);
uint64_t pool_find(struct pool *p, uint64_t dir, const char *name);
/* The error of a lookup, which is not kept; 0: it is there. */
int pool_look(struct pool *p, uint64_t dir, const char *name);
int pool_unlink(struct pool *p, uint64_t dir, const char *name);
int pool_rmdir(struct pool *p, uint64_t dir, const char *name);
int pool_rename(struct pool *p, uint64_t dir, const char *name, uint64_t newdir,
		const char *newname, uint32_t flags);
int pool_link(struct pool *p, uint64_t node, uint64_t dir, const char *name);
struct op_attr pool_attr(struct pool *p, uint64_t node);
void pool_forget(struct pool *p, uint64_t node, uint64_t n);
/* Names in a directory besides the dots. */
unsigned pool_names(struct pool *p, uint64_t dir);

/* ---- bytes ---------------------------------------------------------------- */

/* Writes everything or fails the test. */
void pool_write(struct pool *p, uint64_t node, uint64_t pos, const void *buf, size_t len);
/* May write less; *done says. */
int pool_try_write(struct pool *p, uint64_t node, uint64_t pos, const void *buf,
		   size_t len, size_t *done);
void pool_fill(struct pool *p, uint64_t node, uint64_t pos, int byte, size_t len);
/* The file has exactly these bytes at pos. */
void pool_expect(struct pool *p, uint64_t node, uint64_t pos, const void *buf, size_t len);
void pool_expect_fill(struct pool *p, uint64_t node, uint64_t pos, int byte, size_t len);
int pool_truncate(struct pool *p, uint64_t node, uint64_t size);

/* Every free block of the medium full of this byte, as if it had been used. */
void pool_soil(struct pool *p, int byte);
uint64_t pool_free_blocks(struct pool *p);
/* Free blocks, once everything that may come back has come back. */
uint64_t pool_settled_blocks(struct pool *p);
uint64_t pool_fences(struct pool *p);		/* since the last call */
/* The call succeeds with so many fences. */
#define COSTS(p, n, call)						\
	do {								\
		pool_fences(p);						\
		ck_assert_int_eq(call, 0);				\
		ck_assert_uint_eq(pool_fences(p), n);			\
	} while (0)

#endif
