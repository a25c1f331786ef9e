/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_threads.c - everything at once, by several threads
 *
 * Threads make, move, link, remove, write and list in one small tree, so that
 * they meet all the time; another one takes checkpoints. Whatever order it
 * comes out in, nobody waits for ever, no call fails in a way that one thread
 * alone could not fail in, and the pool is whole afterwards.
 *
 * Then writers of one file: each overwrites its own part of it, over and over,
 * while it is cut, grown, punched and read elsewhere (L18).
 */
#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "meta/inode.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(64ull << 20)
#define THREADS	4
#define STEPS	40000
#define DIRS	5
#define NAMES	6

static struct pool p;
static uint64_t dirs[DIRS];		/* live for the whole test, move about */
static _Atomic int bad;			/* first error nobody may see */
static _Atomic bool stop;

struct worker {
	pthread_t thread;
	uint64_t rng;
};

static unsigned rnd(struct worker *w, unsigned n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (unsigned)(w->rng % n);
}

static uint64_t any_dir(struct worker *w) { return dirs[rnd(w, DIRS)]; }

static const char *any_name(struct worker *w)
{
	static const char *const names[NAMES] = { "a", "b", "c", "d", "e", "f" };

	return names[rnd(w, NAMES)];
}

static int check(int err)
{
	switch (err) {
	case 0: case -ENOENT: case -EEXIST: case -ENOTDIR: case -EISDIR:
	case -ENOTEMPTY: case -EINVAL: case -EPERM: case -ESTALE:
		break;
	default:
		atomic_store(&bad, err);
	}
	return err;
}

static void make(struct worker *w)
{
	struct op_entry e;
	const char *name = any_name(w);
	uint64_t dir = any_dir(w);
	int err;

	switch (rnd(w, 4)) {
	case 0:
		err = op_mkdir(&p.c, dir, name, 1, 0755, &e);
		break;
	case 1:
		err = op_symlink(&p.c, dir, name, 1, "target", 6, &e);
		break;
	case 2:
		err = op_tmpfile(&p.c, dir, 0644, &e);
		break;
	default:
		err = op_mknod(&p.c, dir, name, 1, S_IFREG | 0644, 0, &e);
	}
	if (!check(err))
		op_forget(p.fs, e.nodeid, 1);
}

static void remove_some(struct worker *w)
{
	if (rnd(w, 3))
		check(pool_unlink(&p, any_dir(w), any_name(w)));
	else
		check(pool_rmdir(&p, any_dir(w), any_name(w)));
}

static void move(struct worker *w)
{
	static const uint32_t flags[] = {
		0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_EXCHANGE, RENAME_WHITEOUT,
	};
	const char *name = any_name(w);
	uint64_t from = any_dir(w);

	/* the lasting directories, "0" to "4", move about as well */
	if (rnd(w, 4) == 0) {
		static const char *const fixed[] = { "0", "1", "2", "3", "4" };

		name = fixed[rnd(w, DIRS)];
		check(pool_rename(&p, from, name, any_dir(w), name, 0));
		return;
	}
	check(pool_rename(&p, from, name, any_dir(w), any_name(w), flags[rnd(w, 7)]));
}

static bool count(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	uint64_t *nodes = arg;

	(void)d;
	if (e && nodes[0] < 20)
		nodes[++nodes[0]] = e->nodeid;
	return !e || nodes[0] < 20;
}

static void list(struct worker *w)
{
	uint64_t nodes[21] = { 0 }, i;
	bool full;

	check(op_readdir(&p.c, any_dir(w), 0, rnd(w, 2), count, nodes));
	full = nodes[0] == 20;
	for (i = 1; i <= nodes[0] - full; i++)
		op_forget(p.fs, nodes[i], 1);
}

static void link_one(struct worker *w)
{
	struct op_entry e, l;
	const char *name = any_name(w);

	if (check(op_lookup(&p.c, any_dir(w), name, 1, &e)))
		return;
	if (!check(op_link(&p.c, e.nodeid, any_dir(w), any_name(w), 1, &l)))
		op_forget(p.fs, l.nodeid, 1);
	op_forget(p.fs, e.nodeid, 1);
}

static void use_file(struct worker *w)
{
	static const uint8_t bytes[30000];
	struct payload pl = payload_mem(bytes, 1 + rnd(w, sizeof(bytes) - 1));
	uint64_t pos = rnd(w, 100000);
	struct op_attr a;
	struct op_entry e;
	uint8_t back[5000];
	size_t n;

	if (check(op_lookup(&p.c, any_dir(w), any_name(w), 1, &e)))
		return;
	switch (rnd(w, 6)) {
	case 0:
		check(pool_truncate(&p, e.nodeid, pos));
		break;
	case 1:
		check(op_fallocate(&p.c, e.nodeid, pos, 20000,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE));
		break;
	case 2:
		check(op_setxattr(&p.c, e.nodeid, "user.x", bytes, 1 + rnd(w, 3000), 0));
		break;
	case 3:
		check(op_pread(&p.c, e.nodeid, back, sizeof(back), pos, &n));
		check(op_getattr(&p.c, e.nodeid, &a));
		break;
	default:
		check(op_write(&p.c, e.nodeid, pos, &pl, 0, &n));
	}
	op_forget(p.fs, e.nodeid, 1);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned i;

	for (i = 0; i < STEPS && !atomic_load(&bad); i++) {
		switch (rnd(w, 8)) {
		case 0: case 1: make(w); break;
		case 2: remove_some(w); break;
		case 3: case 4: move(w); break;
		case 5: list(w); break;
		case 6: link_one(w); break;
		default: use_file(w);
		}
	}
	return NULL;
}

static void *checkpoints(void *arg)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	(void)arg;
	while (!atomic_load(&stop)) {
		if (fs_checkpoint(p.fs))
			atomic_store(&bad, -1);
		icache_sync_atimes(p.fs, 10);
		nanosleep(&ms, NULL);
	}
	return NULL;
}

START_TEST(a_crowd)
{
	static const char *const names[DIRS] = { "0", "1", "2", "3", "4" };
	struct worker w[THREADS];
	pthread_t ck;
	unsigned i;

	pool_make(&p, SIZE);
	for (i = 0; i < DIRS; i++)
		dirs[i] = pool_dir(&p, i ? dirs[rnd(&(struct worker){ .rng = i + 7 }, i)] : ROOT,
				   names[i]);
	ck_assert_int_eq(pthread_create(&ck, NULL, checkpoints, NULL), 0);
	for (i = 0; i < THREADS; i++) {
		w[i].rng = 0x9e3779b97f4a7c15ull * (i + 1);
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	atomic_store(&stop, true);
	pthread_join(ck, NULL);
	ck_assert_msg(!bad, "a call failed with %d", bad);
	pool_verify(&p);
	pool_crash(&p);
	pool_end(&p);
}
END_TEST

/* ---- one file (L18) ----------------------------------------------------------- */

#define PART	(64u << 10)		/* of each writer */
#define ROUNDS	3000u

static uint64_t f;

static void fill(uint8_t *buf, unsigned who, unsigned round)
{
	memset(buf, (int)(1 + (who * 61 + round) % 250), PART);
}

static void *overwrite(void *arg)
{
	unsigned who = (unsigned)((struct worker *)arg)->rng, i;
	static uint8_t bufs[THREADS][PART], backs[THREADS][PART];
	uint8_t *buf = bufs[who], *back = backs[who];
	size_t n;

	for (i = 1; i <= ROUNDS && !atomic_load(&bad); i++) {
		struct payload pl = payload_mem(buf, PART);

		fill(buf, who, i);
		if (check(op_write(&p.c, f, who * PART, &pl, 0, &n)) || n != PART)
			atomic_store(&bad, -1);
		check(op_pread(&p.c, f, back, PART, who * PART, &n));
		if (n != PART || memcmp(back, buf, PART))
			atomic_store(&bad, -2);		/* nobody else writes there */
	}
	return NULL;
}

/* Behind the parts of the writers: the inode changes all the time. */
static void *disturb(void *arg)
{
	static uint8_t bytes[PART];
	uint64_t end = THREADS * PART;
	size_t n;

	(void)arg;
	memset(bytes, 255, sizeof(bytes));
	while (!atomic_load(&stop)) {
		struct payload pl = payload_mem(bytes, PART);

		check(op_write(&p.c, f, end + 1000, &pl, 0, &n));
		check(op_fallocate(&p.c, f, end, 8192, FALLOC_FL_PUNCH_HOLE |
				   FALLOC_FL_KEEP_SIZE));
		check(pool_truncate(&p, f, end));
	}
	return NULL;
}

START_TEST(writers_of_one_file)
{
	struct worker w[THREADS];
	static uint8_t want[PART];
	pthread_t other;
	unsigned i;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'f', THREADS * PART);
	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&other, NULL, disturb, NULL), 0);
	for (i = 0; i < THREADS; i++) {
		w[i].rng = i;
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, overwrite, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	ck_assert_msg(!bad, "a call failed with %d", bad);
	ck_assert_uint_eq(pool_attr(&p, f).size, THREADS * PART);
	pool_crash(&p);
	for (i = 0; i < THREADS; i++) {
		fill(want, i, ROUNDS);
		pool_expect(&p, f, i * PART, want, PART);
	}
	pool_end(&p);
}
END_TEST

static void *write_ab(void *arg)
{
	struct payload pl = payload_mem("written", 7);
	size_t n;

	atomic_store(&bad, op_write(&p.c, f, 4090, &pl, *(uint32_t *)arg, &n));
	if (n != 7)
		atomic_store(&bad, -1);
	atomic_store(&stop, true);
	return NULL;
}

/* Until the bytes at where are these; false after a long while. */
static bool appears(const void *where, const char *bytes, size_t len)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < 20000; i++, nanosleep(&ms, NULL)) {
		atomic_thread_fence(memory_order_seq_cst);
		if (!memcmp(where, bytes, len))
			return true;
	}
	return false;
}

/* The copy and its fence; what comes next waits for the reader. */
static bool fenced(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	unsigned i;

	for (i = 0; i < 20000 && rec_now(p.rec) < 2; i++)
		nanosleep(&ms, NULL);
	return rec_now(p.rec) == 2 && rec_at(p.rec, 1)->kind == REC_FENCE;
}

static void begin_beside(struct op_read *r, struct op_piece *piece, enum fs_data data)
{
	unsigned nr = 1;
	size_t got;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'f', 3 * 4096);
	pool_set_data(&p, data);		/* mounted anew: everything is durable */
	f = pool_find(&p, ROOT, "f");
	rec_log(p.rec, true);
	atomic_store(&stop, false);
	ck_assert_int_eq(op_read(&p.c, f, 0, 3 * 4096, piece, &nr, &got, r), 0);
	ck_assert_uint_eq(piece[0].len, 3 * 4096);
}

/*
 * Somebody reads, and holds the inode for it. The bytes of an overwrite arrive all
 * the same, durably, before he is done; the times when he is.
 */
START_TEST(a_reader_is_not_waited_for)
{
	uint8_t *image = pm_mem_map(SIZE);
	struct op_piece piece;
	struct op_read r;
	int64_t before;
	uint32_t flags = 0;
	pthread_t t;
	uint64_t at;

	begin_beside(&r, &piece, FS_DATA_ORDERED);
	before = pool_now();
	pool_fences(&p);
	ck_assert_int_eq(pthread_create(&t, NULL, write_ab, &flags), 0);
	ck_assert(appears((const uint8_t *)piece.base + 4090, "written", 7));
	ck_assert(fenced());
	at = (uint64_t)((const uint8_t *)piece.base - (const uint8_t *)pm_at(p.fs->pm, 0, 1));
	rec_image(p.rec, rec_now(p.rec), REC_NONE, 0, image);
	ck_assert(!memcmp(image + at + 4090, "written", 7));
	ck_assert(!atomic_load(&stop));			/* it waits with its record */
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(bad, 0);
	ck_assert_uint_eq(pool_fences(&p), 2);
	ck_assert_int_gt(pool_attr(&p, f).mtime.sec, before);
	pool_crash(&p);
	pool_expect(&p, f, 4090, "written", 7);
	pm_mem_unmap(image, SIZE);
	pool_end(&p);
}
END_TEST

/* Beside a reader: not one byte of the file changes before he is done (S1, S3). */
static void waits_its_turn(enum fs_data data, uint32_t flags)
{
	struct op_setattr mode = { .valid = OP_SET_MODE, .mode = 04755 };
	struct timespec while_ = { .tv_nsec = 200000000 };
	struct op_piece piece;
	struct op_attr a;
	struct op_read r;
	pthread_t t;

	begin_beside(&r, &piece, data);
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	ck_assert_int_eq(op_setattr(&p.c, f, &mode, &a), 0);
	ck_assert_int_eq(op_read(&p.c, f, 0, 3 * 4096, &piece, &(unsigned){ 1 },
				 &(size_t){ 0 }, &r), 0);
	pool_fences(&p);
	ck_assert_int_eq(pthread_create(&t, NULL, write_ab, &flags), 0);
	nanosleep(&while_, NULL);
	ck_assert(!atomic_load(&stop));
	ck_assert(!memcmp((const uint8_t *)piece.base + 4090, "fffffff", 7));
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(bad, 0);
	ck_assert_uint_eq(pool_fences(&p), 2);
	pool_expect(&p, f, 4090, "written", 7);
	ck_assert_uint_eq(pool_attr(&p, f).mode & 07777,
			  flags & OP_WRITE_KILL_PRIV ? 0755 : 04755);
	pool_end(&p);
}

START_TEST(who_changes_more_waits)
{
	waits_its_turn(FS_DATA_ATOMIC, 0);
	waits_its_turn(FS_DATA_ORDERED, OP_WRITE_KILL_PRIV);
}
END_TEST

CHECK_MAIN("op/threads", a_crowd, writers_of_one_file, a_reader_is_not_waited_for,
	   who_changes_more_waits)
