/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_sysfs.c - what a work queue is, in every way in which sysfs can say it or not
 *
 * Over trees of our own. What libaccel-config makes of such trees is
 * tests/system/s_dsafind.sh's matter.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "copy/dsa_sysfs.h"
#include "support/check_main.h"

static char root[64];
static char why[256];

struct attr { const char *dir, *name, *value; };

static const struct attr good[] = {
	{ "dsa0", "max_groups", "4" }, { "dsa0", "max_work_queues", "8" },
	{ "dsa0", "max_engines", "4" }, { "dsa0", "max_work_queues_size", "128" },
	{ "dsa0", "numa_node", "1" }, { "dsa0", "max_batch_size", "1024" },
	{ "dsa0", "max_transfer_size", "2147483648" },
	{ "dsa0", "op_cap", "0x1003f03ff 0x0 0x0 0x0" }, { "dsa0", "gen_cap", "0x40915f010f" },
	{ "dsa0", "configurable", "1" }, { "dsa0", "pasid_enabled", "1" },
	{ "dsa0", "cdev_major", "237" }, { "dsa0", "version", "0x100" },
	{ "dsa0", "state", "enabled" }, { "dsa0", "clients", "0" },
	{ "dsa0", "cmd_status", "0x0" },
	{ "wq0.1", "group_id", "2" }, { "wq0.1", "size", "32" }, { "wq0.1", "priority", "10" },
	{ "wq0.1", "block_on_fault", "0" }, { "wq0.1", "mode", "shared" },
	{ "wq0.1", "state", "enabled" }, { "wq0.1", "cdev_minor", "1" },
	{ "wq0.1", "type", "user" }, { "wq0.1", "name", "test" },
	{ "wq0.1", "threshold", "28" }, { "wq0.1", "max_batch_size", "32" },
	{ "wq0.1", "max_transfer_size", "2097152" },
	{ "group0.2", "engines", "engine0.0 engine0.1 engine0.3" },
};

/* Those that we read ourselves. */
static bool we_read(const struct attr *a)
{
	static const char *const ours[] = {
		"dsa0/numa_node", "dsa0/op_cap", "dsa0/gen_cap", "dsa0/pasid_enabled",
		"dsa0/state", "wq0.1/size", "wq0.1/block_on_fault", "wq0.1/mode",
		"wq0.1/state", "wq0.1/type", "wq0.1/threshold", "wq0.1/max_batch_size",
		"wq0.1/max_transfer_size",
	};
	char name[64];

	snprintf(name, sizeof(name), "%s/%s", a->dir, a->name);
	for (unsigned i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strcmp(name, ours[i]))
			return true;
	return false;
}

static bool library_needs(const char *name)
{
	return !strcmp(name, "dsa0/cmd_status") || !strcmp(name, "wq0.1/type");
}

/* ---- a tree -------------------------------------------------------------------- */

static const char *place(const char *dir, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/sys/bus/dsa/devices/%s/%s", root, dir, name);
	return path;
}

static void put(const char *dir, const char *name, const char *value)
{
	FILE *f = fopen(place(dir, name), "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f, "%s\n", value);
	fclose(f);
}

static void start(void)
{
	static const char *const dirs[] = {
		"/sys", "/sys/bus", "/sys/bus/dsa", "/sys/bus/dsa/devices",
		"/sys/bus/dsa/devices/dsa0", "/sys/bus/dsa/devices/wq0.1",
		"/sys/bus/dsa/devices/group0.2",
		"/sys/bus/dsa/devices/dsa!wq0.1", "/sys/bus/dsa/devices/file0",
	};
	char path[128];

	snprintf(root, sizeof(root), "/tmp/t_dsa_sysfs.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	for (unsigned i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		ck_assert_int_eq(mkdir(path, 0755), 0);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++)
		put(good[i].dir, good[i].name, good[i].value);
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void stop(void)
{
	ck_assert_int_eq(nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int look(struct dsa_wq *wq)
{
	*wq = (struct dsa_wq){ .name = "wq0.1", .path = "/dev/dsa/wq0.1" };
	*why = '\0';
	return dsa_sysfs_wq(root, wq, why, sizeof(why));
}

static void refused(const char *text)
{
	struct dsa_wq wq;

	ck_assert_int_lt(look(&wq), 0);
	if (!strstr(why, text))
		ck_abort_msg("\"%s\" does not say \"%s\"", why, text);
}

/* ---- claims ---------------------------------------------------------------------- */

START_TEST(a_sound_tree)
{
	struct dsa_wq wq;

	start();
	ck_assert(dsa_sysfs_any(root));
	ck_assert(dsa_sysfs_sound(root, why, sizeof(why)));
	ck_assert_int_eq(look(&wq), 0);
	ck_assert_str_eq(wq.dev, "dsa0");
	ck_assert_str_eq(wq.path, "/dev/dsa/wq0.1");
	ck_assert(wq.shared && wq.batch && wq.readback && !wq.block_on_fault);
	ck_assert_uint_eq(wq.size, 32);
	ck_assert_uint_eq(wq.threshold, 28);
	ck_assert_uint_eq(wq.max_transfer, 2 << 20);
	ck_assert_uint_eq(wq.max_batch, 32);
	ck_assert_int_eq(wq.node, 1);
	ck_assert_uint_eq(wq.engines, 3);

	put("wq0.1", "mode", "dedicated");
	put("wq0.1", "threshold", "0");
	put("wq0.1", "group_id", "-1");
	put("dsa0", "gen_cap", "0x4091500000f");
	put("dsa0", "numa_node", "-1");
	put("wq0.1", "block_on_fault", "1");
	put("wq0.1", "max_transfer_size", "9223372036854775807");
	ck_assert_int_eq(look(&wq), 0);
	ck_assert(!wq.shared && !wq.readback && wq.block_on_fault);
	ck_assert_uint_eq(wq.threshold, 32);
	ck_assert_uint_eq(wq.engines, 1);
	ck_assert_uint_eq(wq.max_transfer, DSA_TRANSFER_MAX);
	ck_assert_int_eq(wq.node, -1);
	stop();
}
END_TEST

START_TEST(no_device)
{
	start();
	stop();
	ck_assert(!dsa_sysfs_any(root));
	ck_assert(!dsa_sysfs_sound(root, why, sizeof(why)));
	refused("wq0.1/state");
	ck_assert_int_eq(dsa_sysfs_state(root, &(struct dsa_wq){ .name = "wq0.1", .dev = "dsa0" }),
			 DSA_WQ_GONE);
}
END_TEST

/* Each attribute in turn. Where the library would fail it is not asked; nor do we guess. */
START_TEST(without_an_attribute)
{
	char name[64];
	struct dsa_wq wq;

	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		const struct attr *a = &good[i];

		start();
		snprintf(name, sizeof(name), "%s/%s", a->dir, a->name);
		ck_assert_int_eq(unlink(place(a->dir, a->name)), 0);
		*why = '\0';
		ck_assert_int_eq(dsa_sysfs_sound(root, why, sizeof(why)), !library_needs(name));
		ck_assert(!library_needs(name) || strstr(why, name));
		put(a->dir, a->name, "");
		ck_assert_int_eq(truncate(place(a->dir, a->name), 0), 0);
		ck_assert_int_eq(dsa_sysfs_sound(root, why, sizeof(why)), !library_needs(name));
		ck_assert_int_eq(unlink(place(a->dir, a->name)), 0);
		if (we_read(a) && strcmp(a->name, "block_on_fault"))
			refused(name);
		else
			ck_assert_int_eq(look(&wq), 0);
		stop();
	}
}
END_TEST

START_TEST(attributes_that_make_no_sense)
{
	static const char *const bad[] = { "", "x", "12x", "-2", "99999999999999999999999", " " };
	char name[64];

	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		const struct attr *a = &good[i];

		start();
		snprintf(name, sizeof(name), "%s", strcmp(a->name, "state") &&
			 strcmp(a->name, "type") ? a->name : a->dir);
		for (unsigned k = 0; we_read(a) && k < ARRAY_SIZE(bad); k++) {
			put(a->dir, a->name, bad[k]);
			refused(name);
		}
		stop();
	}
}
END_TEST

START_TEST(queues_that_are_not_for_us)
{
	struct dsa_wq wq = { .name = "wq0.1x" };

	start();
	put("wq0.1", "state", "disabled");
	refused("wq0.1 is disabled, not enabled");
	put("wq0.1", "state", "enabled");
	put("wq0.1", "type", "kernel");
	refused("wq0.1 has type kernel");
	put("wq0.1", "type", "user");
	put("dsa0", "state", "disabled");
	refused("device dsa0 is disabled");
	put("dsa0", "state", "enabled");
	put("dsa0", "pasid_enabled", "0");
	refused("intel_iommu=on,sm_on");
	put("dsa0", "pasid_enabled", "1");
	put("dsa0", "op_cap", "0x1003f03f7 0x0 0x0 0x0");
	refused("cannot copy");
	put("dsa0", "op_cap", "0x1003f03ff 0x0 0x0 0x0");
	put("wq0.1", "max_transfer_size", "4095");
	refused("max_transfer_size");
	put("wq0.1", "max_transfer_size", "4096");
	put("wq0.1", "threshold", "33");
	refused("threshold");
	put("wq0.1", "threshold", "32");
	ck_assert_int_eq(look(&(struct dsa_wq){ .node = 0 }), 0);
	ck_assert_int_eq(dsa_sysfs_wq(root, &wq, why, sizeof(why)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "not the name of a DSA work queue"));
	stop();
}
END_TEST

START_TEST(what_has_become_of_it)
{
	struct dsa_wq wq;

	start();
	ck_assert_int_eq(look(&wq), 0);
	put("wq0.1", "mode", "dedicated");
	put("wq0.1", "size", "16");
	ck_assert_int_eq(dsa_sysfs_state(root, &wq), DSA_WQ_ENABLED);
	ck_assert_uint_eq(wq.size, 16);
	ck_assert(!wq.shared);
	put("wq0.1", "size", "8");
	put("wq0.1", "state", "quiescing");
	ck_assert_int_eq(dsa_sysfs_state(root, &wq), DSA_WQ_DISABLED);
	put("dsa0", "state", "halted");
	ck_assert_int_eq(dsa_sysfs_state(root, &wq), DSA_WQ_HALTED);
	ck_assert_int_eq(unlink(place("dsa0", "state")), 0);
	ck_assert_int_eq(dsa_sysfs_state(root, &wq), DSA_WQ_GONE);
	put("dsa0", "state", "enabled");
	ck_assert_int_eq(unlink(place("wq0.1", "state")), 0);
	ck_assert_int_eq(dsa_sysfs_state(root, &wq), DSA_WQ_GONE);
	ck_assert_uint_eq(wq.size, 16);
	stop();
}
END_TEST

START_TEST(sets_of_operations)
{
	static const struct { const char *text; uint64_t low, high; } fine[] = {
		{ "0x1003f03ff 0x0 0x0 0x0", 0x1003f03ff, 0 },
		{ "0x1003f03ff 0 0 0 ", 0x1003f03ff, 0 },
		{ "1003f03ff", 0x1003f03ff, 0 },
		{ "0x1 0x0 0x0 0x8000000000000000", 1, 1ull << 63 },
		{ "00000000,00000000,00000000,00000000,00000000,00000000,00000001,003f03ff",
		  0x1003f03ff, 0 },
		{ "80000000,00000000,00000000,00000000,00000000,00000000,00000001,003f03fd",
		  0x1003f03fd, 1ull << 63 },
		{ "1,003f03ff", 0x1003f03ff, 0 },
	};
	static const char *const bad[] = {
		"", " ", ",", "1,", ",1", "1,,2", "0x1 0x2 0x3 0x4 0x5", "1,2,3,4,5,6,7,8,9",
		"100000000,0", "x", "0x", "0x1 y", "-1", "1;2", "0x10000000000000000", "0-9,16-21",
	};
	uint64_t ops[4];

	for (unsigned i = 0; i < ARRAY_SIZE(fine); i++) {
		ck_assert_msg(dsa_ops_parse(fine[i].text, ops), "%s", fine[i].text);
		ck_assert_uint_eq(ops[0], fine[i].low);
		ck_assert_uint_eq(ops[1] | ops[2], 0);
		ck_assert_uint_eq(ops[3], fine[i].high);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!dsa_ops_parse(bad[i], ops), "\"%s\"", bad[i]);
}
END_TEST

/* A queue may be allowed less than its device can. */
START_TEST(batches)
{
	struct dsa_wq wq;

	start();
	put("dsa0", "op_cap", "00000000,00000000,00000000,00000000,00000000,00000000,"
	    "00000001,003f03fd");
	ck_assert_int_eq(look(&wq), 0);
	ck_assert(!wq.batch);
	put("dsa0", "op_cap", "0x1003f03ff 0x0 0x0 0x0");
	put("wq0.1", "op_config", "00000001,003f03fd");
	ck_assert_int_eq(look(&wq), 0);
	ck_assert(!wq.batch);
	put("wq0.1", "op_config", "00000001,003f03f7");
	refused("op_config");
	stop();
}
END_TEST

CHECK_MAIN("dsa_sysfs", a_sound_tree, no_device, without_an_attribute,
	   attributes_that_make_no_sense, queues_that_are_not_for_us, what_has_become_of_it,
	   sets_of_operations, batches)
