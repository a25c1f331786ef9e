/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_sysfs.c - what sysfs says about a work queue, read by ourselves
 *
 * Every attribute that matters is read here, once, and one that is missing or
 * makes no sense is a sentence for the log, never a guess. libaccel-config finds
 * the queues (dsa_find.c), but some of its versions end the process when an
 * attribute is missing, and do not know op_cap as newer kernels print it; so it is asked
 * only after dsa_sysfs_sound().
 *
 * Attributes: the kernel's Documentation/ABI/stable/sysfs-driver-dma-idxd. `root` is
 * empty, or where a test keeps its /sys.
 */
#include "copy/dsa_sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define DEVICES		"/sys/bus/dsa/devices"
#define ATTR_MAX	256
#define PATH_SIZE	512
#define LEAST_TRANSFER	4096u

struct sentence {		/* why not */
	char *buf;
	size_t size;
};

__attribute__((format(printf, 3, 4)))
static int because(struct sentence s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s.buf, s.size, fmt, ap);
	va_end(ap);
	return err;
}

/* ---- attributes -------------------------------------------------------------- */

/* The first line of it, without its end. 0 or -errno; -ENODATA: it is empty. */
static int attr_line(const char *root, const char *dir, const char *name, char *buf)
{
	char path[PATH_SIZE];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s" DEVICES "/%s/%s", root, dir, name) >= PATH_SIZE)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, ATTR_MAX - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	while (*buf && buf[strlen(buf) - 1] == ' ')
		buf[strlen(buf) - 1] = '\0';
	return *buf ? 0 : -ENODATA;
}

static int get_text(const char *root, const char *dir, const char *name, char *buf,
		    struct sentence s)
{
	int err = attr_line(root, dir, name, buf);

	if (err)
		return because(s, err, "%s/%s: %s", dir, name, strerror(-err));
	return 0;
}

/* A number from least to most; hexadecimal with 0x. */
static int get_number(const char *root, const char *dir, const char *name, int64_t least,
		      int64_t most, int64_t *v, struct sentence s)
{
	char buf[ATTR_MAX], *end;
	int err = get_text(root, dir, name, buf, s);

	if (err)
		return err;
	errno = 0;
	*v = strtoll(buf, &end, 0);
	if (errno || *end || end == buf || *v < least || *v > most)
		return because(s, -EINVAL, "%s/%s: \"%.40s\" makes no sense", dir, name, buf);
	return 0;
}

/* ---- operations --------------------------------------------------------------- */

/*
 * As kernels print a set of 256 operations: four 64-bit words, the lowest first, with
 * spaces ("0x1003f03ff 0x0 0x0 0x0"), or from 6.x on a bitmap of 32-bit words, the highest
 * first, with commas ("00000000,...,00000001,003f03ff"). Whatever is neither is refused.
 */
bool dsa_ops_parse(const char *text, uint64_t ops[4])
{
	bool map = strchr(text, ',');
	unsigned bits = map ? 32 : 64, most = 256 / bits, nr = 0;
	uint64_t word[8];
	char *end;

	for (const char *at = text; *at; at = end) {
		if (nr)
			at += map ? 1 : strspn(at, " ");
		if (!*at && !map)
			break;
		if (nr == most || !strchr("0123456789abcdefABCDEF", *at) || !*at)
			return false;
		errno = 0;
		word[nr] = strtoull(at, &end, 16);
		if (errno || (map && word[nr] > UINT32_MAX) || (*end && *end != (map ? ',' : ' ')))
			return false;
		nr++;
	}
	memset(ops, 0, 4 * sizeof(*ops));
	for (unsigned i = 0; i < nr; i++)
		if (map)
			ops[(nr - 1 - i) / 2] |= word[i] << 32 * ((nr - 1 - i) % 2);
		else
			ops[i] = word[i];
	return nr;
}

static bool has_op(const uint64_t ops[4], enum dsa_op op)
{
	return ops[op / 64] >> op % 64 & 1;
}

/* What the device can do; what the queue may (op_config, newer kernels). */
static int get_ops(const char *root, struct dsa_wq *wq, struct sentence s)
{
	char buf[ATTR_MAX];
	uint64_t cap[4], conf[4];
	int err = get_text(root, wq->dev, "op_cap", buf, s);

	if (err)
		return err;
	if (!dsa_ops_parse(buf, cap))
		return because(s, -EINVAL, "%s/op_cap: \"%.80s\" is no set of operations",
			       wq->dev, buf);
	if (!attr_line(root, wq->name, "op_config", buf) && dsa_ops_parse(buf, conf))
		for (unsigned i = 0; i < 4; i++)
			cap[i] &= conf[i];
	wq->batch = has_op(cap, DSA_OP_BATCH);
	if (!has_op(cap, DSA_OP_MEMMOVE))
		return because(s, -EOPNOTSUPP, "%s cannot copy (op_cap, op_config)", wq->name);
	return 0;
}

/* ---- a queue ------------------------------------------------------------------- */

static int get_device(const char *root, struct dsa_wq *wq, struct sentence s)
{
	char state[ATTR_MAX];
	int64_t v;
	int err = get_text(root, wq->dev, "state", state, s);

	if (!err && strcmp(state, "enabled"))
		err = because(s, -ENODEV, "device %s is %.40s, not enabled", wq->dev, state);
	if (!err)
		err = get_number(root, wq->dev, "pasid_enabled", 0, 1, &v, s);
	if (!err && !v)
		err = because(s, -EOPNOTSUPP, "device %s has no shared virtual memory "
			      "(boot with intel_iommu=on,sm_on)", wq->dev);
	if (!err)
		err = get_number(root, wq->dev, "numa_node", -1, INT32_MAX, &v, s);
	if (err)
		return err;
	wq->node = (int)v;
	err = get_number(root, wq->dev, "gen_cap", 0, INT64_MAX, &v, s);
	wq->readback = !err && (uint64_t)v & DSA_GENCAP_READBACK;
	return err ? err : get_ops(root, wq, s);
}

static int get_limits(const char *root, struct dsa_wq *wq, struct sentence s)
{
	int64_t size, threshold, transfer, batch, bof = 0;
	int err = get_number(root, wq->name, "size", 1, 1 << 16, &size, s);

	threshold = size;
	if (!err && wq->shared)
		err = get_number(root, wq->name, "threshold", 0, size, &threshold, s);
	if (!err)
		err = get_number(root, wq->name, "max_transfer_size", LEAST_TRANSFER,
				 INT64_MAX, &transfer, s);
	if (!err)
		err = get_number(root, wq->name, "max_batch_size", 0, 1 << 20, &batch, s);
	if (err)
		return err;
	err = get_number(root, wq->name, "block_on_fault", 0, 1, &bof, s);
	if (err && err != -ENOENT)		/* we do without */
		return err;
	wq->size = (unsigned)size;
	wq->threshold = (unsigned)(threshold ? threshold : size);
	wq->max_transfer = align_down(min64((uint64_t)transfer, DSA_TRANSFER_MAX),
				      LEAST_TRANSFER);
	wq->max_batch = (unsigned)batch;
	wq->block_on_fault = bof;
	return 0;
}

/*
 * The engines of its group ("engine0.0 engine0.1"): only the policy wants to know, so
 * one if sysfs does not say.
 */
static unsigned count_engines(const char *root, const struct dsa_wq *wq)
{
	char buf[ATTR_MAX], why[64], group[64];
	struct sentence s = { why, sizeof(why) };
	unsigned nr = 0;
	int64_t id;

	if (get_number(root, wq->name, "group_id", 0, INT32_MAX, &id, s))
		return 1;
	snprintf(group, sizeof(group), "group%s.%d", wq->dev + strlen("dsa"), (int)id);
	if (attr_line(root, group, "engines", buf))
		return 1;
	for (const char *at = buf; (at = strstr(at, "engine")); at++)
		nr++;
	return nr ? nr : 1;
}

/* "wq0.1" -> "dsa0" */
static bool device_of(struct dsa_wq *wq)
{
	unsigned dev, nr;
	int n = 0;

	if (sscanf(wq->name, "wq%u.%u%n", &dev, &nr, &n) != 2 || wq->name[n])
		return false;
	snprintf(wq->dev, sizeof(wq->dev), "dsa%u", dev);
	return true;
}

int dsa_sysfs_wq(const char *root, struct dsa_wq *wq, char *why, size_t size)
{
	struct sentence s = { why, size };
	char buf[ATTR_MAX];
	int err;

	if (!device_of(wq))
		return because(s, -EINVAL, "%s is not the name of a DSA work queue (wqX.Y)",
			       wq->name);
	err = get_text(root, wq->name, "state", buf, s);
	if (!err && strcmp(buf, "enabled"))
		err = because(s, -ENODEV, "%s is %.40s, not enabled", wq->name, buf);
	if (!err)
		err = get_text(root, wq->name, "type", buf, s);
	if (!err && strcmp(buf, "user"))
		err = because(s, -EINVAL, "%s has type %.40s, not user", wq->name, buf);
	if (!err)
		err = get_text(root, wq->name, "mode", buf, s);
	if (err)
		return err;
	wq->shared = !strcmp(buf, "shared");
	if (!wq->shared && strcmp(buf, "dedicated"))
		return because(s, -EINVAL, "%s/mode: \"%.40s\" makes no sense", wq->name, buf);
	wq->engines = count_engines(root, wq);
	err = get_device(root, wq, s);
	return err ? err : get_limits(root, wq, s);
}

enum dsa_wq_state dsa_sysfs_state(const char *root, struct dsa_wq *wq)
{
	struct dsa_wq fresh = *wq;
	char buf[ATTR_MAX];

	if (attr_line(root, wq->dev, "state", buf))
		return DSA_WQ_GONE;
	if (strcmp(buf, "enabled"))
		return DSA_WQ_HALTED;
	if (attr_line(root, wq->name, "state", buf))
		return DSA_WQ_GONE;
	if (strcmp(buf, "enabled") || dsa_sysfs_wq(root, &fresh, buf, sizeof(buf)))
		return DSA_WQ_DISABLED;
	*wq = fresh;
	return DSA_WQ_ENABLED;
}

/* ---- may the library look? --------------------------------------------------------- */

/*
 * Is it this kind of device? The list has others that begin so: the node of a queue that is
 * enabled is "dsa!wq0.1" in it.
 */
static bool is_kind(const char *name, const char *kind)
{
	size_t n = strlen(kind);

	return !strncmp(name, kind, n) && name[n] && !name[n + strspn(name + n, "0123456789.")];
}

/* Calls fn for each device of the kind. -ENOENT: no list, or none in it. */
static int each(const char *root, const char *kind, int (*fn)(const char *root,
		const char *name, struct sentence s), struct sentence s)
{
	char path[PATH_SIZE];
	struct dirent *e;
	int err = -ENOENT;
	DIR *dir;

	snprintf(path, sizeof(path), "%s" DEVICES, root);
	dir = opendir(path);
	if (!dir)
		return -ENOENT;
	while ((err == -ENOENT || !err) && (e = readdir(dir)))
		if (is_kind(e->d_name, kind))
			err = fn ? fn(root, e->d_name, s) : 0;
	closedir(dir);
	return err;
}

bool dsa_sysfs_any(const char *root)
{
	return !each(root, "dsa", NULL, (struct sentence){ NULL, 0 });
}

static int must_have(const char *root, const char *dir, const char *attr, struct sentence s)
{
	char buf[ATTR_MAX];
	int err = attr_line(root, dir, attr, buf);

	if (!err)
		return 0;
	return because(s, -EINVAL, "%s/%s: %s: libaccel-config cannot be asked (name a queue: "
		       "dsa_wq=)", dir, attr, strerror(-err));
}

/* Without it the device is passed over in silence. */
static int device_sound(const char *root, const char *dev, struct sentence s)
{
	return must_have(root, dev, "cmd_status", s);
}

/* If it cannot be read, or is empty, the process ends: versions 3.5.3 to 4.1.6. */
static int queue_sound(const char *root, const char *wq, struct sentence s)
{
	return must_have(root, wq, "type", s);
}

/* No more than that: kernels hide attributes that a device has no use for. */
bool dsa_sysfs_sound(const char *root, char *why, size_t size)
{
	struct sentence s = { why, size };
	int err = each(root, "dsa", device_sound, s);

	if (!err)
		err = each(root, "wq", queue_sound, s);
	if (err == -ENOENT)
		because(s, 0, "no work queues are configured (accel-config)");
	return !err;
}

/* ---- named, not found ------------------------------------------------------------------ */

int dsa_find_named(const char *path, struct dsa_wq *wq, char *why, size_t size)
{
	char real[PATH_MAX];
	const char *name;

	*wq = (struct dsa_wq){ .node = -1 };
	if (!realpath(path, real)) {
		int err = -errno;

		snprintf(why, size, "%s: %s", path, strerror(-err));
		return err;
	}
	if (strlen(path) >= sizeof(wq->path)) {
		snprintf(why, size, "%s: %s", path, strerror(ENAMETOOLONG));
		return -ENAMETOOLONG;
	}
	snprintf(wq->path, sizeof(wq->path), "%s", path);
	name = strrchr(real, '/') + 1;
	snprintf(wq->name, sizeof(wq->name), "%.31s", name);
	return dsa_sysfs_wq("", wq, why, size);
}

enum dsa_wq_state dsa_find_again(struct dsa_wq *wq)
{
	return dsa_sysfs_state("", wq);
}
