/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_boot.c - superblocks, checkpoint slots, the log
 *
 * What has to be whole before anything else can be looked at. Each step runs
 * twice: in the copy, where it tells, and, once the repair was agreed to, in
 * the pool itself.
 *
 * When both slots are bad the epoch in one of them may still be right: it is
 * if a record of the log can be read with it. The watermark is taken only if
 * every record above it is there; else the log is not replayed, for records
 * below the watermark may be about blocks that hold file data by now (L4).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/crc32c.h"
#include "meta/mend.h"
#include "meta/repair_int.h"
#include "meta/super.h"

int repair_super(struct repair *r)
{
	struct rplace at = { .off = 0 };
	const char *bad;
	int err = super_read(r->pm, &r->fs.geo, &r->super, &bad);

	if (err)
		return err;
	if (r->geo->ro_compat & ~PMEMFS_RO_COMPAT_ALL)
		return -EPROTONOSUPPORT;
	r->super_bad = bad;
	if (!bad)
		return 0;
	if (r->super == 0) {
		at.off = blk_off(r->geo->nr_blocks - 1);
		repair_tell(r, PROBLEM_SUPER_REPLICA, at,
			    "the replica of the superblock is bad: %s", bad);
	} else if (mend_is_overwritten(r->pm)) {
		repair_tell(r, PROBLEM_SUPER_FOREIGN, at,
			    "the primary superblock is something else: %s", bad);
	} else {
		repair_tell(r, PROBLEM_SUPER_PRIMARY, at,
			    "the primary superblock is bad: %s", bad);
	}
	return super_repair(r->pm, r->super);
}

/* ---- slots --------------------------------------------------------------- */

static const struct pmemfs_slot *slot_at(const struct fs *fs, unsigned i)
{
	return pm_at(fs->pm, blk_off(PMEMFS_BLK_SLOT0 + i), sizeof(struct pmemfs_slot));
}

static const char *slot_bad(const struct pmemfs_slot *s, unsigned i)
{
	if (get32(s->magic) != PMEMFS_SLOT_MAGIC)
		return "is not one";
	if (get32(s->crc) != seal_crc(s, sizeof(*s), blk_off(PMEMFS_BLK_SLOT0 + i)))
		return "has a wrong checksum";
	if (!slot_numbers_ok(s))
		return "has impossible numbers";
	return NULL;
}

static void tell_slots(struct repair *r, const struct fs *fs)
{
	const char *bad[2];
	unsigned i;

	for (i = 0; i < 2; i++)
		bad[i] = slot_bad(slot_at(fs, i), i);
	r->slots_made = bad[0] && bad[1];
	for (i = 0; i < 2; i++) {
		const struct pmemfs_slot *s = slot_at(fs, i);
		struct rplace at = { .off = blk_off(PMEMFS_BLK_SLOT0 + i) };

		if (bad[i])
			repair_tell(r, bad[!i] ? PROBLEM_SLOT_BOTH : PROBLEM_SLOT_ONE, at,
				    "checkpoint slot %u %s", i, bad[i]);
		else if (get32(s->flags) & ~(PMEMFS_SLOT_CLEAN | PMEMFS_SLOT_ERROR) ||
			 !all_zero(s->zero, sizeof(s->zero)))
			repair_tell(r, PROBLEM_SLOT_FIELDS, at,
				    "checkpoint slot %u has unknown flags or bytes", i);
	}
	if (!bad[0] && !bad[1] && get64(slot_at(fs, 0)->turn) == get64(slot_at(fs, 1)->turn))
		repair_tell(r, PROBLEM_SLOT_FIELDS,
			    (struct rplace){ .off = blk_off(PMEMFS_BLK_SLOT0) },
			    "both checkpoint slots have the same turn");
}

/* ---- both are bad -------------------------------------------------------- */

struct numbers {
	uint64_t *seq;
	size_t nr, room;
	uint64_t floor;
	bool nomem;
};

static int note_number(void *arg, const struct pmemfs_record *rec, uint32_t lane, uint64_t off)
{
	struct numbers *n = arg;
	uint64_t *grown;

	(void)lane, (void)off;
	if (n->nr == n->room) {
		n->room = n->room ? n->room * 2 : 1024;
		grown = realloc(n->seq, n->room * sizeof(*grown));
		if (!grown) {
			n->nomem = true;
			return 1;
		}
		n->seq = grown;
	}
	n->seq[n->nr++] = get64(rec->seq);
	n->floor = max64(n->floor, get64(rec->floor));
	return 0;
}

static void read_numbers(struct fs *fs, const uint8_t epoch[16], struct numbers *n)
{
	uint32_t i;

	n->nr = 0;
	n->floor = 0;
	for (i = 0; i < 2 * fs->geo.nr_lanes && !n->nomem; i++)
		redo_scan_half(fs, epoch, i / 2, i % 2, note_number, n);
}

/* Numbers that are wanted above a watermark: all up to the floor. */
static bool watermark_fits(const struct numbers *n, uint64_t mark)
{
	uint64_t above = 0, most = n->floor;
	size_t i;

	for (i = 0; i < n->nr; i++) {
		above += n->seq[i] > mark && n->seq[i] <= n->floor;
		most = max64(most, n->seq[i]);
	}
	return mark <= most && (n->floor <= mark || above == n->floor - mark);
}

/* The newest watermark that fits, of the two slots; false: none does. */
static bool guess_watermark(struct fs *fs, const struct numbers *n, uint64_t *mark)
{
	uint64_t w[2];
	bool fits[2];
	unsigned i;

	for (i = 0; i < 2; i++) {
		w[i] = get64(slot_at(fs, i)->watermark);
		fits[i] = watermark_fits(n, w[i]);
	}
	if (!fits[0] && !fits[1])
		return false;
	*mark = fits[0] && (!fits[1] || w[0] > w[1]) ? w[0] : w[1];
	return true;
}

static int random_epoch(uint8_t epoch[16])
{
	return getrandom(epoch, 16, 0) == 16 ? 0 : -EIO;
}

static int guess_slot(struct fs *fs, struct redo_start *st)
{
	struct numbers n = { .nr = 0 };
	unsigned i;
	int err = 0;

	memset(st, 0, sizeof(*st));
	for (i = 0; i < 2; i++) {
		memcpy(st->epoch, slot_at(fs, i)->epoch, sizeof(st->epoch));
		read_numbers(fs, st->epoch, &n);
		if (n.nr && guess_watermark(fs, &n, &st->watermark))
			break;
	}
	if (i == 2)			/* no record is valid in a new epoch */
		err = random_epoch(st->epoch);
	if (n.nomem)
		err = -ENOMEM;
	free(n.seq);
	st->flags = PMEMFS_SLOT_ERROR;
	return err;
}

/*
 * Two slots that can be read. Nothing is fenced: recover() writes both anew,
 * one after the other, and whatever arrives until then, of the old bytes or
 * of these, leads to the same guess again.
 */
static int make_slots(struct fs *fs)
{
	struct redo_start st;
	int err = guess_slot(fs, &st);

	for (st.turn = 1; !err && st.turn <= 2; st.turn++)
		slot_write(fs, &st, st.flags, st.turn);
	return err;
}

/* ---- the log --------------------------------------------------------------- */

int repair_boot(struct repair *r, struct fs *fs, struct redo_start *st, bool tell)
{
	uint64_t replayed = 0;
	int err = 0;

	if (tell)
		tell_slots(r, fs);
	if (slot_bad(slot_at(fs, 0), 0) && slot_bad(slot_at(fs, 1), 1))
		err = make_slots(fs);
	fs->opt.log = r->log;
	if (!err)
		err = recover(fs, st, &replayed);
	if (err || !tell)
		return err;
	r->res->replayed = replayed;
	r->res->cut = fs->cut;
	if (fs->cut)
		repair_tell(r, PROBLEM_LOG_CUT,
			    (struct rplace){ .off = blk_off(fs->geo.lanes_blk) },
			    "the log is damaged: %llu of its records are replayed, "
			    "%llu are not", (unsigned long long)replayed,
			    (unsigned long long)fs->cut);
	return 0;
}
