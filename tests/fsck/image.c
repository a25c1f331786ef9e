/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.c - a pool with one of everything
 */
#include "fsck/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/siphash.h"
#include "copy/copy.h"
#include "meta/namekey.h"
#include "meta/peek.h"
#include "meta/super.h"

#define BIG_EXTENTS	900u
#define MANY_NAMES	600u
#define SMALL_ATTRS	60u
#define LARGE		20000u
#define ORPHANS		40u

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

#define OK(what) do { \
	int err_ = (what); \
	if (err_) \
		die("%s:%d: %s: %s", __FILE__, __LINE__, #what, strerror(-err_)); \
} while (0)

/* ---- filling ------------------------------------------------------------ */

static void test_clock(struct timespec *now)
{
	now->tv_sec = 1000000;
	now->tv_nsec = 5;
}

struct fs *image_open(struct image *img, bool ro)
{
	struct fs_options opt = {
		.ro = ro, .no_background = true, .granularity = -1, .clock = test_clock,
		.atime = FS_NOATIME, .errors = FS_ERRORS_CONTINUE,
		.backend = &pm_backend_mem, .backend_arg = &img->mem,
	};
	struct fs *fs;

	OK(fs_open(&fs, "image", &opt));
	return fs;
}

static uint8_t byte_of(unsigned seed, uint64_t i)
{
	return (uint8_t)(seed * 31 + i + (i >> 8) * 7);
}

static void write_at(const struct op_ctx *c, uint64_t node, uint64_t pos, unsigned seed,
		     size_t len)
{
	uint8_t *buf = malloc(len);
	struct payload pl = payload_mem(buf, len);
	size_t i, done = 0;

	for (i = 0; i < len; i++)
		buf[i] = byte_of(seed, i);
	OK(op_write(c, node, pos, &pl, 0, &done));
	if (done != len)
		die("short write");
	free(buf);
}

static uint64_t mk(const struct op_ctx *c, uint64_t dir, const char *name, uint32_t mode)
{
	struct op_entry e;

	if (S_ISDIR(mode))
		OK(op_mkdir(c, dir, name, strlen(name), mode & 07777, &e));
	else
		OK(op_mknod(c, dir, name, strlen(name), mode, 0x103, &e));
	return e.nodeid;
}

static uint64_t mk_file(const struct op_ctx *c, uint64_t dir, const char *name, unsigned seed,
			size_t len)
{
	uint64_t node = mk(c, dir, name, S_IFREG | 0644);

	write_at(c, node, 0, seed, len);
	return node;
}

static void fill_big(const struct op_ctx *c, unsigned seed)
{
	uint64_t node = mk(c, 1, "big", S_IFREG | 0600);
	unsigned i;

	for (i = 0; i < BIG_EXTENTS; i++)
		write_at(c, node, i * 2ull * PMEMFS_BLOCK_SIZE, seed + i, 100);
}

static void fill_attrs(const struct op_ctx *c)
{
	uint64_t node = mk_file(c, 1, "attrs", 7, 10);
	char name[40], value[200];
	uint8_t large[LARGE];
	unsigned i;

	for (i = 0; i < SMALL_ATTRS; i++) {
		snprintf(name, sizeof(name), "user.small.%u", i);
		memset(value, (int)i, sizeof(value));
		OK(op_setxattr(c, node, name, value, sizeof(value), 0));
	}
	for (i = 0; i < LARGE; i++)
		large[i] = byte_of(99, i);
	OK(op_setxattr(c, node, "user.large", large, LARGE, 0));
}

static void fill_dirs(const struct op_ctx *c)
{
	uint64_t file = mk_file(c, 1, "file", 1, 5000);
	uint64_t dir = mk(c, 1, "dir", S_IFDIR | 0755);
	uint64_t sub = mk(c, dir, "sub", S_IFDIR | 0755), many;
	struct op_entry e;
	char name[40];
	unsigned i;

	OK(op_link(c, file, dir, "hard", 4, &e));
	mk_file(c, sub, "deep", 2, 9000);
	many = mk(c, 1, "many", S_IFDIR | 0755);
	for (i = 0; i < MANY_NAMES; i++) {
		snprintf(name, sizeof(name), "a name of some length %u", i);
		mk(c, many, name, S_IFREG | 0644);
	}
}

static void fill_links(const struct op_ctx *c)
{
	struct op_entry e;
	char target[300];

	memset(target, 'x', sizeof(target));
	OK(op_symlink(c, 1, "link", 4, "file", 4, &e));
	OK(op_symlink(c, 1, "long", 4, target, sizeof(target), &e));
	mk(c, 1, "dev", S_IFCHR | 0600);
	mk(c, 1, "fifo", S_IFIFO | 0600);
	mk_file(c, 1, "setuid", 3, 100);
}

static void fill_rest(const struct op_ctx *c)
{
	uint64_t tail = mk_file(c, 1, "tail", 4, 8192);
	struct op_setattr in = { .valid = OP_SET_MODE, .mode = 04755 };
	struct op_entry e;
	struct op_attr a;
	char name[16];
	unsigned i;

	write_at(c, tail, 40960, 5, 8192);
	OK(op_fallocate(c, tail, 81920, 40960, 0));
	OK(op_lookup(c, 1, "setuid", 6, &e));
	OK(op_setattr(c, e.nodeid, &in, &a));
	for (i = 0; i < ORPHANS; i++) {		/* known to the kernel, then it dies */
		snprintf(name, sizeof(name), "gone%u", i);
		mk_file(c, 1, name, 6, 5000);
		OK(op_unlink(c, 1, name, strlen(name)));
	}
}

static void *fill_lane(void *arg)
{
	static unsigned nr;
	const struct op_ctx *c = arg;
	char name[16];
	unsigned i;

	for (i = 0; i < NR_LOGGED / 2; i++) {
		snprintf(name, sizeof(name), "logged%u", nr++ % NR_LOGGED);
		mk_file(c, 1, name, 8, 100);
	}
	return NULL;
}

/*
 * Changes that are in the log only, as far as anybody can rely on: first some
 * in the lane of this thread, then some in the lane of another.
 */
static void fill_log(struct op_ctx *c)
{
	pthread_t other;

	fill_lane(c);
	if (pthread_create(&other, NULL, fill_lane, c))
		die("no thread");
	pthread_join(other, NULL);
}

static void mkfs(struct image *img)
{
	struct pm_config cfg = {
		.backend = &pm_backend_mem, .backend_arg = &img->mem,
		.flags = PM_CREATE, .granularity = -1,
	};
	struct mkfs_params mk_params = {
		.nr_blocks = img->mem.size / PMEMFS_BLOCK_SIZE, .root_mode = 0755,
		.time = 1000000, .label = "image",
	};
	struct pm *pm;

	OK(pm_open(&pm, "image", &cfg));
	OK(mkfs_geometry(&mk_params, &img->geo));
	OK(mkfs_pool(pm, &mk_params, &img->geo));
	pm_close(pm);
}

/* Only what went to the lanes, and data, arrived: all else is as at the start. */
static void cut_power(struct image *img, const uint8_t *start)
{
	uint64_t lanes = blk_off(img->geo.lanes_blk), groups = blk_off(img->geo.groups_blk);

	memcpy(at(img, 0), start, lanes);
	memcpy(at(img, groups), start + groups, img->mem.size - groups);
}

void image_make(struct image *img, enum ending end)
{
	struct op_ctx c = { .pid = 1 };
	uint8_t *start;

	if (!img->mem.size)
		img->mem.size = IMAGE_SIZE;
	mkfs(img);
	c.fs = image_open(img, false);
	fill_dirs(&c);
	fill_links(&c);
	fill_big(&c, 11);
	fill_attrs(&c);
	fill_rest(&c);
	OK(fs_checkpoint(c.fs));
	start = malloc(img->mem.size);
	memcpy(start, img->mem.buf, img->mem.size);
	if (end != AT_REST)
		fill_log(&c);
	fs_crash(c.fs);			/* orphans stay */
	if (end == AT_REST)
		fs_crash(image_open(img, false));
	else if (end == POWER_CUT)
		cut_power(img, start);
	free(start);
}

void image_geometry(struct image *img)
{
	struct pm_config cfg = {
		.backend = &pm_backend_mem, .backend_arg = &img->mem, .granularity = -1,
	};
	const char *bad;
	struct pm *pm;
	int which;

	OK(pm_open(&pm, "image", &cfg));
	OK(super_read(pm, &img->geo, &which, &bad));
	pm_close(pm);
}

void image_map(struct image *img, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	memset(img, 0, sizeof(*img));
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (!st.st_size && ftruncate(fd, IMAGE_SIZE))
		die("%s: %s", path, strerror(errno));
	img->mem.size = st.st_size ? (uint64_t)st.st_size : IMAGE_SIZE;
	img->mem.buf = mmap(NULL, img->mem.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (img->mem.buf == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* ---- what is whole --------------------------------------------------------- */

uint64_t image_find(struct fs *fs, const char *path)
{
	struct op_ctx c = { .fs = fs };
	struct op_entry e = { .nodeid = 1 };
	const char *end;

	for (path += *path == '/'; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, '/');
		if (op_lookup(&c, e.nodeid, path, (size_t)(end - path), &e))
			return 0;
	}
	return e.nodeid;
}

static bool has(struct fs *fs, uint64_t node, uint64_t pos, unsigned seed, size_t len)
{
	struct op_ctx c = { .fs = fs };
	uint8_t *buf = malloc(len);
	size_t got = 0, i;
	bool ok;

	ok = !op_pread(&c, node, buf, len, pos, &got) && got == len;
	for (i = 0; ok && i < len; i++)
		ok = buf[i] == byte_of(seed, i);
	free(buf);
	return ok;
}

static bool attr_is(struct fs *fs, const char *path, uint32_t mode, uint32_t nlink,
		    uint64_t size)
{
	struct op_ctx c = { .fs = fs };
	uint64_t node = image_find(fs, path);
	struct op_attr a;

	return node && !op_getattr(&c, node, &a) && a.mode == mode && a.nlink == nlink &&
	       (S_ISDIR(mode) || a.size == size) && a.uid == 0 &&
	       a.mtime.sec == 1000000;
}

static bool big_is_whole(struct fs *fs)
{
	uint64_t node = image_find(fs, "/big");
	unsigned i;

	if (!attr_is(fs, "/big", S_IFREG | 0600, 1, (BIG_EXTENTS - 1) * 8192ull + 100))
		return false;
	for (i = 0; i < BIG_EXTENTS; i++)
		if (!has(fs, node, i * 8192ull, 11 + i, 100))
			return false;
	return true;
}

static bool many_is_whole(struct fs *fs)
{
	char name[60];
	unsigned i;

	if (!attr_is(fs, "/many", S_IFDIR | 0755, 2, 0))
		return false;
	for (i = 0; i < MANY_NAMES; i++) {
		snprintf(name, sizeof(name), "/many/a name of some length %u", i);
		if (!attr_is(fs, name, S_IFREG | 0644, 1, 0))
			return false;
	}
	return true;
}

static bool attrs_are_whole(struct fs *fs, bool large)
{
	struct op_ctx c = { .fs = fs };
	uint64_t node = image_find(fs, "/attrs");
	static uint8_t value[LARGE];
	char name[40];
	size_t got = 0;
	unsigned i, k;

	if (!node)
		return false;
	if (large) {
		if (op_getxattr(&c, node, "user.large", value, LARGE, &got) || got != LARGE)
			return false;
		for (i = 0; i < LARGE; i++)
			if (value[i] != byte_of(99, i))
				return false;
		return true;
	}
	for (i = 0; i < SMALL_ATTRS; i++) {
		snprintf(name, sizeof(name), "user.small.%u", i);
		if (op_getxattr(&c, node, name, value, LARGE, &got) || got != 200)
			return false;
		for (k = 0; k < 200; k++)
			if (value[k] != (uint8_t)i)
				return false;
	}
	return true;
}

static bool link_is(struct fs *fs, const char *path, const char *target, size_t len)
{
	struct op_ctx c = { .fs = fs };
	uint64_t node = image_find(fs, path);
	char buf[4096];
	size_t got = 0;

	return node && !op_readlink(&c, node, buf, &got) && got == len &&
	       (target ? !memcmp(buf, target, len) : buf[0] == 'x');
}

static bool is_whole(struct fs *fs, enum thing t)
{
	switch (t) {
	case T_FILE:
		return attr_is(fs, "/file", S_IFREG | 0644, 2, 5000) &&
		       has(fs, image_find(fs, "/file"), 0, 1, 5000);
	case T_HARD:
		return image_find(fs, "/dir/hard") &&
		       image_find(fs, "/dir/hard") == image_find(fs, "/file");
	case T_TAIL:
		return attr_is(fs, "/tail", S_IFREG | 0644, 1, 81920 + 40960) &&
		       has(fs, image_find(fs, "/tail"), 0, 4, 8192) &&
		       has(fs, image_find(fs, "/tail"), 40960, 5, 8192);
	case T_DEEP:
		return attr_is(fs, "/dir/sub", S_IFDIR | 0755, 2, 0) &&
		       attr_is(fs, "/dir/sub/deep", S_IFREG | 0644, 1, 9000) &&
		       has(fs, image_find(fs, "/dir/sub/deep"), 0, 2, 9000);
	case T_BIG: return big_is_whole(fs);
	case T_MANY: return many_is_whole(fs);
	case T_LINK: return link_is(fs, "/link", "file", 4);
	case T_LONG: return link_is(fs, "/long", NULL, 300);
	case T_DEV: return attr_is(fs, "/dev", S_IFCHR | 0600, 1, 0);
	case T_FIFO: return attr_is(fs, "/fifo", S_IFIFO | 0600, 1, 0);
	case T_SMALL: return attrs_are_whole(fs, false);
	case T_LARGE: return attrs_are_whole(fs, true);
	case T_SETUID: return attr_is(fs, "/setuid", S_IFREG | 04755, 1, 100);
	case T_NR: break;
	}
	return false;
}

unsigned image_logged(struct fs *fs)
{
	unsigned i, n = 0;
	char name[20];

	for (i = 0; i < NR_LOGGED; i++) {
		snprintf(name, sizeof(name), "/logged%u", i);
		n += attr_is(fs, name, S_IFREG | 0644, 1, 100);
	}
	return n;
}

uint32_t image_whole(struct fs *fs)
{
	uint32_t whole = 0;
	int t;

	for (t = 0; t < T_NR; t++)
		if (is_whole(fs, (enum thing)t))
			whole |= T_BIT(t);
	return whole;
}

/* ---- walking --------------------------------------------------------------- */

struct listing { char (*name)[256]; size_t nr, room; };

static bool list_name(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	struct listing *l = arg;

	(void)e;
	if (d->off < PMEMFS_DIR_MIN_KEY)
		return true;
	if (l->nr == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		l->name = realloc(l->name, l->room * sizeof(*l->name));
	}
	snprintf(l->name[l->nr++], 256, "%.*s", (int)d->len, d->name);
	return true;
}

int image_found(struct fs *fs)
{
	struct op_ctx c = { .fs = fs };
	uint64_t node = image_find(fs, "/lost+found");
	struct listing l = { .nr = 0 };
	int nr;

	if (!node)
		return -1;
	OK(op_readdir(&c, node, 0, false, list_name, &l));
	nr = (int)l.nr;
	free(l.name);
	return nr;
}

static void read_all(const struct op_ctx *c, uint64_t node, uint64_t size)
{
	static uint8_t buf[1 << 20];
	uint64_t pos;
	size_t got;

	for (pos = 0; pos < size && pos < 64ull << 20; pos += got) {
		OK(op_pread(c, node, buf, sizeof(buf), pos, &got));
		if (!got)
			die("short file");
	}
}

static void read_attrs(const struct op_ctx *c, uint64_t node)
{
	static char names[65536], value[65536];
	size_t len = 0, got, i;

	OK(op_listxattr(c, node, names, sizeof(names), &len));
	for (i = 0; i < len; i += strlen(names + i) + 1)
		OK(op_getxattr(c, node, names + i, value, sizeof(value), &got));
}

static void walk_dir(const struct op_ctx *c, uint64_t dir, unsigned depth)
{
	struct listing l = { .nr = 0 };
	char target[4096];
	struct op_entry e;
	size_t i, got;

	if (depth > 60)
		die("directories without an end");
	OK(op_readdir(c, dir, 0, false, list_name, &l));
	for (i = 0; i < l.nr; i++) {
		OK(op_lookup(c, dir, l.name[i], strlen(l.name[i]), &e));
		read_attrs(c, e.nodeid);
		if (S_ISREG(e.attr.mode))
			read_all(c, e.nodeid, e.attr.size);
		else if (S_ISLNK(e.attr.mode))
			OK(op_readlink(c, e.nodeid, target, &got));
		else if (S_ISDIR(e.attr.mode))
			walk_dir(c, e.nodeid, depth + 1);
		op_forget(c->fs, e.nodeid, 1);
	}
	free(l.name);
}

void image_walk(struct fs *fs)
{
	struct op_ctx c = { .fs = fs };

	walk_dir(&c, 1, 0);
}

/* ---- bytes -------------------------------------------------------------------- */

void *at(struct image *img, uint64_t off)
{
	return (uint8_t *)img->mem.buf + off;
}

struct pmemfs_node *node_at(struct image *img, uint64_t blk)
{
	return at(img, blk_off(blk));
}

static struct pm *open_pm(struct image *img)
{
	struct pm_config cfg = {
		.backend = &pm_backend_mem, .backend_arg = &img->mem, .granularity = -1,
	};
	struct pm *pm;

	OK(pm_open(&pm, "image", &cfg));
	return pm;
}

uint64_t ino_of(struct image *img, const char *path)
{
	struct fs *fs = image_open(img, true);
	uint64_t node = image_find(fs, path);

	fs_close(fs);
	if (!node)
		die("%s is not there", path);
	return node & PMEMFS_MAX_INO;
}

uint64_t ino_off(struct image *img, uint64_t ino)
{
	struct peek p = { .pm = open_pm(img), .geo = &img->geo };
	uint64_t off = 0;
	bool there;

	if (ino % PMEMFS_CHUNK_INODES) {
		there = peek_inode(&p, ino, &off);
	} else {			/* peek knows no headers */
		there = peek_inode(&p, ino + 1, &off);
		off -= PMEMFS_INODE_SIZE;
	}
	pm_close((struct pm *)(uintptr_t)p.pm);
	return there ? off : 0;
}

struct pmemfs_inode *inode_of(struct image *img, const char *path)
{
	return at(img, ino_off(img, ino_of(img, path)));
}

struct pmemfs_chunk *chunk_of(struct image *img, uint64_t ino)
{
	return at(img, ino_off(img, ino - ino % PMEMFS_CHUNK_INODES));
}

void seal_at(struct image *img, uint64_t off, size_t len)
{
	le32 crc = put32(seal_crc(at(img, off), len, off));

	memcpy(at(img, off), &crc, sizeof(crc));
}

void seal_inode(struct image *img, struct pmemfs_inode *di)
{
	seal_at(img, (uint64_t)((uint8_t *)di - (uint8_t *)img->mem.buf), PMEMFS_INODE_SEALED);
}

void seal_node(struct image *img, uint64_t blk)
{
	seal_at(img, blk_off(blk), PMEMFS_BLOCK_SIZE);
}

struct leaves { uint64_t blk[256]; unsigned nr; };

static void note_leaf(void *arg, const struct pmemfs_node *n, uint64_t blk)
{
	struct leaves *l = arg;

	if (!n->level && l->nr < ARRAY_SIZE(l->blk))
		l->blk[l->nr++] = blk;
}

static void leaves_of(struct image *img, uint64_t root, struct leaves *l)
{
	struct peek p = { .pm = open_pm(img), .geo = &img->geo, .node = note_leaf, .arg = l };

	l->nr = 0;
	peek_tree(&p, root, (enum pmemfs_tree)node_at(img, root)->tree);
	pm_close((struct pm *)(uintptr_t)p.pm);
}

uint64_t leaf_of(struct image *img, uint64_t root, unsigned nth, unsigned *nr)
{
	struct leaves l;

	leaves_of(img, root, &l);
	if (nr)
		*nr = l.nr;
	if (nth >= l.nr)
		die("tree with %u leaves only", l.nr);
	return l.blk[nth];
}

uint64_t entry_of(struct image *img, const char *dir, const char *name, unsigned *slot)
{
	uint64_t key = name_key(img->geo.seed, name, strlen(name));
	const struct pmemfs_node *n;
	struct leaves l;
	unsigned i;

	leaves_of(img, get64(inode_of(img, dir)->root.tree), &l);
	for (i = 0; i < l.nr; i++) {
		n = node_at(img, l.blk[i]);
		for (*slot = 0; *slot < node_nr(n); ++*slot)
			if (node_key(n, *slot) == key)
				return l.blk[i];
	}
	die("%s is not in %s", name, dir);
}

void mark(struct image *img, uint64_t blk, uint64_t len, bool used)
{
	for (; len; blk++, len--)
		pm_plain_bits(img->mem.buf,
			      blk_off(img->geo.bitmap_blk + blk / PMEMFS_GROUP_BLOCKS),
			      blk % PMEMFS_GROUP_BLOCKS, 1, used);
}

bool is_marked(struct image *img, uint64_t blk)
{
	const uint8_t *map = at(img, blk_off(img->geo.bitmap_blk + blk / PMEMFS_GROUP_BLOCKS));

	return map[blk % PMEMFS_GROUP_BLOCKS / 8] >> blk % 8 & 1;
}

/* ---- what is derived -------------------------------------------------------------- */

static unsigned count_clear(const uint8_t *map, size_t len)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < len; i++)
		n += 8 - (unsigned)__builtin_popcount(map[i]);
	return n;
}

static uint64_t nr_chunks(struct image *img)
{
	const struct pmemfs_inode *di = at(img, blk_off(PMEMFS_BLK_SYSTEM));

	return get64(di->size) / (PMEMFS_CHUNK_BLOCKS * PMEMFS_BLOCK_SIZE);
}

void seal_chunks(struct image *img)
{
	struct pmemfs_chunk *h;
	uint64_t c, off;
	le64 where;

	for (c = 0; c < nr_chunks(img); c++) {
		off = ino_off(img, c * PMEMFS_CHUNK_INODES);
		h = at(img, off);
		where = put64(off);
		h->free = put32(count_clear(h->used, sizeof(h->used)));
		h->crc = put32(crc32c(crc32c(0, &where, sizeof(where)), h, 96));
	}
}

static uint64_t derive_groups(struct image *img)
{
	uint64_t off, total = 0;
	struct pmemfs_group *d;
	const uint8_t *map;
	uint32_t g;

	for (g = 0; g < img->geo.nr_groups; g++) {
		map = at(img, blk_off(img->geo.bitmap_blk + g));
		off = blk_off(img->geo.groups_blk) + g * sizeof(*d);
		d = at(img, off);
		d->free = put32(count_clear(map, PMEMFS_BLOCK_SIZE));
		d->bitmap_crc = put32(crc32c(0, map, PMEMFS_BLOCK_SIZE));
		seal_at(img, off, sizeof(*d));
		total += get32(d->free);
	}
	return total;
}

void derive(struct image *img)
{
	uint64_t total = derive_groups(img), used = 0, c;
	struct pmemfs_slot *s;
	unsigned i;

	seal_chunks(img);
	for (c = 0; c < nr_chunks(img); c++)
		used += 255 - get32(chunk_of(img, c * PMEMFS_CHUNK_INODES)->free);
	for (i = 0; i < 2; i++) {
		s = at(img, blk_off(PMEMFS_BLK_SLOT0 + i));
		s->blocks_free = put64(total);
		s->inodes_used = put64(used);
		seal_at(img, blk_off(PMEMFS_BLK_SLOT0 + i), sizeof(*s));
	}
}
