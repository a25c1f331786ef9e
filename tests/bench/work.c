/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.c - one piece of work on one filesystem, measured from both ends
 *
 *	work [-n COUNT] [-t MS] [-s MIB] [-p PID] [-c STAT]
 *	     BENCH DIR [COMMAND...]
 *
 * Prints one line: operations, bytes, nanoseconds, CPU nanoseconds and
 * context switches of this process, the same two of the process PID (the FUSE
 * daemon; 0 0 without one), then the fences it made and the bytes it copied
 * into the pool, as the program STAT (pmemfs-stat) tells them, or "- -".
 * "work list" prints the names of the benches.
 *
 * The daemon's CPU time comes from its process clock, which counts in
 * nanoseconds and keeps what threads that have ended have used; its switches
 * are the sum over its threads, so those of an ended thread are missing.
 */
#define _GNU_SOURCE
#include "work.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void die(const char *what)
{
	fprintf(stderr, "work: %s: %s\n", what, strerror(errno));
	exit(1);
}

void cannot(const char *why)
{
	fprintf(stderr, "work: %s\n", why);
	exit(3);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t))
		die("clock");
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

bool more(const struct work *w)
{
	return now_ns() - w->start < w->ns;
}

const char *path_of(const struct work *w, const char *name)
{
	static char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", w->dir, name) >=
	    sizeof(path)) {
		errno = ENAMETOOLONG;
		die(name);
	}
	return path;
}

void *buffer(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("memory");
	memset(p, 0x5a, size);
	return p;
}

/* The same offsets for every filesystem: xorshift64. */
uint64_t next_random(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static uint64_t process_cpu(pid_t pid)
{
	clockid_t id;

	if (!pid)
		return 0;
	errno = clock_getcpuclockid(pid, &id);
	if (errno)
		die("the daemon's clock");
	return clock_ns(id);
}

/* The two lines of a status file that count context switches. */
static uint64_t task_switches(pid_t pid, const char *task)
{
	char line[256];
	uint64_t sum = 0;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/task/%.20s/status", (int)pid,
		 task);
	f = fopen(line, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		if (colon && strstr(line, "ctxt_switches"))
			sum += strtoull(colon + 1, NULL, 10);
	}
	fclose(f);
	return sum;
}

static uint64_t process_switches(pid_t pid)
{
	char path[64];
	uint64_t sum = 0;
	struct dirent *e;
	DIR *d;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		die(path);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			sum += task_switches(pid, e->d_name);
	closedir(d);
	return sum;
}

static uint64_t own_switches(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw;
}

static uint64_t own_cpu(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* The number behind "key": in text, or 0. */
static uint64_t number(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	p = p ? strchr(p, ':') : NULL;
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* Of the daemon, since it started. */
static bool read_counters(const struct work *w, uint64_t *fences, uint64_t *copied)
{
	static char text[1 << 18];
	char cmd[8192];
	size_t n;
	FILE *f;

	if (!w->stat)
		return false;
	snprintf(cmd, sizeof(cmd), "'%s' --json '%s' 2>/dev/null", w->stat, w->dir);
	f = popen(cmd, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	*fences = number(text, "\"fences\"");
	*copied = number(text, "\"copied_bytes\"");
	return pclose(f) == 0 && strstr(text, "\"fences\"");
}

void work_begin(struct work *w)
{
	w->counted = read_counters(w, &w->fences, &w->copied);
	w->daemon_switches = process_switches(w->daemon);
	w->daemon_cpu = process_cpu(w->daemon);
	w->client_switches = own_switches(RUSAGE_SELF) +
			     own_switches(RUSAGE_CHILDREN);
	w->client_cpu = own_cpu(RUSAGE_SELF) + own_cpu(RUSAGE_CHILDREN);
	w->ops = w->bytes = 0;
	w->start = now_ns();
}

static uint64_t grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

void work_end(struct work *w)
{
	uint64_t fences, copied;

	w->took = now_ns() - w->start;
	w->client_cpu = grown(w->client_cpu, own_cpu(RUSAGE_SELF) +
					     own_cpu(RUSAGE_CHILDREN));
	w->client_switches = grown(w->client_switches,
				   own_switches(RUSAGE_SELF) +
				   own_switches(RUSAGE_CHILDREN));
	w->daemon_cpu = grown(w->daemon_cpu, process_cpu(w->daemon));
	w->daemon_switches = grown(w->daemon_switches,
				   process_switches(w->daemon));
	w->counted = w->counted && read_counters(w, &fences, &copied);
	if (w->counted) {
		w->fences = fences - w->fences;
		w->copied = copied - w->copied;
	}
}

/* A command, its output where ours goes to not be seen: on stderr. */
static void bench_exec(struct work *w, const struct bench *b)
{
	int status;
	pid_t pid;

	(void)b;
	work_begin(w);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		if (chdir(w->dir))
			die(w->dir);
		execvp(w->cmd[0], w->cmd);
		die(w->cmd[0]);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("wait");
	if (status) {
		fprintf(stderr, "work: %s failed\n", w->cmd[0]);
		exit(1);
	}
	w->ops = w->count;
	work_end(w);
}

static const struct bench own_benches[] = {
	{ "exec", bench_exec, 0, 0 }, { NULL, NULL, 0, 0 },
};

static const struct bench *const tables[] = {
	data_benches, name_benches, own_benches,
};
#define TABLES	(sizeof(tables) / sizeof(tables[0]))

static const struct bench *find(const char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct bench *b = tables[i]; b->name; b++)
			if (!strcmp(b->name, name))
				return b;
	fprintf(stderr, "work: no bench is called %s\n", name);
	exit(2);
}

static int list(void)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct bench *b = tables[i]; b->name; b++)
			puts(b->name);
	return 0;
}

static void print(const struct work *w)
{
	const uint64_t n[] = {
		w->ops, w->bytes, w->took, w->client_cpu, w->client_switches,
		w->daemon_cpu, w->daemon_switches, w->fences, w->copied,
	};

	for (size_t i = 0; i < 7u + (w->counted ? 2 : 0); i++)
		printf("%s%llu", i ? " " : "", (unsigned long long)n[i]);
	puts(w->counted ? "" : " - -");
}

int main(int argc, char **argv)
{
	struct work w = { .count = 1000, .ns = 100000000, .size = 32u << 20 };
	const struct bench *b;
	int c;

	while ((c = getopt(argc, argv, "+n:t:s:p:c:")) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 10) : 0;

		switch (c) {
		case 'n': w.count = n; break;
		case 't': w.ns = (uint64_t)n * 1000000; break;
		case 's': w.size = (size_t)n << 20; break;
		case 'p': w.daemon = (pid_t)n; break;
		case 'c': w.stat = optarg; break;
		default: return 2;
		}
	}
	argv += optind;
	argc -= optind;
	if (argc == 1 && !strcmp(argv[0], "list"))
		return list();
	if (argc < 2 || !w.count || w.size < 2u << 20) {
		fprintf(stderr, "usage: work [-n COUNT] [-t MS] [-s MIB]"
			" [-p PID] [-c STAT] BENCH DIR [COMMAND...]\n");
		return 2;
	}
	b = find(argv[0]);
	w.dir = argv[1];
	w.cmd = argv + 2;
	b->fn(&w, b);
	print(&w);
	return 0;
}
