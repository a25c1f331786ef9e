/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * problem.h - every problem that fsck.pmemfs knows, in one table
 *
 * The one place that decides. A row is a number, who may repair it, what is
 * wrong, and what is done about it. SAFE: fsck -p does it, since nothing that
 * somebody may want is lost. ASK: only where somebody said yes. NEVER: there
 * is no repair. Numbers are stable; the hundreds are an enum verify_kind.
 * fsck.pmemfs.8 repeats the table, and a test compares the two.
 */
#ifndef META_PROBLEM_H
#define META_PROBLEM_H


enum problem_fix { FIX_SAFE, FIX_ASK, FIX_NEVER };

/* name, number, who may repair it, what is wrong, what the repair does */
#define PROBLEMS(P) \
P(SUPER_PRIMARY, 101, SAFE, "the primary superblock is bad", \
	"rewritten from the replica") \
P(SUPER_REPLICA, 102, SAFE, "the replica of the superblock is bad", \
	"rewritten from the primary") \
P(SUPER_FOREIGN, 103, ASK, "something else lies where the primary superblock was", \
	"overwritten from the replica") \
P(SUPER_RESERVED, 104, SAFE, "reserved blocks are not zero", \
	"zeroed") \
P(BAD_LIST, 105, ASK, "the list of bad blocks is damaged", \
	"cut where the damage is") \
P(BAD_RUN, 106, SAFE, "bad blocks outside of the pool", \
	"taken off the list") \
P(SLOT_ONE, 201, SAFE, "a checkpoint slot is bad", \
	"rewritten from the other") \
P(SLOT_BOTH, 202, ASK, "both checkpoint slots are bad", \
	"made anew; the log is replayed if it can still be read") \
P(SLOT_FIELDS, 203, SAFE, "a field of a checkpoint slot is out of range", \
	"rewritten") \
P(SLOT_TOTALS, 204, SAFE, "the totals of the checkpoint are wrong", \
	"counted anew") \
P(GROUP_DESC, 301, SAFE, "a group descriptor does not fit its bitmap", \
	"computed anew, the bitmap compared with the owners of its blocks") \
P(LEAK, 401, SAFE, "blocks are marked used and owned by nobody", \
	"freed") \
P(UNMARKED, 501, SAFE, "blocks are in use and marked free", \
	"marked used") \
P(DOUBLE_DATA, 601, ASK, "a block of data has two owners", \
	"the later one gets a copy") \
P(DOUBLE_META, 602, ASK, "a block of data is used for something else", \
	"a hole in the file") \
P(DOUBLE_NODE, 603, ASK, "a tree node has two owners", \
	"dropped from the later one") \
P(INODE_KEPT, 701, ASK, "an inode has a wrong checksum, its fields look right", \
	"kept without setuid and setgid; its owner and mode should be looked at") \
P(INODE_CLEARED, 702, ASK, "an inode is damaged beyond use", \
	"freed, with its names") \
P(INODE_FIELD, 703, ASK, "a field of an inode is out of range", \
	"set to something that is") \
P(INODE_ROOT, 704, ASK, "the root area of an inode does not fit its type", \
	"emptied; what can be found again is put back") \
P(INODE_TARGET, 705, ASK, "a symbolic link has no target", \
	"freed, with its names") \
P(ROOT_DIR, 706, ASK, "there is no root directory", \
	"made anew") \
P(FREE_INODE, 707, SAFE, "a free inode is damaged", \
	"wiped") \
P(TABLE_INODE, 708, ASK, "the inode of the inode table is damaged", \
	"made anew from the chunks found") \
P(TABLE_HOLE, 709, ASK, "a part of the inode table is missing", \
	"found again, or made anew and empty") \
P(CHUNK_HEAD, 801, SAFE, "a chunk header is damaged", \
	"made anew from the inodes") \
P(IMAP_FREE, 802, SAFE, "an inode is in use and marked free", \
	"marked used") \
P(IMAP_USED, 803, SAFE, "an inode is free and marked used", \
	"marked free") \
P(EXTENT_BAD, 901, ASK, "an extent is out of range", \
	"dropped") \
P(EXTENT_OVERLAP, 902, ASK, "an extent overlaps the one before it, or is out of order", \
	"what does not overlap is put back") \
P(EXTENT_FLAGS, 903, ASK, "an extent has unknown flags", \
	"taken away") \
P(NODE_BAD, 1001, ASK, "a tree node is damaged", \
	"dropped; what can be found again is put back") \
P(SALVAGE_NAME, 1002, ASK, "a name without a place", \
	"put back") \
P(SALVAGE_EXTENT, 1003, ASK, "an extent without a place", \
	"put back") \
P(SALVAGE_XATTR, 1004, ASK, "an attribute without a place", \
	"put back") \
P(NO_SPACE, 1005, ASK, "no space to put back what was found", \
	"lost") \
P(SALVAGE_DOUBT, 1006, ASK, "an extent in a node with a wrong checksum", \
	"put back; the file should be looked at") \
P(ENTRY_BAD, 1101, ASK, "a directory entry makes no sense", \
	"dropped") \
P(ENTRY_FREE, 1102, ASK, "a directory entry points at a free inode", \
	"dropped") \
P(ENTRY_TYPE, 1103, SAFE, "the type in a directory entry is not its inode's", \
	"corrected") \
P(ENTRY_KEY, 1104, ASK, "a directory entry is not where its hash puts it", \
	"put where it belongs") \
P(ENTRY_TWICE, 1105, ASK, "a name is there twice", \
	"the second one dropped") \
P(LINKS, 1201, SAFE, "a link count differs from the names found", \
	"counted anew") \
P(UNREACHABLE, 1301, ASK, "no directory names an inode in use", \
	"put into /lost+found") \
P(SIZE_BLOCKS, 1401, SAFE, "a number of blocks is wrong", \
	"counted anew") \
P(SIZE_DIR, 1402, SAFE, "the size of a directory is wrong", \
	"counted anew") \
P(DIR_PARENT, 1501, SAFE, "the \"..\" of a directory is wrong", \
	"corrected") \
P(DIR_TWICE, 1502, ASK, "a directory has two parents", \
	"stays with one of them") \
P(DIR_CYCLE, 1503, ASK, "a directory is inside itself", \
	"taken out") \
P(DIR_REMOVED, 1504, ASK, "a removed directory is not empty", \
	"put into /lost+found") \
P(ORPHAN_LIST, 1601, SAFE, "an orphan list is damaged", \
	"made anew from the inodes") \
P(ORPHAN_LINK, 1602, SAFE, "a link line is damaged", \
	"made anew") \
P(XATTR_BAD, 1701, ASK, "an extended attribute is damaged", \
	"dropped") \
P(XATTR_KEY, 1702, ASK, "an extended attribute is not where its hash puts it", \
	"put where it belongs") \
P(LOG_CUT, 1801, ASK, "the log cannot be replayed", \
	"replayed up to the damage or not at all, whichever leaves less to repair") \
P(MEDIUM, 1901, NEVER, "memory of the pool cannot be read", \
	"none") \
P(UNKNOWN, 1999, NEVER, "the verifier is not content", \
	"none")

#define PROBLEM_ENUM(name, number, fix, what, repair) PROBLEM_##name = number,
enum problem { PROBLEMS(PROBLEM_ENUM) };
#undef PROBLEM_ENUM

struct problem_info {
	enum problem number;
	enum problem_fix fix;
	const char *what, *repair;
};

/* The row of a number; never NULL for an enum problem. */
const struct problem_info *problem_info(unsigned number);
/* All rows, in the order of their numbers; ends with number 0. */
const struct problem_info *problem_table(void);

#endif
