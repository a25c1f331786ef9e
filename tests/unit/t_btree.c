/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_btree.c - the tree against a sorted array: random inserts, replacements
 * and deletions of values of every size, in records, with remounts between;
 * the empty tree gives all its blocks back.
 */
#include <errno.h>

#include "base/bytes.h"
#include "meta/btree.h"
#include "support/check_main.h"
#include "support/pool.h"

#define MODEL	4096

struct model {
	bool used[MODEL];
	uint16_t len[MODEL];
	uint8_t byte[MODEL];
	unsigned nr;
};

static uint64_t rnd_state;

static uint32_t rnd(void)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33);
}

/* Check reports every assertion through a pipe: too slow for millions. */
#define MUST(cond)	do { if (!(cond)) ck_abort_msg("%s", #cond); } while (0)

static void check_item(const struct model *m, const struct item *it, unsigned k)
{
	unsigned i;

	MUST(it->key == (k * 3ull + 7));
	MUST(it->len == (m->len[k]));
	for (i = 0; i < it->len; i++)
		MUST(it->val[i] == (m->byte[k]));
}

static void check_all(struct tree *tr, const struct model *m)
{
	uint64_t at = 0;
	struct item it;
	unsigned k, n = 0;

	for (k = 0; k < MODEL; k++) {
		if (!m->used[k])
			continue;
		MUST(tree_ge(tr, at, &it) == (0));
		check_item(m, &it, k);
		MUST(tree_le(tr, it.key + 2, &it) == (0));
		check_item(m, &it, k);
		at = it.key + 1;
		n++;
	}
	MUST(tree_ge(tr, at, &it) == (-ENOENT));
	MUST(n == (m->nr));
}

static void change(struct tree *tr, struct model *m, unsigned k, bool remove, unsigned max)
{
	uint8_t val[PMEMFS_MAX_VALUE];
	uint16_t len = (uint16_t)(rnd() % (max + 1));
	int err;

	memset(val, (int)(rnd() & 255), sizeof(val));
	if (remove) {
		err = tree_delete(tr, k * 3ull + 7);
		MUST(err == (m->used[k] ? 0 : -ENOENT));
		m->nr -= m->used[k];
		m->used[k] = false;
		return;
	}
	if (m->used[k]) {
		MUST(tree_insert(tr, k * 3ull + 7, val, len) == (-EEXIST));
		MUST(tree_replace(tr, k * 3ull + 7, val, len) == (0));
	} else {
		MUST(tree_replace(tr, k * 3ull + 7, val, len) == (-ENOENT));
		MUST(tree_insert(tr, k * 3ull + 7, val, len) == (0));
		m->used[k] = true;
		m->nr++;
	}
	m->len[k] = len;
	m->byte[k] = val[0];
}

static struct tree tree_at(struct pool *p, struct txn *t, uint64_t root)
{
	return (struct tree){ .fs = p->fs, .t = t, .root = root, .owner = 77,
			      .kind = PMEMFS_TREE_XATTR };
}

/* One record of six changes, or, now and then, six changes for nothing. */
static void record(struct pool *p, struct model *m, uint64_t *root, unsigned odds, unsigned max)
{
	static struct model saved;
	struct txn *t = txn_begin(p->fs, PMEMFS_OP_OTHER);
	struct tree tr = tree_at(p, t, *root);
	unsigned i;

	saved = *m;
	for (i = 0; i < 6; i++)
		change(&tr, m, rnd() % MODEL, rnd() % 10 < odds, max);
	if (rnd() % 7 == 0) {
		txn_abort(t);
		*m = saved;
		return;
	}
	ck_assert_int_eq(txn_commit(t), 0);
	*root = tr.root;
}

static void empty(struct pool *p, uint64_t *root)
{
	struct item it;
	unsigned i;

	while (*root) {
		struct txn *t = txn_begin(p->fs, PMEMFS_OP_EVICT);
		struct tree tr = tree_at(p, t, *root);

		for (i = 0; i < 8 && tree_ge(&tr, 0, &it) == 0; i++)
			MUST(tree_delete(&tr, it.key) == 0);
		*root = tr.root;
		ck_assert_int_eq(txn_commit(t), 0);
	}
}

/* Grow, churn, shrink to nothing; max is the largest value. */
static void run(unsigned max, uint64_t seed)
{
	static struct model m;
	struct pool p;
	uint64_t before, root = 0;
	struct tree tr;
	unsigned round;

	memset(&m, 0, sizeof(m));
	rnd_state = seed;
	pool_make(&p, 32 << 20);
	before = pool_free_blocks(&p);
	for (round = 0; round < 1500; round++) {
		record(&p, &m, &root, round < 500 ? 2 : round < 1000 ? 5 : 9, max);
		if (round % 100 == 0) {
			tr = tree_at(&p, NULL, root);
			check_all(&tr, &m);
		}
		if (round % 300 == 299)
			pool_crash(&p);
	}
	empty(&p, &root);
	fs_checkpoint(p.fs);
	ck_assert_uint_eq(pool_free_blocks(&p), before);
	pool_end(&p);
}

START_TEST(small_values_behave_like_a_sorted_array) { run(8, 1); } END_TEST
START_TEST(name_sized_values_behave) { run(60, 2); } END_TEST
START_TEST(largest_values_behave) { run(PMEMFS_MAX_VALUE, 3); } END_TEST

/* Ascending keys leave full nodes: 20,000 extents of 8 bytes take about 100. */
START_TEST(ascending_keys_fill_nodes)
{
	uint64_t root = 0, before, k = 0;
	struct pool p;
	le64 v = put64(5);

	pool_make(&p, 32 << 20);
	before = pool_free_blocks(&p);
	while (k < 20000) {
		struct txn *t = txn_begin(p.fs, PMEMFS_OP_OTHER);
		struct tree tr = { .fs = p.fs, .t = t, .root = root, .owner = 9,
				   .kind = PMEMFS_TREE_EXTENT };

		for (unsigned i = 0; i < 50; i++)
			MUST(tree_insert(&tr, ++k, &v, 8) == 0);
		root = tr.root;
		ck_assert_int_eq(txn_commit(t), 0);
	}
	ck_assert_uint_lt(before - pool_free_blocks(&p), 20000 / 200 + 10);
	pool_unmount(&p);	/* nobody owns the tree: no pool_end() */
	rec_free(p.rec);
	pm_mem_free(&p.mem);
}
END_TEST

CHECK_MAIN("btree", small_values_behave_like_a_sorted_array, name_sized_values_behave,
	   largest_values_behave, ascending_keys_fill_nodes)
