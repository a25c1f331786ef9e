/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * readdir_storm.c - does readdir lose or double a name that stays?
 *
 *	readdir_storm DIR NR SECONDS
 *
 * Two threads create NR files each, in DIR/a and DIR/b. Then, for SECONDS,
 * three threads create, rename and unlink other names in DIR/a while two
 * readers walk it: every name that is there all the time must be seen exactly
 * once by every walk. Exit status: 0 held, 1 did not, 2 could not be tried.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NR_CHURN	3
#define NR_READERS	2
#define CHURN_NAMES	200

struct job {
	pthread_t thread;
	int dir;		/* descriptor of the directory */
	const char *path;
	unsigned id, nr;
	unsigned long rounds;
};

static atomic_bool stop, failed;

static void complain(const char *what, const char *name)
{
	fprintf(stderr, "readdir_storm: %s: %s: %s\n", what, name,
		strerror(errno));
	atomic_store(&failed, true);
}

static void make(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		complain("create", name);
	else
		close(fd);
}

static void *creator(void *arg)
{
	struct job *j = arg;
	char name[32];
	unsigned i;

	for (i = 0; i < j->nr && !atomic_load(&failed); i++) {
		snprintf(name, sizeof(name), "s-%06u", i);
		make(j->dir, name);
	}
	return NULL;
}

/* Create a set of names, rename each, unlink all, again and again. */
static void *churner(void *arg)
{
	struct job *j = arg;
	char name[48], other[48];
	unsigned i;

	while (!atomic_load(&stop) && !atomic_load(&failed)) {
		for (i = 0; i < CHURN_NAMES; i++) {
			snprintf(name, sizeof(name), "c%u-%u", j->id, i);
			make(j->dir, name);
		}
		for (i = 0; i < CHURN_NAMES; i++) {
			snprintf(name, sizeof(name), "c%u-%u", j->id, i);
			snprintf(other, sizeof(other), "c%u-renamed-%u", j->id, i);
			if (renameat(j->dir, name, j->dir, other) < 0)
				complain("rename", name);
		}
		for (i = 0; i < CHURN_NAMES; i++) {
			snprintf(other, sizeof(other), "c%u-renamed-%u", j->id, i);
			if (unlinkat(j->dir, other, 0) < 0)
				complain("unlink", other);
		}
		j->rounds++;
	}
	return NULL;
}

/* Count how often each stable name is met. false: the walk itself failed. */
static bool walk(DIR *d, uint8_t *seen, unsigned nr)
{
	struct dirent *e;
	unsigned i;
	char *end;

	memset(seen, 0, nr);
	rewinddir(d);
	for (;;) {
		errno = 0;
		e = readdir(d);
		if (!e)
			break;
		if (strncmp(e->d_name, "s-", 2) != 0)
			continue;
		i = (unsigned)strtoul(e->d_name + 2, &end, 10);
		if (*end || i >= nr) {
			errno = EINVAL;
			complain("a name nobody made", e->d_name);
			return false;
		}
		if (seen[i] < UINT8_MAX)
			seen[i]++;
	}
	if (errno)
		complain("readdir", "");
	return errno == 0;
}

static void *reader(void *arg)
{
	struct job *j = arg;
	uint8_t *seen = malloc(j->nr);
	DIR *d = opendir(j->path);
	unsigned i;

	if (!d || !seen)
		complain("opendir", j->path);
	while (d && seen && !atomic_load(&stop) && !atomic_load(&failed)) {
		if (!walk(d, seen, j->nr))
			break;
		for (i = 0; i < j->nr; i++) {
			if (seen[i] == 1)
				continue;
			fprintf(stderr, "readdir_storm: s-%06u was seen %u times\n",
				i, seen[i]);
			atomic_store(&failed, true);
		}
		j->rounds++;
	}
	if (d)
		closedir(d);
	free(seen);
	return NULL;
}

static void start(struct job *j, void *(*fn)(void *))
{
	int err = pthread_create(&j->thread, NULL, fn, j);

	if (err) {
		errno = err;
		perror("readdir_storm: pthread_create");
		exit(2);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int make_dir(const char *path)
{
	int fd;

	if (mkdir(path, 0755) < 0) {
		perror(path);
		exit(2);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
	return fd;
}

static void create_both(struct job *a, struct job *b)
{
	double t = seconds();

	start(a, creator);
	start(b, creator);
	pthread_join(a->thread, NULL);
	pthread_join(b->thread, NULL);
	t = seconds() - t;
	printf("2 x %u files created in %.2f s, %.0f/s\n", a->nr, t, 2 * a->nr / t);
}

static void storm(const struct job *where, unsigned secs)
{
	struct job churn[NR_CHURN], read[NR_READERS];
	unsigned long changed = 0, walked = 0;
	unsigned i;

	for (i = 0; i < NR_CHURN; i++) {
		churn[i] = *where;
		churn[i].id = i;
		start(&churn[i], churner);
	}
	for (i = 0; i < NR_READERS; i++) {
		read[i] = *where;
		start(&read[i], reader);
	}
	sleep(secs);
	atomic_store(&stop, true);
	for (i = 0; i < NR_CHURN; i++) {
		pthread_join(churn[i].thread, NULL);
		changed += churn[i].rounds * CHURN_NAMES * 3;
	}
	for (i = 0; i < NR_READERS; i++) {
		pthread_join(read[i].thread, NULL);
		walked += read[i].rounds;
	}
	printf("%lu names changed under %lu complete walks\n", changed, walked);
	if (!walked && !atomic_load(&failed)) {
		fprintf(stderr, "readdir_storm: not one walk came to an end\n");
		atomic_store(&failed, true);
	}
}

int main(int argc, char **argv)
{
	char a_path[4096], b_path[4096];
	struct job a, b;
	unsigned nr, secs;

	if (argc != 4) {
		fprintf(stderr, "usage: readdir_storm DIR NR SECONDS\n");
		return 2;
	}
	nr = (unsigned)strtoul(argv[2], NULL, 10);
	secs = (unsigned)strtoul(argv[3], NULL, 10);
	snprintf(a_path, sizeof(a_path), "%s/a", argv[1]);
	snprintf(b_path, sizeof(b_path), "%s/b", argv[1]);
	a = (struct job){ .path = a_path, .dir = make_dir(a_path), .nr = nr };
	b = (struct job){ .path = b_path, .dir = make_dir(b_path), .nr = nr };

	create_both(&a, &b);
	if (!atomic_load(&failed))
		storm(&a, secs);
	close(a.dir);
	close(b.dir);
	return atomic_load(&failed) ? 1 : 0;
}
