/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule.h - a rule is a function that tries it out
 *
 * Each runs in a process of its own, in a new empty directory of the
 * filesystem under test, as root with umask 022. The first line that is not
 * as wanted ends it.
 *
 *	WANT(x)			x is true
 *	SAME(a, b)		two numbers
 *	OK(call)		the call does not return -1; gives its value
 *	FAILS(call, ERR)	it returns -1 with that errno
 *	AS(uid, gid) { ... }	the block, in a child with those ids
 */
#ifndef POSIX_RULE_H
#define POSIX_RULE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct rule { const char *name; void (*fn)(void); };
#define RULE(f)		{ #f, f }
#define RULES_END	{ NULL, NULL }

extern const struct rule rules_acl[], rules_attr[], rules_file[], rules_io[], rules_name[],
	rules_xattr[];

void rule_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
/* This machine or filesystem has no such thing; say what. */
void rule_skip(const char *what) __attribute__((noreturn));
/* The filesystem under test is tmpfs, to see that it is held to what Linux does. */
bool rule_on_tmpfs(void);
/* The kernel gathers writes and answers for the daemon (dax=never): RULES_CACHED is set. */
bool rule_cached(void);

#define WANT(x)								\
	((x) ? (void)0 : rule_fail(__FILE__, __LINE__, "not so: %s", #x))
#define SAME(a, b)	rule_same(__FILE__, __LINE__, #a, (int64_t)(a), (int64_t)(b))
#define OK(call)	rule_ok(__FILE__, __LINE__, #call, (long)(call))
#define FAILS(call, err)						\
	rule_fails(__FILE__, __LINE__, #call, (long)(call), err)
#define AS(uid, gid)							\
	for (pid_t as_ = as_begin(uid, gid); as_ == 0; as_ = as_end())

void rule_same(const char *file, int line, const char *what, int64_t a, int64_t b);
long rule_ok(const char *file, int line, const char *what, long rc);
void rule_fails(const char *file, int line, const char *what, long rc, int err);
pid_t as_begin(uid_t uid, gid_t gid);
pid_t as_end(void) __attribute__((noreturn));

/* ---- short forms ------------------------------------------------------------ */

void make_file(const char *path, mode_t mode);		/* whatever the umask */
void make_dir(const char *path, mode_t mode);
struct stat stat_of(const char *path);			/* not followed */
mode_t mode_of(const char *path);			/* 07777 of it */

#endif
