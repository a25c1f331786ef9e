/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * siphash.c - SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input
 * PRF")
 *
 * Promises the reference values on every byte order. Refuses nothing: any
 * length, any alignment.
 */
#include "base/siphash.h"

#include "base/bytes.h"

struct sip { uint64_t v0, v1, v2, v3; };

static inline uint64_t rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	sip_round(s);
	s->v0 ^= m;
}

uint64_t siphash24(const uint8_t key[16], const void *buf, size_t len)
{
	uint64_t k0 = load64(key), k1 = load64(key + 8);
	struct sip s = {
		.v0 = k0 ^ 0x736f6d6570736575ull,
		.v1 = k1 ^ 0x646f72616e646f6dull,
		.v2 = k0 ^ 0x6c7967656e657261ull,
		.v3 = k1 ^ 0x7465646279746573ull,
	};
	const uint8_t *p = buf;
	uint64_t last = (uint64_t)len << 56;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8)
		sip_word(&s, load64(p + i));
	for (size_t n = 0; i + n < len; n++)
		last |= (uint64_t)p[i + n] << (8 * n);
	sip_word(&s, last);

	s.v2 ^= 0xff;
	for (int r = 0; r < 4; r++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
