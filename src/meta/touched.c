/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * touched.c - flush what records touched, recompute what is derived
 *
 * Free counts and checksums of bitmaps are never logged (L7): they are
 * functions of the bitmap, recomputed here for every group and chunk that a
 * record above the old watermark touched. If the power fails before the slot
 * is written, recovery replays those records and does the same again.
 */
#include "meta/touched.h"

#include <errno.h>
#include <stdlib.h>

#include "meta/alloc.h"
#include "meta/apply.h"
#include "meta/inode.h"

int touched_init(struct touched *t, struct fs *fs)
{
	memset(t, 0, sizeof(*t));
	t->fs = fs;
	t->groups = calloc(DIV_UP(fs->geo.nr_groups, 64), sizeof(uint64_t));
	return t->groups ? 0 : -ENOMEM;
}

void touched_free(struct touched *t)
{
	free(t->groups);
	free(t->headers);
}

static void flush_range(struct touched *t, uint64_t off, uint64_t len)
{
	uint64_t line, start = align_down(off, PMEMFS_LINE), end = off + len;
	uint64_t *slot;

	if (len > 4 * PMEMFS_LINE) {		/* long ranges rarely repeat */
		pm_flush(t->fs->pm, start, end - start);
		return;
	}
	for (line = start; line < end; line += PMEMFS_LINE) {
		slot = &t->recent[(line / PMEMFS_LINE) % TOUCHED_RECENT];
		if (*slot == line + 1)
			continue;
		*slot = line + 1;
		pm_flush(t->fs->pm, line, PMEMFS_LINE);
	}
}

static int note_header(struct touched *t, uint64_t off)
{
	uint64_t *grown;
	size_t i;

	for (i = t->nr_headers; i > 0 && i + 64 > t->nr_headers; i--)
		if (t->headers[i - 1] == off)
			return 0;
	if (t->nr_headers == t->room) {
		t->room = t->room ? t->room * 2 : 256;
		grown = realloc(t->headers, t->room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		t->headers = grown;
	}
	t->headers[t->nr_headers++] = off;
	return 0;
}

int touched_record(struct touched *t, const struct pmemfs_record *rec)
{
	uint64_t off, len, header;
	struct form_iter it;
	struct pmemfs_form f;
	const uint8_t *data;
	bool is_group;
	uint32_t g;
	int err;

	form_first(&it, rec);
	while (form_next(&it, &f, &data) > 0) {
		form_range(&f, &off, &len);
		flush_range(t, off, len);
		t->bytes += len;
		if (!form_derived(&t->fs->geo, &f, &is_group, &g, &header))
			continue;
		if (is_group) {
			t->groups[g / 64] |= 1ull << (g % 64);
			t->any_group = true;
			continue;
		}
		err = note_header(t, header);
		if (err)
			return err;
	}
	t->dblocks += (int64_t)get64(rec->dblocks);
	t->dinodes += (int32_t)get32(rec->dinodes);
	return 0;
}

void touched_derive(struct touched *t)
{
	uint32_t w, words = DIV_UP(t->fs->geo.nr_groups, 64);
	uint64_t bits;
	size_t i;

	for (w = 0; t->any_group && w < words; w++)
		for (bits = t->groups[w]; bits; bits &= bits - 1)
			alloc_derive(t->fs, w * 64 + (uint32_t)__builtin_ctzll(bits));
	for (i = 0; i < t->nr_headers; i++)
		itable_derive(t->fs, t->headers[i]);
}
