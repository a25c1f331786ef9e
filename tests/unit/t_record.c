/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_record.c - the recorder leaves exactly the images its model allows
 *
 * Everything the crash tests conclude rests on this, so each rule M1..M5 of
 * pm_record.h has a claim here.
 */
#include "support/pm_record.h"

#include <pthread.h>
#include <string.h>

#include "base/bytes.h"
#include "support/check_main.h"
#include "support/pm_mem.h"

#define SIZE	(1u << 20)

static struct pm_mem mem;
static struct pm_rec *rec;
static struct pm *pm;
static uint8_t *image;

static void start(int granularity)
{
	struct pm_config cfg = { .backend = &pm_backend_record, .granularity = granularity };

	mem = (struct pm_mem){ .size = SIZE };
	rec = rec_new(&pm_backend_mem, &mem);
	cfg.backend_arg = rec;
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
	image = pm_mem_map(SIZE);
}

static void stop(void)
{
	pm_close(pm);
	rec_free(rec);
	pm_mem_free(&mem);
	pm_mem_unmap(image, SIZE);
}

static void put(uint64_t off, uint64_t v)
{
	le64 x = put64(v);

	pm_write(pm, off, &x, 8);
}

static uint64_t word_now(enum rec_engine engine, uint64_t seed, uint64_t off)
{
	rec_image(rec, rec_now(rec), engine, seed, image);
	return load64(image + off);
}

static uint64_t durable(uint64_t off)
{
	return word_now(REC_NONE, 0, off);
}

START_TEST(stored_flushed_fenced_is_durable)
{
	start(-1);
	put(128, 1);
	ck_assert_uint_eq(durable(128), 0);
	pm_flush(pm, 128, 8);
	ck_assert_uint_eq(durable(128), 0);
	ck_assert_uint_eq(word_now(REC_ALL, 0, 128), 1);
	ck_assert_int_eq(pm_fence(pm), 0);
	ck_assert_uint_eq(durable(128), 1);
	stop();
}
END_TEST

START_TEST(fence_alone_and_wrong_line_do_nothing)
{
	uint64_t first;

	start(-1);
	put(128, 1);
	pm_fence(pm);
	pm_flush(pm, 64, 64);
	pm_flush(pm, 192, 64);
	pm_fence(pm);
	ck_assert_uint_eq(durable(128), 0);
	ck_assert_uint_eq(rec_uncovered(rec, &first), 1);
	ck_assert_uint_eq(first, 128);
	stop();
}
END_TEST

START_TEST(flush_takes_the_value_of_its_time)
{
	unsigned seen = 0;

	start(-1);
	put(128, 1);
	pm_flush(pm, 128, 8);
	put(128, 2);
	pm_fence(pm);
	ck_assert_uint_eq(durable(128), 1);
	put(128, 3);
	for (uint64_t seed = 0; seed < 200; seed++) {
		uint64_t v = word_now(REC_RANDOM, seed, 128);

		ck_assert(v >= 1 && v <= 3);
		seen |= 1u << v;
	}
	ck_assert_uint_eq(seen, 0xe);	/* 1, 2 and 3 are all possible */
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 1);
	stop();
}
END_TEST

static int words_of_line(uint64_t off)
{
	int set = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t v = load64(image + off + i * 8);

		ck_assert(v == 0 || v == ~0ull);	/* never half a word */
		set |= (v != 0) << i;
	}
	return set;
}

START_TEST(lines_tear_between_words_never_inside)
{
	uint8_t ones[128];
	bool torn = false, apart = false;

	start(-1);
	memset(ones, 0xff, sizeof(ones));
	pm_write(pm, 256, ones, sizeof(ones));
	for (uint64_t seed = 0; seed < 100; seed++) {
		int a, b;

		rec_image(rec, rec_now(rec), REC_RANDOM, seed, image);
		a = words_of_line(256);
		b = words_of_line(320);
		torn = torn || (a != 0 && a != 0xff);
		apart = apart || (a == 0 && b == 0xff);
	}
	ck_assert(torn && apart);
	stop();
}
END_TEST

START_TEST(a_byte_changes_its_word_only)
{
	start(-1);
	put(64, 0x1111111111111111ull);
	put(72, 0x2222222222222222ull);
	pm_flush(pm, 64, 16);
	pm_fence(pm);
	pm_write(pm, 67, "\xff", 1);
	ck_assert_uint_eq(durable(64), 0x1111111111111111ull);
	ck_assert_uint_eq(word_now(REC_ALL, 0, 64), 0x11111111ff111111ull);
	ck_assert_uint_eq(load64(image + 72), 0x2222222222222222ull);
	stop();
}
END_TEST

START_TEST(zero_and_bits_are_stores)
{
	start(-1);
	put(4096, ~0ull);
	put(4104, ~0ull);
	pm_flush(pm, 4096, 16);
	pm_fence(pm);
	pm_bits(pm, 4096, 60, 8, false);
	pm_zero(pm, 4096, 1);
	ck_assert_uint_eq(durable(4096), ~0ull);
	ck_assert_uint_eq(word_now(REC_ALL, 0, 4096), 0x0fffffffffffff00ull);
	ck_assert_uint_eq(load64(image + 4104), 0xfffffffffffffff0ull);
	pm_flush(pm, 4096, 16);
	pm_fence(pm);
	ck_assert_uint_eq(durable(4096), 0x0fffffffffffff00ull);
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	stop();
}
END_TEST

START_TEST(copies_need_no_flush_but_a_fence)
{
	uint8_t ones[200];
	bool some = false;

	start(-1);
	memset(ones, 0xff, sizeof(ones));
	pm_copy(pm, 1000, ones, sizeof(ones));
	ck_assert_uint_eq(durable(1000), 0);
	for (uint64_t seed = 0; seed < 50; seed++)
		some = some || word_now(REC_RANDOM, seed, 1000);
	ck_assert(some);
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	pm_fence(pm);
	ck_assert_uint_eq(durable(1000), ~0ull);
	ck_assert_uint_eq(image[999], 0);
	ck_assert_uint_eq(image[1199], 0xff);
	ck_assert_uint_eq(image[1200], 0);
	pm_copy_zero(pm, 1000, 8);
	pm_fence(pm);
	ck_assert_uint_eq(durable(1000), 0);
	stop();
}
END_TEST

static void *fence_only(void *arg)
{
	(void)arg;
	pm_fence(pm);
	return NULL;
}

static void *flush_and_fence(void *arg)
{
	const uint64_t *off = arg;

	pm_flush(pm, *off, 64);
	pm_fence(pm);
	return NULL;
}

static void elsewhere(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, fn, arg), 0);
	pthread_join(t, NULL);
}

/* M3, M5: another thread's fence finishes neither our flushes nor our
 * copies; its own flush covers our cached stores, not our copies. */
START_TEST(threads_fence_for_themselves)
{
	uint64_t a = 128, b = 512, one = 1;

	start(-1);
	put(a, 1);
	pm_flush(pm, a, 8);
	pm_copy(pm, b, &one, 8);
	elsewhere(fence_only, NULL);
	ck_assert_uint_eq(durable(a), 0);
	ck_assert_uint_eq(durable(b), 0);
	elsewhere(flush_and_fence, &a);
	elsewhere(flush_and_fence, &b);
	ck_assert_uint_eq(durable(a), 1);
	ck_assert_uint_eq(durable(b), 0);
	pm_fence(pm);
	ck_assert_uint_eq(durable(b), 1);
	stop();
}
END_TEST

START_TEST(windows_are_anything_until_flushed_after_their_end)
{
	uint8_t *p;
	size_t inside;
	bool some = false;

	start(-1);
	p = pm_window(pm, 8192, 4096);
	memset(p, 0xff, 4096);
	pm_flush(pm, 8192, 4096);	/* too early: counts for nothing */
	pm_fence(pm);
	inside = rec_now(rec);
	pm_window_done(pm, 8192, 4096);
	for (uint64_t seed = 0; seed < 50; seed++) {
		rec_image(rec, inside, REC_RANDOM, seed, image);
		some = some || load64(image + 8192 + 2048);
	}
	ck_assert(some);
	pm_fence(pm);
	ck_assert_uint_eq(durable(8192), 0);
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 64);
	pm_flush(pm, 8192, 4096);
	pm_fence(pm);
	ck_assert_uint_eq(durable(8192), ~0ull);
	ck_assert_uint_eq(durable(12280), ~0ull);
	stop();
}
END_TEST

START_TEST(page_and_byte_granularity)
{
	start(PM_GRAN_PAGE);
	put(4096, 1);
	pm_flush(pm, 8000, 8);		/* same page */
	put(4096, 2);
	put(8192, 1);
	pm_fence(pm);
	ck_assert_uint_eq(durable(4096), 2);
	ck_assert_uint_eq(durable(8192), 0);
	stop();

	start(PM_GRAN_BYTE);
	put(4096, 1);
	ck_assert_uint_eq(durable(4096), 0);
	pm_fence(pm);
	ck_assert_uint_eq(durable(4096), 1);
	stop();
}
END_TEST

START_TEST(failed_fences_promise_nothing)
{
	start(-1);
	rec_fail_fence(rec, 2);
	put(64, 1);
	pm_flush(pm, 64, 8);
	ck_assert_int_eq(pm_fence(pm), 0);
	put(64, 2);
	pm_flush(pm, 64, 8);
	ck_assert_int_lt(pm_fence(pm), 0);
	ck_assert_int_lt(pm_fence(pm), 0);
	ck_assert_uint_eq(durable(64), 1);
	rec_fail_fence(rec, 0);
	ck_assert_int_eq(pm_fence(pm), 0);
	stop();
}
END_TEST

START_TEST(counts_marks_and_reopen)
{
	struct pm_config cfg = { .backend = &pm_backend_record, .granularity = -1 };
	struct rec_counts c;
	size_t mark;

	start(-1);
	rec_counts_reset(rec);
	put(64, 1);
	pm_copy(pm, 4096, image, 100);
	pm_flush(pm, 64, 8);
	pm_fence(pm);
	rec_counts(rec, &c);
	ck_assert_uint_eq(c.fences, 1);
	ck_assert_uint_eq(c.flushes, 1);
	ck_assert_uint_eq(c.flushed_bytes, 8);
	ck_assert_uint_eq(c.stored_bytes, 8);
	ck_assert_uint_eq(c.copied_bytes, 100);
	mark = rec_mark(rec, "here");
	ck_assert_int_eq(rec_at(rec, mark)->kind, REC_MARK);
	ck_assert_str_eq(rec_at(rec, mark)->tag, "here");
	put(64, 2);
	pm_close(pm);
	cfg.backend_arg = rec;
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
	ck_assert_uint_eq(load64(pm_at(pm, 64, 8)), 2);
	ck_assert_uint_eq(durable(64), 1);	/* closing flushes nothing */
	rec_restart(rec);
	ck_assert_uint_eq(durable(64), 2);
	stop();
}
END_TEST

START_TEST(read_only_opens_leave_no_trace)
{
	struct pm_config cfg = { .backend = &pm_backend_record, .granularity = -1,
				 .flags = PM_RDONLY };
	struct pm *ro;
	size_t before;

	start(-1);
	put(64, 1);
	before = rec_now(rec);
	cfg.backend_arg = rec;
	ck_assert_int_eq(pm_open(&ro, "-", &cfg), 0);
	ck_assert_uint_eq(load64(pm_at(ro, 64, 8)), 1);
	pm_zero(ro, 64, 8);
	ck_assert_uint_eq(load64(pm_at(ro, 64, 8)), 0);
	ck_assert_uint_eq(load64(pm_at(pm, 64, 8)), 1);
	pm_close(ro);
	ck_assert_uint_eq(rec_now(rec), before);
	stop();
}
END_TEST

/* A walk in steps sees what a walk from the start sees; pending lines can be
 * patched in and out by hand. */
START_TEST(walks_are_incremental)
{
	struct rec_walk *w;
	uint8_t *other = pm_mem_map(SIZE);

	start(-1);
	for (uint64_t i = 1; i < 400; i++) {
		put(i * 40 % 4096 / 8 * 8, i);
		if (i % 3 == 0)
			pm_flush(pm, i * 64 % 4096, 128);
		if (i % 7 == 0)
			pm_fence(pm);
	}
	w = rec_walk_new(rec);
	for (size_t at = 0; at <= rec_now(rec); at += 13) {
		rec_walk_to(w, at);
		rec_walk_image(w, REC_RANDOM, at, image);
		rec_image(rec, at, REC_RANDOM, at, other);
		ck_assert(!memcmp(image, other, SIZE));
		rec_walk_image(w, REC_NONE, 0, image);
		for (size_t i = 0; i < rec_walk_nr_pending(w); i++)
			rec_walk_patch(w, i, rec_walk_pending(w, i).mask, image);
		ck_assert(!memcmp(image, rec_walk_stored(w), SIZE));
		for (size_t i = 0; i < rec_walk_nr_pending(w); i++) {
			uint64_t off = rec_walk_pending(w, i).off;

			memcpy(image + off, rec_walk_durable(w) + off, 64);
		}
		ck_assert(!memcmp(image, rec_walk_durable(w), SIZE));
	}
	rec_walk_to(w, rec_now(rec));
	ck_assert(!memcmp(rec_walk_stored(w), pm_at(pm, 0, SIZE), SIZE));
	rec_walk_free(w);
	pm_mem_unmap(other, SIZE);
	stop();
}
END_TEST

CHECK_MAIN("record", stored_flushed_fenced_is_durable,
	   fence_alone_and_wrong_line_do_nothing, flush_takes_the_value_of_its_time,
	   lines_tear_between_words_never_inside, a_byte_changes_its_word_only,
	   zero_and_bits_are_stores, copies_need_no_flush_but_a_fence,
	   threads_fence_for_themselves,
	   windows_are_anything_until_flushed_after_their_end,
	   page_and_byte_granularity, failed_fences_promise_nothing,
	   counts_marks_and_reopen, read_only_opens_leave_no_trace,
	   walks_are_incremental)
