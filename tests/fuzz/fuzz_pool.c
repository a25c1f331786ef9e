/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_pool.c - mount, walk, change and check a pool that somebody prepared
 *
 * The input is a small program of patches to the specimen of tests/bitrot:
 *
 *	flags	1 byte: 1 read-only, 2 errors=continue, 4 no changes, 128 all is
 *		removed; the rest says in which order things are changed
 *	patch*	1 byte: 0..2 length - 1, 3 seal the structure again, 4 the place
 *		is absolute; then the place, either the number of a structure
 *		and an offset in it, 2 bytes each, or a pool offset of 4 bytes;
 *		then the bytes
 *
 * Numbers are little-endian and taken modulo what there is. A read-only pool is
 * then repaired, in memory, as fsck.pmemfs -n does. Nothing may crash, hang or
 * leak; answers may be anything. libFuzzer calls
 * LLVMFuzzerTestOneInput(); replay.c is a main() for everybody else.
 */
#include "fuzz/fuzz_pool.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "bitrot/map.h"
#include "bitrot/survey.h"
#include "meta/repair.h"
#include "meta/verify.h"

#define MAX_PATCHES	32u

enum { RO = 1, CONTINUE = 2, NO_CHANGES = 4, RAZE = 128 };

struct input { const uint8_t *p; size_t left; };

struct bench { struct specimen s; struct map m; };

static void quiet(enum log_level lvl, const char *line)
{
	(void)lvl;
	(void)line;
}

static struct bench *bench_make(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		abort();
	log_to(quiet);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	specimen_make(&b->s);
	map_make(&b->m, &b->s);
	return b;
}

static uint64_t take(struct input *in, unsigned n)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < n && in->left; i++, in->left--)
		v |= (uint64_t)*in->p++ << 8 * i;
	return v;
}

/* One patch; returns the structure to be sealed again, or NULL. */
static const struct piece *patch(struct bench *b, struct input *in)
{
	uint8_t head = (uint8_t)take(in, 1), bytes[8];
	unsigned n = (head & 7) + 1u;
	const struct piece *p = NULL;
	uint64_t off, v;

	if (head & 16) {
		off = take(in, 4) % SPECIMEN_SIZE;
	} else {
		p = &b->m.piece[take(in, 2) % b->m.nr_pieces];
		off = p->off + take(in, 2) % p->len;
	}
	v = put64(take(in, n)).raw;
	memcpy(bytes, &v, sizeof(bytes));
	undo_put(&b->s.u, off, bytes, min64(n, SPECIMEN_SIZE - off));
	return head & 8 ? p : NULL;
}

static void apply(struct bench *b, struct input *in)
{
	const struct piece *seal[MAX_PATCHES];
	unsigned i;

	for (i = 0; i < MAX_PATCHES && in->left; i++)
		seal[i] = patch(b, in);
	for (unsigned k = 0; k < i; k++)
		if (seal[k])
			map_reseal(&b->m, seal[k]);
}

static void use(struct fs *fs, uint8_t flags)
{
	struct survey_result walk;
	struct verify_result res;

	survey_check(NULL, fs, &walk);
	if (walk.endless)
		abort();
	if (!(flags & (RO | NO_CHANGES))) {
		poke(fs, flags >> 3 & 15);
		if (flags & RAZE)
			raze(fs);
		survey_check(NULL, fs, &walk);
		if (walk.endless)
			abort();
	}
	fs_checkpoint(fs);
	if (verify_fs(fs, NULL, NULL, NULL, &res))
		abort();
}

static void repair(struct bench *b)
{
	struct repair_options opt = {
		.path = "specimen", .look = true,
		.backend = &b->s.be, .backend_arg = &b->s.u,
	};
	struct repair_result res;
	struct repair *r;

	if (!repair_try(&r, &opt, &res))
		repair_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bench *b;
	struct input in = { data, size }, again;
	struct fs *fs;
	uint8_t flags;

	if (!b)
		b = bench_make();
	flags = (uint8_t)take(&in, 1);
	again = in;
	apply(b, &in);
	if (!specimen_open(&b->s, flags & RO, flags & CONTINUE ? FS_ERRORS_CONTINUE :
			   FS_ERRORS_REMOUNT_RO, &fs)) {
		use(fs, flags);
		fs_close(fs);
	}
	specimen_back(&b->s);
	if (flags & RO) {
		apply(b, &again);
		repair(b);
		specimen_back(&b->s);
	}
	return 0;
}
