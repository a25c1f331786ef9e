/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak.c - workers until the mount dies, and the judge afterwards
 *
 *	soak run FOLDER JOURNAL SEED [sync]
 *		WORKERS processes, each in a folder of its own below FOLDER, do what
 *		comes to their mind until the mount is gone; sync: with fsync
 *		(page cache). Exit status 0; 1 if one met a wrong answer.
 *		JOURNAL.ready appears when all have started.
 *	soak check FOLDER JOURNAL
 *		Is all there that was answered?
 *	soak show JOURNAL
 *		The last entries of each worker.
 *
 * s_soak.sh kills the daemon meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soak/soak.h"

static const char *const op_name[OP_NR] = {
	[OP_NONE] = "none", [OP_CREATE] = "create", [OP_TMPFILE] = "tmpfile",
	[OP_WRITE] = "write", [OP_APPEND] = "append", [OP_MMAP] = "mmap",
	[OP_TRUNCATE] = "truncate", [OP_FALLOCATE] = "fallocate", [OP_FSYNC] = "fsync",
	[OP_READ] = "read", [OP_RENAME] = "rename", [OP_EXCHANGE] = "exchange",
	[OP_LINK] = "link", [OP_UNLINK] = "unlink", [OP_UNLINK_OPEN] = "unlink-open",
	[OP_MKDIR] = "mkdir", [OP_RMDIR] = "rmdir", [OP_MOVE_DIR] = "move-dir",
	[OP_SYMLINK] = "symlink", [OP_SETXATTR] = "setxattr",
	[OP_REMOVEXATTR] = "removexattr", [OP_CHMOD] = "chmod", [OP_UTIME] = "utime",
};

static void show_entry(FILE *f, uint32_t i, const struct entry *e)
{
	fprintf(f, "  %6u %-5s %s a %u b %u mode %o pos %llu len %u seed %llx\n", i,
		e->state == DONE ? "done" : "begun", op_name[e->op % OP_NR], e->a, e->b,
		e->mode, (unsigned long long)e->pos, e->len, (unsigned long long)e->seed);
}

static struct journal *open_journals(const char *path, bool create)
{
	size_t size = WORKERS * sizeof(struct journal);
	int fd = open(path, O_RDWR | (create ? O_CREAT | O_TRUNC : 0), 0600);
	struct journal *j;

	if (fd < 0 || (create && ftruncate(fd, (off_t)size))) {
		perror(path);
		exit(2);
	}
	j = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (j == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return j;
}

/* ---- workers ----------------------------------------------------------------- */

/* A store into a mapped file whose daemon is gone. */
static void on_bus(int sig)
{
	(void)sig;
	_exit(0);
}

/* statfs asks the daemon each time. */
static bool mount_is_dead(int base)
{
	struct statfs st;

	return fstatfs(base, &st) != 0;
}

static int work(int base, struct journal *j, uint64_t seed, bool synced)
{
	struct model m;
	struct entry *e;
	int err;

	model_init(&m);
	for (uint32_t i = 0; i < MAX_OPS; i++) {
		e = &j->entry[i];
		plan_next(&m, &seed, e);
		atomic_store(&e->state, BEGUN);
		atomic_store(&j->nr, i + 1);
		err = act(base, e, synced, &m);
		if (err && mount_is_dead(base))
			return 0;
		if (err) {
			snprintf(j->wrong, sizeof(j->wrong), "%s: %s", op_name[e->op],
				 err == -EBADMSG ? "wrong bytes" : strerror(-err));
			return 1;
		}
		atomic_store(&e->state, DONE);
		model_apply(&m, e);
	}
	atomic_store(&j->full, 1);
	pause();
	return 0;
}

static pid_t start_worker(const char *folder, struct journal *j, unsigned w, uint64_t seed,
			  bool synced)
{
	char path[4096];
	pid_t pid;
	int base;

	snprintf(path, sizeof(path), "%s/w%u", folder, w);
	if (mkdir(path, 0700)) {
		perror(path);
		exit(2);
	}
	base = open(path, O_RDONLY | O_DIRECTORY);
	pid = fork();
	if (!pid) {
		signal(SIGBUS, on_bus);
		umask(0);
		_exit(base < 0 ? 2 : work(base, &j[w], seed * 31 + w, synced));
	}
	close(base);
	return pid;
}

static void tell_ready(const char *journal)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.ready", journal);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
	close(fd);
}

static int run(const char *folder, const char *path, uint64_t seed, bool synced)
{
	struct journal *j = open_journals(path, true);
	int status, bad = 0;
	pid_t pid[WORKERS];
	unsigned w;

	for (w = 0; w < WORKERS; w++)
		pid[w] = start_worker(folder, j, w, seed, synced);
	tell_ready(path);
	for (w = 0; w < WORKERS; w++) {
		if (waitpid(pid[w], &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			bad = 1;
		if (*j[w].wrong) {
			printf("worker %u: %s\n", w, j[w].wrong);
			show_entry(stdout, j[w].nr - 1, &j[w].entry[j[w].nr - 1]);
		}
	}
	return bad;
}

/* ---- the judge ---------------------------------------------------------------- */

/* All that was answered; the operation that was not, or NULL. */
static struct entry *replay(struct journal *j, struct model *m)
{
	uint32_t i, nr = atomic_load(&j->nr);

	model_init(m);
	for (i = 0; i < nr; i++) {
		if (atomic_load(&j->entry[i].state) != DONE)
			return &j->entry[i];		/* the last one */
		model_apply(m, &j->entry[i]);
	}
	return NULL;
}

/* As it was before the operation that had no answer, after it, or between. */
static bool judge_worker(int base, struct journal *j, char *what, size_t size)
{
	struct model m, next;
	struct entry *open_one = replay(j, &m);
	struct node *n;
	char after[200];
	bool ok;

	if (!open_one) {
		ok = judge(base, &m, NULL, -1, what, size);
		model_free(&m);
		return ok;
	}
	model_copy(&next, &m);
	model_apply(&next, open_one);
	n = model_mixes(&m, open_one);
	ok = judge(base, &m, &next, n ? (int)(n - m.node) : -1, what, size);
	if (!ok && !n) {
		ok = judge(base, &next, NULL, -1, after, sizeof(after));
		snprintf(what + strlen(what), size - strlen(what),
			 "; if that one was done: %s", after);
	}
	model_free(&m);
	model_free(&next);
	return ok;
}

static int check(const char *folder, const char *path)
{
	struct journal *j = open_journals(path, false);
	char name[4096], what[512];
	uint32_t ops = 0;
	int bad = 0, base;

	for (unsigned w = 0; w < WORKERS; w++) {
		snprintf(name, sizeof(name), "%s/w%u", folder, w);
		base = open(name, O_RDONLY | O_DIRECTORY);
		if (base < 0) {
			printf("worker %u: its folder is lost: %s\n", w, strerror(errno));
			bad = 1;
			continue;
		}
		if (!judge_worker(base, &j[w], what, sizeof(what))) {
			printf("worker %u: %s\n", w, what);
			show_entry(stdout, j[w].nr - 1, &j[w].entry[j[w].nr - 1]);
			bad = 1;
		}
		ops += j[w].nr;
		close(base);
	}
	printf("%u\n", ops);
	return bad;
}

static int show(const char *path)
{
	struct journal *j = open_journals(path, false);
	uint32_t i, nr;

	for (unsigned w = 0; w < WORKERS; w++) {
		nr = j[w].nr;
		printf("worker %u: %u operations %s\n", w, nr, j[w].wrong);
		for (i = nr > 20 ? nr - 20 : 0; i < nr; i++)
			show_entry(stdout, i, &j[w].entry[i]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3], strtoull(argv[4], NULL, 0), argc > 5);
	if (argc == 4 && !strcmp(argv[1], "check"))
		return check(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "show"))
		return show(argv[2]);
	fprintf(stderr, "usage: soak run FOLDER JOURNAL SEED [sync]\n"
		"       soak check FOLDER JOURNAL\n       soak show JOURNAL\n");
	return 2;
}
