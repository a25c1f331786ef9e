/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_siphash.c - SipHash-2-4 gives the values of its reference
 */
#include "base/siphash.h"

#include <string.h>

#include "support/check_main.h"

/* Key 00 01 .. 0f; message 00 01 .. of the given length. */
static const struct { size_t len; uint64_t want; } known[] = {
	{  0, 0x726fdb47dd0e0e31ull }, {  1, 0x74f839c593dc67fdull },
	{  2, 0x0d6c8009d9a94f5aull }, {  3, 0x85676696d7fb7e2dull },
	{  4, 0xcf2794e0277187b7ull }, {  5, 0x18765564cd99a68dull },
	{  6, 0xcbc9466e58fee3ceull }, {  7, 0xab0200f58b01d137ull },
	{  8, 0x93f5f5799a932462ull }, {  9, 0x9e0082df0ba9e4b0ull },
	{ 15, 0xa129ca6149be45e5ull },
};

START_TEST(reference_values)
{
	uint8_t key[16], msg[64 + 1];

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		for (unsigned skew = 0; skew < 2; skew++) {
			for (unsigned n = 0; n < 64; n++)
				msg[n + skew] = (uint8_t)n;
			ck_assert_uint_eq(siphash24(key, msg + skew, known[i].len),
					  known[i].want);
		}
	}
}
END_TEST

START_TEST(every_byte_of_key_and_message_counts)
{
	uint8_t key[16] = { 0 }, msg[23] = { 0 };
	uint64_t base = siphash24(key, msg, sizeof(msg));

	for (unsigned i = 0; i < sizeof(key); i++) {
		key[i] ^= 1;
		ck_assert_uint_ne(siphash24(key, msg, sizeof(msg)), base);
		key[i] ^= 1;
	}
	for (unsigned i = 0; i < sizeof(msg); i++) {
		msg[i] ^= 0x80;
		ck_assert_uint_ne(siphash24(key, msg, sizeof(msg)), base);
		msg[i] ^= 0x80;
	}
	ck_assert_uint_ne(siphash24(key, msg, sizeof(msg) - 1), base);
}
END_TEST

CHECK_MAIN("siphash", reference_values, every_byte_of_key_and_message_counts)
