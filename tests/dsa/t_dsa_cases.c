/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_cases.c - the DSA engine, one thing at a time
 *
 * Faults at each byte, queues that are full, devices that die and come back,
 * threads, the real instructions and system calls, and what the medium sees.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/bytes.h"
#include "dsa/rig.h"
#include "dsa/softdsa_serve.h"
#include "support/check_main.h"
#include "support/pm_record.h"

/* ---- one thing at a time ---------------------------------------------------------------- */

static void start(const struct way *w, const char *script)
{
	mem = (struct pm_mem){ .size = SIZE };
	open_pool(&pm_backend_mem, &mem);
	dice = 1;
	open_way(w, script, &any_size);
}

static void end(void)
{
	close_way();
	close_pool();
}

START_TEST(a_fault_at_any_byte)
{
	const unsigned len = 700;

	start(&ways[MOVDIR], "");
	for (unsigned at = 0; at < len; at++)
		for (unsigned k = 0; k < 3; k++) {
			softdsa_well(sys.dev);
			script("fault at=%u dir=%s %s", at, k ? "write" : "read",
			       k == 2 ? "backward" : "");
			ck_assert(begin(0, len));
			finish();
			ck_assert_uint_eq(doing[0].j.by_cpu > 0, true);
			softdsa_well(sys.dev);
			ck_assert(begin(0, len));	/* lest it be faults only */
			finish();
		}
	ck_assert_uint_eq(why(DSA_WHY_FAULT), 3 * len);
	end();
}
END_TEST

/* What is before a fault is the device's, and what is large is tried again. */
START_TEST(the_rest_after_a_fault)
{
	start(&ways[MOVDIR], "fault at=409600 dir=write nth=1");
	ck_assert(begin(0, 1 << 20));
	finish();
	ck_assert_uint_ge(doing[0].j.by_device, (1 << 20) - 2 * 64);
	script("fault at=409600 dir=write nth=1\nfault at=4096 dir=read nth=2");
	ck_assert(begin(0, 1 << 20));
	finish();
	ck_assert_uint_ge(doing[0].j.by_device, 409600);
	ck_assert_uint_le(doing[0].j.by_device, 409600 + 4096);
	end();
}
END_TEST

/* Free blocks are memory that this process has not touched yet. */
START_TEST(pages_not_there_yet)
{
	struct dsa_job *j = &doing[0].j;

	page_tables = true;
	start(&ways[MOVDIR], "");
	doing[0] = (struct doing){
		.j = { .off = 4096, .len = 300000, .src = source + 3, .user = &doing[0] },
		.busy = true, .since = sys.now,
	};
	soil(j->off, j->len);
	ck_assert(!madvise(source, AREA, MADV_POPULATE_READ));	/* a payload has been stored */
	ck_assert(!madvise((uint8_t *)mem.buf + j->off, align_down(j->len, 4096),
			   MADV_DONTNEED));
	ck_assert_int_eq(dsa_submit(port, j), 0);
	finish();
	ck_assert_uint_ge(j->by_device, j->len - 64);
	end();
}
END_TEST

/* Every page faults: it is left alone, instead of being asked again and again. */
START_TEST(nothing_but_faults)
{
	unsigned got = 0;

	start(&ways[MOVDIR], "fault at=0 dir=write");
	for (unsigned i = 0; i < 100; i++)
		got += begin(0, 300000), finish();
	ck_assert_uint_le(got, DSA_FAULTS);
	ck_assert_uint_eq(sys.closes, 1);
	end();
}
END_TEST

/* A full queue is asked once for a job, and never waited for. */
START_TEST(refused_at_once)
{
	struct softdsa_stats st;
	unsigned n = 3 * DSA_REFUSED;

	start(&ways[ENQ], "full for=500");
	for (unsigned i = 0; i < n; i++)
		ck_assert(!begin(i % JOBS, 65536));
	softdsa_stats(sys.dev, &st);
	ck_assert_uint_eq(st.full, n);
	ck_assert_uint_eq(why(DSA_WHY_FULL), n);
	softdsa_well(sys.dev);
	while (!begin(0, 65536))
		ck_assert_uint_lt(n++, 1000);
	finish();
	ck_assert_uint_eq(sys.closes, 0);
	end();
}
END_TEST

/* More than the queue has room for. */
START_TEST(credits)
{
	unsigned got = 0;

	start(&ways[WRITE_SMALL], "");				/* 16 KiB each */
	for (unsigned i = 0; i < 8; i++)
		got += begin(i, 100 << 10);
	ck_assert_uint_ge(got, 4);
	ck_assert_uint_lt(got, 8);
	finish();
	ck_assert(begin(0, 100 << 10));
	finish();
	end();
}
END_TEST

/* ---- a device that has died --------------------------------------------------------------- */

/* So many virtual seconds, five jobs in each. How many the device got. */
static unsigned live(unsigned seconds)
{
	unsigned got = 0;

	for (unsigned i = 0; i < 5 * seconds; i++) {
		begin(i % JOBS, 30000);
		turn(4);
		finish();
		got += doing[i % JOBS].j.by_device > 0;
		sys.now += SEC / 5;
	}
	return got;
}

/* Nobody says so: a job waits once, and then there are ever fewer trials. */
static void dies(const struct way *w, const char *how, enum dsa_reason reason, bool blind)
{
	unsigned opens;

	start(w, "");
	sys.blind = blind;
	ck_assert_uint_eq(live(2), 10);
	script("%s", how);
	live(300);
	opens = sys.opens;
	ck_assert_uint_ge(why(reason), 1);
	ck_assert_uint_ge(sys.closes, 1);
	ck_assert_uint_ge(opens, reason == DSA_WHY_TIMEOUT ? 4 : 1);
	ck_assert_uint_le(opens, 12);
	live(300);
	ck_assert_uint_le(sys.opens - opens, 6);
	softdsa_well(sys.dev);
	live(70);
	ck_assert_uint_eq(live(2), 10);			/* it is used again */
	end();
}

START_TEST(it_does_not_answer) { dies(&ways[MOVDIR], "never", DSA_WHY_TIMEOUT, false); } END_TEST
START_TEST(it_answers_no_write) { dies(&ways[WRITE], "never", DSA_WHY_TIMEOUT, false); } END_TEST
START_TEST(it_halts_unseen) { dies(&ways[MOVDIR], "halt", DSA_WHY_TIMEOUT, true); } END_TEST
START_TEST(it_halts) { dies(&ways[MOVDIR], "halt", DSA_WHY_HALTED, false); } END_TEST
START_TEST(it_is_disabled) { dies(&ways[MOVDIR], "disable", DSA_WHY_DISABLED, false); } END_TEST
START_TEST(errors) { dies(&ways[MOVDIR], "status code=0x20", DSA_WHY_STATUS, false); } END_TEST
START_TEST(errors_of_batches)
{
	dies(&ways[MOVDIR_SMALL], "status code=0x20 op=batch", DSA_WHY_STATUS, false);
}
END_TEST
START_TEST(errors_in_batches)
{
	dies(&ways[MOVDIR_SMALL], "status code=0x20 op=move", DSA_WHY_STATUS, false);
}
END_TEST

/* Refusing is all that a shared queue does when it is gone. */
START_TEST(it_is_gone)
{
	start(&ways[ENQ], "");
	ck_assert(begin(0, 70000));
	finish();
	softdsa_disable(sys.dev, 0, true);
	sys.gone = true;
	ck_assert_uint_eq(live(20), 0);
	ck_assert_uint_ge(sys.closes, 1);
	softdsa_well(sys.dev);
	sys.gone = false;
	live(70);
	ck_assert_uint_eq(live(2), 10);
	end();
}
END_TEST

/* Q2, Q4: what it still has when it is given up is waited for, and then used. */
START_TEST(given_up)
{
	start(&ways[MOVDIR_SMALL], "never");
	sys.blind = true;
	for (unsigned i = 0; i < 5; i++)
		ck_assert(begin(i, 100000 + i));
	finish();
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(doing[i].j.by_cpu, doing[i].j.len);
	ck_assert_uint_eq(sys.closes, 1);
	ck_assert_uint_eq(why(DSA_WHY_TIMEOUT) > 0, true);
	end();
}
END_TEST

/* ---- two ports ------------------------------------------------------------------------------ */

/* The other port's job is stuck: it gives the queue up, which then comes back. */
static void give_up(struct dsa_port *other)
{
	sys.now += DSA_TIMEOUT;
	ck_assert_ptr_nonnull(dsa_reap(other));
	sys.now += DSA_BACKOFF_MAX;
	ck_assert(!dsa_wants(other, 65536));
	ck_assert(softdsa_step(sys.dev));
	ck_assert(dsa_wants(other, 65536));
}

/* Entries of a queue that was drained are not given back to the next one. E3 */
START_TEST(credits_of_a_drained_queue)
{
	struct dsa_port *mine, *other;

	timeout = DSA_TIMEOUT;
	start(&ways[MOVDIR], "never nth=1\nnever nth=2");
	mine = port;
	other = dsa_port_open(dsa, JOBS);
	ck_assert(begin(0, 4096));
	port = other;
	ck_assert(begin(1, 4096));
	doing[1].busy = false;
	give_up(other);
	port = mine;
	finish();
	for (unsigned i = 0; i < JOBS - 1; i++)
		ck_assert(begin(i, 4096));
	ck_assert_uint_eq(sys.wq[1].size, JOBS);
	port = other;
	ck_assert(begin(JOBS - 1, 4096));
	ck_assert_int_eq(dsa_submit(other, &(struct dsa_job){ .off = 1 << 13, .len = 4096,
							      .src = source }), -EAGAIN);
	while (softdsa_step(sys.dev))
		;
	reap_all();
	dsa_port_close(other);
	port = mine;
	finish();
	end();
}
END_TEST

/* ---- threads, and what is real ----------------------------------------------------------- */

#define FAR	(1ull << 60)
#define NEAR	1000000u

static atomic_bool stop;

static void *device(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		if (!softdsa_step(sys.dev))
			sched_yield();
	return NULL;
}

static void *worker(void *arg)
{
	first = *(unsigned *)arg;
	dice = first + 1;
	memset(doing, 0, sizeof(doing));
	port = dsa_port_open(dsa, 8);
	ck_assert_ptr_nonnull(port);
	for (unsigned n = 0, i; n < 100; sched_yield()) {
		for (i = 0; i < 8 && doing[i].busy; i++)
			;
		if (i < 8) {
			/* so that a queue that is off comes back */
			if (!begin(i, some_size(100000)) && timeout == NEAR)
				sys.now += DSA_BACKOFF_MAX;
			n++;
		}
		reap_all();
	}
	while (dsa_inflight(port))
		if (!reap_all())
			sched_yield();
	dsa_port_close(port);
	return NULL;
}

/*
 * Each with a port of its own, one queue for all. How fast time goes depends on how
 * they run; so a limit of it is far away, or what happens after it may happen.
 */
static void three_threads(const struct way *w, const char *how, uint64_t limit)
{
	unsigned area[3] = { 0, 8, 16 };
	pthread_t t[3], d;

	timeout = limit;
	start(w, how);
	sys.slow = true;
	atomic_store(&stop, false);
	ck_assert(!pthread_create(&d, NULL, device, NULL));
	for (unsigned i = 0; i < 3; i++)
		ck_assert(!pthread_create(&t[i], NULL, worker, &area[i]));
	for (unsigned i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	atomic_store(&stop, true);
	pthread_join(d, NULL);
	end();
}

START_TEST(threads_with_credits)
{
	three_threads(&ways[MOVDIR_SMALL], "reorder window=5\nfault at=4096 dir=write every=7",
		      FAR);
}
END_TEST

START_TEST(threads_without)
{
	three_threads(&ways[ENQ], "reorder window=5\nfault at=4096 dir=read every=7", FAR);
}
END_TEST

/* One gives the queue up, the others have jobs in it. Q2 */
START_TEST(threads_and_drains)
{
	three_threads(&ways[MOVDIR], "never every=5\nstatus code=0x20 every=31", NEAR);
	three_threads(&ways[ENQ_SMALL], "never every=7\nhalt nth=50 ns=9000000", NEAR);
}
END_TEST

#ifdef __x86_64__

#define INSTRUCTIONS	true

/*
 * An instruction that this CPU does not have: "portal in rax, descriptor in rdx".
 * The portal of a shared queue leads to queue 0.
 */
static void on_sigill(int sig, siginfo_t *si, void *context)
{
	ucontext_t *u = context;
	greg_t *reg = u->uc_mcontext.gregs;
	const uint8_t *ip = (const uint8_t *)reg[REG_RIP];
	static const uint8_t enqcmd[] = { 0xf2, 0x0f, 0x38, 0xf8, 0x02 };
	static const uint8_t movdir[] = { 0x66, 0x0f, 0x38, 0xf8, 0x02 };

	(void)si;
	if (!memcmp(ip, enqcmd, sizeof(enqcmd))) {
		reg[REG_EFL] &= ~0x8d5ll;
		if (softdsa_enqcmd(sys.dev, 0, (const void *)reg[REG_RDX]))
			reg[REG_EFL] |= 0x40;
	} else if (!memcmp(ip, movdir, sizeof(movdir))) {
		memcpy((void *)(reg[REG_RAX] + 16), (const void *)(reg[REG_RDX] + 16), 48);
		memcpy((void *)reg[REG_RAX], (const void *)reg[REG_RDX], 16);
	} else {
		signal(sig, SIG_DFL);
		return;
	}
	reg[REG_RIP] += 5;
}

#else

#define INSTRUCTIONS	false

static void on_sigill(int sig, siginfo_t *si, void *context)
{
	(void)si;
	(void)context;
	signal(sig, SIG_DFL);
}

#endif

static enum dsa_wq_state look(void *arg, struct dsa_wq *wq)
{
	(void)arg;
	(void)wq;
	return DSA_WQ_ENABLED;
}

static struct soft_server server;

static void *serve(void *arg)
{
	(void)arg;
	soft_serve(&server);
	return NULL;
}

/* The engine as it is in the daemon, on a node; its clock is late by no means. */
static void use_node(const char *path, bool shared)
{
	struct dsa_sys real;
	struct dsa_wq wq = {
		.name = "wq0.0", .dev = "dsa0", .shared = shared, .size = 32, .threshold = 28,
		.max_transfer = 65536, .max_batch = 16, .node = -1, .batch = true,
	};
	char err[200] = "";

	snprintf(wq.path, sizeof(wq.path), "%s", path);
	dsa_sys_real(&real);
	real.look = look;
	real.timeout = FAR;
	real.has_movdir64b = real.has_enqcmd = true;
	ck_assert_msg(!dsa_open_on(&dsa, pm, &any_size, &real, &wq, 1, err, sizeof(err)), "%s",
		      err);
	port = dsa_port_open(dsa, 16);
	while (!dsa_wants(port, 65536))
		sched_yield();
	for (unsigned i = 0; i < 12; i++)
		if (!begin(i, i * i * 3000 + 128))
			ck_assert_uint_gt(i, 4);	/* there is room for some */
	for (unsigned i = 0; i < 4; i++) {
		while (doing[i].busy)
			if (!reap_all())
				sched_yield();
		ck_assert_uint_gt(doing[i].j.by_device, 0);
	}
	while (dsa_inflight(port))
		if (!reap_all())
			sched_yield();
	dsa_port_close(port);
	dsa_close(dsa);
}

static void start_node(char *dir, const char *name, char *path)
{
	struct softdsa_conf conf = softdsa_usual;
	struct sigaction sa = { .sa_sigaction = on_sigill, .sa_flags = SA_SIGINFO | SA_NODEFER };

	mem = (struct pm_mem){ .size = SIZE };
	open_pool(&pm_backend_mem, &mem);
	conf.wq[1].max_xfer = 65536;
	timeout = FAR;
	sys = (struct soft_sys){ .dev = softdsa_new(&conf) };
	sigaction(SIGILL, &sa, NULL);
	ck_assert(mkdtemp(dir));
	snprintf(path, 80, "%s/%s", dir, name);
	snprintf(what, sizeof(what), "%s", path);
}

static void end_node(const char *dir, const char *path)
{
	ck_assert_msg(!softdsa_violations(sys.dev), "%s", softdsa_first(sys.dev));
	softdsa_free(sys.dev);
	close_pool();
	unlink(path);
	rmdir(dir);
}

/* A portal that is a page of a file, or a FIFO, and the system calls that are real. */
static void serve_node(bool fifo)
{
	char dir[] = "/tmp/t_dsa.XXXXXX", path[80];
	pthread_t t;

	start_node(dir, "wq", path);
	ck_assert_int_eq(soft_server_init(&server, sys.dev), 0);
	server.self = true;
	ck_assert_int_eq(soft_node_add(&server, 1, path, fifo), 0);
	ck_assert(!pthread_create(&t, NULL, serve, NULL));
	use_node(path, false);
	atomic_store(&server.stop, true);
	pthread_join(t, NULL);
	soft_server_end(&server);
	end_node(dir, path);
}

START_TEST(the_instruction_movdir64b)
{
	if (INSTRUCTIONS)
		serve_node(false);
}
END_TEST

START_TEST(the_system_call_write) { serve_node(true); } END_TEST

START_TEST(the_instruction_enqcmd)
{
	char dir[] = "/tmp/t_dsa.XXXXXX", path[80];
	struct dsa_sys real;
	pthread_t t;
	int fd;

	dsa_sys_real(&real);
	if (!INSTRUCTIONS || real.has_enqcmd)	/* which faults where there is no queue */
		return;
	start_node(dir, "wq", path);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert(fd >= 0 && !ftruncate(fd, 4096));
	close(fd);
	ck_assert_int_eq(softdsa_open(sys.dev, 0), 0);
	atomic_store(&stop, false);
	ck_assert(!pthread_create(&t, NULL, device, NULL));
	use_node(path, true);
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	end_node(dir, path);
}
END_TEST

/* ---- what the medium sees ------------------------------------------------------------------ */

static struct pm_rec *rec;

static void start_recorded(const struct way *w, const char *how, bool readback)
{
	struct dsa_opt opt = any_size;

	opt.readback = readback;
	mem = (struct pm_mem){ .size = SIZE / 16 };
	rec = rec_new(&pm_backend_mem, &mem);
	open_pool(&pm_backend_record, rec);
	dice = 1;
	open_way(w, how, &opt);
	rec_log(rec, true);
}

/* At this place, by the device. */
static void job_at(uint64_t off, size_t len)
{
	soil(off, len);
	doing[0] = (struct doing){
		.j = { .off = off, .len = len, .src = source + 5, .user = &doing[0] },
		.busy = true, .since = sys.now,
	};
	ck_assert_int_eq(dsa_submit(port, &doing[0].j), 0);
	finish();
}

static void end_recorded(void)
{
	close_way();
	pm_close(pm);
	rec_free(rec);
	pm_mem_free(&mem);
}

/* Q1: the device's part is a window, and whole lines; heads and tails are stores. */
START_TEST(a_window)
{
	const struct rec_event *e;
	struct softdsa_stats st;
	unsigned windows = 0;

	start_recorded(&ways[MOVDIR], "", false);
	job_at(4096 + 7, 5000);
	ck_assert(!doing[0].j.durable);
	softdsa_stats(sys.dev, &st);
	ck_assert_uint_eq(st.readbacks, 0);
	for (size_t i = 0; i < rec_now(rec); i++) {
		e = rec_at(rec, i);
		if (e->kind == REC_WINDOW || e->kind == REC_WINDOW_DONE) {
			ck_assert_uint_eq(e->off, 4096 + 64);
			ck_assert_uint_eq(e->len, align_down(4096 + 5007, 64) - 4096 - 64);
			windows++;
		}
		ck_assert_int_ne(e->kind, REC_FENCE);
	}
	ck_assert_uint_eq(windows, 2);
	/* nothing of it is durable before a flush and a fence, and then all of it */
	pm_fence(pm);
	ck_assert_uint_gt(rec_uncovered(rec, NULL), 70);
	pm_flush(pm, 4096 + 7, 5000);
	pm_fence(pm);
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	end_recorded();
}
END_TEST

/* What the queue does not take was no window. */
START_TEST(a_refused_window)
{
	int open = 0;

	start_recorded(&ways[ENQ], "full nth=1", false);
	ck_assert(!begin(0, 5000));
	for (size_t i = 0; i < rec_now(rec); i++) {
		open += rec_at(rec, i)->kind == REC_WINDOW;
		open -= rec_at(rec, i)->kind == REC_WINDOW_DONE;
	}
	ck_assert_int_eq(open, 0);
	end_recorded();
}
END_TEST

static void give_up_meanwhile(void *arg, enum rec_kind kind)
{
	if (kind == REC_WINDOW && sys.closes == 0)
		give_up(arg);
}

/* A queue is drained, and opened again, while a job for it is being made. */
START_TEST(drained_meanwhile)
{
	struct dsa_job stuck = { .off = 1 << 20, .len = 4096 };
	struct dsa_port *other;

	start_recorded(&ways[MOVDIR], "never nth=1", false);
	stuck.src = source + AREA;
	other = dsa_port_open(dsa, 1);
	ck_assert_int_eq(dsa_submit(other, &stuck), 0);
	rec_hook(rec, give_up_meanwhile, other);
	doing[0] = (struct doing){
		.j = { .off = 4096, .len = 5000, .src = source, .user = &doing[0] },
	};
	ck_assert_int_eq(dsa_submit(port, &doing[0].j), -EAGAIN);
	rec_hook(rec, NULL, NULL);
	ck_assert_uint_eq(softdsa_queued(sys.dev), 0);
	dsa_port_close(other);
	end_recorded();
}
END_TEST

/* Durable is what the device has read back, if that is all, and nothing went wrong. */
START_TEST(readback)
{
	struct softdsa_stats st;

	start_recorded(&ways[MOVDIR_SMALL], "", true);
	job_at(4096, 64000);
	ck_assert(doing[0].j.durable);
	job_at(4096, 64001);
	ck_assert(!doing[0].j.durable);
	softdsa_stats(sys.dev, &st);
	ck_assert_uint_eq(st.readbacks, 8);
	script("fault at=640 dir=write op=move nth=1");
	job_at(4096, 64000);
	ck_assert(!doing[0].j.durable);
	softdsa_well(sys.dev);
	script("fault at=0 dir=read op=move nth=1");
	job_at(65536, 16384);			/* tried again, and all of it arrives */
	ck_assert(!doing[0].j.durable && !doing[0].j.by_cpu);
	end_recorded();
}
END_TEST

CHECK_MAIN("copy/dsa, cases", a_fault_at_any_byte, the_rest_after_a_fault,
	   pages_not_there_yet, nothing_but_faults, refused_at_once, credits,
	   it_does_not_answer, it_answers_no_write, it_halts_unseen, it_halts, it_is_disabled,
	   errors, errors_of_batches, errors_in_batches, it_is_gone, given_up,
	   credits_of_a_drained_queue, threads_with_credits, threads_without,
	   threads_and_drains, the_instruction_movdir64b, the_system_call_write,
	   the_instruction_enqcmd, a_window, a_refused_window, drained_meanwhile, readback)
