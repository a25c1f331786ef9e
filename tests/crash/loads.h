/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loads.h - what the workloads of the crash tests are made of
 */
#ifndef CRASH_LOADS_H
#define CRASH_LOADS_H

#include "support/crash.h"

enum cop_kind {
	COP_CREATE, COP_MKDIR, COP_MKNOD, COP_SYMLINK, COP_LINK, COP_UNLINK, COP_RMDIR,
	COP_RENAME, COP_TRUNCATE, COP_OPEN_TRUNC, COP_WRITE, COP_PIPE, COP_COPY_RANGE,
	COP_FALLOCATE, COP_CHMOD, COP_CHOWN, COP_UTIMES, COP_SET_FLAGS, COP_SETXATTR,
	COP_SETFACL, COP_REMOVEXATTR, COP_TMPFILE, COP_TMPFILE_LINK, COP_OPEN_UNLINK, COP_READ_SYNC,
	COP_CHECKPOINT, COP_REMOUNT, COP_DEVICE,
};

/* One thing that a user does; see ops.c for what the fields mean. */
struct cop {
	const char *name;
	enum cop_kind kind;
	const char *a, *b;
	uint64_t x, y;
	uint32_t flags;
	const char *want;	/* NULL: fails on the plain tree, on purpose */
	const char *script;	/* DEVICE: what goes wrong with it */
};

extern const struct cop cops[];
extern const unsigned nr_cops;
const struct cop *cop_named(const char *name);	/* must be there */

/* Do it, as operation number nr of the load: that decides the bytes written. */
void cop_do(struct crash *c, const struct cop *op, unsigned nr);
/* The same for setups and fillers that need no table. */
void do_write(struct crash *c, const char *path, uint64_t pos, uint64_t len, uint64_t nr);
void do_create(struct crash *c, const char *path);
void do_truncate(struct crash *c, const char *path, uint64_t size);
void do_mkdir(struct crash *c, const char *path);
/* Take all blocks but so many, for a file called big. */
void do_fill(struct crash *c, uint64_t leave);
/* Run the load's op[] one after the other. */
void run_ops(struct crash *c, const struct crash_load *l, unsigned actor);

/* The bytes of a write, brought by a device (device.c). */
struct landing;
#define DEVICE_READBACK	(1u << 31)	/* in cop.flags */
bool device_land(struct crash *c, const struct cop *op, uint64_t node, const uint8_t *buf,
		 unsigned nr, struct landing *land);
void device_leave(struct crash *c, struct landing *land);

/* A pool with a few of everything. */
extern const struct crash_setup setup_plain;

/*
 * A family makes its loads one by one, so that there may be many. get()
 * returns false behind the last.
 */
typedef bool (*family_fn)(uint64_t i, struct crash_load *l);

bool get_one(uint64_t i, struct crash_load *l);		/* sequences.c */
bool get_two(uint64_t i, struct crash_load *l);
bool get_three(uint64_t i, struct crash_load *l);
bool get_atime(uint64_t i, struct crash_load *l);
bool get_shape(uint64_t i, struct crash_load *l);	/* shapes.c */
bool get_atomic(uint64_t i, struct crash_load *l);
bool get_edge(uint64_t i, struct crash_load *l);
bool shape_at(unsigned i, const struct crash_setup **setup, uint64_t *size);
bool get_dsa(uint64_t i, struct crash_load *l);		/* device.c */
bool get_log(uint64_t i, struct crash_load *l);		/* space.c */
bool get_full(uint64_t i, struct crash_load *l);
bool get_reuse(uint64_t i, struct crash_load *l);
bool get_grow(uint64_t i, struct crash_load *l);
bool get_names(uint64_t i, struct crash_load *l);
bool get_mount(uint64_t i, struct crash_load *l);	/* mounts.c */
bool get_raw(uint64_t i, struct crash_load *l);
bool get_threads(uint64_t i, struct crash_load *l);	/* threads.c */
bool get_next(uint64_t i, struct crash_load *l);
bool get_recycle(uint64_t i, struct crash_load *l);

/* ---- mutations (mutants.c) ---------------------------------------------------- */

struct crash_limits;

/* Each flush, fence and copy of the program, with a load that sees it missing. */
int mutants_check(const struct crash_limits *lim, unsigned jobs);
/* That table: a place and its load per line. */
int mutants_list(void);
/* Which loads see it? what: "function" or "function:kind:nr". */
int mutants_search(const struct crash_limits *lim, const char *what);
/* Families by name, for the search; false: there is none. */
bool find_load(const char *name, struct crash_load *l);
bool family_at(unsigned f, const char **name, family_fn *get);

#endif
