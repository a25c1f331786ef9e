/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lab.c - a pool to damage, repair and look at, again and again
 */
#include "fsck/lab.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/verify.h"

struct image lab;
bool lab_told[LAB_NUMBERS];
static uint8_t *sound[NR_ENDINGS];

bool lab_prints(void)
{
	return getenv("T_REPAIR_PRINT");
}

static void quiet(enum log_level lvl, const char *line)
{
	(void)lvl, (void)line;
}

void lab_open(void)
{
	int i;

	if (!lab_prints())
		log_to(quiet);
	for (i = 0; i < NR_ENDINGS; i++) {
		memset(&lab, 0, sizeof(lab));
		image_make(&lab, (enum ending)i);
		sound[i] = lab.mem.buf;
		lab.mem.buf = NULL;
	}
	lab.mem.owned = false;
	lab.mem.buf = pm_mem_map(IMAGE_SIZE);
}

void lab_start(enum ending end)
{
	memcpy(lab.mem.buf, sound[end], IMAGE_SIZE);
	image_geometry(&lab);
}

static void on_problem(void *arg, const struct repair_problem *p)
{
	(void)arg;
	lab_told[p->number] = true;
	if (lab_prints())
		fprintf(stderr, "    %04d ino %llu off %llx: %s\n", p->number,
			(unsigned long long)p->ino, (unsigned long long)p->off, p->text);
}

struct repair *lab_try(const struct repair_options *opt, struct repair_result *res)
{
	struct repair_options plain = {
		.backend = &pm_backend_mem, .backend_arg = &lab.mem,
	};
	struct repair *r = NULL;

	if (opt)
		plain = *opt;
	plain.path = "lab";
	plain.fn = on_problem;
	memset(lab_told, 0, sizeof(lab_told));
	ck_assert_int_eq(repair_try(&r, &plain, res), 0);
	return r;
}

static void on_left(void *arg, const struct verify_problem *p)
{
	const char *const *name = arg;

	ck_abort_msg("%s: left: %s ino %llu off %llx: %s", *name, verify_kind_name(p->kind),
		     (unsigned long long)p->ino, (unsigned long long)p->off, p->text);
}

struct fs *lab_look(const char *name)
{
	struct fs *fs = image_open(&lab, false);
	struct verify_result res;

	ck_assert_int_eq(verify_fs(fs, on_left, &name, NULL, &res), 0);
	ck_assert_int_eq(fs_drain(fs), 0);
	ck_assert_int_eq(fs_checkpoint(fs), 0);
	ck_assert_int_eq(verify_fs(fs, on_left, &name, NULL, &res), 0);
	image_walk(fs);
	return fs;
}

void lab_again(const char *name)
{
	struct repair_result res;
	struct repair *r = lab_try(NULL, &res);

	ck_assert_msg(!res.problems, "%s: not whole the second time", name);
	repair_free(r);
}
