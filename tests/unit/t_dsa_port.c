/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_port.c - the DSA engine between pool, process and threads
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/pm_record.h"
#include "unit/dsa_fake.h"

/* Best first; those that follow are its like. */
START_TEST(several_queues)
{
	const struct dsa_wq near[] = { queue(false, 0), queue(false, 1), queue(true, 0),
				       queue(false, 0) };
	const struct dsa_wq many[] = { queue(true, 1), queue(true, 1), queue(true, 1),
				       queue(true, 1), queue(true, 1), queue(false, 1) };
	struct dsa_port *p[6];
	char buf[512];

	start_pool();
	ck_assert_int_eq(open_queues(near, 4), 0);
	ck_assert_uint_eq(d->nr, 2);
	dsa_close(d);
	ck_assert_int_eq(open_queues(many, 6), 0);
	ck_assert_uint_eq(d->nr, DSA_QUEUES_MAX);
	for (unsigned i = 0; i < 6; i++)
		p[i] = dsa_port_open(d, 1);
	for (unsigned i = 0; i < DSA_QUEUES_MAX; i++)
		ck_assert_uint_eq(d->queue[i].ports, i < 2 ? 2 : 1);
	dsa_describe(d, buf, sizeof(buf));
	ck_assert(!strncmp(buf, "wq0.1 (shared, ENQCMD, 4 entries), wq0.1 (", 42));
	dsa_describe(d, buf, 10);
	ck_assert_str_eq(buf, "wq0.1 (sh");
	for (unsigned i = 0; i < 6; i++)
		dsa_port_close(p[i]);
	dsa_close(d);
	pm_close(pm);
	pm_mem_free(&mem);
}
END_TEST

/* A child has no copy of the pages that a device writes to: it would take them from us. */
START_TEST(pages_of_our_own)
{
	uint8_t *p = dsa_pages(100);
	int status;
	pid_t pid;

	ck_assert_ptr_nonnull(p);
	*p = 1;
	pid = fork();
	if (!pid)
		_exit(madvise(p, 4096, MADV_NORMAL) && errno == ENOMEM ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	dsa_pages_free(p, 100);
}
END_TEST

/* Whoever records the pool sees what a device does to it as the work of a stranger. */
START_TEST(through_a_window)
{
	struct rec_counts c;
	struct pm_rec *rec;
	struct pm_config cfg = { .backend = &pm_backend_record, .granularity = -1 };
	struct dsa_job j = { .off = 10, .src = src, .len = LEN };

	mem = (struct pm_mem){ .size = SIZE };
	rec = rec_new(&pm_backend_mem, &mem);
	cfg.backend_arg = rec;
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
	start_on(false);
	rec_counts_reset(rec);
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, LEN - 64);
	rec_counts(rec, &c);
	ck_assert_uint_eq(c.windows, 1);
	ck_assert_uint_eq(c.stores, 2);		/* head and tail */
	ck_assert_uint_eq(c.flushes + c.fences, 0);
	stop();
	rec_free(rec);
}
END_TEST

/* With all of it read back nothing has to be flushed; otherwise all of it has. */
START_TEST(readback)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	dev.readback = opt.readback = true;
	start();
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, LEN);
	ck_assert(j.durable && dev.flags & DSA_FLAG_DRDBK);
	j.off = 1;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	ck_assert_ptr_eq(dsa_reap(port), &j);
	ck_assert(!j.durable);
	stop();

	/* it cannot; or nobody asked */
	for (unsigned i = 0; i < 2; i++) {
		dev.readback = i;
		opt.readback = !i;
		j.off = 0;
		start();
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, LEN);
		ck_assert(!j.durable);
		ck_assert_uint_eq(dev.flags, DSA_FLAG_CRAV | DSA_FLAG_RCR);
		stop();
	}
}
END_TEST

/* The pool's pages have gone: nobody may believe the blocks, and nothing dies of it. */
START_TEST(a_pool_that_fails)
{
	struct pm_config cfg = { .granularity = PM_GRAN_LINE };
	struct dsa_job j = { .off = 1 << 20, .src = src, .len = LEN };
	char path[] = "/tmp/t_dsa_queue.XXXXXX";
	int fd = mkstemp(path);

	pm_fault_install();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	ck_assert_int_eq(pm_open(&pm, path, &cfg), 0);
	unlink(path);
	start_on(false);
	works();
	dev.status = DSA_ST_FAULT | DSA_STATUS_WRITE;
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	ck_assert_ptr_eq(dsa_reap(port), &j);
	ck_assert_int_eq(j.err, -EIO);
	ck_assert_uint_eq(j.by_cpu, LEN);
	ck_assert_uint_eq(why(DSA_WHY_MEDIUM), 1);

	/* nor if another's fault may have put a page under ours while the device stored */
	dev.status = 0;
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	pm_fault_repair(pm);
	works();
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	pm_write(pm, 2 << 20, src, 64);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	pm_fault_repair(pm);
	run();
	ck_assert_ptr_eq(dsa_reap(port), &j);
	ck_assert_int_eq(j.err, -EIO);
	ck_assert_uint_eq(j.by_device, LEN);
	stop();
	close(fd);
}
END_TEST

/*
 * In DRAM the CPU copies what comes alone. Threads that copy or flush are not alone; one
 * that is back asks, reaps or closes its port.
 */
START_TEST(threads_that_serve_are_load)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };
	struct dsa_port *other[4];

	start();
	for (unsigned i = 0; i < 4; i++)
		other[i] = dsa_port_open(d, 4);
	d->medium = dsa_medium(false, true);
	d->min = 0;				/* the rule decides */
	ck_assert(!dsa_wants(port, 2 << 20));
	ck_assert(!dsa_wants(other[0], 2 << 20));
	ck_assert(!dsa_wants(port, 2 << 20));		/* one other, and the same again */
	ck_assert(dsa_wants(other[1], 2 << 20));
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert(!dsa_wants(other[1], 2 << 20));
	ck_assert_ptr_null(dsa_reap(other[1]));
	for (unsigned i = 0; i < 4; i++)		/* the first is served already */
		ck_assert(!dsa_wants(other[i], 4096));
	ck_assert(!dsa_wants(port, 2 << 20));

	/* a job that has been handed out */
	ck_assert_ptr_null(dsa_reap(port));
	d->min = LEN;
	ck_assert_int_eq(dsa_submit(other[0], &j), 0);
	ck_assert_int_eq(atomic_load(&d->serving), 0);
	run();
	ck_assert_ptr_eq(dsa_reap(other[0]), &j);
	ck_assert_int_eq(atomic_load(&d->serving), 1);
	for (unsigned i = 0; i < 4; i++)
		dsa_port_close(other[i]);
	ck_assert_int_eq(atomic_load(&d->serving), 0);
	stop();
}
END_TEST

static void *go_off(void *arg)
{
	dsa_queue_off(arg, 0, DSA_WHY_TIMEOUT);
	return NULL;
}

/* Closing waits for the device only if nobody else has the node open. */
START_TEST(a_fork)
{
	pthread_t t;

	start();
	dev.forked = true;
	dsa_fork_begin(d);
	ck_assert_int_eq(pthread_create(&t, NULL, go_off, &d->queue[0]), 0);
	while (atomic_load(&d->queue[0].state) != DSA_QUEUE_DRAINING)
		sched_yield();
	while (dev.mapped)
		sched_yield();
	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	ck_assert_uint_eq(dsa_queue_put(&d->queue[0], 0, &d->queue[0].trial->desc, 1), 0);
	dev.forked = false;
	ck_assert_uint_eq(dev.closed, 0);
	dsa_fork_end(d);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_uint_eq(dev.closed, 1);
	stop();
}
END_TEST

/* One engine does not keep up with sixteen CPUs in pieces of 8 KiB; four do. */
START_TEST(engines_count)
{
	for (unsigned engines = 0; engines <= 4; engines += 4) {
		dev.engines = engines;
		start();
		d->medium = dsa_medium(true, true);
		d->min = 0;
		atomic_store(&d->serving, 15);
		ck_assert_int_eq(dsa_wants(port, 8192), engines == 4);
		stop();
		dev.opened = dev.closed = 0;
	}
}
END_TEST

CHECK_MAIN("dsa_port", several_queues, pages_of_our_own, through_a_window, readback,
	   a_pool_that_fails, threads_that_serve_are_load, a_fork,
	   engines_count)
