/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.c - a slotted page
 *
 * Slots (offset, length) grow up and are kept in the order of their keys;
 * items grow down and stay where they are put. So an insertion changes the
 * item's bytes, the slots behind it (4 bytes each) and the head, which keeps
 * the log record small; a split only shortens the left node's slots.
 */
#include "meta/node.h"

#include <assert.h>

void node_init(struct pmemfs_node *n, enum pmemfs_tree kind, unsigned level, uint64_t owner)
{
	n->magic = put32(PMEMFS_NODE_MAGIC);
	n->level = (uint8_t)level;
	n->tree = (uint8_t)kind;
	n->nr = put16(0);
	n->heap = put16(PMEMFS_BLOCK_SIZE);
	n->dead = put16(0);
	n->owner = put64(owner);
}

const char *node_check(const struct pmemfs_node *n)
{
	unsigned nr = get16(n->nr), heap = get16(n->heap), i, off, len, sum = 0;
	uint64_t prev = 0, key;

	if (get32(n->magic) != PMEMFS_NODE_MAGIC)
		return "no tree node where one should be";
	if (n->level >= PMEMFS_MAX_LEVEL)
		return "tree level out of range";
	if (heap > PMEMFS_BLOCK_SIZE || PMEMFS_NODE_HEAD + 4 * nr > heap || !nr)
		return "tree node's slots overlap its items";
	for (i = 0; i < nr; i++) {
		off = get16(n->slot[i].off);
		len = get16(n->slot[i].len);
		if (off < heap || off + NODE_ITEM_HEAD + len > PMEMFS_BLOCK_SIZE)
			return "tree item outside its node";
		if (len > PMEMFS_MAX_VALUE)
			return "tree item is too long";
		sum += NODE_ITEM_HEAD + len;
		if (n->level && len != 8)
			return "inner tree item of wrong size";
		key = node_key(n, i);
		if (i && key <= prev)
			return "tree keys out of order";
		prev = key;
	}
	/* what node_used() and compaction count on */
	if (sum + get16(n->dead) != PMEMFS_BLOCK_SIZE - heap)
		return "tree node miscounts its removed bytes";
	return NULL;
}

const char *node_head_bad(const struct pmemfs_node *n)
{
	unsigned nr = get16(n->nr), heap = get16(n->heap);

	if (get32(n->magic) != PMEMFS_NODE_MAGIC)
		return "is not one";
	if (n->level >= PMEMFS_MAX_LEVEL)
		return "has an impossible level";
	if (get64(n->zero))
		return "has reserved bytes set";
	if (!nr || nr > ARRAY_SIZE(n->slot))
		return "has an impossible number of items";
	if (heap < PMEMFS_NODE_HEAD + nr * sizeof(n->slot[0]) || heap > sizeof(*n))
		return "has items that run into its slots";
	return NULL;
}

const char *node_items_bad(const struct pmemfs_node *n)
{
	uint8_t taken[sizeof(*n)] = { 0 };
	unsigned i, heap = get16(n->heap), off, len, sum = 0;

	for (i = 0; i < get16(n->nr); i++) {
		off = get16(n->slot[i].off);
		len = get16(n->slot[i].len) + NODE_ITEM_HEAD;
		if (off < heap || off > sizeof(*n) || len > sizeof(*n) - off)
			return "has an item outside its heap";
		if (n->level && len != 16)
			return "has an item that is no child";
		if (len > PMEMFS_MAX_VALUE + NODE_ITEM_HEAD)
			return "has an item that is too long";
		if (memchr(taken + off, 1, len))
			return "has items that overlap";
		memset(taken + off, 1, len);
		sum += len;
	}
	if (sum + get16(n->dead) != sizeof(*n) - heap)
		return "miscounts its removed bytes";
	return NULL;
}

unsigned node_lower(const struct pmemfs_node *n, uint64_t key)
{
	unsigned lo = 0, hi = node_nr(n), mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (node_key(n, mid) < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

unsigned node_route(const struct pmemfs_node *n, uint64_t key)
{
	unsigned i = node_lower(n, key);

	if (i < node_nr(n) && node_key(n, i) == key)
		return i;
	return i ? i - 1 : 0;		/* the first key counts as 0 */
}

unsigned node_used(const struct pmemfs_node *n)
{
	return PMEMFS_BLOCK_SIZE - get16(n->heap) - get16(n->dead) + 4 * node_nr(n);
}

bool node_fits(const struct pmemfs_node *n, size_t len)
{
	return node_used(n) + 4 + NODE_ITEM_HEAD + len <= NODE_ROOM;
}

static void compact(struct pmemfs_node *n)
{
	struct pmemfs_node old = *n;
	unsigned i, heap = PMEMFS_BLOCK_SIZE, size;

	for (i = 0; i < node_nr(&old); i++) {
		size = NODE_ITEM_HEAD + node_len(&old, i);
		heap -= size;
		memcpy((uint8_t *)n + heap, node_item(&old, i), size);
		n->slot[i].off = put16((uint16_t)heap);
	}
	n->heap = put16((uint16_t)heap);
	n->dead = put16(0);
}

void node_put(struct pmemfs_node *n, unsigned i, uint64_t key, const void *val, size_t len)
{
	unsigned nr = node_nr(n), size = NODE_ITEM_HEAD + (unsigned)len, heap;

	assert(i <= nr && node_fits(n, len));
	if (get16(n->heap) < PMEMFS_NODE_HEAD + 4 * (nr + 1) + size)
		compact(n);
	heap = get16(n->heap) - size;
	save64((uint8_t *)n + heap, key);
	memcpy((uint8_t *)n + heap + NODE_ITEM_HEAD, val, len);
	memmove(&n->slot[i + 1], &n->slot[i], (nr - i) * sizeof(n->slot[0]));
	n->slot[i].off = put16((uint16_t)heap);
	n->slot[i].len = put16((uint16_t)len);
	n->nr = put16((uint16_t)(nr + 1));
	n->heap = put16((uint16_t)heap);
}

void node_del(struct pmemfs_node *n, unsigned i)
{
	unsigned nr = node_nr(n), size = NODE_ITEM_HEAD + node_len(n, i);
	unsigned off = get16(n->slot[i].off);

	memmove(&n->slot[i], &n->slot[i + 1], (nr - i - 1) * sizeof(n->slot[0]));
	n->nr = put16((uint16_t)(nr - 1));
	if (nr == 1) {
		n->heap = put16(PMEMFS_BLOCK_SIZE);
		n->dead = put16(0);
	} else if (off == get16(n->heap)) {
		n->heap = put16((uint16_t)(off + size));
	} else {
		n->dead = put16((uint16_t)(get16(n->dead) + size));
	}
}

void node_rekey(struct pmemfs_node *n, unsigned i, uint64_t key)
{
	save64((uint8_t *)n + get16(n->slot[i].off), key);
}

void node_split(struct pmemfs_node *n, unsigned i, struct pmemfs_node *to)
{
	unsigned nr = node_nr(n), k, moved = 0;

	for (k = i; k < nr; k++) {
		node_put(to, k - i, node_key(n, k), node_val(n, k), node_len(n, k));
		moved += NODE_ITEM_HEAD + node_len(n, k);
	}
	n->nr = put16((uint16_t)i);
	n->dead = put16((uint16_t)(get16(n->dead) + moved));
}

void node_join(struct pmemfs_node *n, const struct pmemfs_node *from, uint64_t first_key)
{
	unsigned k;

	for (k = 0; k < node_nr(from); k++)
		node_put(n, node_nr(n), k ? node_key(from, k) : first_key,
			 node_val(from, k), node_len(from, k));
}
