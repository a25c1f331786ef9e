/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.h - one B+tree node: a slotted page of keys and values
 *
 * Works on a node in memory, shadow or medium; knows nothing of trees. What is
 * on the medium may stop being a node at any time (a hostile pool maps a file
 * over it): reading keys and children stays near the block all the same.
 */
#ifndef META_NODE_H
#define META_NODE_H

#include "base/bytes.h"

#define NODE_ITEM_HEAD	8u		/* the key in front of a value */
#define NODE_ROOM	(PMEMFS_BLOCK_SIZE - PMEMFS_NODE_HEAD)

static inline unsigned node_nr(const struct pmemfs_node *n)
{
	return (unsigned)min64(get16(n->nr), ARRAY_SIZE(n->slot));
}
static inline const uint8_t *node_item(const struct pmemfs_node *n, unsigned i)
{
	return (const uint8_t *)n + get16(n->slot[i].off) % PMEMFS_BLOCK_SIZE;
}
static inline uint64_t node_key(const struct pmemfs_node *n, unsigned i)
{
	return load64(node_item(n, i));
}
static inline const uint8_t *node_val(const struct pmemfs_node *n, unsigned i)
{
	return node_item(n, i) + NODE_ITEM_HEAD;
}
static inline unsigned node_len(const struct pmemfs_node *n, unsigned i)
{
	return get16(n->slot[i].len);
}
static inline uint64_t node_child(const struct pmemfs_node *n, unsigned i)
{
	return load64(node_val(n, i));
}

/* NULL or what is wrong with its inside (seal, owner and place: the caller). */
const char *node_check(const struct pmemfs_node *n);
/*
 * The same for verify and repair, complete and slower: NULL or what the node
 * does that a sound one does not. Its head; then its items, which lie between
 * heap and end, do not overlap, and leave `dead` bytes.
 */
const char *node_head_bad(const struct pmemfs_node *n);
const char *node_items_bad(const struct pmemfs_node *n);
void node_init(struct pmemfs_node *n, enum pmemfs_tree kind, unsigned level, uint64_t owner);
/* First slot with key >= key (nr: none). */
unsigned node_lower(const struct pmemfs_node *n, uint64_t key);
/* The slot of the child that key belongs to (inner nodes). */
unsigned node_route(const struct pmemfs_node *n, uint64_t key);
/* Bytes that items and slots take, and that are free for more. */
unsigned node_used(const struct pmemfs_node *n);
bool node_fits(const struct pmemfs_node *n, size_t len);
/* Put an item at slot i; there is room (compacts if it must). */
void node_put(struct pmemfs_node *n, unsigned i, uint64_t key, const void *val, size_t len);
void node_del(struct pmemfs_node *n, unsigned i);
/* Change the key of an item; the order must hold when the caller is done. */
void node_rekey(struct pmemfs_node *n, unsigned i, uint64_t key);
/* Move the items from slot i on into the empty node to. */
void node_split(struct pmemfs_node *n, unsigned i, struct pmemfs_node *to);
/* Append all of from; its first key becomes first_key. There is room. */
void node_join(struct pmemfs_node *n, const struct pmemfs_node *from, uint64_t first_key);

#endif
