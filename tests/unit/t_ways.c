/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_ways.c - every way of storing puts the right bytes in the right place
 */
#include "pm/ways.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/check_main.h"

#define SIZE	16384u

START_TEST(all_of_them_copy)
{
	static const size_t lens[] = { 64, 128, 192, 4096, SIZE - 128 };
	const struct pm_way *way[PM_WAYS_MAX];
	unsigned nr = pm_ways(way);
	uint8_t *from = aligned_alloc(64, SIZE), *to = aligned_alloc(64, SIZE);
	uint8_t *want = malloc(SIZE);

	ck_assert_uint_ge(nr, 1);
	for (size_t i = 0; i < SIZE; i++)
		from[i] = (uint8_t)(i * 7 + i / 256 + 1);
	for (unsigned k = 0; k < nr; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
			memset(to, 0xee, SIZE);
			memset(want, 0xee, SIZE);
			memcpy(want + 64, from + 64, lens[i]);
			way[k]->store(to + 64, from + 64, lens[i]);
			ck_assert_msg(!memcmp(to, want, SIZE), "%s of %zu bytes",
				      way[k]->name, lens[i]);
		}
	}
	free(from);
	free(to);
	free(want);
}
END_TEST

CHECK_MAIN("pm/ways", all_of_them_copy)
