/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk-pool.c - list the root directory of a pool, with format.h and libc only
 *
 *	walk-pool /dev/shm/pool
 *
 * Shows that the format can be read without this project's code. It is
 * simple on purpose: it refuses a pool that is mounted or was not unmounted
 * cleanly, because then the log would have to be replayed first, and it
 * checks no checksums. It does check every number before using it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmemfs/format.h>

static const unsigned char *pool;
static uint64_t nr_blocks;

static void die(const char *why)
{
	fprintf(stderr, "walk-pool: %s\n", why);
	exit(1);
}

static const void *block(uint64_t n)
{
	if (n >= nr_blocks)
		die("a block number is out of range");
	return pool + n * PMEMFS_BLOCK_SIZE;
}

static void map(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)PMEMFS_MIN_POOL)
		die("cannot open it, or it is too small for a pool");
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("cannot map it");
	close(fd);
	pool = p;
	nr_blocks = (uint64_t)st.st_size / PMEMFS_BLOCK_SIZE;
}

static void check_super(void)
{
	const struct pmemfs_super *sb = block(PMEMFS_BLK_SUPER);

	if (get64(sb->magic) != PMEMFS_MAGIC || get32(sb->version) != PMEMFS_VERSION ||
	    get32(sb->incompat))
		die("not a pool of a version that this program knows");
	if (get64(sb->nr_blocks) > nr_blocks)
		die("the pool is cut short");
	nr_blocks = get64(sb->nr_blocks);
	printf("label \"%.*s\", %llu blocks\n", (int)sizeof(sb->label), sb->label,
	       (unsigned long long)nr_blocks);
}

/* The newer of the two slots says whether the pool was unmounted. */
static void check_clean(void)
{
	const struct pmemfs_slot *a = block(PMEMFS_BLK_SLOT0);
	const struct pmemfs_slot *b = block(PMEMFS_BLK_SLOT1);
	const struct pmemfs_slot *s = get64(a->turn) > get64(b->turn) ? a : b;

	if (get32(s->magic) != PMEMFS_SLOT_MAGIC || !(get32(s->flags) & PMEMFS_SLOT_CLEAN))
		die("the pool is mounted or was not unmounted: mount it once");
}

static uint64_t load64(const unsigned char *p)
{
	le64 v;

	memcpy(&v, p, sizeof(v));
	return get64(v);
}

static void print_entry(const unsigned char *val, unsigned len)
{
	static const char type[16] = { [1] = 'p', [2] = 'c', [4] = 'd', [6] = 'b',
				       [8] = '-', [10] = 'l', [12] = 's' };
	uint64_t raw = load64(val);
	char t = type[raw >> 56 & 15];

	printf("%c %10llu  %.*s\n", t ? t : '?', (unsigned long long)(raw & PMEMFS_MAX_INO),
	       (int)(len - 8), (const char *)val + 8);
}

/* One node; a directory of this size is not meant to be deep. */
static void walk(uint64_t blk, unsigned max_level)
{
	const struct pmemfs_node *n = block(blk);
	unsigned i, off, len;

	if (get32(n->magic) != PMEMFS_NODE_MAGIC || n->tree != PMEMFS_TREE_DIR ||
	    n->level > max_level || get16(n->nr) > 1016)
		die("a tree node is damaged");
	for (i = 0; i < get16(n->nr); i++) {
		off = get16(n->slot[i].off);
		len = get16(n->slot[i].len);
		if (len < 8 || off + 8 + len > PMEMFS_BLOCK_SIZE)
			die("a tree item is damaged");
		if (n->level)	/* at most PMEMFS_MAX_LEVEL deep */
			walk(load64((const unsigned char *)n + off + 8), n->level - 1);
		else
			print_entry((const unsigned char *)n + off + 8, len);
	}
}

int main(int argc, char **argv)
{
	const struct pmemfs_system *sys;
	const struct pmemfs_inode *root;
	uint64_t where;

	if (argc != 2)
		die("usage: walk-pool POOL");
	map(argv[1]);
	check_super();
	check_clean();
	sys = block(PMEMFS_BLK_SYSTEM);
	/* the root directory is in the first block of the inode table, which
	 * nearly always is the first of its inline extents */
	if (sys->itable.root_kind != PMEMFS_ROOT_INLINE)
		die("the inode table is fragmented; this example is too simple");
	where = get64(sys->itable.root.extent[0].where);
	root = (const struct pmemfs_inode *)block(where & (PMEMFS_MAX_BLOCKS - 1)) +
		PMEMFS_ROOT_INO;
	if (root->root_kind == PMEMFS_ROOT_TREE)
		walk(get64(root->root.tree), PMEMFS_MAX_LEVEL - 1);
	return 0;
}
