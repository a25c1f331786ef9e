/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.h - what a pmemfs pool looks like on the medium
 *
 * The one header that knows the layout. It includes nothing but the C
 * library's integer types, so that a foreign tool can read a pool with it
 * (examples/walk-pool.c does). pmemfs.5 is the same thing in prose;
 * src/meta/fields.c is the same thing as a table, and a test compares all
 * three.
 *
 * Rules
 *   - all integers are little-endian and only reachable through getNN/putNN;
 *   - every structure is padded by hand and its size asserted;
 *   - a *sealed* structure begins with a crc32c over the rest of it, seeded
 *     with its own pool offset, so that a block that ends up in the wrong
 *     place is as wrong as one with a flipped bit;
 *   - bytes named "zero" are written as zero and refused otherwise only when
 *     an incompat feature gives them a meaning.
 *
 * Pool, in blocks of 4 KiB:
 *
 *  [ super | slot 0 | slot 1 | system | badblocks | 0.. | lanes | group
 *    descriptors | block bitmap | data ...                   | super replica ]
 */
#ifndef PMEMFS_FORMAT_H
#define PMEMFS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

typedef struct { uint16_t raw; } le16;
typedef struct { uint32_t raw; } le32;
typedef struct { uint64_t raw; } le64;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint16_t get16(le16 v) { return v.raw; }
static inline uint32_t get32(le32 v) { return v.raw; }
static inline uint64_t get64(le64 v) { return v.raw; }
static inline le16 put16(uint16_t v) { return (le16){ v }; }
static inline le32 put32(uint32_t v) { return (le32){ v }; }
static inline le64 put64(uint64_t v) { return (le64){ v }; }
#else
static inline uint16_t get16(le16 v) { return __builtin_bswap16(v.raw); }
static inline uint32_t get32(le32 v) { return __builtin_bswap32(v.raw); }
static inline uint64_t get64(le64 v) { return __builtin_bswap64(v.raw); }
static inline le16 put16(uint16_t v) { return (le16){ __builtin_bswap16(v) }; }
static inline le32 put32(uint32_t v) { return (le32){ __builtin_bswap32(v) }; }
static inline le64 put64(uint64_t v) { return (le64){ __builtin_bswap64(v) }; }
#endif

/* ---- geometry ---------------------------------------------------------- */

#define PMEMFS_BLOCK_SHIFT	12
#define PMEMFS_BLOCK_SIZE	4096u
#define PMEMFS_LINE		64u		/* cache line: unit of sealing */
#define PMEMFS_HUGE_BLOCKS	512u		/* 2 MiB */

#define PMEMFS_MIN_POOL		(16ull << 20)
#define PMEMFS_MAX_POOL		(64ull << 40)
#define PMEMFS_MAX_BLOCKS	(1ull << 34)

#define PMEMFS_GROUP_BLOCKS	32768u		/* one bitmap block's worth */

#define PMEMFS_BLK_SUPER	0u
#define PMEMFS_BLK_SLOT0	1u
#define PMEMFS_BLK_SLOT1	2u
#define PMEMFS_BLK_SYSTEM	3u
#define PMEMFS_BLK_BADBLOCKS	4u
#define PMEMFS_BLK_LANES	8u		/* 5..7 zero, reserved */

#define PMEMFS_MIN_LANES	2u
#define PMEMFS_MAX_LANES	256u
#define PMEMFS_MIN_LANE_SIZE	(256u << 10)	/* two halves of 128 KiB */
#define PMEMFS_MAX_LANE_SIZE	(16u << 20)

/* ---- superblock -------------------------------------------------------- */

#define PMEMFS_MAGIC		0x0153464d454d50ull	/* "PMEMFS\1" */
#define PMEMFS_VERSION		1u

/*
 * Features. Unknown compat: ignored. Unknown ro_compat: read-only mount.
 * Unknown incompat: no mount.
 */
#define PMEMFS_RO_COMPAT_SHARED	0x1u	/* extents may carry EXT_SHARED */
#define PMEMFS_RO_COMPAT_OWNERS	0x2u	/* the owner table is kept */
#define PMEMFS_COMPAT_ALL	0x0u
#define PMEMFS_RO_COMPAT_ALL	0x0u
#define PMEMFS_INCOMPAT_ALL	0x0u

#define PMEMFS_LABEL_MAX	64u

struct pmemfs_super {
	le32	crc;		/*   0 sealed, with the seed of block 0 in both copies */
	le32	version;	/*   4 PMEMFS_VERSION */
	le64	magic;		/*   8 */
	le64	epoch;		/*  16 of this copy; the newer valid copy wins */
	le32	compat;		/*  24 */
	le32	ro_compat;	/*  28 */
	le32	incompat;	/*  32 */
	le32	block_size;	/*  36 4096 */
	uint8_t	uuid[16];	/*  40 */
	char	label[64];	/*  56 NUL padded, UTF-8 */
	le64	nr_blocks;	/* 120 of the pool, replica included */
	le64	lanes_blk;	/* 128 first block of the lanes */
	le32	nr_lanes;	/* 136 */
	le32	lane_size;	/* 140 bytes, two equal halves */
	le64	groups_blk;	/* 144 group descriptors */
	le64	bitmap_blk;	/* 152 block bitmap, one block a group */
	le64	data_blk;	/* 160 first block that can be allocated */
	le64	reserve;	/* 168 blocks kept for metadata and freeing */
	uint8_t	seed[16];	/* 176 SipHash key of names */
	le64	mkfs_time;	/* 192 seconds since 1970 */
	le64	owners_blk;	/* 200 owner table: 8 bytes a block, or 0 */
	le64	owners_len;	/* 208 its length in blocks */
	uint8_t	sparse;		/* 216 1: made with --sparse, has holes */
	uint8_t	zero0[7];	/* 217 */
	le64	root_reserve;	/* 224 further blocks, for root */
	uint8_t	zero[3864];	/* 232 */
};
_Static_assert(sizeof(struct pmemfs_super) == 4096, "pmemfs.5: super");

/* ---- checkpoint slots -------------------------------------------------- */

#define PMEMFS_SLOT_MAGIC	0x544f4c53u	/* "SLOT" */

#define PMEMFS_SLOT_CLEAN	0x1u	/* unmounted; a hint, never trusted */
#define PMEMFS_SLOT_ERROR	0x2u	/* damage was met: run fsck.pmemfs */

struct pmemfs_slot {
	le32	crc;		/*   0 sealed */
	le32	magic;		/*   4 */
	le64	turn;		/*   8 counts slot writes; newest valid wins */
	le64	watermark;	/*  16 records up to here are in place, durable */
	uint8_t	epoch[16];	/*  24 secret, new at every mount */
	le64	blocks_free;	/*  40 as of the watermark */
	le64	inodes_used;	/*  48 as of the watermark */
	le32	flags;		/*  56 PMEMFS_SLOT_* */
	le32	mounts;		/*  60 mounts since mkfs */
	le64	mount_time;	/*  64 seconds since 1970 */
	uint8_t	zero[56];	/*  72 */
};
_Static_assert(sizeof(struct pmemfs_slot) == 128, "pmemfs.5: slot");

/* ---- log records ------------------------------------------------------- */

struct pmemfs_record {
	le32	crc;		/*   0 crc32c of bytes 4..len, seeded with tag */
	le32	len;		/*   4 bytes, header included; stored padded to 64 */
	le64	tag;		/*   8 SipHash(epoch; lane, offset in the lane) */
	le64	seq;		/*  16 */
	le64	floor;		/*  24 all numbers up to here are durable */
	le64	dblocks;	/*  32 change of free blocks, two's complement */
	le32	dinodes;	/*  40 change of used inodes, two's complement */
	le16	nr_forms;	/*  44 */
	le16	op;		/*  46 which operation, for people: enum pmemfs_op */
	uint8_t	zero[16];	/*  48 */
};				/*  64 forms follow */
_Static_assert(sizeof(struct pmemfs_record) == 64, "pmemfs.5: record");

enum pmemfs_form_kind {
	PMEMFS_FORM_BYTES = 1,	/* len bytes follow, padded to 8 */
	PMEMFS_FORM_ZERO  = 2,	/* zero len bytes */
	PMEMFS_FORM_SET   = 3,	/* set len bits from bit `bit` of the bitmap at off */
	PMEMFS_FORM_CLEAR = 4,	/* clear them */
};

struct pmemfs_form {
	le64	off;		/*   0 pool offset, bytes */
	le32	len;		/*   8 bytes, or bits */
	le16	kind;		/*  12 enum pmemfs_form_kind */
	le16	bit;		/*  14 first bit (SET, CLEAR) */
};
_Static_assert(sizeof(struct pmemfs_form) == 16, "pmemfs.5: form");

/* ---- groups ------------------------------------------------------------ */

/* Derived from the bitmap by the checkpoint and by recovery, never logged. */
struct pmemfs_group {
	le32	crc;		/*   0 sealed */
	le32	free;		/*   4 clear bits in the bitmap block */
	le32	bitmap_crc;	/*   8 crc32c of the bitmap block */
	le32	zero;		/*  12 */
};
_Static_assert(sizeof(struct pmemfs_group) == 16, "pmemfs.5: group");

/* ---- inodes ------------------------------------------------------------ */

#define PMEMFS_INODE_SIZE	256u
#define PMEMFS_INODES_PER_BLOCK	16u
#define PMEMFS_CHUNK_BLOCKS	16u	/* the table grows by this much */
#define PMEMFS_CHUNK_INODES	256u	/* slot 0 of a chunk is its header */

#define PMEMFS_INO_BITS		38
#define PMEMFS_GEN_BITS		26
#define PMEMFS_MAX_INO		((1ull << PMEMFS_INO_BITS) - 1)
#define PMEMFS_MAX_GEN		((1u << PMEMFS_GEN_BITS) - 1)
#define PMEMFS_ROOT_INO		1u	/* generation 0: node id 1 */
#define PMEMFS_NAME_MAX		255u
#define PMEMFS_LINK_MAX		0x7fffffffu
#define PMEMFS_MAX_SIZE		0x7ffffffffffff000ull

/* inode flags */
#define PMEMFS_FL_DAX		0x0001u
#define PMEMFS_FL_IMMUTABLE	0x0002u
#define PMEMFS_FL_APPEND	0x0004u
#define PMEMFS_FL_NOATIME	0x0008u
#define PMEMFS_FL_NODUMP	0x0010u
#define PMEMFS_FL_SYNC		0x0020u
#define PMEMFS_FL_PROJINHERIT	0x0040u
#define PMEMFS_FL_TRUNC		0x0100u	/* blocks past the end still to be freed */
#define PMEMFS_FL_ALL		0x017fu

/* what the root area of an inode holds */
enum pmemfs_root_kind {
	PMEMFS_ROOT_NONE = 0,	/* zero: empty directory, device, FIFO, socket */
	PMEMFS_ROOT_INLINE = 1,	/* up to 4 extents */
	PMEMFS_ROOT_TREE = 2,	/* block number of a B+tree root */
	PMEMFS_ROOT_BYTES = 3,	/* a symbolic link's target of up to 64 bytes */
};
#define PMEMFS_ROOT_EXTENTS	4u

struct pmemfs_extent {
	le64	blk;		/*   0 first block of the file */
	le64	where;		/*   8 PMEMFS_EXT_* packing below */
};
_Static_assert(sizeof(struct pmemfs_extent) == 16, "pmemfs.5: extent");

/* where: pool block (34 bits), length in blocks (26 bits), flags */
#define PMEMFS_EXT_BLK_BITS	34
#define PMEMFS_EXT_LEN_BITS	26
#define PMEMFS_EXT_MAX_LEN	((1u << PMEMFS_EXT_LEN_BITS) - 1)
#define PMEMFS_EXT_UNWRITTEN	(1ull << 60)	/* reads as zero */
#define PMEMFS_EXT_SHARED	(1ull << 61)	/* needs RO_COMPAT_SHARED */
#define PMEMFS_EXT_FLAGS	(15ull << 60)

struct pmemfs_inode {
	le32	crc;		/*   0 sealed: bytes 4..192 */
	le32	gen;		/*   4 26 bits */
	le32	mode;		/*   8 0: free */
	le32	flags;		/*  12 PMEMFS_FL_* */
	le32	uid;		/*  16 */
	le32	gid;		/*  20 */
	le32	nlink;		/*  24 */
	le32	rdev;		/*  28 new_encode_dev() */
	le64	size;		/*  32 bytes; directories: bytes of names */
	le64	blocks;		/*  40 blocks held, trees and xattrs included */
	le64	atime;		/*  48 seconds, two's complement */
	le64	mtime;		/*  56 */
	le64	ctime;		/*  64 */
	le64	btime;		/*  72 */
	le32	atime_ns;	/*  80 */
	le32	mtime_ns;	/*  84 */
	le32	ctime_ns;	/*  88 */
	le32	btime_ns;	/*  92 */
	le32	projid;		/*  96 */
	uint8_t	root_kind;	/* 100 enum pmemfs_root_kind */
	uint8_t	nr_inline;	/* 101 extents in the root area */
	le16	zero0;		/* 102 */
	le64	parent;		/* 104 directory: "..". Others: a hint */
	le64	xattr;		/* 112 block of the xattr tree's root, or 0 */
	le64	version;	/* 120 counts changes */
	union {
		struct pmemfs_extent extent[PMEMFS_ROOT_EXTENTS];
		le64	tree;		/* block of the root node */
		char	bytes[64];
	} root;			/* 128 */
	/* a line of its own: changed under the orphan shard's lock (L15) */
	struct pmemfs_link {
		le32	crc;	/* 192 sealed: 64 bytes */
		le32	listed;	/* 196 1: on the orphan list of its shard */
		le64	next;	/* 200 inode number, 0 at the end */
		le64	prev;	/* 208 inode number, 0 at the head */
		uint8_t	zero[40];/* 216 */
	} link;
};
_Static_assert(sizeof(struct pmemfs_inode) == 256, "pmemfs.5: inode");
_Static_assert(offsetof(struct pmemfs_inode, root) == 128, "pmemfs.5: root");
_Static_assert(offsetof(struct pmemfs_inode, link) == 192, "pmemfs.5: link");
#define PMEMFS_INODE_SEALED	192u

#define PMEMFS_CHUNK_MAGIC	0x4b4e4843u	/* "CHNK" */

/* Slot 0 of a chunk. crc and free are derived, like a group descriptor. */
struct pmemfs_chunk {
	le32	magic;		/*   0 */
	le32	zero0;		/*   4 */
	le64	first;		/*   8 inode number of this slot */
	uint8_t	zero1[48];	/*  16 */
	uint8_t	used[32];	/*  64 bit n: slot n is used; bit 0 always set */
	uint8_t	zero2[32];	/*  96 */
	le32	crc;		/* 128 of bytes 0..96, seeded with the offset */
	le32	free;		/* 132 clear bits in used */
	uint8_t	zero3[120];	/* 136 */
};
_Static_assert(sizeof(struct pmemfs_chunk) == 256, "pmemfs.5: chunk");

/* ---- system block ------------------------------------------------------ */

#define PMEMFS_SHARDS		16u

struct pmemfs_shard {
	le32	crc;		/*   0 sealed */
	le32	zero0;		/*   4 */
	le64	first;		/*   8 inode number, 0: empty */
	uint8_t	zero[48];	/*  16 */
};
_Static_assert(sizeof(struct pmemfs_shard) == 64, "pmemfs.5: shard");

struct pmemfs_system {
	struct pmemfs_inode itable;	/*    0 the inode table, a file */
	uint8_t	zero0[1792];		/*  256 */
	struct pmemfs_shard orphans[PMEMFS_SHARDS]; /* 2048 */
	uint8_t	zero1[1024];		/* 3072 */
};
_Static_assert(sizeof(struct pmemfs_system) == 4096, "pmemfs.5: system");

/* ---- bad blocks -------------------------------------------------------- */

#define PMEMFS_BAD_MAGIC	0x4b434142u	/* "BACK" */
#define PMEMFS_BAD_MAX		254u

struct pmemfs_badblocks {
	le32	crc;		/*   0 sealed */
	le32	magic;		/*   4 */
	le32	nr;		/*   8 */
	le32	zero0;		/*  12 */
	le64	next;		/*  16 a further block of these, or 0 */
	uint8_t	zero1[8];	/*  24 */
	struct { le64 blk, len; } run[PMEMFS_BAD_MAX];	/* 32 */
};
_Static_assert(sizeof(struct pmemfs_badblocks) == 4096, "pmemfs.5: badblocks");

/* ---- B+tree nodes ------------------------------------------------------ */

#define PMEMFS_NODE_MAGIC	0x45444f4eu	/* "NODE" */

enum pmemfs_tree { PMEMFS_TREE_EXTENT = 1, PMEMFS_TREE_DIR = 2, PMEMFS_TREE_XATTR = 3 };

/*
 * Slots grow up from byte 32, sorted by key; items grow down from the end,
 * in any order. An item is an 8-byte key and slot.len bytes of value. In a
 * node of level > 0 the value is the child's block number (8 bytes), and a
 * child's keys are >= its key; the first key of an inner node is the lower
 * bound of the whole node (0 on the left spine).
 */
struct pmemfs_node {
	le32	crc;		/*   0 sealed: 4096 bytes */
	le32	magic;		/*   4 */
	uint8_t	level;		/*   8 0: leaf */
	uint8_t	tree;		/*   9 enum pmemfs_tree */
	le16	nr;		/*  10 slots */
	le16	heap;		/*  12 lowest byte used by items */
	le16	dead;		/*  14 bytes of removed items above heap */
	le64	owner;		/*  16 inode number: the way from a block to its owner */
	le64	zero;		/*  24 */
	struct pmemfs_nslot {
		le16	off;	/*   0 of the item in the node */
		le16	len;	/*   2 of its value */
	} slot[1016];		/*  32 as many as nr */
};
_Static_assert(sizeof(struct pmemfs_node) == 4096, "pmemfs.5: node");
#define PMEMFS_NODE_HEAD	32u
#define PMEMFS_MAX_LEVEL	8u
#define PMEMFS_MAX_VALUE	1320u	/* three items fit in a node */

/* ---- tree values ------------------------------------------------------- */

/*
 * Directory. Key: SipHash-2-4(seed; name) with the low 8 bits replaced by a
 * number that tells colliding names apart, and the top bit cleared. It is
 * also the offset that readdir reports, so 0..2 are never used by a name.
 */
struct pmemfs_dirent {
	le64	ino;		/*   0 bits 0..37 inode, bits 56..59 d_type */
	char	name[];		/*   8 value length - 8 bytes */
};
#define PMEMFS_DIR_MIN_KEY	0x100ull
#define PMEMFS_KEY_MASK		0x7fffffffffffff00ull

/* Extended attribute. Key as for names, of the full name ("user.x"). */
struct pmemfs_xattr {
	uint8_t	name_len;	/*   0 */
	uint8_t	nr_runs;	/*   1 0: the value follows the name */
	le16	zero;		/*   2 */
	le32	size;		/*   4 of the value, bytes */
	le32	crc;		/*   8 crc32c of a value kept in blocks, else 0 */
	char	name[];		/*  12, then the value or nr_runs le64 (PMEMFS_EXT_*) */
};
#define PMEMFS_XATTR_HEAD	12u
#define PMEMFS_XATTR_MAX	65536u
#define PMEMFS_XATTR_INLINE	512u	/* larger values get blocks */

/* What wrote a record; only dump.pmemfs reads it. */
enum pmemfs_op {
	PMEMFS_OP_OTHER = 0, PMEMFS_OP_CREATE, PMEMFS_OP_MKDIR,
	PMEMFS_OP_SYMLINK, PMEMFS_OP_MKNOD, PMEMFS_OP_LINK, PMEMFS_OP_UNLINK,
	PMEMFS_OP_RMDIR, PMEMFS_OP_RENAME, PMEMFS_OP_SETATTR,
	PMEMFS_OP_TRUNCATE, PMEMFS_OP_WRITE, PMEMFS_OP_FALLOCATE,
	PMEMFS_OP_SETXATTR, PMEMFS_OP_REMOVEXATTR, PMEMFS_OP_EVICT,
	PMEMFS_OP_ATIME, PMEMFS_OP_TMPFILE, PMEMFS_OP_REPAIR,
	PMEMFS_OP_NR
};

#endif
