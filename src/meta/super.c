/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * super.c - the superblock, its replica, and making a pool
 *
 * Promises: a superblock that passes super_check() can be used without
 * another look: every area lies inside the pool, none overlaps another, and
 * no sum of two of its numbers overflows. Refuses: to guess. A copy that
 * fails any check is bad, whatever else it says.
 *
 * Invariants (L21 is their common name):
 *   S1  both superblocks are wiped, durably, before anything else changes:
 *       an mkfs cut short leaves something that is plainly not a pool.
 *   S2  everything a superblock describes is durable before the first copy
 *       is sealed.
 *   S3  the replica is durable before the primary is sealed, so that a
 *       primary never stands alone.
 *   S4  a superblock changes one copy at a time, each durable before the
 *       next is touched.
 *
 * Not here: what an unknown ro_compat feature means for a mount (fs.c), and
 * whether something of value is overwritten (mkfs.pmemfs).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "meta/chunk.h"
#include "meta/super.h"
#include "pm/pm.h"

/* ---- checking ---------------------------------------------------------- */

/* What a copy looks like before its fields are asked. */
enum super_state { SUPER_FOREIGN, SUPER_TORN, SUPER_NEWER, SUPER_OURS };

static enum super_state super_state(const struct pmemfs_super *sb)
{
	if (get64(sb->magic) != PMEMFS_MAGIC)
		return SUPER_FOREIGN;
	if (get32(sb->crc) != seal_crc(sb, sizeof(*sb), 0))
		return SUPER_TORN;
	if (get32(sb->version) != PMEMFS_VERSION ||
	    (get32(sb->incompat) & ~PMEMFS_INCOMPAT_ALL))
		return SUPER_NEWER;
	return SUPER_OURS;
}

/* Lanes, groups, bitmap, data: each begins where the one before it ends. */
static const char *check_areas(const struct pmemfs_super *sb)
{
	uint64_t nr = get64(sb->nr_blocks);
	uint64_t groups = DIV_UP(nr, PMEMFS_GROUP_BLOCKS);
	uint64_t nr_lanes = get32(sb->nr_lanes);
	uint64_t lane_size = get32(sb->lane_size);
	uint64_t end;

	if (nr_lanes < PMEMFS_MIN_LANES || nr_lanes > PMEMFS_MAX_LANES)
		return "the number of lanes is out of range";
	if (lane_size < PMEMFS_MIN_LANE_SIZE ||
	    lane_size > PMEMFS_MAX_LANE_SIZE ||
	    lane_size % (2 * PMEMFS_BLOCK_SIZE))
		return "the size of a lane is out of range";
	if (get64(sb->lanes_blk) != PMEMFS_BLK_LANES)
		return "the lanes are not where they belong";
	end = PMEMFS_BLK_LANES + off_blk(nr_lanes * lane_size);
	if (get64(sb->groups_blk) != end)
		return "the group descriptors do not follow the lanes";
	end += bytes_blks(groups * sizeof(struct pmemfs_group));
	if (get64(sb->bitmap_blk) != end)
		return "the block bitmap does not follow the group descriptors";
	end += groups;
	if (get64(sb->data_blk) != end)
		return "the data area does not follow the block bitmap";
	/* the first chunk of inodes and the replica must fit behind it */
	if (end + PMEMFS_CHUNK_BLOCKS + 1 > nr)
		return "the metadata areas fill the pool";
	if (get64(sb->reserve) > nr - end)
		return "the reserve is larger than the data area";
	if (get64(sb->root_reserve) > nr - end)
		return "the reserve for root is larger than the data area";
	return NULL;
}

static const char *check_owners(const struct pmemfs_super *sb)
{
	uint64_t blk = get64(sb->owners_blk), len = get64(sb->owners_len);

	if (!(get32(sb->ro_compat) & PMEMFS_RO_COMPAT_OWNERS)) {
		if (blk || len)
			return "an owner table without the feature";
		return NULL;
	}
	if (blk < get64(sb->data_blk) || blk >= get64(sb->nr_blocks) ||
	    len > get64(sb->nr_blocks) - blk)
		return "the owner table is outside the data area";
	return NULL;
}

static const char *check_rest(const struct pmemfs_super *sb)
{
	size_t label = strnlen(sb->label, sizeof(sb->label));

	if (!all_zero(sb->label + label, sizeof(sb->label) - label))
		return "the label is not padded with zeros";
	if (sb->sparse > 1)
		return "the sparse flag is neither 0 nor 1";
	if (!all_zero(sb->zero0, sizeof(sb->zero0)) || !all_zero(sb->zero, sizeof(sb->zero)))
		return "reserved bytes are not zero";
	return NULL;
}

const char *super_check(const struct pmemfs_super *sb, uint64_t pool_size,
			bool *foreign)
{
	uint64_t nr = get64(sb->nr_blocks);
	const char *bad;

	*foreign = false;
	switch (super_state(sb)) {
	case SUPER_FOREIGN:
		*foreign = true;
		return "no pmemfs magic";
	case SUPER_TORN:
		return "wrong checksum";
	case SUPER_NEWER:
		return "a format or feature this program does not know";
	case SUPER_OURS:
		break;
	}
	if (get32(sb->block_size) != PMEMFS_BLOCK_SIZE)
		return "the block size is not 4096";
	if (nr < PMEMFS_MIN_POOL / PMEMFS_BLOCK_SIZE || nr > PMEMFS_MAX_BLOCKS)
		return "the number of blocks is out of range";
	if (nr > off_blk(pool_size))
		return "the pool is shorter than its superblock says";
	bad = check_areas(sb);
	if (!bad)
		bad = check_owners(sb);
	if (!bad)
		bad = check_rest(sb);
	return bad;
}

/* ---- choosing ---------------------------------------------------------- */

struct copies {
	const struct pmemfs_super *sb[2];	/* primary, replica; NULL: none */
	const char *bad[2];
	bool foreign[2];
	uint64_t blk[2];
};

static const struct pmemfs_super *super_at(const struct pm *pm, uint64_t blk)
{
	return pm_at(pm, blk_off(blk), sizeof(struct pmemfs_super));
}

/*
 * The replica is the last block of what the primary describes. If the
 * primary cannot be believed, the last block there is, unless that is plainly
 * none: the file may have grown since.
 */
static uint64_t replica_blk(const struct pm *pm, const struct copies *c)
{
	uint64_t last = off_blk(pm_size(pm)) - 1;
	uint64_t nr = get64(c->sb[0]->nr_blocks);

	if (c->foreign[0] || nr <= PMEMFS_BLK_LANES || nr - 1 > last)
		return last;
	if (!c->bad[0])
		return nr - 1;
	return super_state(super_at(pm, last)) == SUPER_FOREIGN ? nr - 1 : last;
}

static void look(const struct pm *pm, struct copies *c)
{
	c->blk[0] = PMEMFS_BLK_SUPER;
	c->sb[0] = super_at(pm, c->blk[0]);
	c->bad[0] = super_check(c->sb[0], pm_size(pm), &c->foreign[0]);

	c->blk[1] = replica_blk(pm, c);
	c->sb[1] = super_at(pm, c->blk[1]);
	c->bad[1] = super_check(c->sb[1], pm_size(pm), &c->foreign[1]);
	if (!c->bad[1] && get64(c->sb[1]->nr_blocks) != c->blk[1] + 1)
		c->bad[1] = "the replica is not where it says it is";
}

/* 0 or 1: the copy to believe; -1: neither. */
static int choose(const struct copies *c, const char **other_bad)
{
	int good;

	*other_bad = NULL;
	if (c->bad[0] && c->bad[1])
		return -1;
	if (c->bad[0] || c->bad[1]) {
		good = c->bad[0] ? 1 : 0;
		*other_bad = c->bad[!good];
		return good;
	}
	good = get64(c->sb[1]->epoch) > get64(c->sb[0]->epoch);
	if (get64(c->sb[0]->epoch) != get64(c->sb[1]->epoch))
		*other_bad = "older than the other copy";
	else if (memcmp(c->sb[0], c->sb[1], sizeof(*c->sb[0])))
		*other_bad = "differs from the other copy";
	return good;
}

/* Neither copy is good: find the error that helps most, and say it. */
static int explain(const struct pm *pm, const struct copies *c)
{
	int i;

	if (c->foreign[0] && c->foreign[1]) {
		log_err("not a pmemfs pool: no superblock at its start or end");
		return -EMEDIUMTYPE;
	}
	for (i = 0; i < 2; i++) {
		if (super_state(c->sb[i]) != SUPER_NEWER)
			continue;
		log_err("pool format %u, incompatible features 0x%x: newer than this program",
			get32(c->sb[i]->version),
			get32(c->sb[i]->incompat) & ~PMEMFS_INCOMPAT_ALL);
		return -EPROTONOSUPPORT;
	}
	i = super_state(c->sb[0]) == SUPER_OURS ? 0 : 1;
	if (super_state(c->sb[i]) == SUPER_OURS &&
	    get64(c->sb[i]->nr_blocks) <= PMEMFS_MAX_BLOCKS &&
	    get64(c->sb[i]->nr_blocks) > off_blk(pm_size(pm)))
		log_err("pool is cut short: %llu bytes expected, %llu found",
			(unsigned long long)blk_off(get64(c->sb[i]->nr_blocks)),
			(unsigned long long)pm_size(pm));
	else
		log_err("both superblocks are bad: primary: %s; replica: %s",
			c->bad[0], c->bad[1]);
	return -EUCLEAN;
}

static void fill_geometry(struct geometry *geo, const struct pmemfs_super *sb)
{
	memset(geo, 0, sizeof(*geo));
	geo->nr_blocks = get64(sb->nr_blocks);
	geo->lanes_blk = get64(sb->lanes_blk);
	geo->groups_blk = get64(sb->groups_blk);
	geo->bitmap_blk = get64(sb->bitmap_blk);
	geo->data_blk = get64(sb->data_blk);
	geo->reserve = get64(sb->reserve);
	geo->root_reserve = get64(sb->root_reserve);
	geo->nr_lanes = get32(sb->nr_lanes);
	geo->lane_size = get32(sb->lane_size);
	geo->nr_groups = DIV_UP(geo->nr_blocks, PMEMFS_GROUP_BLOCKS);
	memcpy(geo->uuid, sb->uuid, sizeof(geo->uuid));
	memcpy(geo->seed, sb->seed, sizeof(geo->seed));
	memcpy(geo->label, sb->label, sizeof(sb->label));
	geo->compat = get32(sb->compat);
	geo->ro_compat = get32(sb->ro_compat);
	geo->incompat = get32(sb->incompat);
	geo->mkfs_time = get64(sb->mkfs_time);
	geo->sparse = sb->sparse;
}

int super_read(struct pm *pm, struct geometry *geo, int *which,
	       const char **other_bad)
{
	struct copies c;

	if (pm_size(pm) < 2 * sizeof(struct pmemfs_super)) {
		log_err("not a pmemfs pool: only %llu bytes long",
			(unsigned long long)pm_size(pm));
		return -EMEDIUMTYPE;
	}
	look(pm, &c);
	*which = choose(&c, other_bad);
	if (*which < 0)
		return explain(pm, &c);
	fill_geometry(geo, c.sb[*which]);
	return 0;
}

int super_repair(struct pm *pm, int good)
{
	struct pmemfs_super sb;
	struct copies c;
	uint64_t other;
	int err;

	look(pm, &c);
	if (c.bad[good])
		return -EUCLEAN;
	sb = *c.sb[good];
	other = good == 0 ? get64(sb.nr_blocks) - 1 : PMEMFS_BLK_SUPER;
	/* a program that was killed may have left the good one in a cache */
	pm_flush(pm, blk_off(c.blk[good]), sizeof(sb));
	err = pm_fence(pm);					/* S4 */
	if (err)
		return err;
	pm_copy(pm, blk_off(other), &sb, sizeof(sb));
	return pm_fence(pm);					/* S4 */
}

/* ---- making ------------------------------------------------------------ */

static void default_lanes(uint64_t nr_blocks, uint32_t *nr, uint32_t *size)
{
	uint64_t bytes = blk_off(nr_blocks);

	if (bytes < 64ull << 20) {
		*nr = 4;
		*size = 256u << 10;
	} else if (bytes < 1ull << 30) {
		*nr = 8;
		*size = 512u << 10;
	} else {
		*nr = 16;
		*size = 1u << 20;
	}
}

static uint64_t default_reserve(uint64_t nr_blocks)
{
	return min64(max64(nr_blocks / 256, 128), 8192);
}

int mkfs_geometry(struct mkfs_params *p, struct geometry *geo)
{
	uint32_t nr_lanes, lane_size;

	if (p->nr_blocks < PMEMFS_MIN_POOL / PMEMFS_BLOCK_SIZE ||
	    p->nr_blocks > PMEMFS_MAX_BLOCKS)
		return -EINVAL;
	default_lanes(p->nr_blocks, &nr_lanes, &lane_size);
	if (!p->nr_lanes)
		p->nr_lanes = nr_lanes;
	if (!p->lane_size)
		p->lane_size = lane_size;
	if (p->nr_lanes < PMEMFS_MIN_LANES || p->nr_lanes > PMEMFS_MAX_LANES ||
	    p->lane_size < PMEMFS_MIN_LANE_SIZE ||
	    p->lane_size > PMEMFS_MAX_LANE_SIZE ||
	    p->lane_size % (2 * PMEMFS_BLOCK_SIZE))
		return -EINVAL;

	memset(geo, 0, sizeof(*geo));
	geo->nr_blocks = p->nr_blocks;
	geo->nr_groups = DIV_UP(p->nr_blocks, PMEMFS_GROUP_BLOCKS);
	geo->nr_lanes = p->nr_lanes;
	geo->lane_size = p->lane_size;
	geo->lanes_blk = PMEMFS_BLK_LANES;
	geo->groups_blk = geo->lanes_blk +
		off_blk((uint64_t)p->nr_lanes * p->lane_size);
	geo->bitmap_blk = geo->groups_blk +
		bytes_blks(geo->nr_groups * sizeof(struct pmemfs_group));
	geo->data_blk = geo->bitmap_blk + geo->nr_groups;
	geo->reserve = default_reserve(p->nr_blocks);
	geo->root_reserve = p->nr_blocks * p->root_permille / 1000;
	memcpy(geo->uuid, p->uuid, sizeof(geo->uuid));
	memcpy(geo->label, p->label, PMEMFS_LABEL_MAX);
	geo->sparse = p->sparse;
	geo->mkfs_time = p->time;
	/* room for the first inodes, the replica, and a little beside the reserve */
	if (geo->data_blk + PMEMFS_CHUNK_BLOCKS + 1 + 2 * geo->reserve >
	    geo->nr_blocks)
		return -EINVAL;
	return 0;
}

static int random_bytes(void *buf, size_t len)
{
	ssize_t n = getrandom(buf, len, 0);

	return n == (ssize_t)len ? 0 : -EIO;
}

/* Put a sealed object at its place. Leaves: flushed. */
static void put_sealed(struct pm *pm, uint64_t off, void *obj, size_t len)
{
	le32 crc = put32(seal_crc(obj, len, off));

	memcpy(obj, &crc, sizeof(crc));
	pm_copy(pm, off, obj, len);
}

static void bits_set(uint8_t *map, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		map[from / 8] |= (uint8_t)(1u << (from % 8));
}

/*
 * Mark [from, to) of the pool in the bitmap block of one group. Returns how
 * many bits that were; runs marked by mkfs do not overlap.
 */
static uint32_t mark(uint8_t *map, uint64_t group, uint64_t from, uint64_t to)
{
	uint64_t base = group * PMEMFS_GROUP_BLOCKS;

	from = max64(from, base);
	to = min64(to, base + PMEMFS_GROUP_BLOCKS);
	if (from >= to)
		return 0;
	bits_set(map, from - base, to - base);
	return to - from;
}

/* The bitmap block of a group as mkfs leaves it; returns its free blocks. */
static uint32_t first_bitmap(const struct geometry *geo, uint64_t g, uint8_t *map)
{
	uint64_t end = (uint64_t)geo->nr_groups * PMEMFS_GROUP_BLOCKS;
	uint32_t used;

	memset(map, 0, PMEMFS_BLOCK_SIZE);
	used = mark(map, g, 0, geo->data_blk + PMEMFS_CHUNK_BLOCKS);
	used += mark(map, g, geo->nr_blocks - 1, end);
	return PMEMFS_GROUP_BLOCKS - used;
}

/*
 * Group descriptors and bitmap. On a pool that reads as zero only the blocks
 * with a bit set are written. Leaves: flushed.
 */
static uint64_t put_groups(struct pm *pm, const struct geometry *geo)
{
	const uint32_t per = PMEMFS_BLOCK_SIZE / sizeof(struct pmemfs_group);
	struct pmemfs_group desc[PMEMFS_BLOCK_SIZE / sizeof(struct pmemfs_group)];
	uint8_t map[PMEMFS_BLOCK_SIZE] = { 0 };
	uint32_t clean = crc32c(0, map, sizeof(map));
	uint64_t off, total = 0, start = blk_off(geo->groups_blk);
	uint32_t g, nr_free, crc;

	for (g = 0; g < geo->nr_groups; g++) {
		nr_free = first_bitmap(geo, g, map);
		crc = clean;
		if (nr_free != PMEMFS_GROUP_BLOCKS) {
			pm_copy(pm, blk_off(geo->bitmap_blk + g), map, sizeof(map));
			crc = crc32c(0, map, sizeof(map));
		}
		total += nr_free;
		off = start + g * sizeof(struct pmemfs_group);
		desc[g % per] = (struct pmemfs_group){
			.free = put32(nr_free), .bitmap_crc = put32(crc) };
		desc[g % per].crc = put32(seal_crc(&desc[g % per],
						   sizeof(desc[0]), off));
		if (g % per == per - 1 || g + 1 == geo->nr_groups)
			pm_copy(pm, start + (g - g % per) * sizeof(desc[0]),
				desc, (g % per + 1) * sizeof(desc[0]));
	}
	return total;
}

static void put_inode(struct pm *pm, uint64_t off, struct pmemfs_inode *di)
{
	di->crc = put32(seal_crc(di, PMEMFS_INODE_SEALED, off));
	pm_copy(pm, off, di, sizeof(*di));
}

static void set_times(struct pmemfs_inode *di, uint64_t now)
{
	di->atime = di->mtime = di->ctime = di->btime = put64(now);
}

/* The system block: the inode table's inode, and no orphans. */
static void put_system(struct pm *pm, const struct geometry *geo)
{
	uint64_t off = blk_off(PMEMFS_BLK_SYSTEM);
	struct pmemfs_inode di = {
		.mode = put32(S_IFREG | 0600),
		.nlink = put32(1),
		.size = put64(PMEMFS_CHUNK_BLOCKS * PMEMFS_BLOCK_SIZE),
		.blocks = put64(PMEMFS_CHUNK_BLOCKS),
		.root_kind = PMEMFS_ROOT_INLINE,
		.nr_inline = 1,
	};
	struct pmemfs_shard shard;
	unsigned i;

	di.root.extent[0].where = put64(geo->data_blk |
		(uint64_t)PMEMFS_CHUNK_BLOCKS << PMEMFS_EXT_BLK_BITS);
	set_times(&di, geo->mkfs_time);
	put_inode(pm, off, &di);
	for (i = 0; i < PMEMFS_SHARDS; i++) {
		memset(&shard, 0, sizeof(shard));
		put_sealed(pm, off + offsetof(struct pmemfs_system, orphans[i]),
			   &shard, sizeof(shard));
	}
}

/* The first chunk of the inode table: its header and the root directory. */
static void put_chunk(struct pm *pm, const struct geometry *geo,
		      const struct mkfs_params *p)
{
	uint64_t off = blk_off(geo->data_blk);
	struct pmemfs_chunk chunk = {
		.magic = put32(PMEMFS_CHUNK_MAGIC),
		.used = { 1u << 0 | 1u << PMEMFS_ROOT_INO },
		.free = put32(PMEMFS_CHUNK_INODES - 2),
	};
	struct pmemfs_inode root = {
		.mode = put32(S_IFDIR | (p->root_mode ? p->root_mode & 07777 : 0755)),
		.uid = put32(p->root_uid),
		.gid = put32(p->root_gid),
		.nlink = put32(2),
		.parent = put64(PMEMFS_ROOT_INO),
		.root_kind = PMEMFS_ROOT_NONE,
	};

	chunk.crc = put32(chunk_crc(&chunk, off));
	pm_copy(pm, off, &chunk, sizeof(chunk));
	set_times(&root, geo->mkfs_time);
	put_inode(pm, off + PMEMFS_ROOT_INO * PMEMFS_INODE_SIZE, &root);
}

static int put_slots(struct pm *pm, const struct geometry *geo, uint64_t nr_free)
{
	struct pmemfs_slot slot = {
		.magic = put32(PMEMFS_SLOT_MAGIC),
		.blocks_free = put64(nr_free),
		.inodes_used = put64(1),
		.flags = put32(PMEMFS_SLOT_CLEAN),
		.mount_time = put64(geo->mkfs_time),
	};
	int err = random_bytes(slot.epoch, sizeof(slot.epoch));

	if (err)
		return err;
	slot.turn = put64(1);
	put_sealed(pm, blk_off(PMEMFS_BLK_SLOT0), &slot, sizeof(slot));
	slot.turn = put64(2);
	put_sealed(pm, blk_off(PMEMFS_BLK_SLOT1), &slot, sizeof(slot));
	return 0;
}

static void put_badblocks(struct pm *pm)
{
	struct pmemfs_badblocks bad = { .magic = put32(PMEMFS_BAD_MAGIC) };

	put_sealed(pm, blk_off(PMEMFS_BLK_BADBLOCKS), &bad, sizeof(bad));
}

static void make_super(struct pmemfs_super *sb, const struct geometry *geo)
{
	memset(sb, 0, sizeof(*sb));
	sb->version = put32(PMEMFS_VERSION);
	sb->magic = put64(PMEMFS_MAGIC);
	sb->epoch = put64(1);
	sb->block_size = put32(PMEMFS_BLOCK_SIZE);
	memcpy(sb->uuid, geo->uuid, sizeof(sb->uuid));
	memcpy(sb->label, geo->label, sizeof(sb->label));
	sb->nr_blocks = put64(geo->nr_blocks);
	sb->lanes_blk = put64(geo->lanes_blk);
	sb->nr_lanes = put32(geo->nr_lanes);
	sb->lane_size = put32(geo->lane_size);
	sb->groups_blk = put64(geo->groups_blk);
	sb->bitmap_blk = put64(geo->bitmap_blk);
	sb->data_blk = put64(geo->data_blk);
	sb->reserve = put64(geo->reserve);
	sb->root_reserve = put64(geo->root_reserve);
	memcpy(sb->seed, geo->seed, sizeof(sb->seed));
	sb->mkfs_time = put64(geo->mkfs_time);
	sb->sparse = geo->sparse;
	sb->crc = put32(seal_crc(sb, sizeof(*sb), 0));
}

/* Wipe both superblocks, and what an older, longer pool left at the end. */
static int wipe_supers(struct pm *pm, const struct geometry *geo)
{
	uint64_t last = off_blk(pm_size(pm)) - 1;

	pm_copy_zero(pm, 0, PMEMFS_BLOCK_SIZE);
	pm_copy_zero(pm, blk_off(geo->nr_blocks - 1), PMEMFS_BLOCK_SIZE);
	if (last != geo->nr_blocks - 1)
		pm_copy_zero(pm, blk_off(last), PMEMFS_BLOCK_SIZE);
	return pm_fence(pm);					/* S1 */
}

/* Everything but the superblocks. Leaves: flushed. */
static int build(struct pm *pm, const struct mkfs_params *p,
		 const struct geometry *geo)
{
	uint64_t end = geo->data_blk + PMEMFS_CHUNK_BLOCKS;

	if (!p->zeroed)
		pm_copy_zero(pm, blk_off(PMEMFS_BLK_SLOT0),
			     blk_off(end - PMEMFS_BLK_SLOT0));
	put_system(pm, geo);
	put_badblocks(pm);
	put_chunk(pm, geo, p);
	return put_slots(pm, geo, put_groups(pm, geo));
}

int mkfs_pool(struct pm *pm, struct mkfs_params *p, struct geometry *geo)
{
	uint64_t fault = pm_fault_mark(pm);
	struct pmemfs_super sb;
	int err;

	if (!p->time)
		p->time = (uint64_t)time(NULL);
	err = mkfs_geometry(p, geo);
	if (err)
		return err;
	if (geo->nr_blocks > off_blk(pm_size(pm)))
		return -EINVAL;
	err = random_bytes(geo->seed, sizeof(geo->seed));
	if (err)
		return err;

	err = wipe_supers(pm, geo);
	if (err)
		return err;
	err = build(pm, p, geo);
	if (err)
		return err;
	err = pm_fence(pm);					/* S2 */
	if (err)
		return err;
	if (pm_faulted(pm, fault))
		return -EIO;
	make_super(&sb, geo);
	pm_copy(pm, blk_off(geo->nr_blocks - 1), &sb, sizeof(sb));
	err = pm_fence(pm);					/* S3 */
	if (err)
		return err;
	pm_copy(pm, blk_off(PMEMFS_BLK_SUPER), &sb, sizeof(sb));
	err = pm_fence(pm);					/* S4 */
	if (!err && pm_faulted(pm, fault))
		err = -EIO;
	return err;
}
