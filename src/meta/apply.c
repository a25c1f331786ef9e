/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apply.c - what the forms of a record mean
 *
 *   A1  No form reads the medium, and applying a record twice leaves what
 *       applying it once does (L7), so replay may be cut and started again.
 *   A2  Absolute bytes and zero runs go to the system block, the bad-block
 *       list and the data area; runs of bits go to the block bitmap and to
 *       the `used` bytes of a chunk header. The two never meet.
 *   A3  Nothing is applied to superblocks, slots, lanes or group descriptors.
 */
#include "meta/apply.h"

#include <errno.h>

void form_first(struct form_iter *it, const struct pmemfs_record *rec)
{
	it->p = (const uint8_t *)(rec + 1);
	it->end = (const uint8_t *)rec + get32(rec->len);
	it->left = get16(rec->nr_forms);
}

int form_next(struct form_iter *it, struct pmemfs_form *f, const uint8_t **data)
{
	size_t room = (size_t)(it->end - it->p), pad;

	if (!it->left)
		return it->p == it->end ? 0 : -EUCLEAN;
	if (it->p > it->end || room < sizeof(*f))
		return -EUCLEAN;
	memcpy(f, it->p, sizeof(*f));
	it->p += sizeof(*f);
	room -= sizeof(*f);
	*data = NULL;
	if (get16(f->kind) == PMEMFS_FORM_BYTES) {
		pad = align_up(get32(f->len), 8);
		if (pad > room)
			return -EUCLEAN;
		*data = it->p;
		it->p += pad;
	}
	it->left--;
	return 1;
}

static bool is_bits(const struct pmemfs_form *f)
{
	return get16(f->kind) == PMEMFS_FORM_SET || get16(f->kind) == PMEMFS_FORM_CLEAR;
}

void form_range(const struct pmemfs_form *f, uint64_t *off, uint64_t *len)
{
	uint64_t first, last;

	*off = get64(f->off);
	*len = get32(f->len);
	if (!is_bits(f))
		return;
	first = get16(f->bit) / 8;
	last = (get16(f->bit) + *len - 1) / 8;
	*off += first;
	*len = last - first + 1;
}

bool form_derived(const struct geometry *geo, const struct pmemfs_form *f,
		  bool *is_group, uint32_t *group, uint64_t *header)
{
	uint64_t off = get64(f->off);

	if (!is_bits(f))
		return false;
	*is_group = off < blk_off(geo->data_blk);
	if (*is_group)
		*group = (uint32_t)(off_blk(off) - geo->bitmap_blk);
	else
		*header = off - offsetof(struct pmemfs_chunk, used);
	return true;
}

static const char *check_bits(const struct geometry *geo, const struct pmemfs_form *f)
{
	uint64_t off = get64(f->off), end = (uint64_t)get16(f->bit) + get32(f->len);
	uint64_t first = blk_off(geo->bitmap_blk), data = blk_off(geo->data_blk);

	if (!get32(f->len))
		return "an empty run of bits";
	if (off >= first && off < first + blk_off(geo->nr_groups))
		return off % PMEMFS_BLOCK_SIZE || end > PMEMFS_GROUP_BLOCKS ?
			"a run of bits that leaves its group" : NULL;
	if (off < data || off >= blk_off(geo->nr_blocks - 1))
		return "a run of bits outside every bitmap";
	if (off % PMEMFS_INODE_SIZE != offsetof(struct pmemfs_chunk, used) ||
	    end > PMEMFS_CHUNK_INODES)
		return "a run of bits that is in no chunk header";
	return NULL;
}

static const char *check_bytes(const struct geometry *geo, const struct pmemfs_form *f)
{
	uint64_t off = get64(f->off), len = get32(f->len);
	uint64_t size = blk_off(geo->nr_blocks);

	if (!len || off > size || len > size - off)
		return "a store outside the pool";
	if (off + len > blk_off(geo->nr_blocks - 1))
		return "a store to the superblock's replica";
	if (off >= blk_off(geo->data_blk))
		return NULL;
	if (off >= blk_off(PMEMFS_BLK_SYSTEM) && off + len <= blk_off(PMEMFS_BLK_BADBLOCKS + 1))
		return NULL;
	return "a store to superblock, slots, lanes or bitmaps";
}

const char *record_check(const struct geometry *geo, const struct pmemfs_record *rec,
			 uint64_t *off)
{
	struct form_iter it;
	struct pmemfs_form f;
	const uint8_t *data;
	const char *bad;
	uint64_t at, len, sum = 0;
	int more;

	form_first(&it, rec);
	while ((more = form_next(&it, &f, &data)) > 0) {
		*off = get64(f.off);
		form_range(&f, &at, &len);
		sum += len;
		switch (get16(f.kind)) {
		case PMEMFS_FORM_BYTES:
		case PMEMFS_FORM_ZERO:
			bad = check_bytes(geo, &f);
			break;
		case PMEMFS_FORM_SET:
		case PMEMFS_FORM_CLEAR:
			bad = check_bits(geo, &f);
			break;
		default:
			bad = "a form of unknown kind";
		}
		if (!bad && sum > RECORD_TOUCHED_MAX)
			bad = "more than a record may touch";
		if (bad)
			return bad;
	}
	return more < 0 ? "forms that do not fill the record" : NULL;
}

uint64_t record_touched(const struct pmemfs_record *rec)
{
	uint64_t off, len, sum = 0;
	struct form_iter it;
	struct pmemfs_form f;
	const uint8_t *data;

	form_first(&it, rec);
	while (form_next(&it, &f, &data) > 0) {
		form_range(&f, &off, &len);
		sum += len;
	}
	return sum;
}

uint64_t apply_record(struct pm *pm, const struct pmemfs_record *rec)
{
	struct form_iter it;
	struct pmemfs_form f;
	const uint8_t *data;
	uint64_t touched = 0, off, len;

	form_first(&it, rec);
	while (form_next(&it, &f, &data) > 0) {
		form_range(&f, &off, &len);
		touched += len;
		switch (get16(f.kind)) {
		case PMEMFS_FORM_BYTES:
			pm_write(pm, get64(f.off), data, get32(f.len));
			break;
		case PMEMFS_FORM_ZERO:
			pm_zero(pm, get64(f.off), get32(f.len));
			break;
		case PMEMFS_FORM_SET:
		case PMEMFS_FORM_CLEAR:
			pm_bits(pm, get64(f.off), get16(f.bit), get32(f.len),
				get16(f.kind) == PMEMFS_FORM_SET);
			break;
		}
	}
	return touched;
}
