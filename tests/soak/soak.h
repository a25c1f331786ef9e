/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak.h - what the soak's workers do, write down, and are held to
 *
 *   soak.c     processes: workers until the mount dies; the judge afterwards
 *   plan.c     which operation comes next
 *   act.c      do it, by system calls
 *   model.c    what it means: files, names and bytes as they should be
 *   judge.c    a directory against a model
 *
 * A worker writes each operation into its journal before it begins, and the
 * answer when it has it. The journal lies outside the mount. What was answered
 * must be there afterwards, exactly; of the one operation without an answer,
 * all or nothing; one that writes bytes may be there in part: each byte old or
 * new, or zero where the file grew.
 */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKERS		4u
#define MAX_OPS		60000u		/* of a worker in a round */

/* Names: eight in the worker's directory, eight in each of three below it. */
#define DIRS		4u
#define NAMES		8u		/* per directory */
#define SLOTS		(DIRS * NAMES)
#define ATTRS		4u
#define FILE_MAX	(1536u << 10)
#define TARGET_MAX	600u

enum soak_op {
	OP_NONE, OP_CREATE, OP_TMPFILE, OP_WRITE, OP_APPEND, OP_MMAP, OP_TRUNCATE,
	OP_FALLOCATE, OP_FSYNC, OP_READ, OP_RENAME, OP_EXCHANGE, OP_LINK, OP_UNLINK,
	OP_UNLINK_OPEN, OP_MKDIR, OP_RMDIR, OP_MOVE_DIR, OP_SYMLINK, OP_SETXATTR,
	OP_REMOVEXATTR, OP_CHMOD, OP_UTIME, OP_NR
};

enum { BEGUN = 1, DONE = 2 };

struct entry {			/* of a journal */
	_Atomic uint32_t state;		/* 0, BEGUN, DONE */
	uint16_t op, mode;
	uint16_t a, b;			/* slots, directories or attributes */
	uint32_t len;
	uint64_t pos, seed;
};

struct journal {
	_Atomic uint32_t nr;		/* entries begun */
	_Atomic uint32_t full;
	char wrong[256];		/* what the worker itself found wrong */
	struct entry entry[MAX_OPS];
};

/* ---- model.c ------------------------------------------------------------- */

struct attr { uint64_t seed; uint32_t len; bool set; };

struct node {
	unsigned links;			/* 0: unused */
	bool symlink, mtime_known;
	uint16_t mode;
	uint64_t mtime;
	uint64_t seed;			/* of a symbolic link's target */
	uint32_t size;
	uint8_t *data;
	struct attr attr[ATTRS];
};

struct model {
	bool dir[DIRS];
	int slot[SLOTS];		/* number of a node, -1: no such name */
	struct node node[SLOTS];
};

void model_init(struct model *m);
void model_free(struct model *m);
void model_copy(struct model *to, const struct model *from);
void model_apply(struct model *m, const struct entry *e);
/* Would it succeed? */
bool model_allows(const struct model *m, const struct entry *e);
/* Its result may be there in part. NULL: no; else the node. */
struct node *model_mixes(struct model *m, const struct entry *e);
/* The bytes that a seed stands for. */
void seed_bytes(uint64_t seed, uint8_t *buf, size_t len);
void seed_target(uint64_t seed, char *buf, size_t len);

/* "d1/n3" */
void slot_path(unsigned slot, char buf[16]);
void dir_path(unsigned dir, char buf[16]);

/* ---- plan.c, act.c, judge.c ------------------------------------------------ */

/* The next operation that the model allows. */
void plan_next(const struct model *m, uint64_t *state, struct entry *e);

/*
 * Do it below the directory base. 0, or -errno. synced: what writes bytes
 * also calls fsync before it is done (page cache). expect: for OP_READ, wrong
 * bytes give -EBADMSG.
 */
int act(int base, const struct entry *e, bool synced, const struct model *expect);

/*
 * Is the directory as in the model? other and mixed: the node of that number
 * may be between m's and other's. false: what says what is wrong.
 */
bool judge(int base, const struct model *m, const struct model *other, int mixed,
	   char *what, size_t size);

#endif
