/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * specimen.c - one small pool with one of everything
 *
 * Made by the calls of op.h, so that it is what a mount leaves; by hand is
 * only what would take a large pool or a long life (specimen_hand.c). The log
 * is made last: the pool as it was before the last calls, with the lanes and
 * the data as they were after them, which is what a loss of power may leave.
 */
#include "bitrot/specimen.h"

#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "meta/super.h"

#define BLK	((uint64_t)PMEMFS_BLOCK_SIZE)

struct builder {
	struct specimen *s;
	struct op_ctx c;
};

/*
 * The pool's secrets, too, are always the same: this takes the place of the C
 * library's function in the programs that are made with it.
 */
ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	static uint64_t state = 0x9e3779b97f4a7c15ull;
	uint8_t *p = buf;
	size_t i;

	(void)flags;
	for (i = 0; i < len; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		p[i] = (uint8_t)(state >> 56);
	}
	return (ssize_t)len;
}

static void tick(struct timespec *now)
{
	static int64_t seconds = 1000000;

	now->tv_sec = ++seconds;
	now->tv_nsec = 123456789;
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "specimen: %s: error %d\n", what, err);
	abort();
}

/* ---- calls ------------------------------------------------------------- */

static uint64_t node(struct builder *b, uint64_t dir, const char *name, uint32_t mode)
{
	struct op_entry e;

	if (S_ISDIR(mode))
		must(op_mkdir(&b->c, dir, name, strlen(name), mode, &e), name);
	else
		must(op_mknod(&b->c, dir, name, strlen(name), mode, 0x103, &e), name);
	return e.nodeid;
}

static uint64_t file(struct builder *b, const char *name)
{
	return node(b, PMEMFS_ROOT_INO, name, S_IFREG | 0644);
}

/* No two words of all the data are the same, so a wrong block is seen. */
static void put(struct builder *b, uint64_t n, uint64_t pos, size_t len)
{
	static uint64_t word = 1;
	uint64_t *buf = malloc(len + sizeof(*buf));
	struct payload p;
	size_t i, done;

	for (i = 0; i * sizeof(*buf) < len; i++)
		buf[i] = put64(word++ << 16 | 0xda7a).raw;
	p = payload_mem(buf, len);
	must(op_write(&b->c, n, pos, &p, 0, &done) || done != len, "write");
	free(buf);
}

/* One block at each of n places, so that no two become one extent. */
static void put_scattered(struct builder *b, uint64_t n, unsigned nr, uint64_t step)
{
	for (unsigned i = 0; i < nr; i++)
		put(b, n, i * step * BLK, BLK);
}

static void link_to(struct builder *b, const char *name, size_t len)
{
	char target[4096];
	struct op_entry e;

	for (size_t i = 0; i < len; i++)
		target[i] = (char)('a' + (i * 7 + len) % 26);
	must(op_symlink(&b->c, PMEMFS_ROOT_INO, name, strlen(name), target, len, &e), name);
}

static void attr(struct builder *b, uint64_t n, const char *name, size_t size)
{
	uint8_t *val = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		val[i] = (uint8_t)(i * 13 + size + (uint8_t)name[5]);
	must(op_setxattr(&b->c, n, name, val, size, 0), name);
	free(val);
}

static void set(struct builder *b, uint64_t n, const struct op_setattr *in)
{
	struct op_attr out;

	must(op_setattr(&b->c, n, in, &out), "setattr");
}

static void truncate_to(struct builder *b, uint64_t n, uint64_t size)
{
	set(b, n, &(struct op_setattr){ .valid = OP_SET_SIZE, .size = size });
}

static void drop(struct builder *b, const char *name)
{
	must(op_unlink(&b->c, PMEMFS_ROOT_INO, name, strlen(name)), name);
}

/* ---- one of everything ------------------------------------------------- */

static void make_files(struct builder *b)
{
	uint64_t n, sub = node(b, PMEMFS_ROOT_INO, "dir", S_IFDIR | 02755);
	struct op_entry e;

	file(b, "empty");
	put(b, file(b, "inline"), 0, 5000);
	put_scattered(b, file(b, "inline4"), 4, 3);
	put_scattered(b, file(b, "tree"), 40, 2);
	put_scattered(b, file(b, "cut"), 130, 2);
	truncate_to(b, file(b, "hole"), 1ull << 40);
	n = file(b, "unwritten");
	must(op_fallocate(&b->c, n, 0, 8 * BLK, 0), "fallocate");
	put(b, n, 2 * BLK + 100, 5000);
	must(op_fallocate(&b->c, n, 8 * BLK, 2 * BLK, FALLOC_FL_KEEP_SIZE), "fallocate");
	n = file(b, "hard");
	put(b, n, 0, 100);
	must(op_link(&b->c, n, sub, "other", 5, &e), "link");
	set(b, n, &(struct op_setattr){
		.valid = OP_SET_MODE | OP_SET_UID | OP_SET_GID | OP_SET_MTIME,
		.mode = 06755, .uid = 1000, .gid = 100,
		.mtime = { .sec = -5, .nsec = 999999999 } });
	node(b, sub, "fifo", S_IFIFO | 0600);
	node(b, sub, "socket", S_IFSOCK | 0600);
	node(b, sub, "char", S_IFCHR | 0600);
	node(b, sub, "block", S_IFBLK | 0600);
	put_scattered(b, file(b, "deep"), 16, 100);
	put_scattered(b, file(b, "gone"), 12, 2);
}

static void make_dirs(struct builder *b)
{
	uint64_t big = node(b, PMEMFS_ROOT_INO, "big", S_IFDIR | 0755);
	uint64_t deep = node(b, PMEMFS_ROOT_INO, "deepdir", S_IFDIR | 0755);
	uint64_t n = node(b, PMEMFS_ROOT_INO, "a", S_IFDIR | 0755);
	char name[256];
	unsigned i;

	node(b, PMEMFS_ROOT_INO, "emptydir", S_IFDIR | 0700);
	for (i = 0; i < 6; i++)
		n = node(b, n, "b", S_IFDIR | 0755);
	for (i = 0; i < 40; i++) {
		memset(name, 'n', sizeof(name));
		snprintf(name, sizeof(name), "%u", i);
		name[strlen(name)] = '-';
		name[40 + 5 * i] = '\0';
		node(b, big, name, S_IFREG | 0600);
	}
	for (i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		node(b, deep, name, i % 4 ? S_IFREG | 0600 : S_IFDIR | 0700);
	}
}

static void make_links_and_attrs(struct builder *b)
{
	char name[64];
	uint64_t n;
	unsigned i;

	link_to(b, "link6", 6);
	link_to(b, "link64", 64);
	link_to(b, "link65", 65);
	link_to(b, "link4095", 4095);
	n = file(b, "attrs");
	attr(b, n, "user.empty", 0);
	attr(b, n, "user.small", 40);
	attr(b, n, "user.inline", PMEMFS_XATTR_INLINE);
	attr(b, n, "user.blocks", 5000);
	attr(b, n, "security.capability", 20);
	n = file(b, "many");
	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "trusted.number.%u", i);
		attr(b, n, name, 300);
	}
	n = file(b, "deepattrs");
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "user.deep%u", i);
		attr(b, n, name, i == 3 ? 9000 : 50 * i);
	}
	attr(b, PMEMFS_ROOT_INO, "user.root", 30);
}

/* Two chunks of inodes, most of them freed again; orphans in one shard that
 * the "kernel" still knows when the daemon dies. */
static void make_slots(struct builder *b)
{
	struct op_entry tmp;
	uint64_t n, kept = 0;
	char name[32];
	unsigned i;

	for (i = 0; i < 260; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		n = file(b, name);
		if (n % PMEMFS_SHARDS == 7 && kept < 4) {
			kept++;
			if (kept == 2)
				put_scattered(b, n, 8, 2);
			if (kept == 3)
				attr(b, n, "user.orphan", 3000);
		} else if (i % 40) {
			op_forget(b->c.fs, n, 1);
		} else {
			continue;
		}
		drop(b, name);
	}
	must(op_tmpfile(&b->c, PMEMFS_ROOT_INO, 0600, &tmp), "tmpfile");
	put(b, tmp.nodeid, 0, 3 * BLK);
}

/* ---- the log ----------------------------------------------------------- */

static uint64_t find(struct builder *b, const char *name)
{
	struct op_entry e;

	must(op_lookup(&b->c, PMEMFS_ROOT_INO, name, strlen(name), &e), name);
	return e.nodeid;
}

/* A lane of its own for each: a thread keeps to its lane. */
static void *log_1(void *arg)
{
	struct builder *b = arg;
	uint64_t n = file(b, "new");

	put(b, n, 0, 3 * BLK + 17);
	attr(b, n, "user.new", 100);
	put(b, find(b, "inline"), 4000, 9000);
	node(b, find(b, "emptydir"), "newdir", S_IFDIR | 0700);
	return NULL;
}

static void *log_2(void *arg)
{
	struct builder *b = arg;

	must(op_rename(&b->c, PMEMFS_ROOT_INO, "tree", 4, find(b, "dir"), "moved", 5, 0),
	     "rename");
	op_forget(b->c.fs, find(b, "gone"), 2);
	drop(b, "s0");
	link_to(b, "newlink", 30);
	must(op_rename(&b->c, PMEMFS_ROOT_INO, "link6", 5, PMEMFS_ROOT_INO, "link64", 6,
		       RENAME_EXCHANGE), "exchange");
	return NULL;
}

static void *log_3(void *arg)
{
	struct builder *b = arg;

	node(b, PMEMFS_ROOT_INO, "last", S_IFIFO | 0600);
	truncate_to(b, find(b, "cut"), 10);
	return NULL;
}

static void in_a_thread(void *(*fn)(void *), struct builder *b)
{
	pthread_t t;

	must(pthread_create(&t, NULL, fn, b), "thread");
	must(pthread_join(t, NULL), "thread");
}

struct cut {
	uint64_t seq, end_off, last_off, last_seq;
};

/* The first record of the truncation is the last one kept. */
static bool find_truncation(void *arg, uint64_t off, const struct pmemfs_record *rec)
{
	struct cut *c = arg;
	uint64_t seq = get64(rec->seq);

	(void)off;
	if (get16(rec->op) == PMEMFS_OP_TRUNCATE && (!c->seq || seq < c->seq))
		c->seq = seq;
	return true;
}

static bool find_rest(void *arg, uint64_t off, const struct pmemfs_record *rec)
{
	struct cut *c = arg;
	uint64_t seq = get64(rec->seq);

	if (seq > c->seq && (!c->end_off || off < c->end_off))
		c->end_off = off;
	if (seq <= c->seq && seq > c->last_seq) {
		c->last_seq = seq;
		c->last_off = off;
	}
	return true;
}

static void cut_log(struct specimen *s)
{
	uint64_t half = s->geo.lane_size / 2, lanes = blk_off(s->geo.lanes_blk), end;
	struct cut c = { 0 };

	hand_records(s, find_truncation, &c);
	hand_records(s, find_rest, &c);
	must(!c.seq || !c.end_off || !c.last_off, "a truncation in pieces");
	end = lanes + align_up(c.end_off - lanes + 1, half);
	memset(s->u.base + c.end_off, 0, end - c.end_off);
	s->last_record = c.last_off;
}

static bool is_used(const uint8_t *image, const struct geometry *geo, uint64_t blk)
{
	const uint8_t *map = image + blk_off(geo->bitmap_blk + blk / PMEMFS_GROUP_BLOCKS);
	uint32_t bit = blk % PMEMFS_GROUP_BLOCKS;

	return map[bit / 8] >> bit % 8 & 1;
}

/* Nothing arrived in place: take back all but lanes and data. */
static void undo_in_place(struct specimen *s, const uint8_t *before)
{
	uint64_t blk;

	for (blk = 0; blk < s->geo.nr_blocks; blk++) {
		if (blk >= s->geo.lanes_blk && blk < s->geo.groups_blk)
			continue;
		if (is_used(before, &s->geo, blk))
			memcpy(s->u.base + blk_off(blk), before + blk_off(blk), BLK);
	}
}

static void make_log(struct specimen *s)
{
	struct builder b = { .s = s, .c = { .pid = 1 } };
	uint8_t *before = malloc(SPECIMEN_SIZE);

	must(!before, "memory");
	must(specimen_open(s, false, FS_ERRORS_REMOUNT_RO, &b.c.fs), "open");
	memcpy(before, s->u.base, SPECIMEN_SIZE);
	in_a_thread(log_1, &b);
	in_a_thread(log_2, &b);
	in_a_thread(log_3, &b);
	fs_crash(b.c.fs);
	undo_in_place(s, before);
	cut_log(s);
	free(before);
}

/* ---- life -------------------------------------------------------------- */

static int open_either_way(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	struct pm_config mine = *cfg;
	int err;

	mine.flags &= ~PM_RDONLY;
	err = pm_backend_undo.open(m, path, &mine);
	m->private = cfg->flags & PM_RDONLY;
	return err;
}

static void make_pool(struct specimen *s)
{
	struct pm_config cfg = {
		.backend = &s->be, .backend_arg = &s->u,
		.flags = PM_CREATE, .granularity = -1,
	};
	struct mkfs_params mk = {
		.nr_blocks = SPECIMEN_SIZE / PMEMFS_BLOCK_SIZE,
		.root_mode = 0755, .zeroed = true, .time = 1000000,
		.label = "specimen", .uuid = { 1, 2, 3 },
	};
	struct pm *pm;

	must(pm_open(&pm, "specimen", &cfg), "memory");
	must(mkfs_geometry(&mk, &s->geo), "geometry");
	must(mkfs_pool(pm, &mk, &s->geo), "mkfs");
	pm_close(pm);
}

static void fill_pool(struct specimen *s, uint64_t deep[3])
{
	struct builder b = { .s = s, .c = { .pid = 1 } };

	must(specimen_open(s, false, FS_ERRORS_REMOUNT_RO, &b.c.fs), "open");
	make_files(&b);
	make_dirs(&b);
	make_links_and_attrs(&b);
	make_slots(&b);
	deep[0] = find(&b, "deep") & PMEMFS_MAX_INO;
	deep[1] = find(&b, "deepdir") & PMEMFS_MAX_INO;
	deep[2] = find(&b, "deepattrs") & PMEMFS_MAX_INO;
	must(fs_checkpoint(b.c.fs), "checkpoint");
	fs_crash(b.c.fs);		/* a close would free the orphans */
}

void specimen_make(struct specimen *s)
{
	uint64_t deep[3];

	memset(s, 0, sizeof(*s));
	undo_init(&s->u, SPECIMEN_SIZE);
	s->be = pm_backend_undo;
	s->be.open = open_either_way;
	make_pool(s);
	fill_pool(s, deep);
	hand_deepen_file(s, deep[0]);
	hand_deepen_dir(s, deep[1]);
	hand_deepen_xattrs(s, deep[2]);
	hand_retire_a_slot(s);
	hand_bad_block(s);
	make_log(s);
	undo_settle(&s->u);
}

void specimen_free(struct specimen *s)
{
	undo_free(&s->u);
}

void specimen_back(struct specimen *s)
{
	undo_back(&s->u);
}

int specimen_open(struct specimen *s, bool ro, enum fs_errors errors, struct fs **out)
{
	struct fs_options opt = {
		.ro = ro, .no_background = true, .granularity = -1,
		.errors = errors, .atime = FS_NOATIME, .clock = tick,
		.backend = &s->be, .backend_arg = &s->u,
	};

	return fs_open(out, "specimen", &opt);
}
