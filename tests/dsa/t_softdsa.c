/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_softdsa.c - the software device itself: does what a script says, and notices
 * what a user must not do
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/idxd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dsa/softdsa_serve.h"
#include "support/check_main.h"

#define SHARED		0u
#define DEDICATED	1u
#define LEN		(64u << 10)

typedef struct dsa_completion_record record_t;

static struct softdsa *dev;
static uint64_t now;
static uint8_t *src, *dst;
static _Alignas(64) record_t rec[64];
static _Alignas(64) struct dsa_hw_desc list[64];

static uint64_t clock_now(void *arg)
{
	(void)arg;
	return now;
}

static void start_with(const struct softdsa_conf *conf, const char *script)
{
	struct softdsa_conf c = *conf;
	char err[200] = "";

	c.now = clock_now;
	now = 1000;
	dev = softdsa_new(&c);
	ck_assert_msg(softdsa_script(dev, script, err, sizeof(err)), "%s", err);
	src = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(src != MAP_FAILED);
	dst = src + LEN;
	for (unsigned i = 0; i < LEN; i++)
		src[i] = (uint8_t)(i * 7 + i / 251 + 1);
	memset(rec, 0, sizeof(rec));
	ck_assert_int_eq(softdsa_open(dev, SHARED), 0);
	ck_assert_int_eq(softdsa_open(dev, DEDICATED), 0);
}

static void start(const char *script)
{
	start_with(&softdsa_usual, script);
}

static void end(unsigned violations)
{
	ck_assert_msg(softdsa_violations(dev) == violations, "%u violations, not %u: %s",
		      softdsa_violations(dev), violations, softdsa_first(dev));
	softdsa_free(dev);
	munmap(src, 2 * LEN);
}

/* The violation is this one. */
static void end_with(const char *what)
{
	ck_assert_msg(strstr(softdsa_first(dev), what), "not told of %s, but: %s", what,
		      softdsa_first(dev));
	end(softdsa_violations(dev));
}

static struct dsa_hw_desc move(unsigned r, uint32_t at, uint32_t len)
{
	return (struct dsa_hw_desc){
		.opcode = DSA_OPCODE_MEMMOVE, .flags = IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR,
		.completion_addr = (uintptr_t)&rec[r], .src_addr = (uintptr_t)(src + at),
		.dst_addr = (uintptr_t)(dst + at), .xfer_size = len,
	};
}

static struct dsa_hw_desc batch(unsigned r, unsigned nr)
{
	return (struct dsa_hw_desc){
		.opcode = DSA_OPCODE_BATCH, .flags = IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR,
		.completion_addr = (uintptr_t)&rec[r], .desc_list_addr = (uintptr_t)list,
		.desc_count = nr,
	};
}

static void post(struct dsa_hw_desc d)
{
	softdsa_movdir64b(dev, DEDICATED, &d);
}

static unsigned run(void)
{
	unsigned n = 0;

	while (softdsa_step(dev))
		n++;
	return n;
}

/* ---- what it can do ------------------------------------------------------------- */

START_TEST(moves_bytes)
{
	struct dsa_hw_desc d;
	struct softdsa_stats s;

	start("");
	post(move(0, 1, 12345));
	ck_assert(softdsa_holds(dev, dst + 12345, 1));
	ck_assert(!softdsa_holds(dev, dst + 12346, 1));
	ck_assert_uint_eq(rec[0].status, 0);
	d = move(1, 20000, 4096);
	ck_assert(!softdsa_enqcmd(dev, SHARED, &d));
	ck_assert_uint_eq(softdsa_queued(dev), 2);
	ck_assert_uint_eq(run(), 2);
	ck_assert_uint_eq(rec[0].status, DSA_COMP_SUCCESS);
	ck_assert_uint_eq(rec[1].status, DSA_COMP_SUCCESS);
	ck_assert(!memcmp(dst + 1, src + 1, 12345) && !dst[0] && !dst[12346]);
	ck_assert(!memcmp(dst + 20000, src + 20000, 4096));
	ck_assert(!softdsa_holds(dev, dst, LEN));
	softdsa_stats(dev, &s);
	ck_assert_uint_eq(s.bytes, 12345 + 4096);
	end(0);
}
END_TEST

START_TEST(the_other_operations)
{
	struct dsa_hw_desc d = move(0, 0, 100), same = d;

	start("");
	d = move(0, 0, 100);
	d.opcode = DSA_OPCODE_MEMFILL;
	d.pattern = 0x0807060504030201ull;
	post(d);
	same = move(1, 0, 100);
	same.opcode = DSA_OPCODE_COMPARE;
	run();
	ck_assert(dst[0] == 1 && dst[15] == 8 && dst[99] == 4 && !dst[100]);
	post(same);
	run();
	ck_assert_uint_eq(rec[1].status, DSA_COMP_SUCCESS);
	ck_assert_uint_eq(rec[1].result, 1);
	ck_assert_uint_eq(rec[1].bytes_completed, 1);	/* src[0] is 1, too */
	d = (struct dsa_hw_desc){ .opcode = DSA_OPCODE_DRAIN, .completion_addr =
		(uintptr_t)&rec[2], .flags = IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR };
	post(d);
	d.opcode = DSA_OPCODE_NOOP;
	d.completion_addr = (uintptr_t)&rec[3];
	post(d);
	run();
	ck_assert(rec[2].status == DSA_COMP_SUCCESS && rec[3].status == DSA_COMP_SUCCESS);
	end(0);
}
END_TEST

/* Success without RCR leaves no record; the batch has one of its own. */
START_TEST(a_batch)
{
	start("");
	for (unsigned i = 0; i < 4; i++) {
		list[i] = move(1 + i, i * 5000, 5000);
		if (i == 2)
			list[i].flags = IDXD_OP_FLAG_CRAV;
	}
	post(batch(0, 4));
	ck_assert(softdsa_holds(dev, dst + 19999, 1));
	ck_assert_uint_eq(run(), 1);
	ck_assert_uint_eq(rec[0].status, DSA_COMP_SUCCESS);
	ck_assert_uint_eq(rec[0].bytes_completed, 4);
	ck_assert(rec[1].status == DSA_COMP_SUCCESS && !rec[3].status);
	ck_assert(!memcmp(dst, src, 20000));
	end(0);
}
END_TEST

/* A page that is not there, on either side. */
START_TEST(real_page_faults)
{
	start("");
	ck_assert(!mprotect(dst + 8192, 4096, PROT_READ));
	post(move(0, 100, 20000));
	run();
	ck_assert_uint_eq(rec[0].status, DSA_COMP_PAGE_FAULT_NOBOF | DSA_COMP_STATUS_WRITE);
	ck_assert_uint_eq(rec[0].bytes_completed, 8192 - 100);
	ck_assert_uint_eq(rec[0].fault_addr, (uintptr_t)(dst + 8192));
	ck_assert(!memcmp(dst + 100, src + 100, 8092) && !dst[8192]);
	ck_assert(!mprotect(dst + 8192, 4096, PROT_READ | PROT_WRITE));
	ck_assert(!mprotect(src + 4096, 4096, PROT_NONE));
	post(move(1, 4000, 200));
	run();
	ck_assert_uint_eq(rec[1].status, DSA_COMP_PAGE_FAULT_NOBOF);
	ck_assert_uint_eq(rec[1].bytes_completed, 96);
	ck_assert_uint_eq(rec[1].fault_addr, (uintptr_t)(src + 4096));
	end(0);
}
END_TEST

/* Zeros that nobody has touched are no memory to a device. */
START_TEST(pages_that_nobody_touched)
{
	struct softdsa_conf conf = softdsa_usual;

	conf.present = true;
	start_with(&conf, "");
	post(move(0, 100, 10000));
	run();
	ck_assert_uint_eq(rec[0].status, DSA_COMP_PAGE_FAULT_NOBOF | DSA_COMP_STATUS_WRITE);
	ck_assert_uint_eq(rec[0].bytes_completed, 0);
	memset(dst, 1, 8192);
	post(move(1, 100, 10000));
	run();
	ck_assert_uint_eq(rec[1].status, DSA_COMP_PAGE_FAULT_NOBOF | DSA_COMP_STATUS_WRITE);
	ck_assert_uint_eq(rec[1].bytes_completed, 8092);
	ck_assert_uint_eq(rec[1].fault_addr, (uintptr_t)(dst + 8192));
	end(0);
}
END_TEST

/* ---- what goes wrong --------------------------------------------------------------- */

START_TEST(a_scripted_fault)
{
	start("# the third one only\nfault at=1000 dir=write nth=3\n"
	      "fault at=1000 dir=read backward nth=4");
	for (unsigned i = 0; i < 4; i++)
		post(move(i, i * 5000, 5000));
	run();
	ck_assert_uint_eq(rec[1].status, DSA_COMP_SUCCESS);
	ck_assert_uint_eq(rec[2].status, DSA_COMP_PAGE_FAULT_NOBOF | DSA_COMP_STATUS_WRITE);
	ck_assert_uint_eq(rec[2].bytes_completed, 1000);
	ck_assert(!memcmp(dst + 10000, src + 10000, 1000));
	ck_assert(memcmp(dst + 11000, src + 11000, 1));		/* Z2 */
	ck_assert_uint_eq(rec[3].status, DSA_COMP_PAGE_FAULT_NOBOF);
	ck_assert(rec[3].result == 1 && rec[3].bytes_completed == 1000);
	ck_assert(!memcmp(dst + 19000, src + 19000, 1000));
	ck_assert(memcmp(dst + 18999, src + 18999, 1));
	end(0);
}
END_TEST

START_TEST(statuses_and_conditions)
{
	struct softdsa_stats s;

	start("status code=0x20 min=2000 max=2999\nstatus code=0x11 every=3 times=1 op=move");
	for (unsigned i = 0; i < 6; i++)
		post(move(i, i * 5000, 1000 + i * 500));
	run();
	ck_assert_uint_eq(rec[0].status, DSA_COMP_SUCCESS);
	ck_assert_uint_eq(rec[2].status, 0x20);		/* by the first rule; counts */
	ck_assert_uint_eq(rec[3].status, 0x20);
	ck_assert_uint_eq(rec[5].status, 0x11);		/* the sixth is a multiple of three */
	ck_assert_uint_eq(rec[4].status, DSA_COMP_SUCCESS);
	softdsa_stats(dev, &s);
	ck_assert(s.errors == 3 && !s.faults);
	end(0);
}
END_TEST

START_TEST(an_address_and_a_queue)
{
	char script[200];
	struct dsa_hw_desc d;

	start("");
	snprintf(script, sizeof(script), "status code=0x1a from=%#llx to=%#llx wq=0",
		 (unsigned long long)(uintptr_t)(dst + 5000),
		 (unsigned long long)(uintptr_t)(dst + 5001));
	ck_assert(softdsa_script(dev, script, script, sizeof(script)));
	for (unsigned i = 0; i < 3; i++) {
		d = move(i, i * 5000, 5000);
		ck_assert(!softdsa_enqcmd(dev, SHARED, &d));
	}
	run();
	ck_assert_uint_eq(rec[0].status, DSA_COMP_SUCCESS);
	ck_assert_uint_eq(rec[1].status, 0x1a);
	ck_assert_uint_eq(rec[2].status, DSA_COMP_SUCCESS);
	memset(rec, 0, sizeof(rec));
	post(move(1, 5000, 5000));		/* the other queue */
	run();
	ck_assert_uint_eq(rec[1].status, DSA_COMP_SUCCESS);
	end(0);
}
END_TEST

START_TEST(a_batch_with_a_failing_child)
{
	start("status code=0x21 op=move nth=2\nlist-fault at=1 nth=2");
	for (unsigned i = 0; i < 4; i++)
		list[i] = move(1 + i, i * 5000, 5000);
	list[3].flags |= IDXD_OP_FLAG_FENCE;
	post(batch(0, 4));
	run();
	ck_assert_uint_eq(rec[0].status, DSA_COMP_BATCH_FAIL);
	ck_assert_uint_eq(rec[0].bytes_completed, 3);	/* not the one behind the fence */
	ck_assert(rec[1].status == DSA_COMP_SUCCESS && rec[2].status == 0x21);
	ck_assert(rec[3].status == DSA_COMP_SUCCESS && !rec[4].status);
	memset(rec, 0, sizeof(rec));
	post(batch(0, 4));
	run();
	ck_assert_uint_eq(rec[0].status, DSA_COMP_BATCH_PAGE_FAULT);
	ck_assert_uint_eq(rec[0].bytes_completed, 1);
	ck_assert_uint_eq(rec[0].fault_addr, (uintptr_t)&list[1]);
	ck_assert(rec[1].status == DSA_COMP_SUCCESS && !rec[2].status);
	end(0);
}
END_TEST

START_TEST(a_full_queue)
{
	struct dsa_hw_desc d;
	unsigned i;

	start("full for=3 nth=2");
	d = move(0, 0, 100);
	ck_assert(!softdsa_enqcmd(dev, SHARED, &d));
	d = move(1, 100, 100);
	for (i = 0; softdsa_enqcmd(dev, SHARED, &d); i++)
		;
	ck_assert_uint_eq(i, 3);
	for (i = 2; i < 40; i++) {
		d = move(i, i * 100, 100);
		if (softdsa_enqcmd(dev, SHARED, &d))
			break;
	}
	ck_assert_uint_eq(i, softdsa_usual.wq[SHARED].threshold);
	ck_assert_int_eq(softdsa_write(dev, SHARED, &d, sizeof(d)), -EAGAIN);
	run();
	ck_assert_int_eq(softdsa_write(dev, SHARED, &d, sizeof(d)), SOFT_DESC);
	run();
	end(0);
}
END_TEST

START_TEST(delayed_and_turned_round)
{
	start("delay ns=5000 nth=1\nreorder window=2");
	post(move(0, 0, 100));
	post(move(1, 100, 100));
	post(move(2, 200, 100));
	ck_assert(softdsa_step(dev));
	ck_assert(!rec[0].status && !rec[1].status && rec[2].status);
	ck_assert(softdsa_step(dev) && rec[1].status);
	ck_assert(!softdsa_step(dev));
	ck_assert_uint_eq(softdsa_next(dev), 6000);
	now = 6000;
	ck_assert(softdsa_step(dev) && rec[0].status);
	ck_assert_uint_eq(softdsa_next(dev), UINT64_MAX);
	end(0);
}
END_TEST

/* Z3: the bytes come when the queue is closed, and nothing after that. */
START_TEST(one_that_never_completes)
{
	start("never nth=1\ndelay ns=100000 nth=2");
	post(move(0, 0, 100));
	post(move(1, 100, 100));
	post(move(2, 200, 100));
	ck_assert_uint_eq(run(), 1);
	now += 1000000;
	ck_assert_uint_eq(run(), 1);
	ck_assert(!run() && !rec[0].status && softdsa_holds(dev, dst, 100));
	ck_assert(memcmp(dst, src, 100));
	softdsa_close(dev, DEDICATED);
	ck_assert(!softdsa_queued(dev) && !rec[0].status && !memcmp(dst, src, 300));
	end(0);
}
END_TEST

START_TEST(it_halts_and_comes_back)
{
	struct softdsa_stats s;
	struct dsa_hw_desc d;
	bool halted;

	start("halt ns=500 nth=2");
	post(move(0, 0, 100));
	post(move(1, 100, 100));
	ck_assert(!run() && softdsa_stopped(dev, SHARED, &halted) && halted);
	d = move(2, 200, 100);
	ck_assert(softdsa_enqcmd(dev, SHARED, &d));
	softdsa_stats(dev, &s);
	ck_assert_uint_eq(s.lost, 2);
	now += 500;
	ck_assert(!softdsa_enqcmd(dev, SHARED, &d));
	softdsa_halt(dev);
	now += 1u << 30;
	ck_assert(softdsa_enqcmd(dev, SHARED, &d));
	softdsa_resume(dev);
	ck_assert(!softdsa_enqcmd(dev, SHARED, &d));
	ck_assert_uint_eq(run(), 1);
	ck_assert(!rec[0].status && !rec[1].status);
	end(0);
}
END_TEST

START_TEST(a_queue_is_disabled)
{
	bool halted;

	start("disable wq=1 nth=2");
	post(move(0, 0, 100));
	post(move(1, 100, 100));
	ck_assert(!run() && softdsa_stopped(dev, DEDICATED, &halted) && !halted);
	ck_assert(!softdsa_stopped(dev, SHARED, &halted));
	softdsa_close(dev, DEDICATED);
	ck_assert_int_eq(softdsa_open(dev, DEDICATED), -ENODEV);
	softdsa_well(dev);
	ck_assert_int_eq(softdsa_open(dev, DEDICATED), 0);
	ck_assert_int_eq(softdsa_open(dev, DEDICATED), -EBUSY);
	ck_assert_int_eq(softdsa_open(dev, SHARED), 0);
	end(0);
}
END_TEST

/* The same seed, the same faults; and there are some of each kind. */
START_TEST(at_random)
{
	uint8_t status[2][200] = { { 0 } };
	struct softdsa_stats s;

	for (unsigned k = 0; k < 2; k++) {
		start("random seed=7 per=4");
		for (unsigned i = 0; i < 200; i++) {
			memset(rec, 0, sizeof(rec));
			post(move(0, 0, 5000));
			for (; softdsa_queued(dev); now += 1000)
				run();
			status[k][i] = rec[0].status;
		}
		softdsa_stats(dev, &s);
		ck_assert(s.faults > 10 && s.errors > 3 && s.executed == 200);
		end(0);
	}
	ck_assert(!memcmp(status[0], status[1], sizeof(status[0])));
}
END_TEST

START_TEST(scripts_that_are_none)
{
	static const char *const bad[] = {
		"explode", "fault at", "fault at=x", "status op=move", "random seed=1",
		"reorder", "fault dir=up", "status code=300", "halt wq=9", "never op=dance",
	};
	char err[100];

	start("\n  # nothing\n\t\nfault at=0x10 op=0x3 # so\n");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!softdsa_script(dev, bad[i], err, sizeof(err)), "%s", bad[i]);
	ck_assert_str_eq(err, "not understood: never op=dance");
	end(0);
}
END_TEST

/* ---- what a user must not do ------------------------------------------------------- */

START_TEST(descriptors_that_are_wrong)
{
	struct { const char *what; uint8_t status; struct dsa_hw_desc d; } t[] = {
		{ "reserved", DSA_COMP_NOZERO_RESERVE, move(0, 0, 64) },
		{ "reserved", DSA_COMP_NOZERO_RESERVE, move(0, 0, 64) },
		{ "privilege", DSA_COMP_PRIV_BAD, move(0, 0, 64) },
		{ "opcode", DSA_COMP_BAD_OPCODE, move(0, 0, 64) },
		{ "flags", DSA_COMP_INVALID_FLAGS, move(0, 0, 64) },
		{ "flags", DSA_COMP_INVALID_FLAGS, move(0, 0, 64) },
		{ "size of the transfer", DSA_COMP_XFER_ERANGE, move(0, 0, 0) },
		{ "size of the transfer", DSA_COMP_XFER_ERANGE, move(0, 0, (2u << 20) + 1) },
		{ "size of the batch", DSA_COMP_DESC_CNT_ERANGE, batch(0, 1) },
		{ "size of the batch", DSA_COMP_DESC_CNT_ERANGE, batch(0, 33) },
		{ "alignment of the list", DSA_COMP_DESCLIST_ALIGN, batch(0, 2) },
		{ "meets", DSA_COMP_OVERLAP_BUFFERS, move(0, 0, 64) },
	};

	t[0].d.rsvd = 1;
	t[1].d.op_specific[23] = 1;
	t[2].d.priv = 1;
	t[3].d.opcode = DSA_OPCODE_DUALCAST;
	t[4].d.flags |= IDXD_OP_FLAG_BOF;		/* the queue has it not */
	t[5].d.flags |= IDXD_OP_FLAG_FENCE;		/* outside a batch */
	t[10].d.desc_list_addr += 32;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		start("");
		t[i].d.completion_addr = (uintptr_t)&rec[0];
		if (t[i].d.opcode != DSA_OPCODE_BATCH) {
			t[i].d.src_addr = (uintptr_t)src;
			t[i].d.dst_addr = (uintptr_t)(i == 11 ? src + 63 : dst);
		}
		list[0] = move(1, 0, 64);
		list[1] = move(2, 64, 64);
		post(t[i].d);
		run();
		ck_assert_uint_eq(rec[0].status, t[i].status);
		end_with(t[i].what);
	}
}
END_TEST

START_TEST(the_wrong_instruction)
{
	struct dsa_hw_desc d = move(0, 0, 64);

	start("");
	d = move(0, 0, 64);
	softdsa_enqcmd(dev, DEDICATED, &d);
	end_with("instruction");
	start("");
	d = move(0, 0, 64);
	softdsa_movdir64b(dev, SHARED, &d);
	end_with("instruction");
	start("");
	softdsa_close(dev, DEDICATED);
	post(move(0, 0, 64));
	end_with("not open");
}
END_TEST

/* What the driver says, instead of the device. */
START_TEST(what_write_refuses)
{
	struct dsa_hw_desc d[2];

	start("");
	d[0] = move(0, 0, 64);
	d[1] = move(1, 64, 64);
	ck_assert_int_eq(softdsa_write(dev, DEDICATED, d, 65), -EINVAL);
	ck_assert_int_eq(softdsa_write(dev, DEDICATED, d, 128), 128);
	run();
	ck_assert(rec[0].status && rec[1].status);
	d[1].completion_addr += 16;
	rec[0].status = 0;
	ck_assert_int_eq(softdsa_write(dev, DEDICATED, d, 128), 64);
	run();
	end(0);
	start("");
	d[0] = batch(0, 2);
	ck_assert_int_eq(softdsa_write(dev, DEDICATED, d, 64), -EINVAL);
	end_with("batch by write");
}
END_TEST

START_TEST(a_dedicated_queue_overrun)
{
	start("");
	for (unsigned i = 0; i < softdsa_usual.wq[DEDICATED].size; i++)
		post(move(i, i * 64, 64));
	ck_assert_uint_eq(softdsa_violations(dev), 0);
	post(move(40, 40 * 64, 64));
	run();
	ck_assert_uint_eq(rec[40].status, 0);
	end_with("overrun");
}
END_TEST

START_TEST(what_is_in_flight_is_used_again)
{
	static const char *const what[] = {
		"same record", "same destination", "other's destination", "status 0x1",
		"source of", "destination of", "record among", "same record",
	};
	struct dsa_hw_desc d;

	for (unsigned i = 0; i < 8; i++) {
		start("");
		rec[1].status = i == 3;
		post(move(0, 0, 4096));
		d = move(i == 0 ? 0 : 1, 4096, 4096);
		if (i == 1)
			d.dst_addr -= 1;
		if (i == 2)
			d.src_addr = (uintptr_t)(dst + 4095);
		if (i == 6) {
			d.dst_addr = (uintptr_t)&rec[0];
			d.xfer_size = 16;
		}
		if (i == 7) {
			list[0] = move(2, 4096, 64);
			list[1] = move(2, 8192, 64);
			d = batch(1, 2);
		}
		post(d);
		if (i == 4)
			src[4095]++;
		if (i == 5)
			dst[8191] = 1;
		if (i == 6)
			memset(rec, 0, sizeof(rec));
		run();
		end_with(what[i]);
	}
}
END_TEST

START_TEST(a_list_that_changes)
{
	start("");
	list[0] = move(1, 0, 64);
	list[1] = move(2, 64, 64);
	post(batch(0, 2));
	list[1].dst_addr += 64;
	run();
	end_with("child 1 was changed");
}
END_TEST

/* ---- behind nodes ------------------------------------------------------------------- */

static struct soft_server server;

static void *serve(void *arg)
{
	(void)arg;
	soft_serve(&server);
	return NULL;
}

static void await(const record_t *r)
{
	while (!__atomic_load_n(&r->status, __ATOMIC_ACQUIRE))
		usleep(100);
}

static pthread_t thread;
static char dir[] = "/tmp/t_softdsa.XXXXXX", page[64], fifo[64];

/* Two dedicated queues: a page, and a FIFO. */
static void start_nodes(const char *script, bool self)
{
	struct softdsa_conf conf = softdsa_usual;

	conf.wq[0].shared = false;
	start_with(&conf, script);
	softdsa_close(dev, 0);
	softdsa_close(dev, 1);
	ck_assert(mkdtemp(dir));
	snprintf(page, sizeof(page), "%s/page", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ck_assert_int_eq(soft_server_init(&server, dev), 0);
	server.self = self;
	ck_assert_int_eq(soft_node_add(&server, 0, page, false), 0);
	ck_assert_int_eq(soft_node_add(&server, 1, fifo, true), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end_nodes(void)
{
	atomic_store(&server.stop, true);
	pthread_join(thread, NULL);
	soft_server_end(&server);
	unlink(page);
	unlink(fifo);
	rmdir(dir);
	end(0);
}

/* As MOVDIR64B does, but the address of the record last. */
static void to_page(uint8_t *place, struct dsa_hw_desc d)
{
	uint64_t record = d.completion_addr;

	memcpy(place + 16, (uint8_t *)&d + 16, 48);
	memcpy(place, &d, 8);
	__atomic_store_n((uint64_t *)(void *)(place + 8), record, __ATOMIC_RELEASE);
}

static void use_page(void)
{
	int fd = open(page, O_RDWR);
	uint8_t *portal = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert(portal != MAP_FAILED);
	for (unsigned i = 0; i < 70; i++) {
		rec[i % 64].status = 0;
		to_page(portal + i % 64 * 64, move(i % 64, i * 100, 100));
		await(&rec[i % 64]);
	}
	munmap(portal, 4096);
	close(fd);
	ck_assert(!memcmp(dst, src, 7000));
}

static void use_fifo(void)
{
	int fd = open(fifo, O_RDWR);
	struct dsa_hw_desc d;
	unsigned n;

	memset(rec, 0, sizeof(rec));
	for (n = 0; n < 64; n++) {
		d = move(n, 7000 + 100 * n, 100);
		ck_assert_int_eq(write(fd, &d, sizeof(d)), sizeof(d));
	}
	for (n = 0; n < 64; n++)
		await(&rec[n]);
	close(fd);
	ck_assert(!memcmp(dst + 7000, src + 7000, 6400));
}

START_TEST(nodes)
{
	start_nodes("", true);
	use_page();
	use_fifo();
	end_nodes();
}
END_TEST

/* It is found by what it has open, one after the other. */
START_TEST(other_processes)
{
	start_nodes("", false);
	for (unsigned i = 0; i < 4; i++) {
		pid_t pid = fork();
		int status;

		ck_assert_int_ge(pid, 0);
		if (!pid) {
			if (i % 2)
				use_fifo();
			else
				use_page();
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	ck_assert(!dst[0]);
	end_nodes();
}
END_TEST

/* S1: what was submitted to a node that has been closed is dropped. */
START_TEST(a_node_is_closed)
{
	struct softdsa_stats s;
	uint8_t *portal;
	int fd;

	start_nodes("never wq=0 nth=1", true);
	fd = open(page, O_RDWR);
	portal = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(portal != MAP_FAILED);
	to_page(portal, move(0, 0, 100));
	to_page(portal + 64, move(1, 100, 100));
	await(&rec[1]);
	ck_assert_uint_eq(softdsa_queued(dev), 1);
	munmap(portal, 4096);
	close(fd);
	do {
		usleep(100);
		softdsa_stats(dev, &s);
	} while (!s.lost);
	ck_assert(!softdsa_queued(dev) && !rec[0].status && !dst[0]);
	use_page();				/* and open again */
	end_nodes();
}
END_TEST

CHECK_MAIN("softdsa", moves_bytes, the_other_operations, a_batch, real_page_faults,
	   pages_that_nobody_touched,
	   a_scripted_fault, statuses_and_conditions, an_address_and_a_queue,
	   a_batch_with_a_failing_child, a_full_queue, delayed_and_turned_round,
	   one_that_never_completes, it_halts_and_comes_back, a_queue_is_disabled, at_random,
	   scripts_that_are_none, descriptors_that_are_wrong, the_wrong_instruction,
	   what_write_refuses, a_dedicated_queue_overrun, what_is_in_flight_is_used_again,
	   a_list_that_changes, nodes, other_processes, a_node_is_closed)
