/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_overlay.c - what is stored to an overlay is there, and nowhere else
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm/overlay.h"
#include "support/check_main.h"

#define SIZE	(1u << 20)

static char path[64];

/* A file of which byte n is n / 4096. */
static void make_file(void)
{
	uint8_t page[4096];
	unsigned i;
	int fd;

	snprintf(path, sizeof(path), "%s/overlay.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	for (i = 0; i < SIZE / sizeof(page); i++) {
		memset(page, (int)i, sizeof(page));
		ck_assert_int_eq(write(fd, page, sizeof(page)), sizeof(page));
	}
	close(fd);
}

static struct pm *open_over(struct pm_overlay *ov)
{
	struct pm_config cfg = { .backend = &pm_backend_overlay, .backend_arg = ov,
				 .granularity = -1 };
	struct pm *pm;

	ck_assert_int_eq(pm_open(&pm, path, &cfg), 0);
	ck_assert_uint_eq(pm_size(pm), SIZE);
	return pm;
}

static uint8_t byte(struct pm *pm, uint64_t off)
{
	return *(const uint8_t *)pm_at(pm, off, 1);
}

static void store(struct pm *pm)
{
	pm_write(pm, 3 * 4096 - 1, "ab", 2);		/* blocks 2 and 3 */
	pm_zero(pm, 9 * 4096, 4096);
	pm_bits(pm, 70 * 4096, 8, 8, true);
	pm_copy(pm, 200 * 4096, "c", 1);
	memcpy(pm_window(pm, 201 * 4096, 1), "d", 1);
	pm_window_done(pm, 201 * 4096, 1);
	pm_flush(pm, 0, SIZE);
	ck_assert_int_eq(pm_fence(pm), 0);
}

static void check(struct pm *pm, struct pm_overlay *ov)
{
	static const uint64_t want[] = { 2, 3, 9, 70, 200, 201 };
	uint64_t blk = 0;
	unsigned n = 0;

	ck_assert_int_eq(byte(pm, 3 * 4096 - 1), 'a');
	ck_assert_int_eq(byte(pm, 3 * 4096), 'b');
	ck_assert_int_eq(byte(pm, 3 * 4096 + 1), 3);
	ck_assert_int_eq(byte(pm, 9 * 4096 + 5), 0);
	ck_assert_int_eq(byte(pm, 70 * 4096 + 1), 255);
	ck_assert_int_eq(byte(pm, 70 * 4096 + 2), 70);
	ck_assert_int_eq(byte(pm, 200 * 4096), 'c');
	ck_assert_int_eq(byte(pm, 201 * 4096), 'd');
	for (; pm_overlay_next(ov, &blk); blk++)
		ck_assert_uint_eq(blk, want[n++]);
	ck_assert_uint_eq(n, sizeof(want) / sizeof(want[0]));
}

static void try(bool by_hand)
{
	struct pm_config cfg = { .granularity = -1 };
	struct pm_overlay *ov;
	struct pm *pm;
	uint8_t c;
	unsigned i;
	int fd;

	make_file();
	ck_assert_int_eq(pm_overlay_new(&ov, path, &cfg, by_hand), 0);
	pm = open_over(ov);
	store(pm);
	check(pm, ov);
	pm_close(pm);
	pm = open_over(ov);		/* it is still there */
	check(pm, ov);
	pm_close(pm);
	pm_overlay_free(ov);
	fd = open(path, O_RDONLY);
	for (i = 0; i < SIZE; i += 4096) {
		ck_assert_int_eq(pread(fd, &c, 1, i), 1);
		ck_assert_int_eq(c, (uint8_t)(i / 4096));
	}
	close(fd);
	unlink(path);
}

START_TEST(private_mapping) { try(false); } END_TEST

/* As for devdax, which the kernel does not map privately. */
START_TEST(copied_by_hand) { try(true); } END_TEST

CHECK_MAIN("overlay", private_mapping, copied_by_hand)
