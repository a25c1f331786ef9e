/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crc32c.c - the checksum is the one of RFC 3720, in both versions
 */
#include "base/crc32c.h"

#include <string.h>

#include "base/bytes.h"
#include "support/check_main.h"

#define ROOM	(3 * 1360 * 3 + 4096)

static uint8_t buf[ROOM];

static void fill(void)
{
	uint64_t x = 88172645463325252ull;

	for (size_t i = 0; i < sizeof(buf); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buf[i] = (uint8_t)x;
	}
}

START_TEST(rfc3720_values)
{
	uint8_t v[32];

	memset(v, 0, sizeof(v));
	ck_assert_uint_eq(crc32c(0, v, 32), 0x8a9136aa);
	memset(v, 0xff, sizeof(v));
	ck_assert_uint_eq(crc32c(0, v, 32), 0x62a8ab43);
	for (unsigned i = 0; i < 32; i++)
		v[i] = (uint8_t)i;
	ck_assert_uint_eq(crc32c(0, v, 32), 0x46dd794e);
	for (unsigned i = 0; i < 32; i++)
		v[i] = (uint8_t)(31 - i);
	ck_assert_uint_eq(crc32c(0, v, 32), 0x113fdb5c);
	ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(crc32c_soft(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(crc32c(0, v, 0), 0);
}
END_TEST

/* Every length up to past three long strides, every alignment. */
START_TEST(both_versions_agree)
{
	fill();
	for (size_t len = 0; len + 8 <= ROOM; len += 1 + len / 700)
		for (size_t skew = 0; skew < 8; skew++)
			ck_assert_uint_eq(crc32c((uint32_t)len, buf + skew, len),
					  crc32c_soft((uint32_t)len, buf + skew, len));
}
END_TEST

START_TEST(sums_can_be_continued)
{
	uint32_t whole;

	fill();
	whole = crc32c(7, buf, 6000);
	for (size_t cut = 0; cut <= 6000; cut += 37)
		ck_assert_uint_eq(crc32c(crc32c(7, buf, cut), buf + cut, 6000 - cut),
				  whole);
}
END_TEST

START_TEST(seal_covers_place_and_bytes)
{
	le64 where = put64(8192);
	uint32_t seal, want;

	fill();
	want = crc32c(crc32c(0, &where, 8), buf + 4, 4092);
	seal = seal_crc(buf, 4096, 8192);
	ck_assert_uint_eq(seal, want);
	ck_assert_uint_ne(seal, seal_crc(buf, 4096, 4096));
	buf[0] ^= 1;		/* where the seal itself is kept */
	ck_assert_uint_eq(seal, seal_crc(buf, 4096, 8192));
	buf[4095] ^= 1;
	ck_assert_uint_ne(seal, seal_crc(buf, 4096, 8192));
}
END_TEST

CHECK_MAIN("crc32c", rfc3720_values, both_versions_agree, sums_can_be_continued,
	   seal_covers_place_and_bytes)
