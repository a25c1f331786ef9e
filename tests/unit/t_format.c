/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_format.c - the table of fields describes format.h completely
 *
 * Fields follow each other without a gap, end where the structure ends, and
 * the golden offsets of the things a foreign tool needs first do not move.
 */
#include <check.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/fields.h"

/* The next field begins where this one ends; the last one ends the structure. */
START_TEST(no_gaps)
{
	const struct field_struct *s = &field_structs[_i];
	const struct field *f;
	uint32_t end = 0;
	unsigned i;

	for (i = 0; i < s->nr; i++) {
		f = &s->field[i];
		ck_assert_str_eq(f->of, s->name);
		ck_assert_msg(f->off == end, "%s.%s: at %u, expected %u", s->name, f->name,
			      f->off, end);
		end = f->off + f->size;
		ck_assert_msg(f->type != FIELD_LE || f->size == 1 || f->size == 2 ||
			      f->size == 4 || f->size == 8, "%s.%s: size %u", s->name,
			      f->name, f->size);
		ck_assert_msg(f->size != 8 || f->off % 8 == 0 || f->type == FIELD_BYTES ||
			      f->type == FIELD_ZERO,
			      "%s.%s is not aligned", s->name, f->name);
	}
	ck_assert_msg(end == s->size, "%s: fields end at %u of %u", s->name, end, s->size);
}
END_TEST

/* What format.h's comments, and every pool that exists, say. */
START_TEST(golden_offsets)
{
	static const struct { const char *of, *name; uint32_t off; } golden[] = {
		{ "super", "magic", 8 }, { "super", "nr_blocks", 120 },
		{ "super", "data_blk", 160 }, { "super", "root_reserve", 224 },
		{ "slot", "watermark", 16 }, { "slot", "flags", 56 },
		{ "record", "seq", 16 }, { "form", "kind", 12 },
		{ "inode", "size", 32 }, { "inode", "root", 128 }, { "inode", "link", 192 },
		{ "chunk", "used", 64 }, { "chunk", "crc", 128 },
		{ "system", "orphans", 2048 }, { "badblocks", "run", 32 },
		{ "node", "owner", 16 }, { "node", "slot", 32 },
		{ "dirent", "name", 8 }, { "xattr", "name", 12 },
	};
	const struct field_struct *s;
	unsigned i, k;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		s = field_find(golden[i].of);
		ck_assert_ptr_nonnull(s);
		for (k = 0; k < s->nr && strcmp(s->field[k].name, golden[i].name); k++)
			;
		ck_assert_msg(k < s->nr && s->field[k].off == golden[i].off,
			      "%s.%s moved", golden[i].of, golden[i].name);
	}
	ck_assert_ptr_null(field_find("nothing"));
}
END_TEST

/* A field is read as little-endian whatever the machine is. */
START_TEST(little_endian)
{
	struct pmemfs_super sb = { .version = put32(0x01020304) };
	const struct field_struct *s = field_find("super");
	const uint8_t *raw = (const uint8_t *)&sb;

	ck_assert_uint_eq(raw[4], 4);
	ck_assert_uint_eq(raw[7], 1);
	ck_assert_uint_eq(field_get(&s->field[1], &sb), 0x01020304);
	ck_assert_uint_eq(get32(sb.version), 0x01020304);
}
END_TEST

/* The magic spells the name, so that `strings` and `file` can find a pool. */
START_TEST(magic)
{
	struct pmemfs_super sb = { .magic = put64(PMEMFS_MAGIC) };

	ck_assert_int_eq(memcmp((const char *)&sb + 8, "PMEMFS\1\0", 8), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("format");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, no_gaps, 0, (int)nr_field_structs);
	tcase_add_test(tc, golden_offsets);
	tcase_add_test(tc, little_endian);
	tcase_add_test(tc, magic);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
