/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.h - what every byte of a pool's metadata is
 *
 * Read from the image by the letter of format.h. A *piece* is a structure
 * with (mostly) a checksum of its own; a *spot* is one byte, and belongs to a
 * *stratum*: a field of a kind of structure, such as "inode file tree.size".
 */
#ifndef BITROT_MAP_H
#define BITROT_MAP_H

#include "bitrot/specimen.h"

enum seal {			/* where the checksum is */
	SEAL_NONE,
	SEAL_OWN,		/* in the first four bytes, seeded with the offset */
	SEAL_SUPER,		/* the same, seeded with 0 */
	SEAL_INODE,		/* the same, of the first 192 bytes */
	SEAL_CHUNK, SEAL_RECORD,
	SEAL_BITMAP,		/* in the group's descriptor */
};

struct piece {
	uint32_t off, len;
	uint16_t label;
	uint8_t seal;		/* enum seal */
};

struct spot {
	uint32_t off;
	uint16_t stratum;
	bool quiet;		/* nobody needs to notice: unused, by the format */
	bool in_log;
};

struct stratum {
	char name[64];
	uint32_t nr;			/* spots */
};

struct map {
	struct specimen *s;
	struct piece *piece;
	struct spot *spot;
	struct stratum *stratum;
	uint32_t nr_pieces, nr_spots, nr_strata;
	uint32_t max_pieces, max_spots, max_strata;
};

void map_make(struct map *m, struct specimen *s);
void map_free(struct map *m);
/* Make the checksums of a piece right again, whatever is in it. */
void map_reseal(const struct map *m, const struct piece *p);

#endif
