/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.h - what the parts of the benchmark's worker share
 *
 * A bench is one function: it prepares without being timed, calls
 * work_begin(), works, calls work_end(). Any error ends the program with a
 * line, so what a bench reports was really done.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct work {
	const char *dir;		/* where to work, on the filesystem */
	uint64_t count;			/* names, or commands */
	uint64_t ns;			/* how long, for benches by time */
	size_t size;			/* of the data file */
	pid_t daemon;			/* 0: there is none */
	char **cmd;			/* for "exec" */
	const char *stat;		/* pmemfs-stat, or NULL */

	uint64_t ops, bytes;		/* done */
	uint64_t start, took;		/* ns */
	uint64_t client_cpu, client_switches;
	uint64_t daemon_cpu, daemon_switches;
	bool counted;			/* the two below are known */
	uint64_t fences, copied;
};

struct bench {
	const char *name;
	void (*fn)(struct work *w, const struct bench *b);
	size_t unit;			/* bytes of one operation */
	int arg;
};

extern const struct bench data_benches[], name_benches[];

void work_begin(struct work *w);
void work_end(struct work *w);

uint64_t now_ns(void);
/* True while a bench that goes by time has some left. */
bool more(const struct work *w);
/* "DIR/name", or ends the program. */
const char *path_of(const struct work *w, const char *name);
/* Ends the program with the reason in errno. */
void die(const char *what) __attribute__((noreturn));
/* Ends the program with status 3: this filesystem does not have that. */
void cannot(const char *why) __attribute__((noreturn));
/* Page-aligned and touched. */
void *buffer(size_t size);
uint64_t next_random(void);

#endif
