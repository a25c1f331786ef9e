/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recipes.c - how to damage a pool, one recipe at least for each problem
 *
 * A recipe changes one thing and seals it again where a program with a bug
 * would have, and not where a bit flipped by itself. derive() makes bitmap,
 * chunks and totals agree with each other again.
 */
#include "fsck/recipes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "meta/namekey.h"
#include "meta/problem.h"
#include "meta/redo.h"

#define WHERE_BLK(w)	((w) & (PMEMFS_MAX_BLOCKS - 1))

static void flip(void *p) { *(uint8_t *)p ^= 1; }
static void *super(struct image *img) { return at(img, 0); }
static void *replica(struct image *img) { return at(img, blk_off(img->geo.nr_blocks - 1)); }
static struct pmemfs_slot *slot(struct image *img, unsigned i)
{
	return at(img, blk_off(PMEMFS_BLK_SLOT0 + i));
}
static struct pmemfs_inode *table(struct image *img)
{
	return at(img, blk_off(PMEMFS_BLK_SYSTEM));
}

/* ---- superblocks and areas ------------------------------------------------- */

static void d_primary(struct image *img) { flip((uint8_t *)super(img) + 60); }
static void d_replica(struct image *img) { flip((uint8_t *)replica(img) + 200); }
static void d_replica_gone(struct image *img) { memset(replica(img), 0, PMEMFS_BLOCK_SIZE); }
static void d_foreign(struct image *img) { memset(super(img), 0x5a, PMEMFS_BLOCK_SIZE); }
static void d_reserved(struct image *img) { flip(at(img, blk_off(6) + 77)); }
static void d_bad_list(struct image *img) { flip(at(img, blk_off(PMEMFS_BLK_BADBLOCKS) + 9)); }

static void bad_run(struct image *img, uint64_t blk, uint64_t len)
{
	struct pmemfs_badblocks *b = at(img, blk_off(PMEMFS_BLK_BADBLOCKS));

	b->nr = put32(1);
	b->run[0].blk = put64(blk);
	b->run[0].len = put64(len);
	seal_at(img, blk_off(PMEMFS_BLK_BADBLOCKS), sizeof(*b));
}
static void d_bad_run(struct image *img) { bad_run(img, img->geo.nr_blocks - 3, 9); }
static void d_bad_next(struct image *img)
{
	struct pmemfs_badblocks *b = at(img, blk_off(PMEMFS_BLK_BADBLOCKS));

	b->next = put64(img->geo.nr_blocks - 5);
	seal_at(img, blk_off(PMEMFS_BLK_BADBLOCKS), sizeof(*b));
}
/* A file's block has gone bad: the list keeps it, the file gets a copy. */
static void d_bad_data(struct image *img)
{
	bad_run(img, WHERE_BLK(get64(inode_of(img, "/file")->root.extent[0].where)), 1);
}

static void d_slot_one(struct image *img) { flip(&slot(img, 0)->mounts); }
static void d_slots(struct image *img)
{
	flip(&slot(img, 0)->mounts);
	flip(&slot(img, 1)->mount_time);
}
static void d_slots_gone(struct image *img)
{
	memset(slot(img, 0), 0, 2 * PMEMFS_BLOCK_SIZE);
}
static void d_slot_flags(struct image *img)
{
	slot(img, 1)->flags = put32(0x80);
	seal_at(img, blk_off(PMEMFS_BLK_SLOT1), sizeof(struct pmemfs_slot));
}
static void d_slot_totals(struct image *img)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		slot(img, i)->blocks_free = put64(3);
		seal_at(img, blk_off(PMEMFS_BLK_SLOT0 + i), sizeof(struct pmemfs_slot));
	}
}

static void d_group(struct image *img) { flip(at(img, blk_off(img->geo.groups_blk) + 5)); }
static void d_bitmap(struct image *img) { flip(at(img, blk_off(img->geo.bitmap_blk) + 300)); }
static void d_bitmap_gone(struct image *img)
{
	memset(at(img, blk_off(img->geo.bitmap_blk)), 0, PMEMFS_BLOCK_SIZE);
}
static uint64_t some_free(struct image *img)
{
	uint64_t blk = img->geo.nr_blocks - 10;

	while (is_marked(img, blk))
		blk--;
	return blk;
}
static void d_leak(struct image *img)
{
	mark(img, some_free(img), 1, true);
	derive(img);
}
static void d_unmarked(struct image *img)
{
	mark(img, WHERE_BLK(get64(inode_of(img, "/tail")->root.extent[0].where)), 2, false);
	derive(img);
}

/* ---- owners ------------------------------------------------------------------ */

/* /dir/sub/deep claims the first block of /file; its own is a leak. */
static void d_double(struct image *img)
{
	struct pmemfs_inode *a = inode_of(img, "/file"), *b = inode_of(img, "/dir/sub/deep");
	uint64_t where = get64(b->root.extent[0].where);

	where = (where & ~(PMEMFS_MAX_BLOCKS - 1)) | WHERE_BLK(get64(a->root.extent[0].where));
	b->root.extent[0].where = put64(where);
	seal_inode(img, b);
}
static void d_double_meta(struct image *img)
{
	struct pmemfs_inode *b = inode_of(img, "/dir/sub/deep");
	uint64_t where = get64(b->root.extent[0].where);

	where = (where & ~(PMEMFS_MAX_BLOCKS - 1)) | get64(inode_of(img, "/many")->root.tree);
	b->root.extent[0].where = put64(where);
	seal_inode(img, b);
}
/* A block of the list of bad ones holds a tree node: names are lost with it. */
static void d_double_node(struct image *img)
{
	bad_run(img, leaf_of(img, get64(inode_of(img, "/many")->root.tree), 1, NULL), 1);
}

/* ---- inodes ------------------------------------------------------------------- */

static void d_inode_seal(struct image *img) { flip(&inode_of(img, "/file")->btime_ns); }
static void d_inode_setuid(struct image *img) { flip(&inode_of(img, "/setuid")->btime_ns); }
static void d_inode_garbage(struct image *img)
{
	memset(inode_of(img, "/tail"), 0xa7, PMEMFS_INODE_SEALED);
}
static void d_inode_dir(struct image *img)
{
	memset(inode_of(img, "/dir"), 0xa7, PMEMFS_INODE_SEALED);
}
/* Six hundred of them: more than fits one record. */
static void d_inodes_garbage(struct image *img)
{
	uint64_t first = ino_of(img, "/many"), ino;

	for (ino = first + 1; ino < first + 600; ino++)
		if (ino % PMEMFS_CHUNK_INODES)
			memset(at(img, ino_off(img, ino)), 0xa7, PMEMFS_INODE_SEALED);
}
/* The bits of a type are flipped; the tree knows what it is. */
static void d_inode_type(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/many");

	di->mode = put32(get32(di->mode) ^ 0170000);
}
static void d_inode_field(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/file");

	di->atime_ns = put32(~0u);
	di->flags = put32(0x80000000);
	seal_inode(img, di);
}
static void d_inode_size(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/tail");

	di->size = put64(~0ull);
	seal_inode(img, di);
}
static void d_inode_root(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/tail");

	di->root_kind = PMEMFS_ROOT_BYTES;
	seal_inode(img, di);
}
/* The tree is not lost: its nodes know whose they are. */
static void d_tree_root(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/big");

	di->root_kind = 77;
	seal_inode(img, di);
}
static void d_target(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/long");

	di->nr_inline = 0;
	seal_inode(img, di);
}
static void d_target_nul(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/link");

	di->root.bytes[1] = 0;
	seal_inode(img, di);
}
static void d_root_dir(struct image *img)
{
	struct pmemfs_inode *di = at(img, ino_off(img, PMEMFS_ROOT_INO));

	di->mode = put32(S_IFREG | 0644);
	seal_inode(img, di);
}
static void d_root_gone(struct image *img)
{
	memset(at(img, ino_off(img, PMEMFS_ROOT_INO)), 0xff, PMEMFS_INODE_SEALED);
}
static void d_free_inode(struct image *img)
{
	struct pmemfs_chunk *h;
	uint64_t c, i;

	for (c = 0; ; c += PMEMFS_CHUNK_INODES)
		for (i = 1, h = chunk_of(img, c); i < PMEMFS_CHUNK_INODES; i++)
			if (!(h->used[i / 8] >> i % 8 & 1)) {
				flip((uint8_t *)at(img, ino_off(img, c + i)) + 50);
				return;
			}
}
static void d_table(struct image *img) { flip(&table(img)->uid); }
static void d_table_gone(struct image *img) { memset(table(img), 0x11, PMEMFS_INODE_SEALED); }
/* All but the first chunk of the table are not in its extents any more. */
static void d_table_hole(struct image *img)
{
	struct pmemfs_inode *di = table(img);
	uint64_t where = get64(di->root.extent[0].where);

	di->nr_inline = 1;
	where = WHERE_BLK(where) | (uint64_t)PMEMFS_CHUNK_BLOCKS << PMEMFS_EXT_BLK_BITS;
	di->root.extent[0].where = put64(where);
	seal_inode(img, di);
}
/* And the second one cannot be found, for its header is gone. */
static void d_chunk_lost(struct image *img)
{
	uint64_t off = ino_off(img, PMEMFS_CHUNK_INODES);

	d_table_hole(img);
	memset(at(img, off), 0, PMEMFS_INODE_SIZE);
}

/* ---- chunks ---------------------------------------------------------------------- */

static void d_chunk_crc(struct image *img) { flip(&chunk_of(img, 0)->crc); }
static void d_chunk_bits(struct image *img)
{
	memset(chunk_of(img, PMEMFS_CHUNK_INODES)->used, 0, 32);
}
static void used_bit(struct image *img, uint64_t ino, bool used)
{
	struct pmemfs_chunk *h = chunk_of(img, ino);
	unsigned i = ino % PMEMFS_CHUNK_INODES;

	if (used)
		h->used[i / 8] |= (uint8_t)(1u << i % 8);
	else
		h->used[i / 8] &= (uint8_t)~(1u << i % 8);
}
static void d_imap_free(struct image *img)
{
	used_bit(img, ino_of(img, "/fifo"), false);
	derive(img);
}
static void d_imap_used(struct image *img)
{
	uint64_t ino = get64(table(img)->size) / PMEMFS_INODE_SIZE - 3;

	used_bit(img, ino, true);
	derive(img);
}

/* ---- extents ---------------------------------------------------------------------- */

static void d_extent_far(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/tail");

	di->root.extent[1].where = put64(1ull << 33 | 2ull << PMEMFS_EXT_BLK_BITS);
	seal_inode(img, di);
}
/* The second begins inside the first: what is behind it stays. */
static void d_extent_overlap(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/tail");

	di->root.extent[1].blk = put64(1);
	seal_inode(img, di);
}
/* Out of order only: nothing is lost. */
static void d_extent_order(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/tail");
	struct pmemfs_extent e = di->root.extent[0];

	di->root.extent[0] = di->root.extent[1];
	di->root.extent[1] = e;
	seal_inode(img, di);
}
static void d_extent_flags(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/tail");

	di->root.extent[0].where = put64(get64(di->root.extent[0].where) | PMEMFS_EXT_SHARED);
	seal_inode(img, di);
}

/* ---- nodes ------------------------------------------------------------------------- */

static void d_leaf_names(struct image *img)
{
	uint64_t blk = leaf_of(img, get64(inode_of(img, "/many")->root.tree), 1, NULL);

	flip(&node_at(img, blk)->zero);
}
static void d_leaf_count(struct image *img)
{
	uint64_t blk = leaf_of(img, get64(inode_of(img, "/many")->root.tree), 2, NULL);

	node_at(img, blk)->dead = put16(8);
	seal_node(img, blk);
}
static void d_root_names(struct image *img)
{
	flip(&node_at(img, get64(inode_of(img, "/many")->root.tree))->owner);
}
static void d_root_extents(struct image *img)
{
	flip(&node_at(img, get64(inode_of(img, "/big")->root.tree))->crc);
}
static void d_leaf_extents(struct image *img)
{
	uint64_t blk = leaf_of(img, get64(inode_of(img, "/big")->root.tree), 1, NULL);

	flip(&node_at(img, blk)->zero);
}
static void d_root_xattrs(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/attrs");

	flip(&node_at(img, get64(di->xattr))->crc);
}
static void d_xattr_root(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/attrs");

	di->xattr = put64(7);
	seal_inode(img, di);
}
static void d_node_cycle(struct image *img)
{
	uint64_t root = get64(inode_of(img, "/big")->root.tree);
	struct pmemfs_node *n = node_at(img, root);

	save64((uint8_t *)n + get16(n->slot[1].off) + 8, root);
	seal_node(img, root);
}

/* ---- names --------------------------------------------------------------------------- */

static uint8_t *entry_val(struct image *img, const char *dir, const char *name, uint64_t *blk)
{
	unsigned i;

	*blk = entry_of(img, dir, name, &i);
	return (uint8_t *)node_at(img, *blk) + get16(node_at(img, *blk)->slot[i].off) + 8;
}
static void remove_entry(struct image *img, const char *dir, const char *name)
{
	struct pmemfs_inode *di = inode_of(img, dir);
	unsigned i;
	uint64_t blk = entry_of(img, dir, name, &i);

	node_del(node_at(img, blk), i);
	seal_node(img, blk);
	di->size = put64(get64(di->size) - 8 - strlen(name));
	seal_inode(img, di);
}
static void add_entry(struct image *img, const char *dir, const char *near, uint64_t key,
		      const char *name, uint64_t ino, uint32_t mode)
{
	struct pmemfs_inode *di = inode_of(img, dir);
	uint8_t val[8 + PMEMFS_NAME_MAX];
	unsigned i;
	uint64_t blk = entry_of(img, dir, near, &i);
	struct pmemfs_node *n = node_at(img, blk);

	save64(val, ino | (uint64_t)(mode >> 12) << 56);
	memcpy(val + 8, name, strlen(name));
	i = node_lower(n, key);
	if (!node_fits(n, 8 + strlen(name)) || (i < node_nr(n) && node_key(n, i) == key))
		die("no room for %s", name);
	node_put(n, i, key, val, 8 + strlen(name));
	seal_node(img, blk);
	di->size = put64(get64(di->size) + 8 + strlen(name));
	seal_inode(img, di);
}

static void d_entry_slash(struct image *img)
{
	uint64_t blk;

	entry_val(img, "/", "fifo", &blk)[9] = '/';
	seal_node(img, blk);
}
static void d_entry_free(struct image *img)
{
	uint64_t blk;
	uint8_t *v = entry_val(img, "/", "fifo", &blk);

	save64(v, (load64(v) & ~PMEMFS_MAX_INO) |
	       (get64(table(img)->size) / PMEMFS_INODE_SIZE - 2));
	seal_node(img, blk);
}
static void d_entry_type(struct image *img)
{
	uint64_t blk;

	entry_val(img, "/", "fifo", &blk)[7] = S_IFREG >> 12;
	seal_node(img, blk);
}
/* The key and not the name is wrong. */
static void d_entry_key(struct image *img)
{
	unsigned i;
	uint64_t blk = entry_of(img, "/dir", "hard", &i);
	struct pmemfs_node *n = node_at(img, blk);

	node_rekey(n, i, i ? node_key(n, i) + 512 : node_key(n, i) - 512);
	seal_node(img, blk);
}
static void d_entry_twice(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/file");

	add_entry(img, "/dir", "hard", name_key(img->geo.seed, "hard", 4) + 1, "hard",
		  ino_of(img, "/file"), S_IFREG);
	di->nlink = put32(3);
	seal_inode(img, di);
}

/* ---- links and trees ------------------------------------------------------------------- */

static void d_links(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/file");

	di->nlink = put32(7);
	seal_inode(img, di);
}
static void d_links_none(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/file");

	di->nlink = put32(0);
	seal_inode(img, di);
}
static void d_links_dir(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/dir");

	di->nlink = put32(9);
	seal_inode(img, di);
}
static void d_unreachable(struct image *img) { remove_entry(img, "/", "fifo"); }
static void d_unreachable_dir(struct image *img)
{
	struct pmemfs_inode *root = at(img, ino_off(img, PMEMFS_ROOT_INO));

	remove_entry(img, "/", "dir");
	root->nlink = put32(get32(root->nlink) - 1);
	seal_inode(img, root);
}
static void d_blocks(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/big");

	di->blocks = put64(5);
	seal_inode(img, di);
}
static void d_table_blocks(struct image *img)
{
	table(img)->blocks = put64(5);
	seal_inode(img, table(img));
}
static void d_dir_size(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/many");

	di->size = put64(5);
	seal_inode(img, di);
}
static void d_dotdot(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/dir/sub");

	di->parent = put64(PMEMFS_ROOT_INO);
	seal_inode(img, di);
}
/* /dir gets a second name, in /many; one of the names there has to go for it. */
static void d_two_parents(struct image *img)
{
	char near[40];
	unsigned i, k = 0;
	uint64_t blk;

	do {			/* where there is room for it */
		snprintf(near, sizeof(near), "a name of some length %u", k++);
		blk = entry_of(img, "/many", near, &i);
	} while (!node_fits(node_at(img, blk), 8 + strlen(near)));
	add_entry(img, "/many", near, name_key(img->geo.seed, near, strlen(near)) + 1, near,
		  ino_of(img, "/dir"), S_IFDIR);
	remove_entry(img, "/many", near);	/* of the two the one with the lower key */
}
/* /dir is in /dir/sub and nowhere else. */
static void d_cycle(struct image *img)
{
	uint64_t ino = ino_of(img, "/dir");
	struct pmemfs_inode *di = inode_of(img, "/dir"), *sub = inode_of(img, "/dir/sub");

	add_entry(img, "/dir/sub", "deep", name_key(img->geo.seed, "up", 2), "up", ino, S_IFDIR);
	di->parent = put64(ino_of(img, "/dir/sub"));
	seal_inode(img, di);
	sub->nlink = put32(3);
	seal_inode(img, sub);
	d_unreachable_dir(img);
}
static void d_removed(struct image *img)
{
	struct pmemfs_inode *di = inode_of(img, "/dir");

	d_unreachable_dir(img);
	di->nlink = put32(0);
	seal_inode(img, di);
}

/* ---- orphans, attributes, log ------------------------------------------------------------- */

static struct pmemfs_shard *some_shard(struct image *img)
{
	struct pmemfs_system *sys = at(img, blk_off(PMEMFS_BLK_SYSTEM));
	unsigned i;

	for (i = 0; i < PMEMFS_SHARDS; i++)
		if (get64(sys->orphans[i].first))
			return &sys->orphans[i];
	die("no orphans");
}
static void d_shard(struct image *img) { flip(&some_shard(img)->first); }
static void d_shard_off(struct image *img)
{
	struct pmemfs_shard *s = some_shard(img);

	s->first = put64(0);
	seal_at(img, (uint64_t)((uint8_t *)s - (uint8_t *)img->mem.buf), sizeof(*s));
}
static void d_link_line(struct image *img)
{
	struct pmemfs_inode *di = at(img, ino_off(img, get64(some_shard(img)->first)));

	flip(&di->link.next);
}
static void d_link_used(struct image *img) { flip(&inode_of(img, "/file")->link.prev); }

static uint8_t *xattr_val(struct image *img, const char *name, uint64_t *blk)
{
	uint64_t root = get64(inode_of(img, "/attrs")->xattr);
	uint64_t key = name_key(img->geo.seed, name, strlen(name));
	unsigned nr = 1, k, i;

	for (k = 0; k < nr; k++) {
		*blk = leaf_of(img, root, k, &nr);
		for (i = 0; i < node_nr(node_at(img, *blk)); i++)
			if (node_key(node_at(img, *blk), i) == key)
				return (uint8_t *)node_at(img, *blk) +
					get16(node_at(img, *blk)->slot[i].off) + 8;
	}
	die("no attribute %s", name);
}
static void d_xattr_large(struct image *img)
{
	uint64_t blk;
	uint8_t *v = xattr_val(img, "user.large", &blk);

	flip(at(img, blk_off(WHERE_BLK(load64(v + 12 + v[0]))) + 100));
}
static void d_xattr_fields(struct image *img)
{
	uint64_t blk;

	xattr_val(img, "user.small.7", &blk)[0] = 0;
	seal_node(img, blk);
}
/* Both the name and what follows are right; the key is not. */
static void d_xattr_key(struct image *img)
{
	uint64_t blk;
	uint8_t *v = xattr_val(img, "user.large", &blk);

	save64(v - 8, load64(v - 8) ^ 0x100);
	seal_node(img, blk);
}

struct pick { uint64_t seq, off; };

static int pick_record(void *arg, const struct pmemfs_record *rec, uint32_t lane, uint64_t off)
{
	struct pick *p = arg;

	(void)lane;
	if (get64(rec->seq) == p->seq)
		p->off = off;
	return 0;
}

/* A record in the middle of the log: those behind it go with it. */
static void d_log(struct image *img)
{
	struct fs *fs = image_open(img, true);
	uint8_t epoch[16];
	struct pick p = { .seq = get64(slot(img, 0)->watermark) + 20 };
	uint32_t i;

	memcpy(epoch, slot(img, 0)->epoch, sizeof(epoch));
	for (i = 0; i < 2 * img->geo.nr_lanes; i++)
		redo_scan_half(fs, epoch, i / 2, i % 2, pick_record, &p);
	fs_close(fs);
	if (!p.off)
		die("no such record");
	flip((uint8_t *)at(img, p.off) + 30);
}

#define NAMES_LOST	T_BIT(T_MANY)
#define R(name, nr, ...) { #name, PROBLEM_##nr, __VA_ARGS__, d_##name, 0 }

const struct recipe recipes[] = {
	R(primary, SUPER_PRIMARY, true, AT_REST, 0, -1),
	R(replica, SUPER_REPLICA, true, AT_REST, 0, -1),
	R(replica_gone, SUPER_REPLICA, true, AT_REST, 0, -1),
	R(foreign, SUPER_FOREIGN, false, AT_REST, 0, -1),
	R(reserved, SUPER_RESERVED, true, AT_REST, 0, -1),
	R(bad_list, BAD_LIST, false, AT_REST, 0, -1),
	R(bad_run, BAD_RUN, true, AT_REST, 0, -1),
	R(bad_next, BAD_LIST, false, AT_REST, 0, -1),
	R(bad_data, DOUBLE_DATA, false, AT_REST, 0, -1),
	R(slot_one, SLOT_ONE, true, AT_REST, 0, -1),
	{ "slot_one_log", PROBLEM_SLOT_ONE, true, POWER_CUT, 0, -1, d_slot_one, NR_LOGGED },
	R(slots, SLOT_BOTH, false, AT_REST, 0, -1),
	{ "slots_killed", PROBLEM_SLOT_BOTH, false, KILLED, 0, -1, d_slots, NR_LOGGED },
	{ "slots_power", PROBLEM_SLOT_BOTH, false, POWER_CUT, 0, -1, d_slots, NR_LOGGED },
	R(slots_gone, SLOT_BOTH, false, AT_REST, 0, -1),
	R(slot_flags, SLOT_FIELDS, true, AT_REST, 0, -1),
	R(slot_totals, SLOT_TOTALS, true, AT_REST, 0, -1),
	R(group, GROUP_DESC, true, AT_REST, 0, -1),
	R(bitmap, GROUP_DESC, true, AT_REST, 0, -1),
	R(bitmap_gone, UNMARKED, true, AT_REST, 0, -1),
	R(leak, LEAK, true, AT_REST, 0, -1),
	R(unmarked, UNMARKED, true, AT_REST, 0, -1),
	R(double, DOUBLE_DATA, false, AT_REST, T_BIT(T_DEEP), -1),
	R(double_meta, DOUBLE_META, false, AT_REST, T_BIT(T_DEEP), -1),
	R(double_node, DOUBLE_NODE, false, AT_REST, NAMES_LOST, -2),
	R(inode_seal, INODE_KEPT, false, AT_REST, 0, -1),
	R(inode_setuid, INODE_KEPT, false, AT_REST, T_BIT(T_SETUID), -1),
	R(inode_garbage, INODE_CLEARED, false, AT_REST, T_BIT(T_TAIL), -1),
	R(inode_dir, INODE_CLEARED, false, AT_REST, T_BIT(T_DEEP) | T_BIT(T_HARD) | T_BIT(T_FILE),
	  1),
	R(inodes_garbage, INODE_CLEARED, false, AT_REST, T_BIT(T_MANY), -1),
	R(inode_type, INODE_KEPT, false, AT_REST, T_BIT(T_MANY), -1),
	R(inode_field, INODE_FIELD, false, AT_REST, 0, -1),
	R(inode_size, INODE_FIELD, false, AT_REST, 0, -1),
	R(inode_root, INODE_ROOT, false, AT_REST, T_BIT(T_TAIL), -1),
	R(tree_root, INODE_ROOT, false, AT_REST, 0, -1),
	R(target, INODE_TARGET, false, AT_REST, T_BIT(T_LONG), -1),
	R(target_nul, INODE_TARGET, false, AT_REST, T_BIT(T_LINK), -1),
	R(root_dir, ROOT_DIR, false, AT_REST, 0, -1),
	R(root_gone, ROOT_DIR, false, AT_REST, 0, -1),
	R(free_inode, FREE_INODE, true, AT_REST, 0, -1),
	R(table, TABLE_INODE, false, AT_REST, 0, -1),
	R(table_gone, TABLE_INODE, false, AT_REST, 0, -1),
	R(table_hole, TABLE_HOLE, false, AT_REST, 0, -1),
	R(chunk_lost, TABLE_HOLE, false, AT_REST, T_BIT(T_MANY), -1),
	R(chunk_crc, CHUNK_HEAD, true, AT_REST, 0, -1),
	R(chunk_bits, CHUNK_HEAD, true, AT_REST, 0, -1),
	R(imap_free, IMAP_FREE, true, AT_REST, 0, -1),
	R(imap_used, IMAP_USED, true, AT_REST, 0, -1),
	R(extent_far, EXTENT_BAD, false, AT_REST, T_BIT(T_TAIL), -1),
	R(extent_overlap, EXTENT_OVERLAP, false, AT_REST, T_BIT(T_TAIL), -1),
	R(extent_order, EXTENT_OVERLAP, false, AT_REST, 0, -1),
	R(extent_flags, EXTENT_FLAGS, false, AT_REST, 0, -1),
	R(leaf_names, SALVAGE_NAME, false, AT_REST, 0, -1),
	R(leaf_count, SALVAGE_NAME, false, AT_REST, 0, -1),
	R(root_names, NODE_BAD, false, AT_REST, 0, -1),
	R(root_extents, SALVAGE_EXTENT, false, AT_REST, 0, -1),
	R(leaf_extents, SALVAGE_DOUBT, false, AT_REST, 0, -1),
	R(root_xattrs, SALVAGE_XATTR, false, AT_REST, 0, -1),
	R(xattr_root, INODE_FIELD, false, AT_REST, 0, -1),
	R(node_cycle, NODE_BAD, false, AT_REST, 0, -1),
	R(entry_slash, ENTRY_BAD, false, AT_REST, T_BIT(T_FIFO), 1),
	R(entry_free, ENTRY_FREE, false, AT_REST, T_BIT(T_FIFO), 1),
	R(entry_type, ENTRY_TYPE, true, AT_REST, 0, -1),
	R(entry_key, ENTRY_KEY, false, AT_REST, 0, -1),
	R(entry_twice, ENTRY_TWICE, false, AT_REST, 0, -1),
	R(links, LINKS, true, AT_REST, 0, -1),
	R(links_none, LINKS, true, AT_REST, 0, -1),
	R(links_dir, LINKS, true, AT_REST, 0, -1),
	R(unreachable, UNREACHABLE, false, AT_REST, T_BIT(T_FIFO), 1),
	R(unreachable_dir, UNREACHABLE, false, AT_REST, T_BIT(T_HARD) | T_BIT(T_DEEP), 1),
	R(blocks, SIZE_BLOCKS, true, AT_REST, 0, -1),
	R(table_blocks, SIZE_BLOCKS, true, AT_REST, 0, -1),
	R(dir_size, SIZE_DIR, true, AT_REST, 0, -1),
	R(dotdot, DIR_PARENT, true, AT_REST, 0, -1),
	R(two_parents, DIR_TWICE, false, AT_REST, T_BIT(T_MANY), 1),
	R(cycle, DIR_CYCLE, false, AT_REST, T_BIT(T_HARD) | T_BIT(T_DEEP), 1),
	R(removed, DIR_REMOVED, false, AT_REST, T_BIT(T_HARD) | T_BIT(T_DEEP), 1),
	R(shard, ORPHAN_LIST, true, AT_REST, 0, -1),
	R(shard_off, ORPHAN_LIST, true, AT_REST, 0, -1),
	R(link_line, ORPHAN_LINK, true, AT_REST, 0, -1),
	R(link_used, ORPHAN_LINK, true, AT_REST, 0, -1),
	R(xattr_large, XATTR_BAD, false, AT_REST, T_BIT(T_LARGE), -1),
	R(xattr_fields, XATTR_BAD, false, AT_REST, T_BIT(T_SMALL), -1),
	R(xattr_key, XATTR_KEY, false, AT_REST, 0, -1),
	{ "log_killed", PROBLEM_LOG_CUT, false, KILLED, 0, -1, d_log, NR_LOGGED },
	{ "log_power", PROBLEM_LOG_CUT, false, POWER_CUT, 0, -1, d_log, 8 },
	{ .name = NULL },
};
