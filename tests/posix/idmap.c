/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * idmap.c - a mount once more, with other user numbers
 *
 *	idmap MOUNT DIRECTORY ID SHOWN
 *
 * Put an idmapped copy of MOUNT at DIRECTORY, in which the owner ID of the original,
 * user and group, is SHOWN. Exit status: 0; 1: refused, and why; 2: usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
	printf("idmap: %s: %s\n", what, strerror(errno));
	return 1;
}

static int put(pid_t pid, const char *file, const char *text)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* A user namespace in which one number is another. */
static int make_userns(const char *map)
{
	int ready[2], fd = -1;
	char path[64], c;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		c = unshare(CLONE_NEWUSER) ? 'n' : 'y';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	if (pid > 0 && read(ready[0], &c, 1) == 1 && c == 'y' &&
	    !put(pid, "uid_map", map) && !put(pid, "gid_map", map)) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(ready[0]);
	close(ready[1]);
	return fd;
}

int main(int argc, char **argv)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	char map[64];
	int ns, tree;

	if (argc != 5)
		return 2;
	snprintf(map, sizeof(map), "%s %s 1\n", argv[3], argv[4]);
	ns = make_userns(map);
	if (ns < 0)
		return fail("no user namespace");
	tree = open_tree(AT_FDCWD, argv[1], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return fail("open_tree");
	attr.userns_fd = (unsigned)ns;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
		return fail("mount_setattr");
	if (move_mount(tree, "", AT_FDCWD, argv[2], MOVE_MOUNT_F_EMPTY_PATH))
		return fail("move_mount");
	return 0;
}
