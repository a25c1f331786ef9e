/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields.c - format.h as a table
 *
 * One line a field, in the order of the structure. Sizes and offsets come
 * from the compiler, so this table cannot be wrong about them; a test makes
 * sure that no field is missing.
 */
#include <string.h>

#include "base/bytes.h"
#include "meta/fields.h"

#define MEMBER(s, m)	(((struct pmemfs_##s *)0)->m)
#define FIELD(s, m, t)	{ #s, #m, offsetof(struct pmemfs_##s, m), \
			  sizeof(MEMBER(s, m)), FIELD_##t }
/* a flexible array: as long as the item that holds it */
#define TAIL(s, m)	{ #s, #m, offsetof(struct pmemfs_##s, m), 0, FIELD_TAIL }

static const struct field super_fields[] = {
	FIELD(super, crc, HEX),
	FIELD(super, version, LE),
	FIELD(super, magic, HEX),
	FIELD(super, epoch, LE),
	FIELD(super, compat, HEX),
	FIELD(super, ro_compat, HEX),
	FIELD(super, incompat, HEX),
	FIELD(super, block_size, LE),
	FIELD(super, uuid, BYTES),
	FIELD(super, label, TEXT),
	FIELD(super, nr_blocks, LE),
	FIELD(super, lanes_blk, LE),
	FIELD(super, nr_lanes, LE),
	FIELD(super, lane_size, LE),
	FIELD(super, groups_blk, LE),
	FIELD(super, bitmap_blk, LE),
	FIELD(super, data_blk, LE),
	FIELD(super, reserve, LE),
	FIELD(super, seed, BYTES),
	FIELD(super, mkfs_time, LE),
	FIELD(super, owners_blk, LE),
	FIELD(super, owners_len, LE),
	FIELD(super, sparse, LE),
	FIELD(super, zero0, ZERO),
	FIELD(super, root_reserve, LE),
	FIELD(super, zero, ZERO),
};

static const struct field slot_fields[] = {
	FIELD(slot, crc, HEX),
	FIELD(slot, magic, HEX),
	FIELD(slot, turn, LE),
	FIELD(slot, watermark, LE),
	FIELD(slot, epoch, BYTES),
	FIELD(slot, blocks_free, LE),
	FIELD(slot, inodes_used, LE),
	FIELD(slot, flags, HEX),
	FIELD(slot, mounts, LE),
	FIELD(slot, mount_time, LE),
	FIELD(slot, zero, ZERO),
};

static const struct field record_fields[] = {
	FIELD(record, crc, HEX),
	FIELD(record, len, LE),
	FIELD(record, tag, HEX),
	FIELD(record, seq, LE),
	FIELD(record, floor, LE),
	FIELD(record, dblocks, LE),
	FIELD(record, dinodes, LE),
	FIELD(record, nr_forms, LE),
	FIELD(record, op, LE),
	FIELD(record, zero, ZERO),
};

static const struct field form_fields[] = {
	FIELD(form, off, HEX),
	FIELD(form, len, LE),
	FIELD(form, kind, LE),
	FIELD(form, bit, LE),
};

static const struct field group_fields[] = {
	FIELD(group, crc, HEX),
	FIELD(group, free, LE),
	FIELD(group, bitmap_crc, HEX),
	FIELD(group, zero, ZERO),
};

static const struct field extent_fields[] = {
	FIELD(extent, blk, LE),
	FIELD(extent, where, HEX),
};

static const struct field inode_fields[] = {
	FIELD(inode, crc, HEX),
	FIELD(inode, gen, LE),
	FIELD(inode, mode, HEX),
	FIELD(inode, flags, HEX),
	FIELD(inode, uid, LE),
	FIELD(inode, gid, LE),
	FIELD(inode, nlink, LE),
	FIELD(inode, rdev, HEX),
	FIELD(inode, size, LE),
	FIELD(inode, blocks, LE),
	FIELD(inode, atime, LE),
	FIELD(inode, mtime, LE),
	FIELD(inode, ctime, LE),
	FIELD(inode, btime, LE),
	FIELD(inode, atime_ns, LE),
	FIELD(inode, mtime_ns, LE),
	FIELD(inode, ctime_ns, LE),
	FIELD(inode, btime_ns, LE),
	FIELD(inode, projid, LE),
	FIELD(inode, root_kind, LE),
	FIELD(inode, nr_inline, LE),
	FIELD(inode, zero0, ZERO),
	FIELD(inode, parent, LE),
	FIELD(inode, xattr, LE),
	FIELD(inode, version, LE),
	FIELD(inode, root, STRUCT),
	FIELD(inode, link, STRUCT),
};

static const struct field link_fields[] = {
	FIELD(link, crc, HEX),
	FIELD(link, listed, LE),
	FIELD(link, next, LE),
	FIELD(link, prev, LE),
	FIELD(link, zero, ZERO),
};

static const struct field chunk_fields[] = {
	FIELD(chunk, magic, HEX),
	FIELD(chunk, zero0, ZERO),
	FIELD(chunk, first, LE),
	FIELD(chunk, zero1, ZERO),
	FIELD(chunk, used, BYTES),
	FIELD(chunk, zero2, ZERO),
	FIELD(chunk, crc, HEX),
	FIELD(chunk, free, LE),
	FIELD(chunk, zero3, ZERO),
};

static const struct field shard_fields[] = {
	FIELD(shard, crc, HEX),
	FIELD(shard, zero0, ZERO),
	FIELD(shard, first, LE),
	FIELD(shard, zero, ZERO),
};

static const struct field system_fields[] = {
	FIELD(system, itable, STRUCT),
	FIELD(system, zero0, ZERO),
	FIELD(system, orphans, STRUCT),
	FIELD(system, zero1, ZERO),
};

static const struct field badblocks_fields[] = {
	FIELD(badblocks, crc, HEX),
	FIELD(badblocks, magic, HEX),
	FIELD(badblocks, nr, LE),
	FIELD(badblocks, zero0, ZERO),
	FIELD(badblocks, next, LE),
	FIELD(badblocks, zero1, ZERO),
	FIELD(badblocks, run, STRUCT),
};

static const struct field node_fields[] = {
	FIELD(node, crc, HEX),
	FIELD(node, magic, HEX),
	FIELD(node, level, LE),
	FIELD(node, tree, LE),
	FIELD(node, nr, LE),
	FIELD(node, heap, LE),
	FIELD(node, dead, LE),
	FIELD(node, owner, LE),
	FIELD(node, zero, ZERO),
	FIELD(node, slot, STRUCT),
};

static const struct field nslot_fields[] = {
	FIELD(nslot, off, LE),
	FIELD(nslot, len, LE),
};

static const struct field dirent_fields[] = {
	FIELD(dirent, ino, HEX),
	TAIL(dirent, name),
};

static const struct field xattr_fields[] = {
	FIELD(xattr, name_len, LE),
	FIELD(xattr, nr_runs, LE),
	FIELD(xattr, zero, ZERO),
	FIELD(xattr, size, LE),
	FIELD(xattr, crc, HEX),
	TAIL(xattr, name),
};

#define STRUCT(s)	{ #s, sizeof(struct pmemfs_##s), s##_fields, \
			  ARRAY_SIZE(s##_fields) }

const struct field_struct field_structs[] = {
	STRUCT(super),
	STRUCT(slot),
	STRUCT(record),
	STRUCT(form),
	STRUCT(group),
	STRUCT(extent),
	STRUCT(inode),
	STRUCT(link),
	STRUCT(chunk),
	STRUCT(shard),
	STRUCT(system),
	STRUCT(badblocks),
	STRUCT(node),
	STRUCT(nslot),
	STRUCT(dirent),
	{ "xattr", PMEMFS_XATTR_HEAD, xattr_fields, ARRAY_SIZE(xattr_fields) },
};
const unsigned nr_field_structs = ARRAY_SIZE(field_structs);

const struct field_struct *field_find(const char *name)
{
	unsigned i;

	for (i = 0; i < nr_field_structs; i++)
		if (!strcmp(field_structs[i].name, name))
			return &field_structs[i];
	return NULL;
}

uint64_t field_get(const struct field *f, const void *base)
{
	const uint8_t *p = (const uint8_t *)base + f->off;
	uint64_t val = 0;
	unsigned i;

	for (i = 0; i < f->size && i < sizeof(val); i++)
		val |= (uint64_t)p[i] << 8 * i;
	return val;
}
