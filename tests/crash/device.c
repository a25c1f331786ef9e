/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.c - writes whose bytes a device brings
 *
 * As the daemon does it: free blocks are reserved, the engine of src/copy sends a
 * device to fill them, and when it comes back the write takes the blocks. The device is
 * made of software (dsa/softdsa.h), so the recorder sees what it stores as a
 * window (M4): old, new or torn until somebody flushes. That completion is not
 * durability is what these loads are for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "copy/copy.h"
#include "crash/loads.h"
#include "dsa/softdsa_attach.h"

#define BLK		4096ull
#define DEVICE_THREAD	7u		/* to the recorder */

/* ---- one write -------------------------------------------------------------------- */

struct device {
	struct soft_sys sys;
	struct dsa *dsa;
	struct dsa_port *port;
};

static bool attach(struct crash *c, struct device *dev, const struct cop *op)
{
	const struct dsa_opt opt = {
		.mode = DSA_ON, .min = 1, .readback = op->flags & DEVICE_READBACK,
	};
	struct softdsa_conf conf = softdsa_usual;
	char why[200];

	conf.wq[1].max_xfer = 8192;		/* so there are batches, too */
	soft_sys_init(&dev->sys, &conf);
	if (dsa_open_on(&dev->dsa, crash_ctx(c)->fs->pm, &opt, &dev->sys.sys, &dev->sys.wq[1],
			1, why, sizeof(why)))
		return false;
	dev->port = dsa_port_open(dev->dsa, 1);
	softdsa_step(dev->sys.dev);		/* the engine tries it */
	if (op->script && !softdsa_script(dev->sys.dev, op->script, why, sizeof(why)))
		abort();
	return dev->port;
}

static void detach(struct crash *c, struct device *dev)
{
	dsa_port_close(dev->port);
	dsa_close(dev->dsa);
	if (softdsa_violations(dev->sys.dev))
		crash_complain(c, "the device: %s", softdsa_first(dev->sys.dev));
	soft_sys_end(&dev->sys);
}

/* Until it is back. Time is the device's own. */
static void wait_for(struct crash *c, struct device *dev, const struct dsa_job *j)
{
	while (!dsa_reap(dev->port))
		if (!softdsa_step(dev->sys.dev))
			dev->sys.now += 1000 + dsa_eta(dev->port);
	if (j->err || j->by_device + j->by_cpu != j->len)
		crash_complain(c, "the device's job: error %d, %zu + %zu of %zu bytes", j->err,
			       j->by_device, j->by_cpu, j->len);
}

/* With readback, whole lines are durable when the device says that it is done. */
static void readback(struct crash *c, const struct dsa_job *j)
{
	struct pm *pm = crash_ctx(c)->fs->pm;

	rec_thread(DEVICE_THREAD);
	pm_flush(pm, j->mid, j->mid_len);
	pm_fence(pm);
	rec_thread(0);
}

/*
 * Bytes of op, at buf, to blocks of their own. op->b: what happens meanwhile.
 * false: it has to go another way.
 */
bool device_land(struct crash *c, const struct cop *op, uint64_t node, const uint8_t *buf,
		 unsigned nr, struct landing *land)
{
	struct dsa_job j = { .src = buf, .len = op->y };
	struct device dev = { .dsa = NULL };
	bool done;

	if (!op_land_for(crash_ctx(c), node, op->x, op->y, land)) {
		crash_complain(c, "nothing to land in");
		return false;
	}
	j.off = land->off;
	done = attach(c, &dev, op) && !dsa_submit(dev.port, &j);
	if (!done)
		crash_complain(c, "the device does not take it");
	if (op->b)
		cop_do(c, cop_named(op->b), nr + 1);
	if (done)
		wait_for(c, &dev, &j);
	if (done && j.durable)
		readback(c, &j);
	land->durable = done && j.durable;
	detach(c, &dev);
	if (!done)
		op_land_put(crash_ctx(c)->fs, land);
	return done;
}

/*
 * What the file did not take means nothing to anybody, and is never made durable. It is
 * here, or it would look like something that was forgotten (C5).
 */
void device_leave(struct crash *c, struct landing *land)
{
	struct fs *fs = crash_ctx(c)->fs;

	for (uint64_t i = 0; i < land->len / BLK; i++)
		if (land->block[i] != LAND_TAKEN)
			pm_flush(fs->pm, land->start + i * BLK, BLK);
	op_land_put(fs, land);
}

/* ---- files of every shape --------------------------------------------------------- */

/* From the file's middle (a block's start), or its end. */
static const struct place {
	const char *name;
	bool end;
	int64_t at;
	uint64_t len;
} places[] = {
	{ "over_block", false, 0, BLK },
	{ "over_inside", false, 100, 2000 },
	{ "over_blocks", false, BLK - 1, 2 * BLK + 2 },
	{ "over_lines", false, 64, 3 * BLK - 128 },
	{ "over_much", false, -3 * (int64_t)BLK, 30 * BLK },
	{ "over_end", true, -700, 5000 },
	{ "append", true, 0, 129 },
	{ "append_blocks", true, 0, 5 * BLK },
	{ "beyond", true, 3 * BLK + 5, BLK + 77 },
};

static void run_shape(struct crash *c, const struct crash_load *l, unsigned actor)
{
	const struct place *p = &places[l->op[1]];
	struct cop op = { .kind = COP_DEVICE, .a = "f", .y = p->len };
	const struct crash_setup *setup;
	uint64_t size;

	(void)actor;
	shape_at(l->op[0], &setup, &size);
	op.x = p->end ? size : align_down(size / 2, 2 * BLK);
	op.x = p->at < 0 && op.x < (uint64_t)-p->at ? 0 : op.x + (uint64_t)p->at;
	crash_op(c, 0);
	cop_do(c, &op, 1);
}

static bool get_shapes(uint64_t i, struct crash_load *l)
{
	unsigned nr[3], radix[3] = { 2, ARRAY_SIZE(places), UINT32_MAX };
	const struct crash_setup *setup;
	uint64_t size;

	for (unsigned k = 0; k < 3; k++) {
		nr[k] = (unsigned)(i % radix[k]);
		i /= radix[k];
	}
	if (!shape_at(nr[2], &setup, &size))
		return false;
	*l = (struct crash_load){
		.setup = setup, .actors = 1, .run = run_shape, .op = { nr[2], nr[1] },
		.nr_ops = 2, .flags = LOAD_KILL | (nr[0] ? LOAD_ATOMIC : 0),
	};
	snprintf(l->name, sizeof(l->name), "dsa/%s+%s+%s", setup->name, places[nr[1]].name,
		 nr[0] ? "atomic" : "ordered");
	return true;
}

/* ---- what happens meanwhile, and what goes wrong ----------------------------------- */

static const char *const scripts[] = {
	NULL, NULL, "fault at=5000 dir=write nth=1", "fault at=0 dir=read", "never",
	"status code=0x20 nth=2", "list-fault at=1", "halt nth=1", "reorder window=4",
};

static void run_plain(struct crash *c, const struct crash_load *l, unsigned actor)
{
	struct cop op = { .kind = COP_DEVICE, .a = "f2", .x = 100, .y = 20001 };

	(void)actor;
	if (l->op[0] < nr_cops)
		op.b = cops[l->op[0]].name;
	else
		op.script = scripts[l->op[0] - nr_cops];
	if (l->op[0] >= nr_cops && l->op[0] < nr_cops + 2) {
		op.flags = DEVICE_READBACK;
		op.x = 128;
		op.y = 5 * BLK;
	}
	if (l->op[0] == nr_cops + 1)		/* to a hole */
		op.a = "f0";
	crash_op(c, 0);
	cop_do(c, &op, 1);
}

bool get_dsa(uint64_t i, struct crash_load *l)
{
	if (i >= nr_cops + ARRAY_SIZE(scripts))
		return get_shapes(i - nr_cops - ARRAY_SIZE(scripts), l);
	*l = (struct crash_load){
		.setup = &setup_plain, .actors = 1, .run = run_plain, .op = { (unsigned)i },
		.nr_ops = 1,
	};
	if (i < nr_cops)
		snprintf(l->name, sizeof(l->name), "dsa/while+%s", cops[i].name);
	else
		snprintf(l->name, sizeof(l->name), i < nr_cops + 2 ? "dsa/readback+%u" :
			 "dsa/wrong+%u", (unsigned)(i - nr_cops));
	return true;
}
