/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.c - put a damaged pool right: the plot
 *
 * The whole repair is done in a copy of the pool in memory (pm/overlay.h) by
 * plain stores, in rounds, until the verifier has nothing to say about the
 * copy. Only then, and only if whoever asked agrees to all of it, does
 * repair_log.c write the difference to the pool, through the log.
 *
 *   Z1  The pool is not written to before everything is decided. So asking
 *       first costs nothing, fsck -n tells exactly what fsck -y would do, and
 *       a repair that would not end in a whole pool does not begin.
 *   Z2  The scan believes what is sealed before what is not, and metadata
 *       before data: an inode with a wrong checksum gets no block that
 *       another claims, and no file gets a block that is a live tree node.
 *   Z3  A round first takes out what is bad (nothing is allocated), then puts
 *       back what can be found elsewhere with the code that serves a mount.
 *       Until the last round no block that was marked or owned is used anew.
 *   Z4  Nothing recurses or loops, whatever is on the medium; a pool that is
 *       not whole after MAX_ROUNDS rounds is reported and left alone.
 */
#include "meta/repair_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "meta/alloc.h"
#include "meta/mend.h"
#include "meta/super.h"
#include "meta/verify.h"

#define MAX_ROUNDS	10u
#define MAX_LEFT	20u		/* lines about what the verifier found */

/* ---- small things ------------------------------------------------------ */

static void hold(struct repair *r, const struct repair_problem *p)
{
	if (r->nr_held == RHELD)
		return;
	r->held[r->nr_held].p = *p;
	snprintf(r->held[r->nr_held].text, sizeof(r->held[0].text), "%s", p->text);
	r->nr_held++;
}

static void tell(struct repair *r, const struct repair_problem *p)
{
	const struct problem_info *info = problem_info(p->number);

	r->res->problems++;
	r->res->ask += info->fix == FIX_ASK;
	r->res->never += info->fix == FIX_NEVER;
	if (r->opt.fn)
		r->opt.fn(r->opt.arg, p);
}

/* Now is later. */
static void tell_held(struct repair *r)
{
	unsigned i;

	r->hold = false;
	for (i = 0; i < r->nr_held; i++) {
		r->held[i].p.text = r->held[i].text;
		tell(r, &r->held[i].p);
	}
}

void repair_tell(struct repair *r, enum problem nr, struct rplace at,
		 const char *fmt, ...)
{
	struct repair_problem p = { .number = nr, .ino = at.ino, .off = at.off };
	char text[RTEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p.text = text;
	if (r->hold)
		hold(r, &p);
	else
		tell(r, &p);
}

bool repair_stopped(const struct repair *r)
{
	return r->nomem || (r->opt.stop && r->opt.stop(r->opt.arg));
}

void repair_seal(struct repair *r, uint64_t off, void *obj, size_t len)
{
	le32 crc = put32(seal_crc(obj, len, off));

	memcpy(obj, &crc, sizeof(crc));
	pm_write(r->pm, off, obj, len);
}

struct rnode *repair_node(struct repair *r, uint64_t ino)
{
	uint64_t c = ino / PMEMFS_CHUNK_INODES;
	struct rnode *n;

	if (c >= r->nr_chunks || !r->chunk[c])
		return NULL;
	n = &r->chunk[c][ino % PMEMFS_CHUNK_INODES];
	return n->used ? n : NULL;
}

void repair_each(struct repair *r, void (*fn)(struct repair *r, uint64_t ino))
{
	uint64_t c;
	unsigned i;

	for (c = 0; c < r->nr_chunks && !repair_stopped(r); c++)
		for (i = 1; r->chunk[c] && i < PMEMFS_CHUNK_INODES; i++)
			if (r->chunk[c][i].used)
				fn(r, c * PMEMFS_CHUNK_INODES + i);
}

static void progress(struct repair *r, unsigned permille)
{
	/* the first round is most of the work; the others share what is left */
	if (r->opt.progress)
		r->opt.progress(r->opt.arg, r->round > 1 ? 700 + permille / 10 :
				permille * 7 / 10);
}

/* ---- a round ------------------------------------------------------------- */

static void forget_round(struct repair *r)
{
	uint64_t c;

	for (c = 0; c < r->nr_chunks; c++)
		free(r->chunk[c]);
	free(r->chunk);
	r->chunk = NULL;
	r->nr_chunks = 0;
	r->pieces.nr = 0;
	rmap_free(&r->owned, r->geo);
	rmap_free(&r->meta, r->geo);
	repair_puts_clear(r);
}

static void data_of_sound(struct repair *r, uint64_t ino)
{
	if (!repair_node(r, ino)->suspect)
		repair_data(r, ino);
}

static void data_of_suspects(struct repair *r, uint64_t ino)
{
	if (repair_node(r, ino)->suspect)
		repair_data(r, ino);
}

/* Blocks that still have to find their place are somebody's. */
static void own_puts(struct repair *r)
{
	const struct rput *p;
	size_t i;

	for (i = 0; i < r->nr_puts; i++) {
		p = &r->put[i];
		if (p->kind == PUT_EXTENT && repair_unowned(r, p->blk, p->len))
			repair_own(r, p->blk, p->len, false);
	}
}

/* What hangs off the inodes, and who names them. */
static void contents(struct repair *r)
{
	repair_each(r, repair_nodes);			/* Z2 */
	own_puts(r);
	progress(r, 400);
	repair_each(r, data_of_sound);
	repair_each(r, data_of_suspects);
	progress(r, 600);
	repair_each(r, repair_count_dirs);
	repair_each(r, repair_names);
	if (!r->salvaged)
		repair_salvage(r);
	r->salvaged = true;
	if (!r->nr_names)
		repair_links(r);	/* else not all names have been counted */
	repair_each(r, repair_sizes);
	progress(r, 800);
}

static int one_round(struct repair *r)
{
	forget_round(r);
	r->round++;
	if (rmap_new(&r->owned, r->geo) || rmap_new(&r->meta, r->geo))
		return -ENOMEM;
	if (r->round == 1)
		repair_groups_look(r);
	repair_areas(r);
	repair_table(r);
	progress(r, 100);
	repair_chunks(r);
	repair_root_dir(r);
	repair_heads(r);
	progress(r, 200);
	contents(r);
	if (repair_stopped(r))
		return r->nomem ? -ENOMEM : -EINTR;
	r->exact = !r->nr_puts || r->tight;		/* Z3 */
	repair_table_finish(r);
	repair_groups(r);
	repair_totals(r);
	progress(r, 1000);
	if (r->round == 1) {
		r->first = r->owned;
		r->owned.group = NULL;
	}
	return r->nomem ? -ENOMEM : 0;
}

/* ---- is it whole? ---------------------------------------------------------- */

struct left { struct repair *r; uint64_t told; bool tell; };

static void on_left(void *arg, const struct verify_problem *p)
{
	struct left *l = arg;

	if (l->tell && l->told++ < MAX_LEFT)
		repair_tell(l->r, PROBLEM_UNKNOWN, (struct rplace){ p->ino, p->off },
			    "%s: %s", verify_kind_name(p->kind), p->text);
}

static int verify(struct repair *r, bool tell, uint64_t *left)
{
	struct left l = { .r = r, .tell = tell };
	struct verify_result res;
	int err = verify_fs(&r->fs, on_left, &l, NULL, &res);

	*left = res.problems;
	return err;
}

static int rounds(struct repair *r)
{
	uint64_t left = 1;
	int err = 0;

	while (!err && left && r->round < MAX_ROUNDS) {		/* Z4 */
		err = one_round(r);
		if (!err && r->nr_puts)
			err = repair_puts_run(r);
		else if (!err)
			err = verify(r, false, &left);
		if (!err && repair_stopped(r))
			err = -EINTR;
	}
	if (!err && left)
		err = verify(r, true, &left);
	r->res->left = left;
	return err;
}

/* ---- from outside ------------------------------------------------------------ */

static int open_copy(struct repair *r)
{
	const struct repair_options *o = &r->opt;
	struct pm_config cfg = {
		.backend = o->peek ? o->peek : o->backend,
		.backend_arg = o->peek ? o->peek_arg : o->backend_arg,
		.flags = r->real || o->nolock ? PM_NOLOCK : 0, .granularity = -1,
	};
	struct pm_config over = { .backend = &pm_backend_overlay, .granularity = -1 };
	int err;

	err = pm_overlay_new(&r->ov, o->path, &cfg, false);
	if (err)
		return err;
	over.backend_arg = r->ov;
	return pm_open(&r->pm, o->path, &over);
}

static int open_both(struct repair *r)
{
	struct pm_config cfg = {
		.backend = r->opt.backend, .backend_arg = r->opt.backend_arg,
		.granularity = -1,
	};
	int err = 0;

	if (!r->opt.look)
		err = pm_open(&r->real, r->opt.path, &cfg);
	if (!err)
		err = open_copy(r);
	if (err)
		return err;
	r->fs.pm = r->pm;
	r->fs.opt.errors = FS_ERRORS_CONTINUE;
	r->geo = &r->fs.geo;
	if (pm_size(r->pm) >= PMEMFS_MIN_POOL)
		return repair_super(r);
	log_err("not a pmemfs pool: too small to be one");
	return -EMEDIUMTYPE;
}

/* All that comes behind the boot. */
static int work(struct repair *r)
{
	uint64_t fault = pm_fault_mark(r->pm), off = 0;
	int err;

	r->distrust = calloc(DIV_UP(r->geo->nr_groups, 64), sizeof(uint64_t));
	if (!r->distrust)
		return -ENOMEM;
	tell_held(r);
	err = rounds(r);
	if (pm_faulted(r->pm, fault)) {
		pm_fault_count(r->pm, &off);
		repair_tell(r, PROBLEM_MEDIUM, (struct rplace){ .off = off },
			    "memory of the pool cannot be read; nothing is repaired");
		return err ? err : -EIO;
	}
	return err;
}

/* Up to where the log has been replayed; what there is to tell is held. */
static int begin(struct repair **out, const struct repair_options *opt,
		 struct repair_result *res, enum fs_log log)
{
	struct repair *r = calloc(1, sizeof(*r));
	int err;

	memset(res, 0, sizeof(*res));
	if (!r)
		return -ENOMEM;
	r->opt = *opt;
	r->res = res;
	r->log = log;
	r->hold = true;
	err = open_both(r);
	if (!err)
		err = repair_boot(r, &r->fs, &r->st, true);
	if (err)
		repair_free(r);
	else
		*out = r;
	return err;
}

/* How much there is to repair after a damaged log was replayed this way. */
static uint64_t score(const struct repair_options *opt, enum fs_log log, int *err)
{
	struct repair_options quiet = *opt;
	struct repair_result res;
	struct repair *r;

	quiet.fn = NULL;
	quiet.progress = NULL;
	if (!*err)
		*err = begin(&r, &quiet, &res, log);
	if (*err)
		return 0;
	*err = work(r);
	repair_free(r);
	return res.left || res.never ? UINT64_MAX : res.ask;
}

/*
 * Whether what the records behind the damage did is in place cannot be told:
 * it is if a daemon died, and mostly not if the power failed. In the first
 * case replaying those before it would mix old bytes with new. Try both.
 */
static int choose_log(struct repair **r, const struct repair_options *opt,
		      struct repair_result *res)
{
	uint64_t cut, none;
	int err = 0;

	repair_free(*r);
	*r = NULL;
	cut = score(opt, FS_LOG_CUT, &err);
	none = score(opt, FS_LOG_NONE, &err);
	if (!err)
		err = begin(r, opt, res, none < cut ? FS_LOG_NONE : FS_LOG_CUT);
	return err;
}

int repair_try(struct repair **out, const struct repair_options *opt,
	       struct repair_result *res)
{
	struct repair *r = NULL;
	int err = begin(&r, opt, res, FS_LOG_CUT);

	if (!err && res->cut)
		err = choose_log(&r, opt, res);
	if (!err)
		err = work(r);
	if (!err)
		*out = r;
	else
		repair_free(r);
	return err;
}

void repair_free(struct repair *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->nr_puts; i++)
		r->put[i].again = false;
	if (r->geo)
		forget_round(r);
	if (r->geo)
		rmap_free(&r->first, r->geo);
	free(r->distrust);
	pieces_free(&r->pieces);
	free(r->put);
	pm_close(r->pm);
	pm_overlay_free(r->ov);
	pm_close(r->real);
	free(r);
}

/* ---- for real ------------------------------------------------------------------ */

/* The mark stays in the slots until all of it is done. */
static int write_all(struct repair *r, struct fs *fs)
{
	struct redo_start st;
	int err;

	if (r->super_bad) {
		err = super_repair(fs->pm, r->super);
		if (err)
			return err;
	}
	err = repair_boot(r, fs, &st, false);
	if (!err)
		err = redo_open(fs, &st);
	if (!err)
		err = alloc_open(fs, 0);
	if (err)
		return err;
	redo_note_error(fs);
	err = redo_checkpoint(fs, true);
	if (!err)
		err = repair_transfer(r, fs);
	if (err)
		return err;
	mend_totals(fs, r->nr_free, r->nr_used);
	mend_clear_error(fs);
	return redo_checkpoint(fs, true);
}

int repair_write(struct repair *r)
{
	struct fs *fs;
	int err;

	if (!r->real || r->res->left || r->res->never)
		return -EINVAL;
	fs = calloc(1, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	fs->pm = r->real;
	fs->geo = r->fs.geo;
	fs->opt.errors = FS_ERRORS_CONTINUE;
	err = write_all(r, fs);
	alloc_close(fs);
	redo_close(fs);
	free(fs);
	return err;
}
