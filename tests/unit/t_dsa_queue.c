/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_queue.c - when the DSA engine leaves a work queue alone, and when it comes back
 */
#include "unit/dsa_fake.h"

START_TEST(a_queue_is_tried_first)
{
	start();
	works();
	ck_assert_uint_eq(dev.opened, 1);
	stop();

	/* one that does not answer its first copy gets no request */
	dev.dead = true;
	dev.opened = dev.closed = 0;
	start();
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(why(DSA_WHY_OFF), 1);
	ck_assert_uint_eq(dev.closed, 0);
	dev.now += 3 * SECOND;
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(last_line, "no answer"));

	/* and comes back when it answers */
	dev.dead = false;
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN) || dev.opened == 2);
	ck_assert(dsa_wants(port, LEN));
	ck_assert_uint_eq(lines, 2);
	ck_assert_ptr_nonnull(strstr(last_line, "works again after 1 s"));
	works();
	stop();
}
END_TEST

/* One that only says so gets no request either; nor one that says otherwise. */
START_TEST(a_trial_is_believed_when_seen)
{
	dev.sulks = true;
	start();
	ck_assert_uint_eq(dev.closed, 1);
	stop();

	memset(&dev, 0, sizeof(dev));
	dev.lies = true;
	start();
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert(!dsa_wants(port, LEN));
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(dev.opened, 2);
	dev.lies = false;
	dev.now += 2 * SECOND;
	for (unsigned i = 0; i < 20 && !dsa_wants(port, LEN); i++)
		dev.now += SECOND / 2;
	works();
	stop();
}
END_TEST

START_TEST(no_more_than_its_entries)
{
	struct dsa_job j[ENTRIES + 2];

	start();
	dev.dead = true;
	for (unsigned i = 0; i < ENTRIES + 2; i++) {
		j[i] = (struct dsa_job){ .off = i * LEN, .src = src, .len = LEN };
		ck_assert_int_eq(dsa_submit(port, &j[i]), i < ENTRIES ? 0 : -EAGAIN);
	}
	ck_assert_uint_eq(why(DSA_WHY_FULL), 2);
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_uint_eq(dsa_inflight(port), ENTRIES);
	run();
	for (unsigned i = 0; i < ENTRIES; i++)
		came_back(dsa_reap(port), &j[i], LEN);
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_int_eq(dsa_submit(port, &j[0]), 0);
	run();
	came_back(dsa_reap(port), &j[0], LEN);
	stop();
}
END_TEST

START_TEST(no_answer)
{
	struct dsa_job j[2] = { { .off = 0, .src = src, .len = LEN },
				{ .off = LEN, .src = src, .len = LEN } };

	start();
	dev.dead = true;
	ck_assert_int_eq(dsa_submit(port, &j[0]), 0);
	dev.now += SECOND;
	ck_assert_int_eq(dsa_submit(port, &j[1]), 0);
	dev.now += SECOND - 1;
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_uint_gt(dsa_eta(port), 0);
	ck_assert_uint_eq(dev.closed, 0);
	dev.now += 1;
	/* the younger one too: nobody will answer it any more */
	came_back(dsa_reap(port), &j[0], 0);
	came_back(dsa_reap(port), &j[1], 0);
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_uint_eq(why(DSA_WHY_TIMEOUT), 2);
	/* Q2: drained before anybody else stored to the blocks */
	ck_assert(all_zero(dev.at_close, LEN));
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(last_line, "wq0.1: no answer; off"));
	stop();
}
END_TEST

/* The kernel's drain may well bring records. */
START_TEST(an_answer_while_draining)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start();
	dev.dead = dev.finishes_on_close = true;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	dev.now += 2 * SECOND;
	came_back(dsa_reap(port), &j, LEN);
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_uint_eq(why(DSA_WHY_TIMEOUT), 0);
	stop();
}
END_TEST

static void off_after(enum dsa_wq_state state, enum dsa_reason r, const char *text)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	memset(&dev, 0, sizeof(dev));
	start();
	dev.dead = true;
	dev.state = state;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_uint_eq(dev.looked, 0);
	dev.now += SECOND / 10;
	came_back(dsa_reap(port), &j, 0);
	ck_assert_uint_eq(why(r), 1);
	ck_assert_ptr_nonnull(strstr(last_line, text));

	/* not opened while sysfs says no */
	dev.now += 2 * SECOND;
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(dev.opened, 1);
	dev.state = DSA_WQ_ENABLED;
	dev.dead = false;
	dev.new_size = 2;
	dev.now += 2 * SECOND;
	dsa_wants(port, LEN);
	works();
	ck_assert_uint_eq(dev.opened, 2);
	ck_assert_uint_eq(lines, 2);
	ck_assert_uint_eq(d->queue[0].credits, 2);
	stop();
}

START_TEST(sysfs_says_why)
{
	off_after(DSA_WQ_HALTED, DSA_WHY_HALTED, "the device is not enabled");
	off_after(DSA_WQ_DISABLED, DSA_WHY_DISABLED, "the queue is not enabled");
	off_after(DSA_WQ_GONE, DSA_WHY_GONE, "the queue is gone");
}
END_TEST

/* Overdue, but enabled: only slow. */
START_TEST(a_slow_device)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start();
	dev.dead = true;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	for (unsigned i = 0; i < 15; i++) {
		dev.now += SECOND / 10;
		ck_assert_ptr_null(dsa_reap(port));
		ck_assert_ptr_null(dsa_reap(port));	/* not at each turn */
	}
	ck_assert_uint_eq(dev.looked, 15);
	run();
	came_back(dsa_reap(port), &j, LEN);
	ck_assert_uint_eq(dev.closed, 0);
	ck_assert_uint_eq(lines, 0);
	stop();
}
END_TEST

START_TEST(ever_longer_times)
{
	uint64_t wait = 0, before;

	start();
	dev.dead = true;
	dev.now += 100 * SECOND;
	dev.state = DSA_WQ_GONE;
	dsa_queue_off(&d->queue[0], 0, DSA_WHY_TIMEOUT);
	for (unsigned want = 1, i = 0; i < 9; i++, want = want < 32 ? 2 * want : 60) {
		before = dev.looked;
		for (wait = 0; dev.looked == before; wait++, dev.now += SECOND / 2)
			ck_assert(!dsa_wants(port, LEN));
		ck_assert_uint_eq(wait - 1, 2 * want);
		dev.now -= SECOND / 2;
	}
	ck_assert_uint_eq(lines, 1);	/* once off, nothing is news */
	stop();
}
END_TEST

/* Works when tried, fails when used: the time goes on growing. */
START_TEST(a_queue_that_wavers)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start();
	dev.now += 100 * SECOND;
	dev.status = DSA_ST_HW_ERROR;
	for (unsigned want = 1; want <= 8; want *= 2) {
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, 0);
		ck_assert_uint_eq(d->queue[0].backoff, want * SECOND);
		dev.now += want * SECOND - 1;
		ck_assert(!dsa_wants(port, LEN));
		dev.now += 1;
		while (!dsa_wants(port, LEN))
			ck_assert_uint_eq(dev.opened, dev.closed + 1);
	}
	/* calm for a minute: from the beginning */
	dev.now += 60 * SECOND;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, 0);
	ck_assert_uint_eq(d->queue[0].backoff, SECOND);
	stop();
}
END_TEST

/* A code that nobody knows is no success; the write bit is not part of it. */
START_TEST(status_codes)
{
	static const uint8_t codes[] = {
		DSA_ST_PRED_FALSE, DSA_ST_FAULT_RESPONSE, DSA_ST_BAD_OPCODE, DSA_ST_HW_ERROR,
		0x41, 0x7f, 0xc1,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(codes); i++) {
		struct dsa_job j = { .off = 0, .src = src, .len = LEN };

		memset(&dev, 0, sizeof(dev));
		start();
		dev.status = codes[i];
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, 0);
		ck_assert_uint_eq(why(DSA_WHY_STATUS), 1);
		ck_assert_uint_eq(dev.closed, 1);
		stop();
	}
}
END_TEST

/* Page faults are the CPU's, one by one; if there is nothing else, the queue goes off. */
START_TEST(page_faults_only)
{
	start();
	dev.status = DSA_ST_FAULT | DSA_STATUS_WRITE;
	for (unsigned i = 1; i <= DSA_FAULTS; i++) {
		struct dsa_job j = { .off = 0, .src = src, .len = 8192 };

		ck_assert_uint_eq(dev.closed, 0);
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, 0);
		ck_assert_uint_eq(why(DSA_WHY_FAULT), i);
	}
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_ptr_nonnull(strstr(last_line, "page faults only"));
	stop();
}
END_TEST

/* A copy between them that meets none: all is well. */
START_TEST(page_faults_now_and_then)
{
	start();
	for (unsigned i = 1; i < 4 * DSA_FAULTS; i++) {
		struct dsa_job j = { .off = 0, .src = src, .len = 8192 };

		dev.status = i % DSA_FAULTS ? DSA_ST_FAULT | DSA_STATUS_WRITE : 0;
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, dev.status ? 0 : 8192);
	}
	ck_assert_uint_eq(dev.closed, 0);
	stop();
}
END_TEST

/* What was planned or submitted before a drain is nothing to the queue after it. */
START_TEST(before_and_after_a_drain)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };
	struct dsa_queue *q;

	start();
	q = &d->queue[0];
	dev.dead = true;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	dsa_queue_off(q, 0, DSA_WHY_TIMEOUT);
	dev.dead = false;
	dev.now += SECOND;
	while (!dsa_wants(port, LEN))
		ck_assert_uint_eq(dev.opened, 2);
	ck_assert_uint_eq(dsa_queue_put(q, 0, &q->trial->desc, 1), 0);
	dsa_queue_off(q, 0, DSA_WHY_TIMEOUT);
	ck_assert_uint_eq(dev.closed, 1);
	came_back(dsa_reap(port), &j, 0);
	ck_assert_uint_eq(q->credits, ENTRIES);
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	ck_assert_uint_eq(q->credits, ENTRIES - 1);
	run();
	came_back(dsa_reap(port), &j, LEN);
	stop();
}
END_TEST

START_TEST(a_shared_queue_that_refuses)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start_pool();
	start_on(true);
	works();
	dev.refuses = true;
	for (unsigned i = 1; i <= DSA_REFUSED; i++) {
		ck_assert_uint_eq(dev.looked, 0);
		ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
		ck_assert_uint_eq(why(DSA_WHY_FULL), i);
	}
	ck_assert_uint_eq(dev.looked, 1);	/* others fill it, nothing is wrong */
	ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
	ck_assert_uint_eq(dev.looked, 1);
	dev.refuses = false;
	works();

	dev.refuses = true;
	dev.state = DSA_WQ_HALTED;
	for (unsigned i = 1; i <= DSA_REFUSED; i++) {
		ck_assert_uint_eq(dev.looked, 1);
		ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
	}
	ck_assert_uint_eq(dev.looked, 2);
	ck_assert_uint_eq(dev.closed, 1);
	stop();

	/* its trial too: at once off, and not after a timeout */
	memset(&dev, 0, sizeof(dev));
	dev.refuses = true;
	start_pool();
	start_on(true);
	ck_assert_uint_eq(dev.closed, 1);
	stop();
}
END_TEST

START_TEST(where_mmap_is_refused)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };
	char buf[256];

	dev.unmapped = true;
	start();
	ck_assert_str_eq(dsa_describe(d, buf, sizeof(buf)),
			 "wq0.1 (dedicated, write(), 4 entries), durable by CPU flush");
	works();
	dev.refuses = true;
	ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
	stop();
}
END_TEST

START_TEST(a_node_that_cannot_be_opened)
{
	start_pool();
	dev.open_err = -EACCES;
	ck_assert_int_eq(open_shared(false), -EACCES);
	ck_assert_ptr_null(d);
	pm_close(pm);

	/* later: off, and tried again */
	dev.open_err = 0;
	start();
	dev.open_err = -EBUSY;
	dev.state = DSA_WQ_ENABLED;
	dsa_queue_off(&d->queue[0], 0, DSA_WHY_DISABLED);
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN));
	dev.open_err = 0;
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN));
	dev.now += SECOND;
	dsa_wants(port, LEN);
	works();
	dev.opened -= 2;		/* those that failed need no close */
	stop();
}
END_TEST

CHECK_MAIN("dsa_queue", a_queue_is_tried_first, a_trial_is_believed_when_seen,
	   no_more_than_its_entries, no_answer, an_answer_while_draining, sysfs_says_why,
	   a_slow_device, ever_longer_times, a_queue_that_wavers, status_codes,
	   page_faults_only, page_faults_now_and_then, before_and_after_a_drain,
	   a_shared_queue_that_refuses, where_mmap_is_refused, a_node_that_cannot_be_opened)
