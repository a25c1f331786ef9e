/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.c - the checksum of every metadata structure
 *
 * Two versions that must agree, and a test that they do:
 *   soft   eight tables, eight bytes a step, every machine and byte order;
 *   hard   the x86 CRC32 instruction, where the CPU has it. Its latency is
 *          three cycles and a new one starts every cycle, so three streams
 *          run side by side; a carry-less multiplication by a power of x
 *          moves the sum of an earlier stream past the bytes of a later one.
 *
 * The long stride is cut for what is sealed most: a block of 4092 bytes.
 * The choice and the tables are made before main() and constant afterwards.
 */
#include "base/crc32c.h"

#include "base/bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define POLY		0x82f63b78u

static uint32_t table[8][256];
static uint32_t (*crc_fn)(uint32_t seed, const void *buf, size_t len) = crc32c_soft;

static void make_table(void)
{
	for (uint32_t n = 0; n < 256; n++) {
		uint32_t c = n;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[0][n] = c;
	}
	for (uint32_t n = 0; n < 256; n++)
		for (int t = 1; t < 8; t++)
			table[t][n] = table[t - 1][n] >> 8 ^
				      table[0][table[t - 1][n] & 0xff];
}

uint32_t crc32c_soft(uint32_t seed, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint32_t c = ~seed;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v = load64(p) ^ c;

		c = table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^
		    table[5][v >> 16 & 0xff] ^ table[4][v >> 24 & 0xff] ^
		    table[3][v >> 32 & 0xff] ^ table[2][v >> 40 & 0xff] ^
		    table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
	}
	while (len--)
		c = c >> 8 ^ table[0][(c ^ *p++) & 0xff];
	return ~c;
}

#if defined(__x86_64__)

/*
 * x^(8n - 33) mod P, bits reversed, for n bytes: the 33 are the one bit that
 * a product of two reversed words is short of and the 32 that CRC32 adds.
 */
struct stride { size_t bytes; uint32_t by1, by2; };	/* n, 2n */
static const struct stride stride_long  = { 1360, 0x3f70cc6f, 0x5aa1f3cf };
static const struct stride stride_short = {   64, 0x9e4addf8, 0x0d3b6092 };

#define HARD	__attribute__((target("sse4.2,pclmul")))

HARD static inline uint64_t fetch64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

HARD static inline uint64_t times(uint64_t crc, uint32_t k)
{
	__m128i prod = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
					    _mm_cvtsi32_si128((int)k), 0);

	return (uint64_t)_mm_cvtsi128_si64(prod);
}

/* Three streams of s->bytes each, one after the other in memory. */
HARD static inline uint64_t three(uint64_t c0, const uint8_t *p, const struct stride *s)
{
	uint64_t c1 = 0, c2 = 0;
	size_t n = s->bytes;

	for (size_t i = 0; i < n; i += 8) {
		c0 = _mm_crc32_u64(c0, fetch64(p + i));
		c1 = _mm_crc32_u64(c1, fetch64(p + i + n));
		c2 = _mm_crc32_u64(c2, fetch64(p + i + 2 * n));
	}
	return _mm_crc32_u64(0, times(c0, s->by2) ^ times(c1, s->by1)) ^ c2;
}

HARD static uint32_t crc32c_hard(uint32_t seed, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint64_t c = (uint32_t)~seed;

	for (size_t n = 3 * stride_long.bytes; len >= n; p += n, len -= n)
		c = three(c, p, &stride_long);
	for (size_t n = 3 * stride_short.bytes; len >= n; p += n, len -= n)
		c = three(c, p, &stride_short);
	for (; len >= 8; p += 8, len -= 8)
		c = _mm_crc32_u64(c, fetch64(p));
	if (len & 4) {
		uint32_t v;

		memcpy(&v, p, sizeof(v));
		c = _mm_crc32_u32((uint32_t)c, v);
		p += 4;
	}
	for (len &= 3; len; len--)
		c = _mm_crc32_u8((uint32_t)c, *p++);
	return ~(uint32_t)c;
}

static void choose(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		crc_fn = crc32c_hard;
}

#else

static void choose(void)
{
}

#endif

__attribute__((constructor)) static void crc32c_init(void)
{
	make_table();
	choose();
}

uint32_t crc32c(uint32_t seed, const void *buf, size_t len)
{
	return crc_fn(seed, buf, len);
}

uint32_t seal_crc(const void *obj, size_t len, uint64_t off)
{
	le64 where = put64(off);
	const uint8_t *p = obj;

	return crc32c(crc32c(0, &where, sizeof(where)), p + 4, len - 4);
}
