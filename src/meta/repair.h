/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.h - put a damaged pool right
 *
 *	repair_try(&r, &opt, &res);	in memory, on a copy; tells what it found
 *	... may all of it be done? ...
 *	repair_write(r);		through the log
 *	repair_free(r);
 *
 * Whether something is repaired at all, and who may ask for it, stands in the
 * table of problem.h.
 */
#ifndef META_REPAIR_H
#define META_REPAIR_H

#include "meta/problem.h"
#include "meta/fs.h"

struct repair;
struct pm_backend;

struct repair_problem {
	enum problem number;
	uint64_t ino, off;		/* 0: none */
	const char *text;		/* one sentence */
};
typedef void (*repair_fn)(void *arg, const struct repair_problem *p);

struct repair_options {
	const char *path;
	bool look;			/* repair_write() will not be called */
	bool nolock;			/* with look: somebody may work on it */
	repair_fn fn;			/* told each problem, once */
	void *arg;
	void (*progress)(void *arg, unsigned permille);	/* or NULL */
	bool (*stop)(void *arg);	/* true: come to an end; or NULL */
	const struct pm_backend *backend;	/* NULL: libpmem2 */
	void *backend_arg;
	const struct pm_backend *peek;	/* for the copy; NULL: the same */
	void *peek_arg;
};

struct repair_result {
	uint64_t problems;		/* found, in all */
	uint64_t ask, never;		/* of those, by enum problem_fix */
	uint64_t left;			/* what the verifier finds afterwards */
	uint64_t replayed, cut;		/* records of the log: replayed, dropped */
};

/*
 * Scan everything, decide everything, and do it in a copy in memory, which
 * the verifier then walks. The pool is locked, and not written to. res->left
 * other than 0 means that there is no repair; then repair_write() refuses.
 *
 * 0; -EMEDIUMTYPE, -EPROTONOSUPPORT, -EUCLEAN no superblock can be used;
 * -EIO memory of the pool cannot be read; -EINTR stopped; those of pm_open().
 */
int repair_try(struct repair **out, const struct repair_options *opt,
	       struct repair_result *res);

/*
 * Log replayed, checkpoint, then what repair_try() changed as bounded records
 * (L22), then a checkpoint. Cut anywhere, by a crash or by stop(), it leaves a
 * pool from which repair_try() gets to the same end. 0; -EINTR, -EIO.
 */
int repair_write(struct repair *r);
void repair_free(struct repair *r);

#endif
