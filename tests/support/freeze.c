/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * freeze.c - stop all threads of a process but its first, until it is killed
 *
 *	freeze PID
 *
 * What a daemon looks like whose workers hang: its supervisor goes on, and so do
 * threads that are made later. Says "frozen" and waits for the process to end, or
 * for SIGTERM, which lets the threads go on.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int freeze(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return -1;
	return waitpid(tid, &status, __WALL) == tid ? 0 : -1;
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	struct dirent *e;
	char path[64];
	int nr = 0;
	DIR *d;

	if (pid <= 0)
		return 2;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || tid == pid)
			continue;
		if (freeze(tid)) {
			perror("freeze");
			return 1;
		}
		nr++;
	}
	if (!nr)
		return 1;
	puts("frozen");
	fflush(stdout);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
	return 0;
}
