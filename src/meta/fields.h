/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields.h - format.h as a table
 *
 * Read by dump.pmemfs, by tests/unit/t_format.c (no gaps, right sizes) and,
 * through `dump.pmemfs fields`, compared with the tables of pmemfs.5.
 */
#ifndef META_FIELDS_H
#define META_FIELDS_H

#include <stddef.h>
#include <stdint.h>

enum field_type {
	FIELD_LE,	/* little-endian integer of 1, 2, 4 or 8 bytes */
	FIELD_HEX,	/* the same, better shown in hexadecimal */
	FIELD_BYTES,	/* uninterpreted bytes */
	FIELD_TEXT,	/* NUL padded characters */
	FIELD_ZERO,	/* padding */
	FIELD_STRUCT,	/* one or more of another structure */
	FIELD_TAIL,	/* of variable length: size 0 */
};

struct field {
	const char *of;		/* structure, without "pmemfs_" */
	const char *name;
	uint32_t off, size;
	enum field_type type;
};

struct field_struct {
	const char *name;
	uint32_t size;		/* of the fixed part */
	const struct field *field;
	unsigned nr;
};

extern const struct field_struct field_structs[];
extern const unsigned nr_field_structs;

/* NULL: no such structure. */
const struct field_struct *field_find(const char *name);
/* The integer in a field of the object at base (LE and HEX). */
uint64_t field_get(const struct field *f, const void *base);

#endif
