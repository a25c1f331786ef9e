/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bitrot.c - flip every byte of a pool's metadata, and see who notices
 *
 * A flip: one bit of one byte. The pool is opened read-only and walked, then
 * verified, as fsck.pmemfs -n does; then once more for writing, walked,
 * changed here and there, and verified. Claims:
 *
 *   B1  nothing crashes, and nothing takes more than a few seconds;
 *   B2  each name, attribute, target and byte handed out is the right one, or
 *       the answer is -EUCLEAN or -EIO;
 *   B3  the verifier reports something, unless the byte was unused or the log
 *       puts it right;
 *   B4  where nobody had anything to report, changes leave a sound pool;
 *   B5  fsck.pmemfs gets to a pool in which the verifier finds nothing.
 *
 * A record of the log is made valid by its checksum alone, so a flip in the
 * very last one looks like a loss of power before it was complete: then the
 * pool must be as before that record. File data have no checksums and are
 * left alone; the long targets of symbolic links are file data.
 *
 * A hostile pool: one or two structures changed and sealed again, by chance or
 * by a recipe (recipes.c). Claim: B1.
 *
 * usage: bitrot [-a [-p K/N] | -n FLIPS] [-x HOSTILE] [-s SEED] [-j JOBS] [-t SECONDS] [-v]
 *        bitrot -f OFFSET.BIT | -h NUMBER | -r NUMBER | -w FOLDER
 *   -a  every byte; -p  only the K-th of N parts of them
 *   -n  so many flips in each field of each kind of structure
 *   -t  begin no further trial after that time, if each field had one
 *   -f, -h, -r  one trial, without a process of its own (for a debugger)
 *   -w  write the recipes as inputs for tests/fuzz
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "bitrot/map.h"
#include "bitrot/recipes.h"
#include "bitrot/survey.h"
#include "meta/repair.h"
#include "meta/verify.h"

#define CPU_SECONDS	20		/* a trial that takes longer hangs */
#define WALL_SECONDS	300
#define MAX_FAILURES	20u
#define MAX_JOBS	16u

enum kind { FLIP, HOSTILE, RECIPE };

struct trial {
	enum kind kind;
	uint32_t spot, number;		/* number: of a hostile pool or recipe */
	uint8_t bit;
};

/* What the processes share: where each is, and what they counted. */
struct board {
	_Atomic uint64_t done, noticed_open, noticed_walk, noticed_verify, quiet, healed, lost,
		repaired;
	_Atomic unsigned failures;
	struct { uint32_t index; char text[160]; } at[MAX_JOBS];
};

struct lab {
	struct specimen s;
	struct map map;
	struct survey ref, dropped;	/* dropped: without the last record */
	uint8_t *after;			/* the sound pool, log replayed */
	struct board *board;
	struct trial *trial;
	uint32_t nr_trials, first_round;
	uint64_t seed;
	unsigned per_stratum, hostile, jobs, seconds;
	unsigned piece, pieces;		/* of all bytes: 1..pieces */
	bool all, verbose;
	struct verify_problem first;	/* the verifier's, text not kept */
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static void quiet_log(enum log_level lvl, const char *line)
{
	(void)lvl;
	(void)line;
}

/* ---- one flip ---------------------------------------------------------- */

static void flip(struct lab *lab, uint32_t off, unsigned bit)
{
	uint8_t b = (uint8_t)(lab->s.u.base[off] ^ 1u << bit);

	undo_put(&lab->s.u, off, &b, 1);
}

static bool failed(struct lab *lab, const struct trial *t, const char *how, const char *what)
{
	const struct spot *sp = &lab->map.spot[t->spot];

	if (t->kind == HOSTILE)
		fprintf(stderr, "FAILED: hostile pool %u (-s %llu -h %u): %s %s\n", t->number,
			(unsigned long long)lab->seed, t->number, how, what);
	else if (t->kind == RECIPE)
		fprintf(stderr, "FAILED: %s (-r %u): %s %s\n", recipes[t->number].name,
			t->number, how, what);
	else
		fprintf(stderr, "FAILED: bit %u of byte %u, %s (-f %u.%u): %s %s\n", t->bit,
			sp->off, lab->map.stratum[sp->stratum].name, sp->off, t->bit,
			how, what);
	lab->board->failures++;
	return false;
}

static void on_problem(void *arg, const struct verify_problem *p)
{
	struct lab *lab = arg;

	if (lab->verbose)
		fprintf(stderr, "  verify: %s, inode %llu, offset %llu: %s\n",
			verify_kind_name(p->kind), (unsigned long long)p->ino,
			(unsigned long long)p->off, p->text);
	if (!lab->first.kind)
		lab->first = *p;
}

static uint64_t problems(struct lab *lab, struct fs *fs)
{
	struct verify_result res;

	lab->first.kind = 0;
	if (verify_fs(fs, on_problem, lab, NULL, &res))
		abort();
	return res.problems;
}

/* What was found out about a flip before anything was changed. */
struct finding { bool open, walk, verify, lost; };

/* B2 */
static bool walk_ok(struct lab *lab, const struct trial *t, struct fs *fs, const char *how,
		    struct finding *f)
{
	struct survey_result res, other;

	survey_check(&lab->ref, fs, &res);
	f->walk |= res.errors > 0;
	if (!res.wrong && !res.endless)
		return true;
	if (lab->map.spot[t->spot].in_log) {
		survey_check(&lab->dropped, fs, &other);
		f->lost = !other.wrong && !other.errors;
	}
	return f->lost || failed(lab, t, how, res.endless ? "a walk without end" : res.what);
}

static bool open_ok(struct lab *lab, const struct trial *t, bool ro, enum fs_errors errors,
		    struct fs **fs, struct finding *f)
{
	int err = specimen_open(&lab->s, ro, errors, fs);
	char text[40];

	if (!err)
		return true;
	*fs = NULL;
	f->open = true;
	snprintf(text, sizeof(text), "open: error %d", err);
	return err == -EUCLEAN || failed(lab, t, ro ? "read-only," : "for writing,", text);
}

static bool look_ok(struct lab *lab, const struct trial *t, struct finding *f)
{
	const struct spot *sp = &lab->map.spot[t->spot];
	struct fs *fs;
	bool healed, ok;

	if (!open_ok(lab, t, true, FS_ERRORS_REMOUNT_RO, &fs, f))
		return false;
	if (!fs)
		return true;
	healed = lab->s.u.base[sp->off] == lab->after[sp->off];
	ok = walk_ok(lab, t, fs, "read-only,", f);
	f->verify = problems(lab, fs) > 0;
	fs_close(fs);
	if (ok && !f->verify && !sp->quiet && !healed && !f->lost)		/* B3 */
		ok = failed(lab, t, "read-only,", "nobody noticed");
	lab->board->healed += healed;
	return ok;
}

static bool use_ok(struct lab *lab, const struct trial *t, const struct finding *seen)
{
	uint64_t dice = mix(lab->seed ^ lab->map.spot[t->spot].off);
	enum fs_errors errors = dice & 1 ? FS_ERRORS_CONTINUE : FS_ERRORS_REMOUNT_RO;
	struct finding f = { 0 };
	struct fs *fs;
	bool ok;

	if (!open_ok(lab, t, false, errors, &fs, &f))
		return false;
	if (!fs)
		return true;
	ok = walk_ok(lab, t, fs, "for writing,", &f);
	poke(fs, dice);
	if (problems(lab, fs) && !seen->open && !seen->walk && !seen->verify)	/* B4 */
		ok = failed(lab, t, "for writing,", "all was well, then the verifier complained");
	fs_close(fs);
	return ok;
}

/* As fsck.pmemfs -n does it, on a copy. -1: it gave up, else what is left. */
static int64_t repair(struct lab *lab)
{
	struct repair_options opt = {
		.path = "specimen", .look = true,
		.backend = &lab->s.be, .backend_arg = &lab->s.u,
	};
	struct repair_result res;
	struct repair *r;

	if (repair_try(&r, &opt, &res))
		return -1;
	repair_free(r);
	return (int64_t)res.left;
}

/* B5 */
static bool repair_ok(struct lab *lab, const struct trial *t)
{
	int64_t left = repair(lab);

	lab->board->repaired += left == 0;
	return left == 0 || failed(lab, t, "", left < 0 ? "no repair at all" :
				   "after the repair the verifier complained");
}

static bool try_flip(struct lab *lab, const struct trial *t)
{
	const struct spot *sp = &lab->map.spot[t->spot];
	struct finding f = { 0 };
	bool ok;

	flip(lab, sp->off, t->bit);
	ok = look_ok(lab, t, &f);
	specimen_back(&lab->s);
	flip(lab, sp->off, t->bit);
	ok = ok && use_ok(lab, t, &f);
	specimen_back(&lab->s);
	flip(lab, sp->off, t->bit);
	ok = ok && repair_ok(lab, t);
	specimen_back(&lab->s);
	lab->board->noticed_open += f.open;
	lab->board->noticed_walk += f.walk;
	lab->board->noticed_verify += f.verify;
	lab->board->lost += f.lost;
	lab->board->quiet += !f.open && !f.walk && !f.verify;
	return ok;
}

/* ---- one hostile pool -------------------------------------------------- */

static uint64_t next(uint64_t *state) { return mix(*state += 0x9e3779b97f4a7c15ull); }

/* Numbers that are something, or nearly. */
static uint64_t a_number(struct lab *lab, uint64_t *rnd)
{
	const struct geometry *geo = &lab->s.geo;
	const uint64_t few[] = {
		0, 1, 2, 3, 4, 8, 255, 256, 257, 4095, 4096, 65535, geo->data_blk,
		geo->nr_blocks - 1, geo->nr_blocks, UINT32_MAX, 1ull << 34, 1ull << 60,
		1ull << 62, 1ull << 63, UINT64_MAX, PMEMFS_MAX_SIZE,
	};
	const struct piece *p = &lab->map.piece[next(rnd) % lab->map.nr_pieces];

	switch (next(rnd) % 4) {
	case 0:
		return few[next(rnd) % ARRAY_SIZE(few)];
	case 1:
		return off_blk(p->off);
	case 2:
		return off_blk(p->off) | (1 + next(rnd) % 3) << PMEMFS_EXT_BLK_BITS;
	default:
		return next(rnd) % 300;
	}
}

static void spoil(struct lab *lab, const struct piece *p, uint64_t *rnd)
{
	static const uint8_t width[] = { 1, 2, 4, 8 };
	unsigned n = width[next(rnd) % 4];
	uint32_t pos = (uint32_t)(next(rnd) % p->len);
	uint64_t val;

	/* the head of a long structure is worth more than its bulk */
	if (next(rnd) % 3)
		pos %= p->len < 200 ? p->len : 200;
	if (next(rnd) % 2) {
		flip(lab, p->off + pos, next(rnd) % 8);
		flip(lab, p->off + (uint32_t)(next(rnd) % p->len), next(rnd) % 8);
	} else {
		pos -= pos % n;
		val = put64(a_number(lab, rnd)).raw;
		if (pos + n <= p->len)
			undo_put(&lab->s.u, p->off + pos, &val, n);
	}
}

/* Kinds of structure are equally likely, however many there are of each. */
static const struct piece *some_piece(struct lab *lab, uint64_t *rnd)
{
	uint16_t label = lab->map.piece[next(rnd) % lab->map.nr_pieces].label;
	uint32_t i, from;

	for (i = 0; i < 64 && next(rnd) % 8; i++) {
		from = (uint32_t)(next(rnd) % lab->map.nr_strata);
		for (uint32_t k = 0; k < lab->map.nr_pieces; k++)
			if (lab->map.piece[k].label == from)
				label = (uint16_t)from;
	}
	from = (uint32_t)(next(rnd) % lab->map.nr_pieces);
	for (i = 0; lab->map.piece[(from + i) % lab->map.nr_pieces].label != label; i++)
		;
	return &lab->map.piece[(from + i) % lab->map.nr_pieces];
}

static void make_hostile(struct lab *lab, uint32_t number)
{
	uint64_t rnd = mix(lab->seed) + number;
	unsigned n = 1 + next(&rnd) % 4 / 3;
	const struct piece *p;

	while (n--) {
		p = some_piece(lab, &rnd);
		if (lab->verbose)
			fprintf(stderr, "  hostile: %s at %u\n",
				lab->map.stratum[p->label].name, p->off);
		spoil(lab, p, &rnd);
		map_reseal(&lab->map, p);
	}
}

static void prepare(struct lab *lab, const struct trial *t)
{
	if (t->kind == RECIPE)
		recipes[t->number].cook(&lab->map);
	else
		make_hostile(lab, t->number);
}

/* Everything that could be done with it; false: a walk did not end. */
static bool use_hostile(struct lab *lab, const struct trial *t, struct fs *fs)
{
	struct survey_result res;
	unsigned i;

	for (i = 0; i < 3; i++) {
		survey_check(NULL, fs, &res);
		if (res.endless)
			return false;
		lab->board->noticed_walk += i == 0 && res.errors;
		if (i == 0 && t->kind == RECIPE && recipes[t->number].serve)
			recipes[t->number].serve(&lab->map, fs);
		else if (i < 2)
			poke(fs, mix(t->number) + i);
	}
	if (t->kind == RECIPE || t->number % 4 == 3)
		raze(fs);
	return true;
}

static bool meet_hostile(struct lab *lab, const struct trial *t, bool ro)
{
	enum fs_errors errors = t->kind == RECIPE || t->number & 1 ? FS_ERRORS_CONTINUE :
								     FS_ERRORS_REMOUNT_RO;
	struct survey_result res = { 0 };
	struct fs *fs;
	bool ok = true;

	prepare(lab, t);
	if (specimen_open(&lab->s, ro, errors, &fs)) {
		specimen_back(&lab->s);
		lab->board->noticed_open += ro;
		return true;
	}
	if (ro) {
		survey_check(NULL, fs, &res);
		lab->board->noticed_verify += problems(lab, fs) > 0;
		ok = !res.endless;
	} else {
		ok = use_hostile(lab, t, fs);
		problems(lab, fs);
	}
	fs_close(fs);
	specimen_back(&lab->s);
	return ok || failed(lab, t, "", "a walk without end");
}

static bool try_hostile(struct lab *lab, const struct trial *t)
{
	if (!meet_hostile(lab, t, true) || !meet_hostile(lab, t, false))
		return false;
	prepare(lab, t);
	lab->board->repaired += repair(lab) == 0;
	specimen_back(&lab->s);
	return true;
}

/* ---- trials ------------------------------------------------------------ */

static void add_trial(struct lab *lab, const struct trial *t)
{
	if (lab->nr_trials % 4096 == 0)
		lab->trial = realloc(lab->trial, (lab->nr_trials + 4096) * sizeof(*t));
	if (!lab->trial)
		abort();
	lab->trial[lab->nr_trials++] = *t;
}

static struct trial flip_at(const struct lab *lab, uint32_t spot, unsigned round)
{
	return (struct trial){ .spot = spot, .bit = mix(lab->seed + spot + round) & 7 };
}

/* The numbers of all spots, one stratum after the other; first[s]: where s begins. */
static uint32_t *sort_spots(const struct map *m, uint32_t *first)
{
	uint32_t *list = calloc(m->nr_spots, sizeof(*list)), i;
	uint32_t *fill = calloc(m->nr_strata, sizeof(*fill));

	if (!list || !fill)
		abort();
	for (i = 0, first[0] = 0; i + 1 < m->nr_strata; i++)
		first[i + 1] = first[i] + m->stratum[i].nr;
	for (i = 0; i < m->nr_spots; i++)
		list[first[m->spot[i].stratum] + fill[m->spot[i].stratum]++] = i;
	free(fill);
	return list;
}

/* Every field once, then every field a second time, and so on. */
static void plan_flips(struct lab *lab)
{
	struct map *m = &lab->map;
	uint32_t *first = calloc(m->nr_strata, sizeof(*first)), *list = sort_spots(m, first);
	uint32_t i, k;
	unsigned round;
	struct trial t;

	for (i = lab->piece - 1; lab->all && i < m->nr_spots; i += lab->pieces) {
		t = flip_at(lab, i, 0);
		add_trial(lab, &t);
	}
	for (round = 0; !lab->all && round < lab->per_stratum; round++)
		for (i = 0; i < m->nr_strata; i++) {
			if (!m->stratum[i].nr)
				continue;
			k = (uint32_t)(mix(lab->seed * 977 + i + ((uint64_t)round << 32)) %
				       m->stratum[i].nr);
			t = flip_at(lab, list[first[i] + k], round);
			add_trial(lab, &t);
			lab->first_round += round == 0;
		}
	free(first);
	free(list);
}

static void plan(struct lab *lab)
{
	struct trial t = { .kind = RECIPE };
	uint32_t i;

	for (t.number = 0; t.number < nr_recipes; t.number++)
		add_trial(lab, &t);
	plan_flips(lab);
	lab->first_round += nr_recipes;
	t.kind = HOSTILE;
	for (t.number = 0; t.number < lab->hostile; t.number++)
		add_trial(lab, &t);
	/* mixed, so that a limit of time cuts both kinds; the first round of
	 * flips stays in front */
	for (i = lab->nr_trials; !lab->all && i > lab->first_round + 1; i--) {
		uint32_t k = lab->first_round +
			(uint32_t)(mix(lab->seed + i) % (i - lab->first_round));

		t = lab->trial[i - 1];
		lab->trial[i - 1] = lab->trial[k];
		lab->trial[k] = t;
	}
}

static bool run_trial(struct lab *lab, uint32_t i)
{
	const struct itimerval limit = { .it_value.tv_sec = CPU_SECONDS };
	const struct trial *t = &lab->trial[i];

	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(WALL_SECONDS);
	lab->board->done++;
	return t->kind == FLIP ? try_flip(lab, t) : try_hostile(lab, t);
}

static void run_from(struct lab *lab, unsigned job, uint32_t i, time_t until)
{
	for (; i < lab->nr_trials; i += lab->jobs) {
		if (lab->seconds && time(NULL) >= until && i >= lab->first_round)
			break;
		lab->board->at[job].index = i;
		run_trial(lab, i);
		if (lab->board->failures >= MAX_FAILURES)
			break;
	}
	fflush(NULL);
	_exit(0);
}

/* A process whose trial killed it is replaced by one that goes on behind. */
static bool replace(struct lab *lab, unsigned job, int status)
{
	uint32_t i = lab->board->at[job].index;
	char text[60];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return false;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM ?
			 " (it hangs)" : "");
	else
		snprintf(text, sizeof(text), "exit status %d", WEXITSTATUS(status));
	failed(lab, &lab->trial[i], "the program died:", text);
	return lab->board->failures < MAX_FAILURES;
}

static void run_all(struct lab *lab)
{
	time_t until = time(NULL) + lab->seconds;
	uint32_t from[MAX_JOBS];
	pid_t pid[MAX_JOBS];
	unsigned job;
	int status;

	fflush(NULL);
	for (job = 0; job < lab->jobs; job++) {
		from[job] = job;
		pid[job] = fork();
		if (!pid[job])
			run_from(lab, job, from[job], until);
	}
	for (job = 0; job < lab->jobs; job++) {
		while (waitpid(pid[job], &status, 0) == pid[job] && replace(lab, job, status)) {
			pid[job] = fork();
			if (!pid[job])
				run_from(lab, job, lab->board->at[job].index + lab->jobs, until);
		}
	}
}

/* ---- the sound pool ---------------------------------------------------- */

/* The pool as it should be, and as it should be without the last record. */
static void measure(struct lab *lab)
{
	struct fs *fs;

	if (specimen_open(&lab->s, true, FS_ERRORS_REMOUNT_RO, &fs) || problems(lab, fs)) {
		fprintf(stderr, "the specimen is not in order\n");
		exit(1);
	}
	survey_make(&lab->ref, fs);
	lab->after = malloc(SPECIMEN_SIZE);
	memcpy(lab->after, lab->s.u.base, SPECIMEN_SIZE);
	fs_close(fs);
	specimen_back(&lab->s);

	flip(lab, (uint32_t)lab->s.last_record, 0);
	if (specimen_open(&lab->s, true, FS_ERRORS_REMOUNT_RO, &fs)) {
		fprintf(stderr, "the specimen does not open without its last record\n");
		exit(1);
	}
	survey_make(&lab->dropped, fs);
	fs_close(fs);
	specimen_back(&lab->s);
}

static void clean_up(struct lab *lab)
{
	survey_free(&lab->ref);
	survey_free(&lab->dropped);
	map_free(&lab->map);
	specimen_free(&lab->s);
	free(lab->after);
	free(lab->trial);
}

static void summary(const struct lab *lab)
{
	const struct board *b = lab->board;

	printf("%u bytes of metadata in %u kinds of field, %u structures; %zu answers\n",
	       lab->map.nr_spots, lab->map.nr_strata, lab->map.nr_pieces, lab->ref.nr);
	printf("%llu of %u trials: %llu noticed at open, %llu by the walk, %llu by verify; "
	       "%llu quiet, %llu put right by the log, %llu lost the last record; "
	       "%llu repaired\n",
	       (unsigned long long)b->done, lab->nr_trials,
	       (unsigned long long)b->noticed_open, (unsigned long long)b->noticed_walk,
	       (unsigned long long)b->noticed_verify, (unsigned long long)b->quiet,
	       (unsigned long long)b->healed, (unsigned long long)b->lost,
	       (unsigned long long)b->repaired);
	printf("%u failures\n", b->failures);
}

/* One trial, by its name. */
static int only(struct lab *lab, enum kind kind, const char *name)
{
	struct trial t = { .kind = kind, .number = (uint32_t)strtoul(name, NULL, 0) };
	const char *dot = strchr(name, '.');

	lab->verbose = true;
	log_to(NULL);
	if (kind != FLIP)
		return kind == RECIPE && t.number >= nr_recipes ? 2 : !try_hostile(lab, &t);
	t.bit = dot ? (uint8_t)(strtoul(dot + 1, NULL, 0) & 7) : 0;
	for (t.spot = 0; t.spot < lab->map.nr_spots; t.spot++)
		if (lab->map.spot[t.spot].off == t.number)
			return !try_flip(lab, &t);
	fprintf(stderr, "byte %u is no metadata\n", t.number);
	return 2;
}

/* ---- inputs for tests/fuzz ---------------------------------------------- */

/* The difference that a recipe makes to a piece, as patches. */
static void write_piece(FILE *f, const struct lab *lab, uint32_t nr, const uint8_t *sound)
{
	const struct piece *p = &lab->map.piece[nr];
	const uint8_t *is = lab->s.u.base + p->off;
	uint32_t i, n;

	for (i = 0; i < p->len; i++) {
		if (is[i] == sound[p->off + i])
			continue;
		n = p->len - i < 8 ? p->len - i : 8;
		fputc((int)(8 | (n - 1)), f);
		fputc(nr & 255, f);
		fputc((int)(nr >> 8), f);
		fputc(i & 255, f);
		fputc((int)(i >> 8), f);
		fwrite(is + i, 1, n, f);
		i += n - 1;
	}
}

static int write_corpus(struct lab *lab, const char *folder)
{
	uint8_t *sound = malloc(SPECIMEN_SIZE);
	char path[4096];
	unsigned i, nr;
	FILE *f;

	memcpy(sound, lab->s.u.base, SPECIMEN_SIZE);
	for (i = 0; i < nr_recipes; i++) {
		snprintf(path, sizeof(path), "%s/recipe-%02u", folder, i);
		f = fopen(path, "wb");
		if (!f)
			return 1;
		recipes[i].cook(&lab->map);
		fputc(0x82, f);		/* for writing, errors=continue, then razed */
		for (nr = 0; nr < lab->map.nr_pieces; nr++)
			if (lab->map.piece[nr].seal != SEAL_BITMAP)
				write_piece(f, lab, nr, sound);
		fclose(f);
		specimen_back(&lab->s);
	}
	free(sound);
	return 0;
}

static int run_plan(struct lab *lab)
{
	plan(lab);
	run_all(lab);
	summary(lab);
	return lab->board->failures ? 1 : 0;
}

static void make_lab(struct lab *lab)
{
	log_to(quiet_log);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);	/* large tables come zeroed */
	lab->board = mmap(NULL, sizeof(*lab->board), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lab->board == MAP_FAILED)
		abort();
	specimen_make(&lab->s);
	map_make(&lab->map, &lab->s);
	measure(lab);
}

static void parse_piece(struct lab *lab, const char *arg)
{
	if (sscanf(arg, "%u/%u", &lab->piece, &lab->pieces) == 2 && lab->piece &&
	    lab->piece <= lab->pieces)
		return;
	fprintf(stderr, "-p K/N: the K-th of N parts\n");
	exit(2);
}

int main(int argc, char **argv)
{
	struct lab lab = { .per_stratum = 4, .hostile = 1500, .seed = 1, .jobs = 1, .piece = 1,
		.pieces = 1 };
	const char *name = NULL, *folder = NULL;
	enum kind kind = FLIP;
	int opt, status;

	while ((opt = getopt(argc, argv, "ap:n:x:s:j:t:f:h:r:w:v")) != -1) {
		switch (opt) {
		case 'a': lab.all = true; break;
		case 'p': parse_piece(&lab, optarg); break;
		case 'n': lab.per_stratum = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'x': lab.hostile = (unsigned)strtoul(optarg, NULL, 0); break;
		case 's': lab.seed = strtoull(optarg, NULL, 0); break;
		case 'j': lab.jobs = (unsigned)min64(MAX_JOBS, strtoul(optarg, NULL, 0)); break;
		case 't': lab.seconds = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'f': kind = FLIP; name = optarg; break;
		case 'h': kind = HOSTILE; name = optarg; break;
		case 'r': kind = RECIPE; name = optarg; break;
		case 'w': folder = optarg; break;
		case 'v': lab.verbose = true; break;
		default: return 2;
		}
	}
	make_lab(&lab);
	if (name)
		status = only(&lab, kind, name);
	else
		status = folder ? write_corpus(&lab, folder) : run_plan(&lab);
	clean_up(&lab);
	return status;
}
