/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apply.h - forms: check them, put them in place, find what they touched
 *
 * The same code serves the running operation, the checkpoint and recovery.
 */
#ifndef META_APPLY_H
#define META_APPLY_H

#include "meta/fs.h"

struct form_iter {
	const uint8_t *p, *end;
	unsigned left;
};
void form_first(struct form_iter *it, const struct pmemfs_record *rec);
/* 1 a form, 0 no more, -EUCLEAN malformed. *data: bytes of a BYTES form. */
int form_next(struct form_iter *it, struct pmemfs_form *f, const uint8_t **data);

/* Which bytes a form touches. */
void form_range(const struct pmemfs_form *f, uint64_t *off, uint64_t *len);
/* Is it a run of bits of the block bitmap (*group), or of a chunk header
 * (*header: pool offset)? Neither: false. */
bool form_derived(const struct geometry *geo, const struct pmemfs_form *f,
		  bool *is_group, uint32_t *group, uint64_t *header);

/* No record touches more (L8): txn.h and repair_log.c bound what goes into one. */
#define RECORD_TOUCHED_MAX	(8u << 20)

/* Bytes that a well-formed record touches. */
uint64_t record_touched(const struct pmemfs_record *rec);
/*
 * NULL, or what is wrong: malformed, out of the pool, onto superblocks, slots
 * or lanes (L13), absolute bytes over bitmaps (L7), too much (L8). *off: where.
 */
const char *record_check(const struct geometry *geo, const struct pmemfs_record *rec,
			 uint64_t *off);

/* Store the forms in place: stored, not flushed. Returns bytes touched. */
uint64_t apply_record(struct pm *pm, const struct pmemfs_record *rec);

#endif
