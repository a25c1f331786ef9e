/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport_uring.c - requests and answers through io_uring (Linux 6.14)
 *
 * The kernel keeps a queue for each possible CPU and puts a request on the
 * queue of the CPU it is made on. A queue has entries (ring_entry.h); REGISTER
 * gives one to the kernel, a completion brings it back with a request in it,
 * COMMIT_AND_FETCH hands over the answer and waits for the next request. So
 * one io_uring_enter(2) answers all that was served and receives what has come,
 * and caller and server run on one CPU, where the data are still in the cache.
 *
 *   R1  A thread and a ring for each CPU we may run on, bound to it; all
 *       other queues (CPUs that are offline, or not allowed to us) share one
 *       more thread. Only the thread of a ring touches it.
 *   R2  The kernel waits until every queue has an entry before it uses the
 *       ring, and callers sleep meanwhile. Whatever can fail is done before INIT is
 *       answered; then all queues get one entry, and after that more.
 *   R3  A registration that fails makes the kernel go on with /dev/fuse. What
 *       fails on our side is made to fail on the kernel's as well.
 *   R4  Answers that were given are handed over before a thread leaves.
 *       Before it waits, too: the kernel forgets a file only after the answer
 *       to its RELEASE.
 *   R5  Memory: payloads are touched by requests only. A queue of R1's last
 *       thread has one entry; the others share RING_MEMORY, at least one each.
 *   R6  An entry whose request is parked (offload.h) keeps request and payload. As
 *       long as there is one, its thread sleeps for no longer than a device takes.
 *
 * FORGET, INTERRUPT and notifications go by /dev/fuse always.
 */
#include "fuse/uring.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <liburing.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/ring_entry.h"
#include "fuse/transport.h"

#define POSSIBLE	"/sys/devices/system/cpu/possible"
#define MAX_CPUS	16384u
/* Of one CPU at once; the others wait in the kernel. */
#define RING_DEPTH	4u
#define RING_DEPTH_PARKED OFFLOAD_DEPTH	/* where requests can be parked */
#define RING_MEMORY	(256ull << 20)
#define SQE_SIZE	128u
#define HEAD_STRIDE	512u
/* An answered request does not wait while more than this is served. */
#define BATCH_BYTES	(64u << 10)
/* Requests that were parked, in one turn. */
#define PARKED_TURN	4u
/* How often a thread that is not on its CPU tries to get back. */
#define REBIND_EVERY	256u

struct ring {
	struct uring *u;
	struct io_uring ur;
	bool made;			/* ur is */
	int cpu;			/* -1: not bound */
	uint16_t *qid;			/* queues: one, or those nobody else has */
	unsigned nr_queues, depth;	/* depth: entries of each */
	struct ring_entry *e;		/* depth * nr_queues; the first of each
					   queue come first */
	unsigned nr, live;		/* entries; those the kernel may use */
	uint8_t *mem;
	size_t mem_size;
	struct offload off;
	unsigned answered;		/* bytes, since the last submission */
	unsigned turns;
};

enum phase { PREPARE, REGISTER, DROP };

struct uring {
	struct session *s;
	struct ring *rings;
	unsigned nr_rings, nr_queues, depth;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	enum phase phase;
	unsigned done[DROP];		/* rings that are through a phase */
	int err;			/* the first one that failed */
	const char *why;
};

/* ---- which CPUs there are ------------------------------------------------- */

/*
 * How many queues the kernel will have: one too few and it would wait for
 * ever, so only its own word counts (a container may show another /sys).
 * 0: not known.
 */
static unsigned possible_cpus(void)
{
	FILE *f = fopen(POSSIBLE, "re");
	unsigned nr = 0, from, to;
	struct statfs st;
	int n = 0;

	if (!f)
		return 0;
	if (fstatfs(fileno(f), &st) || st.f_type != SYSFS_MAGIC)
		goto out;
	while ((n = fscanf(f, "%u-%u", &from, &to)) >= 1) {
		if (n == 1)
			to = from;
		if (to < from || to >= MAX_CPUS) {
			nr = 0;
			break;
		}
		nr += to - from + 1;
		if (fgetc(f) != ',')
			break;
	}
out:
	fclose(f);
	return nr;
}

/* Of the CPUs below nr, those this process may run on. NULL: no memory. */
static cpu_set_t *allowed_cpus(void)
{
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);

	if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(MAX_CPUS), set))
		CPU_ZERO_S(CPU_ALLOC_SIZE(MAX_CPUS), set);
	return set;
}

static bool is_allowed(const cpu_set_t *set, unsigned cpu)
{
	return CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(MAX_CPUS), set);
}

/* R1. Best effort: an unbound thread serves as well, only slower. */
static void bind_thread(const struct ring *r)
{
	cpu_set_t *set;

	if (r->cpu < 0)
		return;
	set = CPU_ALLOC(MAX_CPUS);
	if (!set)
		return;
	CPU_ZERO_S(CPU_ALLOC_SIZE(MAX_CPUS), set);
	CPU_SET_S((unsigned)r->cpu, CPU_ALLOC_SIZE(MAX_CPUS), set);
	if (sched_setaffinity(0, CPU_ALLOC_SIZE(MAX_CPUS), set))
		log_debug("ring thread: CPU %d: %s", r->cpu, strerror(errno));
	CPU_FREE(set);
}

/* ---- one ring -------------------------------------------------------------- */

static int map_entries(struct ring *r)
{
	size_t heads = align_up((size_t)r->nr * HEAD_STRIDE, 4096);

	r->mem_size = heads + (size_t)r->nr * RING_PAYLOAD_SIZE;
	r->mem = mmap(NULL, r->mem_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->mem == MAP_FAILED) {
		r->mem = NULL;
		return -ENOMEM;
	}
	for (unsigned i = 0; i < r->nr; i++) {
		struct ring_entry *e = &r->e[i];

		e->head = (void *)(r->mem + (size_t)i * HEAD_STRIDE);
		e->payload = r->mem + heads + (size_t)i * RING_PAYLOAD_SIZE;
		e->iov[0] = (struct iovec){ e->head, sizeof(*e->head) };
		e->iov[1] = (struct iovec){ e->payload, RING_PAYLOAD_SIZE };
		e->qid = r->qid[i % r->nr_queues];
		e->rq = (struct request){
			.s = r->u->s, .tr = &transport_uring, .state = e,
			.ctx.fs = r->u->s->fs,
		};
	}
	return 0;
}

static int ring_open(struct ring *r)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQE128 | IORING_SETUP_SUBMIT_ALL |
			 IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	int err;

	bind_thread(r);
	r->nr = r->nr_queues * r->depth;
	r->e = calloc(r->nr, sizeof(*r->e));
	err = r->e ? map_entries(r) : -ENOMEM;
	if (err)
		return err;
	err = io_uring_queue_init_params(r->nr, &r->ur, &p);
	if (err)
		return err;
	r->made = true;
	io_uring_ring_dontfork(&r->ur);		/* leave.c, E6 */
	madvise(r->mem, r->mem_size, MADV_DONTFORK);
	io_uring_register_ring_fd(&r->ur);	/* saves a look-up; may fail */
	return 0;
}

static void ring_close(struct ring *r)
{
	if (r->made)
		io_uring_queue_exit(&r->ur);
	r->made = false;
}

/* The next entry of the submission queue, which has room for all of ours. */
static void push(struct ring *r, struct ring_entry *e, uint32_t cmd, uint16_t qid)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ur);
	struct fuse_uring_cmd_req *req;

	assert(sqe);
	memset(sqe, 0, SQE_SIZE);
	req = (void *)sqe->cmd;
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = r->u->s->fd;
	sqe->cmd_op = cmd;
	sqe->user_data = (uintptr_t)e;
	if (cmd == FUSE_IO_URING_CMD_REGISTER) {
		sqe->addr = (uintptr_t)e->iov;
		sqe->len = ARRAY_SIZE(e->iov);
	}
	req->commit_id = e->commit_id;
	req->qid = qid;
}

/*
 * Register entries [from, to). What is refused completes at once, the others
 * stay with the kernel.
 */
static int enter_entries(struct ring *r, unsigned from, unsigned to)
{
	struct io_uring_cqe *cqe;
	unsigned head, seen = 0;
	int got, err = 0;

	for (unsigned i = from; i < to; i++)
		push(r, &r->e[i], FUSE_IO_URING_CMD_REGISTER, r->e[i].qid);
	r->live += to - from;	/* what is left over goes with the next call */
	got = io_uring_submit(&r->ur);
	if (got < 0)
		return got;
	if ((unsigned)got != to - from)
		return -EIO;
	io_uring_for_each_cqe(&r->ur, head, cqe) {
		if (cqe->res >= 0)
			break;			/* a request already */
		err = err ? err : cqe->res;
		r->live--;
		seen++;
	}
	io_uring_cq_advance(&r->ur, seen);
	return err;
}

/*
 * R3: register what cannot be, so that the kernel gives the ring up. With a
 * ring of its own: in ours something may wait to be submitted.
 */
static int refuse(struct ring *r)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQE128 };
	struct io_uring_cqe *cqe;
	int err;

	ring_close(r);
	err = io_uring_queue_init_params(1, &r->ur, &p);
	if (err)
		return err;
	r->made = true;
	push(r, &r->e[0], FUSE_IO_URING_CMD_REGISTER, UINT16_MAX);
	err = io_uring_submit(&r->ur);
	return err < 0 ? err : io_uring_wait_cqe(&r->ur, &cqe);
}

/* ---- serving ----------------------------------------------------------------- */

static int uring_send(struct request *rq, const struct iovec *iov, unsigned nr)
{
	struct ring_entry *e = rq->state;

	ring_answer(e, iov, nr);
	return 0;
}

static void uring_hand_over(struct request *rq)
{
	struct ring *r = rq->w->arg;

	io_uring_submit(&r->ur);
	r->answered = 0;
}

/* Its request has been served: give it back. */
static void answer_entry(struct ring *r, struct ring_entry *e)
{
	if (!e->rq.answered)	/* something that is never answered: not here */
		ring_answer(e, &(struct iovec){ &(struct fuse_out_header){
			.error = -ENOSYS, .unique = e->h.unique,
		}, sizeof(struct fuse_out_header) }, 1);
	r->answered += e->len;
	push(r, e, FUSE_IO_URING_CMD_COMMIT_AND_FETCH, e->qid);
}

static void serve_entry(struct ring *r, struct ring_entry *e)
{
	uint32_t len;

	ring_take(e, &e->rq);
	len = e->len;
	if (offload_serve(&r->off, &e->rq, &e->parked))
		return;
	r->answered += len;
	answer_entry(r, e);
}

/* Some that devices are done with. What has just come shall not wait for all. */
static void serve_parked(struct ring *r)
{
	struct request *rq;

	for (unsigned i = 0; i < PARKED_TURN && (rq = offload_reap(&r->off)); i++) {
		answer_entry(r, rq->state);
		io_uring_submit(&r->ur);
	}
}

/* R4 for what is parked: it has come in, so it is carried out. */
static void finish_parked(struct ring *r)
{
	while (r->off.nr) {
		serve_parked(r);
		if (r->off.nr)
			offload_pause(&r->off);
	}
}

/* An entry that came back without a request will not come again. */
static void lose_entry(struct ring *r, int res)
{
	r->live--;
	if (res != -ENOTCONN && res != -ECONNABORTED && res != -ECANCELED)
		log_debug("ring entry of CPU %d: %s", r->cpu, strerror(-res));
}

/* Serve what has come. A long answer is not kept back for the next ones. */
static void serve_batch(struct ring *r)
{
	struct io_uring_cqe *cqe;

	r->answered = 0;
	while (io_uring_cq_ready(&r->ur)) {
		struct ring_entry *e;
		int res;

		if (r->answered > BATCH_BYTES) {
			io_uring_submit(&r->ur);
			r->answered = 0;
		}
		if (io_uring_peek_cqe(&r->ur, &cqe))
			break;
		e = (void *)(uintptr_t)cqe->user_data;
		res = cqe->res;
		io_uring_cqe_seen(&r->ur, cqe);
		offload_waiting(&r->off, io_uring_cq_ready(&r->ur));
		if (res < 0)
			lose_entry(r, res);
		else
			serve_entry(r, e);
	}
}

/* A CPU that was taken away and came back has lost its thread. */
static void stay_bound(struct ring *r)
{
	if (r->cpu >= 0 && sched_getcpu() != r->cpu &&
	    ++r->turns % REBIND_EVERY == 0)
		bind_thread(r);
}

/* Hand over what was answered, and wait: for requests, or for a device (R6). */
static int submit_and_wait(struct ring *r)
{
	uint64_t ns = offload_eta(&r->off);
	struct __kernel_timespec ts = {
		.tv_sec = (long long)(ns / 1000000000), .tv_nsec = (long long)(ns % 1000000000),
	};
	struct io_uring_cqe *cqe;

	if (!r->off.nr)
		return io_uring_submit_and_wait(&r->ur, 1);
	if (!ns)
		return io_uring_submit_and_get_events(&r->ur);
	return io_uring_submit_and_wait_timeout(&r->ur, &cqe, 1, &ts, NULL);
}

static bool is_fatal(int err)
{
	return err < 0 && err != -EINTR && err != -EAGAIN && err != -EBUSY && err != -ETIME;
}

static int serve(struct worker *w)
{
	struct ring *r = w->arg;
	struct session *s = r->u->s;
	int got = 0;

	for (unsigned i = 0; i < r->nr; i++)
		r->e[i].rq.w = w;
	while (!session_stops(s) && r->live && !is_fatal(got)) {
		got = submit_and_wait(r);
		serve_batch(r);
		serve_parked(r);
		stay_bound(r);
	}
	finish_parked(r);
	io_uring_submit(&r->ur);					/* R4 */
	if (is_fatal(got))
		return got;
	return session_stops(s) || session_is_dead(s) ? 0 : -EIO;
}

/* ---- the threads, in step ----------------------------------------------------- */

/* This ring is through a phase. */
static void arrive(struct uring *u, enum phase phase, int err, const char *why)
{
	if (err && !u->err) {
		u->err = err;
		u->why = why;
	}
	u->done[phase]++;
	pthread_cond_broadcast(&u->turn);
}

static int register_ring(struct ring *r)
{
	int err = enter_entries(r, 0, r->nr_queues);

	if (err && refuse(r))
		err = -ENOTRECOVERABLE;
	return err;
}

/* R2: to the point where requests come. False: they will not. */
static bool get_ready(struct ring *r)
{
	struct uring *u = r->u;
	int err = ring_open(r);
	bool on;

	pthread_mutex_lock(&u->lock);
	arrive(u, PREPARE, err, r->mem ? "io_uring cannot be set up" :
					 "no memory for the ring entries");
	while (u->phase == PREPARE)
		pthread_cond_wait(&u->turn, &u->lock);
	if (u->phase == REGISTER && !u->err)	/* under the lock: in turn */
		arrive(u, REGISTER, register_ring(r),
		       "the kernel refused a registration");
	while (u->phase == REGISTER && !u->err && u->done[REGISTER] < u->nr_rings)
		pthread_cond_wait(&u->turn, &u->lock);
	on = u->phase == REGISTER && !u->err;
	pthread_mutex_unlock(&u->lock);
	return on;
}

static int uring_run(struct worker *w)
{
	struct ring *r = w->arg;
	int err = 0;

	if (get_ready(r)) {
		if (r->depth > 1 && enter_entries(r, r->nr_queues, r->nr))
			log_warn("CPU %d: fewer ring entries than wanted", r->cpu);
		offload_open(&r->off, r->u->s, (unsigned)min64(r->nr, OFFLOAD_DEPTH));
		err = serve(w);
		offload_close(&r->off);
	}
	ring_close(r);
	return err;
}

const struct transport transport_uring = {
	.name = "uring", .run = uring_run, .send = uring_send,
	.hand_over = uring_hand_over,
};

/* ---- for the session ------------------------------------------------------------ */

/* R1, R5: who serves which queue. */
static int plan(struct uring *u, const cpu_set_t *allowed)
{
	struct ring *rest;
	unsigned bound = 0, nr = 0;

	for (unsigned q = 0; q < u->nr_queues; q++)
		bound += is_allowed(allowed, q);
	u->rings = calloc(bound + 1, sizeof(*u->rings));
	if (!u->rings)
		return -ENOMEM;
	u->nr_rings = bound + 1;	/* for uring_free() */
	u->depth = u->s->dsa ? RING_DEPTH_PARKED : RING_DEPTH;
	u->depth = (unsigned)min64(u->depth, max64(1, RING_MEMORY /
				   ((bound + 1ull) * RING_PAYLOAD_SIZE)));
	rest = &u->rings[bound];
	for (unsigned q = 0; q < u->nr_queues; q++) {
		struct ring *r = is_allowed(allowed, q) ? &u->rings[nr++] : rest;

		if (!r->qid)
			r->qid = calloc(r == rest ? u->nr_queues : 1, sizeof(*r->qid));
		if (!r->qid)
			return -ENOMEM;
		r->u = u;
		r->cpu = r == rest ? -1 : (int)q;
		r->depth = r == rest ? 1 : u->depth;
		r->qid[r->nr_queues++] = (uint16_t)q;
	}
	u->nr_rings = bound + (rest->nr_queues ? 1 : 0);
	return 0;
}

static struct uring *uring_new(struct session *s)
{
	struct uring *u = calloc(1, sizeof(*u));
	cpu_set_t *allowed = allowed_cpus();
	int err = -ENOMEM;

	if (u && allowed) {
		u->s = s;
		pthread_mutex_init(&u->lock, NULL);
		pthread_cond_init(&u->turn, NULL);
		u->nr_queues = possible_cpus();
		err = plan(u, allowed);
	}
	CPU_FREE(allowed);
	if (!err)
		return u;
	if (u)
		uring_free(u);
	return NULL;
}

/* Until all of them are through a phase, or one has failed. */
static int wait_all(struct uring *u, enum phase phase, const char **why)
{
	int err;

	pthread_mutex_lock(&u->lock);
	while (u->done[phase] < u->nr_rings && !u->err)
		pthread_cond_wait(&u->turn, &u->lock);
	err = u->err;
	*why = u->why;
	pthread_mutex_unlock(&u->lock);
	return err;
}

int uring_prepare(struct session *s, struct uring **out, const char **why)
{
	struct uring *u;
	unsigned nr = 0;
	int err = 0;

	*out = NULL;
	*why = "no memory for it";
	u = uring_new(s);
	if (!u)
		return -ENOMEM;
	if (!u->nr_queues) {
		*why = "the number of possible CPUs is not known";
		uring_free(u);
		return -ENODEV;
	}
	*out = u;
	while (nr < u->nr_rings && !err) {
		err = session_spawn(s, &transport_uring, &u->rings[nr]);
		nr += !err;
	}
	*why = "no threads for it";
	return err ? err : wait_all(u, PREPARE, why);
}

int uring_register(struct uring *u, const char **why)
{
	pthread_mutex_lock(&u->lock);
	u->phase = REGISTER;
	pthread_cond_broadcast(&u->turn);
	pthread_mutex_unlock(&u->lock);
	return wait_all(u, REGISTER, why);
}

void uring_drop(struct uring *u)
{
	pthread_mutex_lock(&u->lock);
	u->phase = DROP;
	pthread_cond_broadcast(&u->turn);
	pthread_mutex_unlock(&u->lock);
}

unsigned uring_threads_max(void)
{
	return possible_cpus() + 1;
}

unsigned uring_nr_rings(const struct uring *u)
{
	return u->nr_rings;
}

unsigned uring_depth(const struct uring *u)
{
	return u->depth;
}

void uring_free(struct uring *u)
{
	for (unsigned i = 0; u->rings && i < u->nr_rings; i++) {
		if (u->rings[i].mem)
			munmap(u->rings[i].mem, u->rings[i].mem_size);
		free(u->rings[i].e);
		free(u->rings[i].qid);
	}
	free(u->rings);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->turn);
	free(u);
}
