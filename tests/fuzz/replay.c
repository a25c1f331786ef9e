/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay.c - run inputs of the fuzz target without a fuzzer
 *
 * usage: replay [FILE | FOLDER]...
 * Without arguments: tests/fuzz/corpus below $srcdir. Each input runs in a
 * process of its own and may take CPU_SECONDS; the exit status is 1 if one
 * crashed or hung.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/fuzz_pool.h"

#define CPU_SECONDS	20
#define WALL_SECONDS	200
#define INPUT_SIZE	65536u

struct tally { unsigned ran, failed; };

static void run_here(const char *path)
{
	const struct itimerval limit = { .it_value.tv_sec = CPU_SECONDS };
	static uint8_t buf[INPUT_SIZE];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		perror(path);
		_exit(1);
	}
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(WALL_SECONDS);
	LLVMFuzzerTestOneInput(buf, n);
	_exit(0);
}

static void run(const char *path, struct tally *t)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		run_here(path);
	if (pid > 0)
		waitpid(pid, &status, 0);
	t->ran++;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	t->failed++;
	printf("FAILED: %s: %s %d\n", path, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void run_folder(const char *path, struct tally *t)
{
	struct dirent **list;
	char name[4096];
	int i, n = scandir(path, &list, NULL, alphasort);

	if (n < 0) {
		perror(path);
		t->failed++;
	}
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			run(name, t);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	struct tally t = { 0, 0 };
	char corpus[4096];
	struct stat st;
	int i;

	/* the pool is made once; those who follow have a copy */
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (i = 1; i < argc; i++) {
		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			run_folder(argv[i], &t);
		else
			run(argv[i], &t);
	}
	snprintf(corpus, sizeof(corpus), "%s/tests/fuzz/corpus", srcdir ? srcdir : ".");
	if (argc == 1)
		run_folder(corpus, &t);
	printf("%u inputs, %u failed\n", t.ran, t.failed);
	return t.failed || !t.ran;
}
