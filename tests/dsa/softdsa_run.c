/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_run.c - a software device for the queues of another process
 *
 *	softdsa_run [--portal FILE | --fifo FILE]... [--shared] [--script FILE]
 *		[--lazy] [--present] [--ready FILE]
 *
 * Each node is one queue, dedicated, or shared if --shared stands before it. The
 * process that has a node open is served; processes may come and go. FILE of
 * --ready is made when it can be. --lazy and --present: see softdsa.h; scripts: see
 * softdsa_script.c.
 *
 * SIGUSR1 halts the device, SIGUSR2 brings it back. At SIGTERM it prints a line of
 * statistics; its exit status is then 1 if the user did what must not be done, and
 * 0 otherwise; 2: bad usage.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dsa/softdsa_serve.h"

static struct soft_server server;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		atomic_store(&server.halt, 1);
	else if (sig == SIGUSR2)
		atomic_store(&server.halt, -1);
	else
		atomic_store(&server.stop, true);
}

static uint64_t clock_now(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int usage(const char *what)
{
	fprintf(stderr, "softdsa_run: %s\nusage: softdsa_run [--shared] --portal FILE | "
		"--fifo FILE ... [--script FILE] [--lazy] [--present] [--ready FILE]\n", what);
	return 2;
}

static bool read_script(struct softdsa *d, const char *path)
{
	static char text[65536];
	char err[200] = "cannot be read";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (got >= 0 && softdsa_script(d, text, err, sizeof(err)))
		return true;
	fprintf(stderr, "softdsa_run: %s: %s\n", path, err);
	return false;
}

struct asked {
	struct softdsa_conf conf;
	const char *path[SOFT_WQS], *script, *ready;
	bool fifo[SOFT_WQS];
};

static bool one_option(struct asked *a, const char *name, const char *value, bool *shared)
{
	struct softdsa_conf *c = &a->conf;

	if (!strcmp(name, "--script")) {
		a->script = value;
	} else if (!strcmp(name, "--ready")) {
		a->ready = value;
	} else if ((!strcmp(name, "--portal") || !strcmp(name, "--fifo")) &&
		   c->nr_wq < SOFT_WQS) {
		a->path[c->nr_wq] = value;
		a->fifo[c->nr_wq] = name[2] == 'f';
		c->wq[c->nr_wq++] = softdsa_usual.wq[*shared ? 0 : 1];
		*shared = false;
	} else {
		return false;
	}
	return value != NULL;
}

static bool options(struct asked *a, int argc, char **argv)
{
	bool shared = false;

	*a = (struct asked){ .conf = { .readback = true, .now = clock_now } };
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--shared"))
			shared = true;
		else if (!strcmp(argv[i], "--lazy"))
			a->conf.lazy = true;
		else if (!strcmp(argv[i], "--present"))
			a->conf.present = true;
		else if (one_option(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &shared))
			i++;
		else
			return false;
	}
	return a->conf.nr_wq;
}

static void listen_to_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	const int sig[] = { SIGTERM, SIGINT, SIGUSR1, SIGUSR2 };

	for (unsigned i = 0; i < 4; i++)
		sigaction(sig[i], &sa, NULL);
}

static bool begin(struct asked *a, struct softdsa *d)
{
	int err = soft_server_init(&server, d), fd;

	listen_to_signals();
	for (unsigned i = 0; !err && i < a->conf.nr_wq; i++) {
		err = soft_node_add(&server, i, a->path[i], a->fifo[i]);
		if (err)
			fprintf(stderr, "softdsa_run: %s: %s\n", a->path[i], strerror(-err));
	}
	if (!err && a->ready) {
		fd = open(a->ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
	}
	return !err;
}

int main(int argc, char **argv)
{
	struct asked a;
	struct softdsa *d;
	unsigned bad;

	if (!options(&a, argc, argv))
		return usage("what?");
	d = softdsa_new(&a.conf);
	if ((a.script && !read_script(d, a.script)) || !begin(&a, d))
		return 2;
	soft_serve(&server);
	soft_server_end(&server);
	softdsa_print(d, stdout);
	bad = softdsa_violations(d);
	softdsa_free(d);
	return bad != 0;
}
