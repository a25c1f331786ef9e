/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey.h - everything that a mounted pool hands out, and whether it is right
 *
 * A survey goes through all names, attributes, extended attributes, targets
 * and bytes by the calls of op.h. The first, of a sound pool, is kept; a
 * later one is held against it: each answer must be the one of the first, or
 * say that something is damaged (-EUCLEAN, -EIO).
 */
#ifndef BITROT_SURVEY_H
#define BITROT_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs;

struct answer {
	char *path;
	char aspect;
	int err;
	uint64_t hash;
};

struct survey {
	struct answer *answer;		/* sorted by path and aspect */
	size_t nr, room;
};

struct survey_result {
	unsigned answers, errors;
	bool wrong, endless;
	char what[400];			/* the first wrong one */
};

void survey_make(struct survey *sv, struct fs *fs);
void survey_free(struct survey *sv);
/* ref NULL: there is nothing to compare with (a hostile pool). */
void survey_check(const struct survey *ref, struct fs *fs, struct survey_result *res);

/*
 * poke.c: change a little of everything: make, write, cut, punch, link,
 * move, remove, drain, checkpoint. Answers are ignored; seed says in which
 * order things happen.
 */
void poke(struct fs *fs, uint64_t seed);
/* Remove all that can be removed, and drain. */
void raze(struct fs *fs);

#endif
