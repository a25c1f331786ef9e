/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.h - where the inode table lies, as a sorted list
 *
 * For those who walk a pool without trusting it (verify, repair): filled from
 * the table's extents in the order of their keys, then asked for inodes.
 */
#ifndef META_PIECES_H
#define META_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* len blocks from file block pos lie at pool block blk. */
struct piece { uint64_t pos, blk, len; };
struct pieces { struct piece *at; size_t nr, room; };

/* pos is not below the end of the last piece. false: no memory. */
bool pieces_add(struct pieces *p, uint64_t pos, uint64_t blk, uint64_t len);
/* The pool offset of an inode; 0: it lies in no piece. */
uint64_t pieces_slot_off(const struct pieces *p, uint64_t ino);
void pieces_free(struct pieces *p);

#endif
