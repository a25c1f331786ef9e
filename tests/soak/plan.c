/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - which operation comes next
 */
#include "soak/soak.h"

#include <string.h>

#include <linux/falloc.h>

static uint32_t dice(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % n;
}

/* Lengths around lines, blocks and records; now and then a large one. */
static uint32_t a_length(uint64_t *state)
{
	static const uint32_t few[] = {
		1, 7, 63, 64, 65, 511, 4095, 4096, 4097, 8192, 12288, 65536, 131072,
	};

	switch (dice(state, 8)) {
	case 0: case 1: case 2:
		return few[dice(state, sizeof(few) / sizeof(few[0]))];
	case 3:
		return dice(state, 200) ? dice(state, 100000) + 1 : 1 + (1u << 20);
	default:
		return dice(state, 9000) + 1;
	}
}

static uint64_t a_place(uint64_t *state)
{
	switch (dice(state, 4)) {
	case 0:
		return dice(state, 60) * 4096ull;
	case 1:
		return dice(state, 1000000);
	default:
		return dice(state, 40000);
	}
}

static void choose(uint64_t *state, struct entry *e)
{
	static const uint16_t falloc[] = {
		0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE,
	};
	static const uint8_t often[] = {
		OP_CREATE, OP_CREATE, OP_WRITE, OP_WRITE, OP_WRITE, OP_APPEND, OP_APPEND,
	};

	memset(e, 0, sizeof(*e));
	e->op = dice(state, 3) ? (uint16_t)(1 + dice(state, OP_NR - 1)) :
				 often[dice(state, sizeof(often))];
	e->a = (uint16_t)dice(state, SLOTS);
	e->b = (uint16_t)dice(state, SLOTS);
	e->mode = (uint16_t)(0600 | dice(state, 0100));
	e->pos = a_place(state);
	e->len = a_length(state);
	e->seed = (uint64_t)dice(state, UINT32_MAX) << 32 | dice(state, UINT32_MAX);
	if (e->op == OP_MKDIR || e->op == OP_RMDIR || e->op == OP_MOVE_DIR) {
		e->a %= DIRS;
		e->b %= DIRS;
	}
	if (e->op == OP_SETXATTR || e->op == OP_REMOVEXATTR) {
		e->b %= ATTRS;
		e->len %= dice(state, 4) ? 300 : 10000;
	}
	if (e->op == OP_SYMLINK)
		e->len = 1 + e->len % TARGET_MAX;
	if (e->op == OP_FALLOCATE)
		e->mode = falloc[dice(state, 4)];
	if (e->op == OP_TRUNCATE)
		e->len = dice(state, 3) ? (uint32_t)(e->pos % FILE_MAX) : 0;
}

void plan_next(const struct model *m, uint64_t *state, struct entry *e)
{
	do
		choose(state, e);
	while (!model_allows(m, e));
}
