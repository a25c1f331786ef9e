/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_check.c - mount a crash image and judge what is there (C1..C4)
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "copy/copy.h"
#include "meta/mend.h"
#include "meta/super.h"
#include "meta/verify.h"
#include "support/crash_int.h"

#define PROBE	"zz-probe"
#define NO_POOL	1u			/* instead of a digest */

/* ---- mounting -------------------------------------------------------------- */

static void fixed_clock(struct timespec *now)
{
	*now = (struct timespec){ .tv_sec = 9000000 };
}

static void complain(struct crash_look *out, const char *what, const char *text)
{
	if (!*out->bad)
		snprintf(out->bad, sizeof(out->bad), "%.80s: %.400s", what, text);
}

/* Something that is not a mount is in the middle of its work. */
static bool in_flight(const struct crash *c)
{
	return c->load->raw && !c->actor[0].acked;
}

struct verifying {
	struct crash *c;
	struct crash_look *out;
};

static void problem(void *arg, const struct verify_problem *p)
{
	struct verifying *v = arg;
	char text[400];

	if (in_flight(v->c) && p->kind == VERIFY_SUPER)
		return;			/* one of the two may be bad now */
	snprintf(text, sizeof(text), "%s, inode %llu, offset %#llx: %s",
		 verify_kind_name(p->kind), (unsigned long long)p->ino,
		 (unsigned long long)p->off, p->text);
	complain(v->out, "verify", text);
}

static uint64_t verify(struct crash *c, struct fs *fs, struct crash_look *out)
{
	struct verifying v = { c, out };
	struct verify_result res;

	if (verify_fs(fs, problem, &v, NULL, &res))
		complain(out, "verify", "no memory");
	return res.orphans;
}

/* May it be that there is no pool to mount, as things are? */
static bool may_be_none(struct crash *c)
{
	struct pm_config cfg = {
		.backend = &pm_backend_undo, .backend_arg = &c->image,
		.granularity = c->granularity,
	};
	struct geometry geo;
	const char *other;
	struct pm *pm;
	bool none, foreign;
	int which;

	if (!in_flight(c) || pm_open(&pm, "image", &cfg))
		return false;
	none = super_read(pm, &geo, &which, &other);
	foreign = mend_is_overwritten(pm);
	pm_close(pm);
	if (c->load->flags & LOAD_ONE_SUPER)
		return foreign && !none;	/* fsck.pmemfs -y has it back */
	return c->load->flags & LOAD_NO_POOL && (none || foreign);
}

/* S3: the replica of a new pool is durable before its primary may be there. */
static bool half_made(struct fs *fs)
{
	struct geometry geo;
	const char *other;
	int which;

	return !super_read(fs->pm, &geo, &which, &other) && which == 0 && other;
}

static struct fs *mount_image(struct crash *c, struct pm_rec *rec, bool ro,
			      struct crash_look *out)
{
	struct fs_options opt = c->opt;
	char text[32];
	struct fs *fs;
	int err;

	opt.backend = rec ? &pm_backend_record : &pm_backend_undo;
	opt.backend_arg = rec ? (void *)rec : (void *)&c->image;
	opt.clock = fixed_clock;
	opt.atime = FS_NOATIME;
	opt.ro = ro;
	err = fs_open(&fs, "image", &opt);
	if (!err && c->load->raw && c->load->new_uuid == fs->geo.uuid[0] && half_made(fs))
		complain(out, "superblocks", "the primary is new, and the replica is not good");
	if (!err)
		return fs;
	if (may_be_none(c)) {
		out->d.seen[0] = NO_POOL;
		return NULL;
	}
	snprintf(text, sizeof(text), "mount failed (%d)", err);
	complain(out, text, crash_last_line());
	return NULL;
}

static void digest(struct crash *c, struct fs *fs, struct tree_digest *d,
		   struct crash_look *out)
{
	struct op_ctx ctx = { .fs = fs, .pid = 1 };
	char text[32];
	int err = tree_digest(&ctx, c->load->actors, d);

	if (!err)
		return;
	snprintf(text, sizeof(text), "looking failed (%d)", err);
	complain(out, text, crash_last_line());
}

static bool same(const struct tree_digest *a, const struct tree_digest *b)
{
	return !memcmp(a->seen, b->seen, sizeof(a->seen));
}

/* C2 and C3; orphans are gone afterwards. */
static void look_at(struct crash *c, struct fs *fs, struct crash_look *out)
{
	struct tree_digest drained;
	uint64_t orphans = verify(c, fs, out);

	digest(c, fs, &out->d, out);
	if (orphans) {
		if (fs_drain(fs))
			complain(out, "draining orphans failed", crash_last_line());
		if (fs_checkpoint(fs))
			complain(out, "checkpoint failed", crash_last_line());
		if (verify(c, fs, out))
			complain(out, "verify", "orphans are left");
		digest(c, fs, &drained, out);
		if (!same(&drained, &out->d))
			complain(out, "drain", "the tree changed");
		out->d = drained;
	}
	if (!fs_writable(fs))
		complain(out, "the mount is read-only", crash_last_line());
}

/* Whatever was recovered must be fit to be used. */
static void use(struct crash *c, struct fs *fs, struct crash_look *out)
{
	struct op_ctx ctx = { .fs = fs, .pid = 1 };
	uint8_t bytes[5000], is[5000];
	struct payload p = payload_mem(bytes, sizeof(bytes));
	struct op_entry e;
	size_t n;
	int err = op_mknod(&ctx, PMEMFS_ROOT_INO, PROBE, strlen(PROBE), 0100600, 0, &e);

	crash_bytes(bytes, 77, 0, sizeof(bytes));
	if (!err) {
		err = op_write(&ctx, e.nodeid, 0, &p, 0, &n);
		if (!err && n == sizeof(bytes) &&
		    (op_pread(&ctx, e.nodeid, is, sizeof(is), 0, &n) || memcmp(is, bytes, n)))
			complain(out, "use", "bytes written after recovery are not there");
		if (op_unlink(&ctx, PMEMFS_ROOT_INO, PROBE, strlen(PROBE)))
			err = -EIO;
		op_forget(fs, e.nodeid, 1);
	}
	if (err && err != -ENOSPC)
		complain(out, "use after recovery failed", crash_last_line());
	if (fs_checkpoint(fs))
		complain(out, "checkpoint failed", crash_last_line());
	verify(c, fs, out);
}

void crash_look(struct crash *c, struct pm_rec *rec, bool deep, struct crash_look *out)
{
	struct crash_look again = { .bad = "" };
	struct fs *fs;

	memset(out, 0, sizeof(*out));
	crash_seed_random(1);
	fs = mount_image(c, rec, false, out);
	if (!fs)
		return;
	look_at(c, fs, out);
	fs_crash(fs);
	if (*out->bad || !deep)
		return;
	crash_seed_random(2);
	fs = mount_image(c, NULL, false, out);	/* C4 */
	if (!fs)
		return;
	look_at(c, fs, &again);
	if (!same(&again.d, &out->d))
		complain(out, "recovered again", "the tree changed");
	if (*again.bad)
		complain(out, "recovered again", again.bad);
	use(c, fs, out);
	fs_crash(fs);
}

void crash_look_live(struct crash *c, struct tree_digest *d)
{
	struct fs_options opt = c->opt;
	struct op_ctx ctx = { .pid = 1 };

	opt.backend = &pm_backend_undo;
	opt.backend_arg = &c->live;
	memset(d, 0, sizeof(*d));
	d->seen[0] = NO_POOL;
	if (fs_open(&ctx.fs, "live", &opt))
		return;
	if (tree_digest(&ctx, 1, d))
		crash_complain(c, "the tree cannot be looked at: %s", crash_last_line());
	fs_crash(ctx.fs);
}

/* L14. A reader replays into a copy, and sees the same; but its orphans stay. */
const char *crash_look_ro(struct crash *c, const struct tree_digest *d)
{
	static struct crash_look out;
	struct tree_digest is;
	struct fs *fs;

	memset(&out, 0, sizeof(out));
	fs = mount_image(c, NULL, true, &out);
	if (!fs)
		return *out.bad ? out.bad : NULL;
	digest(c, fs, &is, &out);
	fs_crash(fs);
	if (!*out.bad && memcmp(is.seen, d->seen, sizeof(is.seen)))
		complain(&out, "read-only mount", "another tree");
	return *out.bad ? out.bad : NULL;
}

/* ---- judging ---------------------------------------------------------------- */

static bool take_picture(struct crash *c, struct tree_picture *p)
{
	struct crash_look out = { .bad = "" };
	struct op_ctx ctx = { .pid = 1 };
	int err;

	crash_seed_random(1);
	ctx.fs = mount_image(c, NULL, false, &out);
	if (!ctx.fs)
		return false;
	if (fs_drain(ctx.fs))
		complain(&out, "drain", "failed");
	err = tree_picture(&ctx, p);
	fs_crash(ctx.fs);
	return !err;
}

static bool known_fine(const struct crash *c, uint64_t seen, unsigned at)
{
	if (c->fine_at != at)
		return false;
	for (unsigned i = 0; i < c->nr_fine; i++)
		if (c->fine[i] == seen)
			return true;
	return false;
}

static void now_fine(struct crash *c, uint64_t seen, unsigned at)
{
	if (c->fine_at != at || c->nr_fine == ARRAY_SIZE(c->fine))
		c->nr_fine = 0;
	c->fine_at = at;
	c->fine[c->nr_fine++] = seen;
}

/* With one actor and a call in flight that may leave a mixture. */
static const char *judge_blur(struct crash *c, const struct tree_digest *d)
{
	struct crash_actor *a = &c->actor[0];
	struct crash_state *was = &a->state[a->acked];
	struct tree_picture p;
	const char *what = "cannot be looked at";

	if (known_fine(c, d->seen[0], a->acked))
		return NULL;
	if (take_picture(c, &p))
		what = tree_between(&p, &was[0].p, &was[1].p, &was->blur);
	tree_picture_free(&p);
	if (!what)
		now_fine(c, d->seen[0], a->acked);
	return what;
}

static bool matches(const struct crash *c, const struct crash_state *s, unsigned i,
		    const struct tree_digest *d)
{
	return s->d.seen[i] == d->seen[i] &&
	       (s->d.blocks[i] == d->blocks[i] || c->load->flags & LOAD_ANY_BLOCKS);
}

static const char *judge_actor(const struct crash *c, unsigned i, const struct tree_digest *d)
{
	const struct crash_actor *a = &c->actor[i];
	const struct crash_state *s = &a->state[a->acked];
	bool busy = a->begun > a->acked;

	if (matches(c, s, i, d) || (busy && matches(c, s + 1, i, d)))
		return NULL;
	if (s[0].d.seen[i] == d->seen[i] || (busy && s[1].d.seen[i] == d->seen[i]))
		return "the blocks that files hold differ";
	return busy ? "neither the tree before the call nor after it" :
		      "not the tree that was acknowledged";
}

const char *crash_judge(struct crash *c, const struct tree_digest *d)
{
	struct crash_actor *a = &c->actor[0];
	const char *what = NULL;

	if (c->load->raw && d->seen[0] == NO_POOL)
		return in_flight(c) ? NULL : "no pool is left";
	for (unsigned i = 0; i < c->load->actors && !what; i++)
		what = judge_actor(c, i, d);
	if (what && c->load->actors == 1 && a->begun > a->acked &&
	    a->state[a->acked].blur.node)
		what = judge_blur(c, d);
	return what;
}

void crash_show_diff(struct crash *c)
{
	struct crash_actor *a = &c->actor[0];
	struct tree_picture p;

	if (c->load->actors > 1 || !take_picture(c, &p))
		return;
	printf("    against the tree after call %u:\n", a->acked);
	tree_print_diff(stdout, &p, &a->state[a->acked].p);
	if (a->begun > a->acked) {
		printf("    against the tree after call %u:\n", a->begun);
		tree_print_diff(stdout, &p, &a->state[a->begun].p);
	}
	tree_picture_free(&p);
}

/* ---- images seen before -------------------------------------------------------- */

#define CACHE_MAX	(1u << 20)

static struct crash_cached *slot(struct crash *c, uint64_t key)
{
	size_t i = key & (c->cache_room - 1);

	while (c->cache[i].key && c->cache[i].key != key)
		i = (i + 1) & (c->cache_room - 1);
	return &c->cache[i];
}

static void grow(struct crash *c)
{
	struct crash_cached *old = c->cache;
	size_t n = c->cache_room;

	if (n >= CACHE_MAX) {
		crash_cache_drop(c);
		return;
	}
	c->cache_room = n ? n * 2 : 4096;
	c->cache = calloc(c->cache_room, sizeof(*c->cache));
	assert(c->cache);
	for (size_t i = 0; i < n; i++)
		if (old[i].key)
			*slot(c, old[i].key) = old[i];
	free(old);
}

struct crash_cached *crash_cache_find(struct crash *c, uint64_t key)
{
	struct crash_cached *e = c->cache_room ? slot(c, key | 1) : NULL;

	return e && e->key ? e : NULL;
}

void crash_cache_add(struct crash *c, uint64_t key, const struct tree_digest *d, bool deep)
{
	struct crash_cached *e;

	if (c->cached * 2 >= c->cache_room)
		grow(c);
	e = slot(c, key | 1);
	if (!e->key)
		c->cached++;
	*e = (struct crash_cached){ .key = key | 1, .d = *d, .deep = deep };
}

void crash_cache_drop(struct crash *c)
{
	if (c->cache)
		memset(c->cache, 0, c->cache_room * sizeof(*c->cache));
	c->cached = 0;
}
