/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.c - run the rules in a directory
 *
 *	rules DIRECTORY [NAME...]	all of them, or those
 *	rules --list
 *
 * One line for each rule that does not hold, a summary, exit status 0 or 1.
 */
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/rule.h"

#define TMPFS_MAGIC	0x01021994
#define SKIPPED		77
#define SECONDS		60		/* a rule that hangs is broken */

static const struct rule *const groups[] = {
	rules_acl, rules_attr, rules_xattr, rules_name, rules_file, rules_io,
};
#define NR_GROUPS	(sizeof(groups) / sizeof(groups[0]))

static const char *current;

/* ---- what rules say ----------------------------------------------------------- */

void rule_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("FAILED %s (%s:%d): ", current, file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

void rule_skip(const char *what)
{
	printf("skipped %s: %s\n", current, what);
	fflush(stdout);
	_exit(SKIPPED);
}

bool rule_on_tmpfs(void)
{
	struct statfs st;

	return statfs(".", &st) == 0 && st.f_type == TMPFS_MAGIC;
}

bool rule_cached(void)
{
	return getenv("RULES_CACHED") != NULL;
}

void rule_same(const char *file, int line, const char *what, int64_t a, int64_t b)
{
	if (a != b)
		rule_fail(file, line, "%s: wanted %lld, got %lld", what, (long long)b,
			  (long long)a);
}

long rule_ok(const char *file, int line, const char *what, long rc)
{
	if (rc == -1)
		rule_fail(file, line, "%s: %s", what, strerror(errno));
	return rc;
}

void rule_fails(const char *file, int line, const char *what, long rc, int err)
{
	int got = errno;

	if (rc != -1)
		rule_fail(file, line, "%s: wanted '%s', got %ld", what, strerror(err), rc);
	if (got != err)
		rule_fail(file, line, "%s: wanted '%s', got '%s'", what, strerror(err),
			  strerror(got));
}

/* ---- somebody else ------------------------------------------------------------- */

/* 0 if the child came to its end, else ours comes, with the same status. */
static void follow(pid_t pid)
{
	int status;

	OK(waitpid(pid, &status, 0));
	if (!WIFEXITED(status))
		rule_fail(__FILE__, __LINE__, "the child was killed by signal %d",
			  WTERMSIG(status));
	if (WEXITSTATUS(status))
		_exit(WEXITSTATUS(status));
}

pid_t as_begin(uid_t uid, gid_t gid)
{
	pid_t pid;

	fflush(stdout);
	pid = (pid_t)OK(fork());
	if (pid) {
		follow(pid);
		return pid;
	}
	OK(setgroups(0, NULL));
	OK(setresgid(gid, gid, gid));
	OK(setresuid(uid, uid, uid));
	return 0;
}

pid_t as_end(void)
{
	fflush(stdout);
	_exit(0);
}

/* ---- short forms ------------------------------------------------------------------ */

void make_file(const char *path, mode_t mode)
{
	int fd = (int)OK(open(path, O_CREAT | O_EXCL | O_WRONLY, 0600));

	OK(fchmod(fd, mode));
	OK(close(fd));
}

void make_dir(const char *path, mode_t mode)
{
	OK(mkdir(path, 0700));
	OK(chmod(path, mode));
}

struct stat stat_of(const char *path)
{
	struct stat st;

	OK(lstat(path, &st));
	return st;
}

mode_t mode_of(const char *path)
{
	return stat_of(path).st_mode & 07777;
}

/* ---- running ------------------------------------------------------------------------ */

static bool asked_for(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

/* 0, 1, SKIPPED. */
static int try(const struct rule *r, unsigned nr)
{
	int status = 0;
	char dir[32];
	pid_t pid;

	current = r->name;
	snprintf(dir, sizeof(dir), "rule-%u", nr);
	make_dir(dir, 0755);
	fflush(stdout);
	pid = (pid_t)OK(fork());
	if (pid == 0) {
		alarm(SECONDS);
		umask(022);
		OK(chdir(dir));
		r->fn();
		fflush(stdout);
		_exit(0);
	}
	OK(waitpid(pid, &status, 0));
	if (!WIFEXITED(status)) {
		printf("FAILED %s: killed by signal %d\n", r->name, WTERMSIG(status));
		return 1;
	}
	return WEXITSTATUS(status);
}

static int run(char **names)
{
	unsigned nr = 0, bad = 0, skipped = 0;

	for (unsigned g = 0; g < NR_GROUPS; g++) {
		for (const struct rule *r = groups[g]; r->name; r++) {
			int rc;

			if (!asked_for(r->name, names))
				continue;
			rc = try(r, nr++);
			skipped += rc == SKIPPED;
			bad += rc && rc != SKIPPED;
		}
	}
	printf("%u rules: %u hold, %u do not, %u skipped\n", nr, nr - bad - skipped, bad,
	       skipped);
	return bad || nr == skipped;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (unsigned g = 0; g < NR_GROUPS; g++)
			for (const struct rule *r = groups[g]; r->name; r++)
				puts(r->name);
		return 0;
	}
	if (argc < 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: rules DIRECTORY [NAME...] | --list\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	return run(argv + 2);
}
