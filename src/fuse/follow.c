/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow.c - a worker runs on the CPU of the client that it serves
 *
 * Every worker looks and decides for itself, from the requests it happens to
 * get; nothing is shared but the right to rest. Eight looks are remembered.
 * Seven that agree bind the worker; fewer than five free it. In between things
 * stay as they are, so two clients that take turns do not make it hop.
 */
#define _GNU_SOURCE
#include "fuse/follow.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/proto.h"

#define BIND	7
#define FREE	5
/* Which of the words behind the name, in parentheses, tells the CPU. */
#define CPU_WORD	37

void follow_team_init(struct follow_team *team)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&team->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&team->let_go, &attr);
	pthread_condattr_destroy(&attr);
	team->first = NULL;
}

void follow_open(struct follow *f, struct follow_team *team, int conn,
		 enum follow_how how)
{
	memset(f, 0, sizeof(*f));
	f->team = team;
	f->conn = conn;
	f->bound = f->cpu = f->fd = -1;
	f->self = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	f->every = f->left = FOLLOW_OFTEN;
	f->always = how == FOLLOW_ALWAYS;
	f->on = how != FOLLOW_NEVER &&
		!sched_getaffinity(0, sizeof(f->all), &f->all) &&
		CPU_COUNT(&f->all) > 1;
}

static void forget_client(struct follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* Who serves alone, who rests, who has let go (F3). */
static void settle_team(struct follow *f)
{
	struct follow_team *team = f->team;

	pthread_mutex_lock(&team->lock);
	if (f->bound < 0) {
		if (team->first == f) {
			team->first = NULL;
			pthread_cond_broadcast(&team->let_go);
		}
	} else if (!team->first || team->first == f) {
		team->first = f;
		team->cpu = f->bound;
	} else {
		f->rest = team->cpu == f->bound;
	}
	pthread_mutex_unlock(&team->lock);
}

void follow_close(struct follow *f)
{
	forget_client(f);
	if (f->self >= 0)
		close(f->self);
	f->self = -1;
	f->bound = -1;
	settle_team(f);
}

int follow_note(struct follow *f, int cpu)
{
	bool same = cpu >= 0 && cpu == f->cpu;
	int agree;

	f->seen = (uint8_t)(f->seen << 1 | same);
	agree = __builtin_popcount(f->seen);
	if (!same && cpu >= 0 && agree < FREE) {
		f->cpu = cpu;
		f->seen = 1;
	} else if (agree >= BIND) {
		f->bound = f->cpu;
	}
	if (agree < FREE)
		f->bound = -1;
	/* a look that contradicts asks for more of them, and soon */
	if (f->bound >= 0 && !same)
		f->every = FOLLOW_OFTEN;
	else if (f->bound < 0 && same)
		f->every = f->every / 2 > FOLLOW_OFTEN ? f->every / 2 : FOLLOW_OFTEN;
	else if (f->every < FOLLOW_SELDOM)
		f->every *= 2;
	return f->bound;
}

/* The CPU that a thread ran on last, or -1. */
static int cpu_of(struct follow *f, int pid)
{
	char text[1024], *p;
	ssize_t n;

	if (f->fd < 0 || f->pid != pid) {
		forget_client(f);
		/* the thread's own file: that of the process adds up all threads */
		snprintf(text, sizeof(text), "/proc/%d/task/%d/stat", pid, pid);
		f->fd = open(text, O_RDONLY | O_CLOEXEC);
		f->pid = pid;
	}
	n = f->fd < 0 ? -1 : pread(f->fd, text, sizeof(text) - 1, 0);
	if (n <= 0) {
		forget_client(f);
		return -1;
	}
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int i = 0; p && i < CPU_WORD; i++)
		p = strchr(p + 1, ' ');
	return p ? (int)strtol(p, NULL, 10) : -1;
}

/* F4: nanoseconds that we have been runnable and did not run. */
static uint64_t own_delay(const struct follow *f)
{
	char text[128], *p;
	ssize_t n = f->self < 0 ? -1 : pread(f->self, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strchr(text, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

/* Since the last look. */
static bool crowded(struct follow *f)
{
	uint64_t delay = own_delay(f), at = atomic_load(&f->served);
	bool yes = at > f->at && (delay - f->delay) / (at - f->at) > FOLLOW_DELAY_NS;

	f->delay = delay;
	f->at = at;
	return yes;
}

static bool waits(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void move(struct follow *f, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu >= 0)
		CPU_SET(cpu, &one);
	/* the CPU may be gone or forbidden meanwhile: then we stay */
	if (sched_setaffinity(0, sizeof(one), cpu < 0 ? &f->all : &one))
		f->on = false;
	log_debug("a worker goes to CPU %d (-1: anywhere)", cpu);
}

static void start_anew(struct follow *f)
{
	f->bound = f->cpu = -1;
	f->seen = 0;
	f->every = f->left = FOLLOW_OFTEN;
}

void follow_look(struct follow *f, uint32_t opcode, uint32_t pid)
{
	int cpu = -1, was = f->bound;

	/* nobody waits for these, so they say nothing about anybody */
	if (opcode == FUSE_RELEASE || opcode == FUSE_RELEASEDIR ||
	    opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || pid == 0) {
		f->left = 1;
		return;
	}
	atomic_store_explicit(&f->hurry, false, memory_order_relaxed);
	if (f->pause) {
		f->pause--;
		f->left = FOLLOW_SELDOM;
		crowded(f);
		return;
	}
	if (crowded(f) && !f->always) {
		start_anew(f);
		f->pause = FOLLOW_PAUSE;
		f->left = FOLLOW_SELDOM;
		cpu = -1;
	} else {
		if (!waits(f->conn))
			cpu = cpu_of(f, (int)pid);
		if (cpu >= CPU_SETSIZE || (cpu >= 0 && !CPU_ISSET(cpu, &f->all)))
			cpu = -1;	/* F2 */
		cpu = follow_note(f, cpu);
		f->left = f->every;
	}
	if (cpu != was)
		move(f, cpu);
	if (cpu != was || cpu >= 0)
		settle_team(f);
}

static void wait_a_bit(struct follow_team *team)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += REST_MS * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	pthread_cond_timedwait(&team->let_go, &team->lock, &t);
}

void follow_rest(struct follow *f)
{
	struct follow_team *team = f->team;
	uint64_t before;

	pthread_mutex_lock(&team->lock);
	while (team->first) {
		before = atomic_load(&team->first->served);
		wait_a_bit(team);
		if (!team->first)
			break;
		if (atomic_load(&team->first->served) - before < FOLLOW_OFTEN ||
		    waits(f->conn)) {
			atomic_store(&team->first->hurry, true);
			break;
		}
	}
	pthread_mutex_unlock(&team->lock);
	/* whatever it knew is old: begin anew, anywhere */
	f->rest = false;
	start_anew(f);
	move(f, -1);
}
