/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ways.c - every way that this CPU has to store a stretch of bytes
 *
 * Written so that what is measured is the instruction: a plain loop, four
 * stores a turn where registers are narrow, no special case for short ones.
 */
#include "pm/ways.h"

#include <string.h>

#include "base/bytes.h"

static bool always(void)
{
	return true;
}

static void store_cached(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define LINE		64u

/* Leaf 7 of cpuid. */
static bool cpu_7(unsigned reg, unsigned bit)
{
	unsigned r[4];

	return __get_cpuid_count(7, 0, &r[0], &r[1], &r[2], &r[3]) && (r[reg] >> bit & 1);
}

static bool has_clwb(void) { return cpu_7(1, 24); }
static bool has_clflushopt(void) { return cpu_7(1, 23); }
static bool has_movdir64b(void) { return cpu_7(2, 28); }
static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static bool has_avx512(void) { return __builtin_cpu_supports("avx512f"); }

__attribute__((target("clwb")))
static void store_clwb(void *to, const void *from, size_t len)
{
	char *p = to;

	memcpy(to, from, len);
	for (size_t i = 0; i < len; i += LINE)
		_mm_clwb(p + i);
}

__attribute__((target("clflushopt")))
static void store_clflushopt(void *to, const void *from, size_t len)
{
	char *p = to;

	memcpy(to, from, len);
	for (size_t i = 0; i < len; i += LINE)
		_mm_clflushopt(p + i);
}

static void store_clflush(void *to, const void *from, size_t len)
{
	char *p = to;

	memcpy(to, from, len);
	for (size_t i = 0; i < len; i += LINE)
		_mm_clflush(p + i);
}

static void store_movnti(void *to, const void *from, size_t len)
{
	const long long *f = from;
	long long *t = to;

	for (size_t i = 0; i < len / 8; i += 4) {
		_mm_stream_si64(t + i, f[i]);
		_mm_stream_si64(t + i + 1, f[i + 1]);
		_mm_stream_si64(t + i + 2, f[i + 2]);
		_mm_stream_si64(t + i + 3, f[i + 3]);
	}
}

static void store_sse2(void *to, const void *from, size_t len)
{
	const __m128i *f = from;
	__m128i *t = to;

	for (size_t i = 0; i < len / 16; i += 4) {
		__m128i a = _mm_load_si128(f + i), b = _mm_load_si128(f + i + 1);
		__m128i c = _mm_load_si128(f + i + 2), d = _mm_load_si128(f + i + 3);

		_mm_stream_si128(t + i, a);
		_mm_stream_si128(t + i + 1, b);
		_mm_stream_si128(t + i + 2, c);
		_mm_stream_si128(t + i + 3, d);
	}
}

__attribute__((target("avx2")))
static void store_avx2(void *to, const void *from, size_t len)
{
	const __m256i *f = from;
	__m256i *t = to;

	for (size_t i = 0; i < len / 32; i += 2) {
		__m256i a = _mm256_load_si256(f + i), b = _mm256_load_si256(f + i + 1);

		_mm256_stream_si256(t + i, a);
		_mm256_stream_si256(t + i + 1, b);
	}
	_mm256_zeroupper();
}

__attribute__((target("avx512f")))
static void store_avx512(void *to, const void *from, size_t len)
{
	const char *f = from;
	char *t = to;

	for (size_t i = 0; i < len; i += LINE)
		_mm512_stream_si512((void *)(t + i), _mm512_load_si512(f + i));
	_mm256_zeroupper();
}

__attribute__((target("movdir64b")))
static void store_movdir64b(void *to, const void *from, size_t len)
{
	const char *f = from;
	char *t = to;

	for (size_t i = 0; i < len; i += LINE)
		_movdir64b(t + i, f + i);
}

static const struct pm_way ways[] = {
	{ "memcpy", "cached stores, not flushed", always, store_cached },
	{ "memcpy+clflush", "cached stores, lines flushed and dropped", always, store_clflush },
	{ "memcpy+clflushopt", "the same, unordered", has_clflushopt, store_clflushopt },
	{ "memcpy+clwb", "cached stores, lines written back", has_clwb, store_clwb },
	{ "movnti", "8-byte non-temporal stores", always, store_movnti },
	{ "nt-sse2", "16-byte non-temporal stores", always, store_sse2 },
	{ "nt-avx2", "32-byte non-temporal stores", has_avx2, store_avx2 },
	{ "nt-avx512", "64-byte non-temporal stores", has_avx512, store_avx512 },
	{ "movdir64b", "64-byte direct stores", has_movdir64b, store_movdir64b },
};

#else

static const struct pm_way ways[] = {
	{ "memcpy", "cached stores, not flushed", always, store_cached },
};

#endif

_Static_assert(ARRAY_SIZE(ways) <= PM_WAYS_MAX, "room for all");

unsigned pm_ways(const struct pm_way **out)
{
	unsigned nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (ways[i].has())
			out[nr++] = &ways[i];
	return nr;
}
