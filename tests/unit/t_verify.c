/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_verify.c - the verifier says nothing about a good pool, and the right
 * thing about a damaged one
 *
 * The pool is written by hand (support/hand.h) and holds one of everything;
 * each case damages one thing, seals it again where a lazy writer would have,
 * and expects exactly these kinds of problem and no other.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "meta/super.h"
#include "meta/verify.h"
#include "pm/pm.h"
#include "support/hand.h"
#include "support/pm_mem.h"

static struct pm_mem mem;
static struct fs fs;
static uint32_t seen;			/* kinds met, a bit each */
static char last[400];

/* ---- the fixture ------------------------------------------------------- */

static void quiet(enum log_level lvl, const char *line)
{
	(void)lvl;
	(void)line;
}

static void setup(void)
{
	struct pm_config cfg = { .backend = &pm_backend_mem, .backend_arg = &mem,
				 .granularity = -1 };
	struct mkfs_params mk = { .nr_blocks = 4096, .time = 1, .zeroed = true };

	log_to(quiet);
	mem = (struct pm_mem){ .size = 16 << 20 };
	memset(&fs, 0, sizeof(fs));
	ck_assert_int_eq(pm_open(&fs.pm, "mem", &cfg), 0);
	ck_assert_int_eq(mkfs_pool(fs.pm, &mk, &geo), 0);
	fs.geo = geo;
	base = mem.buf;
}

static void teardown(void)
{
	pm_close(fs.pm);
	pm_mem_free(&mem);
}

static void on_problem(void *arg, const struct verify_problem *p)
{
	(void)arg;
	seen |= 1u << p->kind;
	snprintf(last, sizeof(last), "%s ino %llu off %llu: %s", verify_kind_name(p->kind),
		 (unsigned long long)p->ino, (unsigned long long)p->off, p->text);
	if (getenv("T_VERIFY_PRINT"))
		fprintf(stderr, "    %s\n", last);
}

static struct verify_result verify(void)
{
	struct verify_result res;

	seen = 0;
	*last = '\0';
	ck_assert_int_eq(verify_fs(&fs, on_problem, NULL, NULL, &res), 0);
	return res;
}

/* ---- damage ------------------------------------------------------------ */

struct damage {
	const char *what;
	void (*fn)(void);
	uint32_t kinds;			/* expected, exactly */
	bool raw;			/* do not derive afterwards */
};
#define K(k)	(1u << VERIFY_##k)

static void flip(void *p) { *(uint8_t *)p ^= 1; }

/* Change a field of a structure and seal it again. */
#define INODE(ino, field, value) do { \
	inode(ino)->field = (value); \
	seal_inode(ino); \
} while (0)
#define NODE(b, field, value) do { \
	((struct pmemfs_node *)blk(b))->field = (value); \
	seal_node(b); \
} while (0)

static void d_super(void) { flip(at(56)); }
static void d_replica(void) { flip(blk(geo.nr_blocks - 1)); }
static void d_reserved(void) { flip(blk(6)); }
static void d_slot(void) { flip(blk(PMEMFS_BLK_SLOT0) + 20); }
static void d_totals(void)
{
	struct pmemfs_slot *s = blk(PMEMFS_BLK_SLOT1);

	s->blocks_free = put64(get64(s->blocks_free) + 1);
	seal_off(blk_off(PMEMFS_BLK_SLOT1), sizeof(*s));
}
static void d_inodes_total(void)
{
	struct pmemfs_slot *s = blk(PMEMFS_BLK_SLOT1);

	s->inodes_used = put64(1);
	seal_off(blk_off(PMEMFS_BLK_SLOT1), sizeof(*s));
}
static void d_badblocks(void) { flip(blk(PMEMFS_BLK_BADBLOCKS)); }
/* A run of bad blocks in the data area; also one under a file. */
static void bad_run(uint64_t b, uint64_t len)
{
	struct pmemfs_badblocks *bad = blk(PMEMFS_BLK_BADBLOCKS);

	bad->nr = put32(1);
	bad->run[0].blk = put64(b);
	bad->run[0].len = put64(len);
	seal_off(blk_off(PMEMFS_BLK_BADBLOCKS), sizeof(*bad));
}
static void d_bad_used(void) { bad_run(file_blk + 1, 1); }
static void d_bad_unmarked(void) { bad_run(next_blk + 3, 2); }
static void d_bad_outside(void) { bad_run(4000, 1000); }
static void d_bad_next(void)
{
	struct pmemfs_badblocks *bad = blk(PMEMFS_BLK_BADBLOCKS);

	bad->next = put64(PMEMFS_BLK_BADBLOCKS);
	seal_off(blk_off(PMEMFS_BLK_BADBLOCKS), sizeof(*bad));
}
static void d_group(void) { flip(blk(geo.groups_blk)); }
static void d_group_free(void)
{
	struct pmemfs_group *d = blk(geo.groups_blk);

	d->free = put32(1);
	seal_off(blk_off(geo.groups_blk), sizeof(*d));
}
static void d_bitmap_crc(void)
{
	struct pmemfs_group *d = blk(geo.groups_blk);

	d->bitmap_crc = put32(1);
	seal_off(blk_off(geo.groups_blk), sizeof(*d));
}
static void d_leak(void) { bitmap(next_blk + 5, true); }
static void d_unmarked(void) { bitmap(file_blk, false); }
static void d_unmarked_meta(void) { bitmap(0, false); }
static void d_double(void)
{
	INODE(FILE_INO, root.extent[0].where, put64(ext(tree_leaf[0] + 1, 2)));
	bitmap(file_blk, false);
	bitmap(file_blk + 1, false);
}
static void d_inode_crc(void) { flip(&inode(DEV_INO)->uid); }
static void d_inode_type(void) { INODE(DEV_INO, mode, put32(0170600)); }
static void d_inode_flags(void) { INODE(FILE_INO, flags, put32(0x8000)); }
static void d_inode_ns(void) { INODE(FILE_INO, mtime_ns, put32(1000000000)); }
static void d_inode_inline(void) { INODE(DEV_INO, nr_inline, 1); }
static void d_inode_size(void) { INODE(FILE_INO, size, put64(~0ull)); }
static void d_link_size(void) { INODE(LINK_INO, size, put64(65)); }
static void d_link_nul(void) { INODE(LINK_INO, root.bytes[2], 0); }
static void d_rdev(void) { INODE(FILE_INO, rdev, put32(1)); }
static void d_dev_root(void) { INODE(DEV_INO, root_kind, PMEMFS_ROOT_INLINE); }
static void d_xattr_far(void) { INODE(XATTR_INO, xattr, put64(1)); }
static void d_root_gone(void) { INODE(ROOT, mode, put32(S_IFREG | 0644)); }
static void d_imap_crc(void) { flip(&chunk()->crc); }
static void d_imap_used(void)
{
	chunk()->used[30 / 8] |= 1u << 30 % 8;
}
static void d_imap_free(void)
{
	chunk()->used[LINK_INO / 8] &= (uint8_t)~(1u << LINK_INO % 8);
}
static void d_imap_first(void) { chunk()->first = put64(256); }
static void d_free_crc(void) { flip(&inode(FREE_INO)->uid); }
static void d_extent_far(void)
{
	INODE(FILE_INO, root.extent[0].where, put64(ext(4095, 1)));
	bitmap(file_blk, false);
	bitmap(file_blk + 1, false);
}
static void d_extent_huge(void)
{
	INODE(FILE_INO, root.extent[0].where, put64(ext(file_blk, PMEMFS_EXT_MAX_LEN)));
	bitmap(file_blk, false);
	bitmap(file_blk + 1, false);
}
static void d_extent_flag(void)
{
	INODE(FILE_INO, root.extent[0].where, put64(ext(file_blk, 2) | PMEMFS_EXT_SHARED));
	bitmap(file_blk, false);
	bitmap(file_blk + 1, false);
}
static void d_extent_overlap(void)
{
	INODE(FILE_INO, root.extent[1].where, put64(ext(next_blk, 1)));
	INODE(FILE_INO, nr_inline, 2);
}
static void d_node_crc(void) { flip(blk(root_leaf) + 4000); }
static void d_node_owner(void) { NODE(tree_leaf[1], owner, put64(ROOT)); }
static void d_node_level(void) { NODE(tree_root, level, 2); }
static void d_node_kind(void) { NODE(tree_root, tree, PMEMFS_TREE_DIR); }
static void d_node_empty(void) { NODE(tree_leaf[1], nr, put16(0)); }
static void d_node_many(void) { NODE(tree_leaf[1], nr, put16(2000)); }
static void d_node_slot(void) { NODE(tree_leaf[1], slot[0].off, put16(4090)); }
static void d_node_len(void) { NODE(tree_leaf[1], slot[0].len, put16(0xffff)); }
static void d_node_dead(void) { NODE(tree_leaf[1], dead, put16(8)); }
static void d_node_overlap(void)
{
	struct pmemfs_node *n = blk(tree_leaf[1]);

	n->slot[1] = n->slot[0];
	seal_node(tree_leaf[1]);
}
static void d_node_order(void)
{
	save64(slot_item(tree_leaf[1], 1), 50);
	seal_node(tree_leaf[1]);
}
static void d_node_low(void)
{
	save64(slot_item(tree_leaf[1], 0), 50);
	seal_node(tree_leaf[1]);
}
static void d_node_high(void)
{
	save64(slot_item(tree_leaf[0], 1), 150);
	seal_node(tree_leaf[0]);
}
/* A child that is its own grandfather. */
static void d_node_cycle(void)
{
	save64(slot_item(tree_root, 1) + 8, tree_root);
	seal_node(tree_root);
}
static void d_node_far(void)
{
	save64(slot_item(tree_root, 1) + 8, ~0ull);
	seal_node(tree_root);
}
static uint8_t *find_name(uint64_t leaf, const char *name)
{
	const struct pmemfs_node *n = blk(leaf);
	unsigned i;

	for (i = 0; i < get16(n->nr); i++)
		if (load64(slot_item(leaf, i)) == name_hash(name))
			return slot_item(leaf, i) + 8;
	ck_abort_msg("no such name");
}
static void d_dirent_slash(void)
{
	find_name(root_leaf, "dev")[9] = '/';
	seal_node(root_leaf);
}
static void d_dirent_hash(void)
{
	find_name(root_leaf, "dev")[9] = 'X';
	seal_node(root_leaf);
}
static void d_dirent_type(void)
{
	find_name(root_leaf, "dev")[7] = S_IFREG >> 12;
	seal_node(root_leaf);
}
static void d_dirent_bits(void)
{
	find_name(root_leaf, "dev")[6] = 1;
	seal_node(root_leaf);
}
static void d_dirent_free(void)
{
	save64(find_name(root_leaf, "dev"), 40 | (uint64_t)(S_IFCHR >> 12) << 56);
	seal_node(root_leaf);
}
static void d_dirent_far(void)
{
	save64(find_name(root_leaf, "dev"), PMEMFS_MAX_INO | (uint64_t)(S_IFCHR >> 12) << 56);
	seal_node(root_leaf);
}
static void d_dirent_dot(void)
{
	add_name(root_leaf, ROOT, "..", DEV_INO);
}
static void d_dirent_twice(void)
{
	add_name_key(dir_leaf, DIR_INO, name_hash("hard") + 1, "hard", FILE_INO);
	INODE(FILE_INO, nlink, put32(3));
}
static void d_links(void) { INODE(FILE_INO, nlink, put32(1)); }
static void d_links_many(void) { INODE(FILE_INO, nlink, put32(3)); }
static void d_links_dir(void) { INODE(DIR_INO, nlink, put32(2)); }
static void d_links_named(void) { INODE(DEV_INO, nlink, put32(0)); }
static void d_unreachable(void)
{
	new_inode(40, S_IFREG | 0644, 1);
	seal_inode(40);
}
static void d_unreachable_dir(void)
{
	new_inode(40, S_IFDIR | 0755, 2);
	seal_inode(40);
}
static void d_size_dir(void) { INODE(DIR_INO, size, put64(1)); }
static void d_blocks(void) { INODE(TREE_INO, blocks, put64(1)); }
static void d_table_blocks(void)
{
	sys_blk()->itable.blocks = put64(17);
	seal_off(blk_off(PMEMFS_BLK_SYSTEM), PMEMFS_INODE_SEALED);
}
static void d_table_hole(void)
{
	sys_blk()->itable.size = put64(2 * 65536);
	seal_off(blk_off(PMEMFS_BLK_SYSTEM), PMEMFS_INODE_SEALED);
}
static void d_table_size(void)
{
	sys_blk()->itable.size = put64(1ull << 60);
	seal_off(blk_off(PMEMFS_BLK_SYSTEM), PMEMFS_INODE_SEALED);
}
static void d_parent(void) { INODE(SUB_INO, parent, put64(ROOT)); }
static void d_two_parents(void)
{
	add_name(root_leaf, ROOT, "again", SUB_INO);
	INODE(ROOT, nlink, put32(4));
}
/* dir is moved into its own child: both are cut off from the root. */
static void d_cycle(void)
{
	uint64_t leaf = make_dir_tree(SUB_INO);
	uint8_t *val = find_name(root_leaf, "dir");

	save64(val, DEV_INO | (uint64_t)(S_IFCHR >> 12) << 56);
	seal_node(root_leaf);
	INODE(ROOT, nlink, put32(2));
	INODE(DEV_INO, nlink, put32(2));
	add_name(leaf, SUB_INO, "dir", DIR_INO);
	INODE(SUB_INO, nlink, put32(3));
	INODE(DIR_INO, parent, put64(SUB_INO));
}
static void d_orphan_head(void) { flip(&sys_blk()->orphans[3].first); }
static void d_orphan_lost(void)
{
	sys_blk()->orphans[9].first = put64(0);
	seal_shard(9);
}
static void d_orphan_shard(void)
{
	sys_blk()->orphans[9].first = put64(0);
	sys_blk()->orphans[8].first = put64(ORPHAN_INO);
	seal_shard(9);
	seal_shard(8);
}
static void d_orphan_loop(void)
{
	inode(ORPHAN2_INO)->link.next = put64(ORPHAN_INO);
	seal_link(ORPHAN2_INO);
}
static void d_orphan_prev(void)
{
	inode(ORPHAN2_INO)->link.prev = put64(0);
	seal_link(ORPHAN2_INO);
}
static void d_orphan_linked(void) { INODE(ORPHAN_INO, nlink, put32(1)); }
static void d_orphan_crc(void) { flip(&inode(ORPHAN_INO)->link.next); }
static void d_orphan_unlisted(void)
{
	inode(ORPHAN2_INO)->link.listed = put32(0);
	seal_link(ORPHAN2_INO);
}
static void d_orphan_free(void)
{
	inode(ORPHAN2_INO)->link.next = put64(41);
	seal_link(ORPHAN2_INO);
}
static void d_trunc_unlisted(void) { INODE(FILE_INO, flags, put32(PMEMFS_FL_TRUNC)); }
static void d_xattr_value(void) { flip(blk(xattr_blk)); }
static uint8_t *find_xattr(const char *name) { return find_name(xattr_leaf, name); }
static void d_xattr_len(void)
{
	find_xattr("user.small")[4] = 200;
	seal_node(xattr_leaf);
}
static void d_xattr_name(void)
{
	find_xattr("user.small")[12] = 'x';
	seal_node(xattr_leaf);
}
static void d_xattr_run(void)
{
	save64(find_xattr("user.large") + 12 + 10, ext(1, 2));
	bitmap(xattr_blk, false);
	bitmap(xattr_blk + 1, false);
	seal_node(xattr_leaf);
}
static void d_xattr_short(void)
{
	save64(find_xattr("user.large") + 12 + 10, ext(xattr_blk, 1));
	bitmap(xattr_blk + 1, false);
	seal_node(xattr_leaf);
}

static const struct damage damages[] = {
	{ "primary superblock", d_super, K(SUPER), true },
	{ "replica", d_replica, K(SUPER), true },
	{ "reserved block", d_reserved, K(SUPER), true },
	{ "slot checksum", d_slot, K(SLOT), true },
	{ "free blocks in slot", d_totals, K(SLOT), true },
	{ "used inodes in slot", d_inodes_total, K(SLOT), true },
	{ "bad block list", d_badblocks, K(SUPER), true },
	{ "bad block in a file", d_bad_used, K(DOUBLE), false },
	{ "bad blocks marked free", d_bad_unmarked, K(UNMARKED), false },
	{ "bad blocks outside", d_bad_outside, K(SUPER), false },
	{ "bad block list loop", d_bad_next, K(SUPER), false },
	{ "group checksum", d_group, K(GROUP), true },
	{ "group free", d_group_free, K(GROUP), true },
	{ "bitmap checksum", d_bitmap_crc, K(GROUP), true },
	{ "leaked block", d_leak, K(LEAK), false },
	{ "block marked free", d_unmarked, K(UNMARKED), false },
	{ "superblock marked free", d_unmarked_meta, K(UNMARKED), false },
	{ "block with two owners", d_double, K(DOUBLE), false },
	{ "inode checksum", d_inode_crc, K(INODE), false },
	{ "inode type", d_inode_type, K(INODE), false },
	{ "inode flags", d_inode_flags, K(INODE) | K(LEAK), false },
	{ "inode time", d_inode_ns, K(INODE) | K(LEAK), false },
	{ "inode extents", d_inode_inline, K(INODE), false },
	{ "inode size", d_inode_size, K(INODE) | K(LEAK), false },
	{ "symlink size", d_link_size, K(INODE), false },
	{ "symlink with NUL", d_link_nul, K(INODE), false },
	{ "file with device number", d_rdev, K(INODE) | K(LEAK), false },
	{ "device with blocks", d_dev_root, K(INODE), false },
	{ "xattr root far away", d_xattr_far, K(INODE) | K(LEAK), false },
	{ "chunk checksum", d_imap_crc, K(IMAP), true },
	{ "free inode marked used", d_imap_used, K(INODE) | K(UNREACHABLE), false },
	{ "used inode marked free", d_imap_free, K(IMAP) | K(DIRENT), false },
	{ "chunk number", d_imap_first, K(IMAP), false },
	{ "free inode checksum", d_free_crc, K(INODE), false },
	{ "extent outside", d_extent_far, K(EXTENT), false },
	{ "extent too long", d_extent_huge, K(EXTENT), false },
	{ "extent flag", d_extent_flag, K(EXTENT), false },
	{ "extents overlap", d_extent_overlap, K(EXTENT), false },
	{ "node checksum", d_node_crc, K(NODE) | K(UNREACHABLE) | K(LINKS), false },
	{ "node owner", d_node_owner, K(NODE) | K(LEAK), false },
	{ "node level", d_node_level, K(NODE) | K(LEAK), false },
	{ "node kind", d_node_kind, K(NODE) | K(LEAK), false },
	{ "empty node", d_node_empty, K(NODE) | K(LEAK), false },
	{ "node with too many items", d_node_many, K(NODE) | K(LEAK), false },
	{ "item outside", d_node_slot, K(NODE) | K(LEAK), false },
	{ "item too long", d_node_len, K(NODE) | K(LEAK), false },
	{ "dead bytes", d_node_dead, K(NODE) | K(LEAK), false },
	{ "items overlap", d_node_overlap, K(NODE) | K(LEAK), false },
	{ "key order", d_node_order, K(NODE) | K(LEAK), false },
	{ "key below", d_node_low, K(NODE) | K(LEAK), false },
	{ "key above", d_node_high, K(NODE) | K(LEAK), false },
	{ "node cycle", d_node_cycle, K(DOUBLE) | K(LEAK), false },
	{ "node far away", d_node_far, K(NODE) | K(LEAK), false },
	{ "name with slash", d_dirent_slash, K(DIRENT) | K(UNREACHABLE), false },
	{ "name at wrong key", d_dirent_hash, K(DIRENT) | K(UNREACHABLE), false },
	{ "name with wrong type", d_dirent_type, K(DIRENT), false },
	{ "name with unknown bits", d_dirent_bits, K(DIRENT) | K(UNREACHABLE), false },
	{ "name of free inode", d_dirent_free, K(DIRENT) | K(UNREACHABLE), false },
	{ "name of no inode", d_dirent_far, K(DIRENT) | K(UNREACHABLE), false },
	{ "dot dot stored", d_dirent_dot, K(DIRENT), false },
	{ "name twice", d_dirent_twice, K(DIRENT) | K(LINKS), false },
	{ "too few links", d_links, K(LINKS), false },
	{ "too many links", d_links_many, K(LINKS), false },
	{ "directory links", d_links_dir, K(LINKS), false },
	{ "named without links", d_links_named, K(LINKS) | K(ORPHAN), false },
	{ "file nobody names", d_unreachable, K(UNREACHABLE), false },
	{ "directory nobody names", d_unreachable_dir, K(UNREACHABLE), false },
	{ "directory size", d_size_dir, K(SIZE), false },
	{ "block count", d_blocks, K(SIZE), false },
	{ "inode table blocks", d_table_blocks, K(SIZE), false },
	{ "inode table hole", d_table_hole, K(EXTENT), false },
	{ "inode table size", d_table_size, K(INODE) | K(LEAK) | K(SLOT), false },
	{ "dot dot", d_parent, K(DIRTREE), false },
	{ "two parents", d_two_parents, K(DIRTREE), false },
	{ "cycle of directories", d_cycle, K(DIRTREE), false },
	{ "orphan list head", d_orphan_head, K(ORPHAN), false },
	{ "orphans off the list", d_orphan_lost, K(ORPHAN), false },
	{ "orphans on another list", d_orphan_shard, K(ORPHAN), false },
	{ "orphan list loop", d_orphan_loop, K(ORPHAN), false },
	{ "orphan list neighbour", d_orphan_prev, K(ORPHAN), false },
	{ "orphan with links", d_orphan_linked, K(ORPHAN) | K(UNREACHABLE), false },
	{ "orphan link checksum", d_orphan_crc, K(ORPHAN), false },
	{ "orphan not listed", d_orphan_unlisted, K(ORPHAN), false },
	{ "orphan list to a free inode", d_orphan_free, K(ORPHAN), false },
	{ "truncation nobody finishes", d_trunc_unlisted, K(ORPHAN), false },
	{ "xattr value", d_xattr_value, K(XATTR), false },
	{ "xattr size", d_xattr_len, K(XATTR), false },
	{ "xattr at wrong key", d_xattr_name, K(XATTR), false },
	{ "xattr run outside", d_xattr_run, K(XATTR), false },
	{ "xattr run too short", d_xattr_short, K(XATTR), false },
};

/* ---- the claims -------------------------------------------------------- */

START_TEST(fresh_pool_is_clean)
{
	struct verify_result res = verify();

	ck_assert_msg(!res.problems, "%s", last);
	ck_assert_uint_eq(res.inodes, 1);
	ck_assert_uint_eq(res.dirs, 1);
	ck_assert_uint_eq(res.blocks_free, geo.nr_blocks - geo.data_blk - 16 - 1);
}
END_TEST

START_TEST(one_of_everything_is_clean)
{
	struct verify_result res;

	fill();
	res = verify();
	ck_assert_msg(!res.problems, "%s", last);
	ck_assert_uint_eq(res.inodes, 11);
	ck_assert_uint_eq(res.dirs, 3);
	ck_assert_uint_eq(res.files, 5);
	ck_assert_uint_eq(res.symlinks, 2);
	ck_assert_uint_eq(res.others, 1);
	ck_assert_uint_eq(res.orphans, 2);
	ck_assert_uint_eq(res.nodes, 6);
	ck_assert_uint_eq(res.extents, 1 + 1 + 1 + 4);
}
END_TEST

/* Bad blocks in their list, and marked, are nothing to complain about. */
START_TEST(bad_blocks_are_owned)
{
	struct verify_result res;

	fill();
	bad_run(next_blk + 3, 2);
	bitmap(next_blk + 3, true);
	bitmap(next_blk + 4, true);
	derive();
	res = verify();
	ck_assert_msg(!res.problems, "%s", last);
}
END_TEST

START_TEST(damage_is_found)
{
	const struct damage *d = &damages[_i];

	fill();
	d->fn();
	if (!d->raw)
		derive();
	verify();
	ck_assert_msg(seen == d->kinds, "%s: kinds %x, expected %x; last: %s",
		      d->what, seen, d->kinds, last);
}
END_TEST

/* The root directory's inode is damaged: nothing is reachable, and it ends. */
START_TEST(no_root)
{
	fill();
	d_root_gone();
	derive();
	verify();
	ck_assert(seen & K(INODE));
	ck_assert(seen & K(UNREACHABLE));
}
END_TEST

/* Whatever single byte of metadata is changed: found, or without meaning. */
START_TEST(any_byte)
{
	unsigned seed = 12345u + (unsigned)_i, i;
	uint64_t off, missed = 0;
	uint8_t old;

	fill();
	for (i = 0; i < 400; i++) {
		off = ino_off(0) + (uint64_t)rand_r(&seed) % (26 * PMEMFS_INODE_SIZE);
		old = base[off];
		base[off] ^= (uint8_t)(1 + rand_r(&seed) % 255);
		if (!verify().problems) {
			fprintf(stderr, "missed: inode %u byte %u\n",
				(unsigned)((off - ino_off(0)) / PMEMFS_INODE_SIZE),
				(unsigned)(off % PMEMFS_INODE_SIZE));
			missed++;
		}
		base[off] = old;
	}
	ck_assert_uint_eq(missed, 0);
}
END_TEST

/* Noise in every structure, resealed: no crash, no hang. */
START_TEST(sealed_noise)
{
	unsigned seed = 99u + (unsigned)_i, i, n;
	uint64_t b, ino;

	fill();
	for (i = 0; i < 300; i++) {
		fill();
		b = root_leaf + (uint64_t)rand_r(&seed) % 2;
		b = i % 3 == 0 ? b : i % 3 == 1 ? tree_root + (uint64_t)rand_r(&seed) % 9 :
			xattr_leaf;
		for (n = 0; n < 4; n++)
			((uint8_t *)blk(b))[4 + rand_r(&seed) % 4092] = (uint8_t)rand_r(&seed);
		seal_node(b);
		ino = 1 + (uint64_t)rand_r(&seed) % 10;
		((uint8_t *)inode(ino))[4 + rand_r(&seed) % 188] = (uint8_t)rand_r(&seed);
		seal_inode(ino);
		verify();
		memset(blk(geo.data_blk + 16), 0, 64 * PMEMFS_BLOCK_SIZE);
		memset(at(ino_off(1)), 0, 30 * PMEMFS_INODE_SIZE);
		new_inode(ROOT, S_IFDIR | 0755, 2);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verify");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, fresh_pool_is_clean);
	tcase_add_test(tc, one_of_everything_is_clean);
	tcase_add_test(tc, bad_blocks_are_owned);
	tcase_add_loop_test(tc, damage_is_found, 0, (int)ARRAY_SIZE(damages));
	tcase_add_test(tc, no_root);
	tcase_add_loop_test(tc, any_byte, 0, 2);
	tcase_add_loop_test(tc, sealed_noise, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
