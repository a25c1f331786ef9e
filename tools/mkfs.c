/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mkfs.c - mkfs.pmemfs: make a pool
 *
 * Everything about the layout is in meta/super.c. Here: what the user asked
 * for, and not destroying what they did not mean to.
 *
 *   - what is in use (mounted, being checked) is never touched: the lock is
 *     taken first and held to the end;
 *   - a filesystem, a partition table or a pool that is there already is
 *     named and left alone without -f;
 *   - a file gets all its blocks, because a store into a hole of a full
 *     filesystem is a SIGBUS; --sparse for those who know;
 *   - a file that was made here goes away again if something fails.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/bytes.h"
#include "base/log.h"
#include "meta/super.h"
#include "pm/pm.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct args {
	const char *path;
	uint64_t size;		/* 0: what is there */
	bool force, dry, quiet;
	struct mkfs_params mk;
};

/* The pool while it is being made. */
struct target {
	int fd;			/* -1: does not exist (-n) */
	bool made;		/* by us: remove it on failure */
	bool devdax;
	uint64_t old_size, size;
	char found[64];		/* what is there already, "" if nothing */
};

static void usage(FILE *f)
{
	fputs("usage: mkfs.pmemfs [options] POOL\n"
	      "Make a pmemfs pool on a devdax device or in a file.\n\n"
	      "  -s, --size SIZE     size of the file (K, M, G, T); made if it is not there\n"
	      "  -L, --label LABEL   up to 64 bytes\n"
	      "  -U, --uuid UUID     or \"random\" (default), \"time\", \"clear\"\n"
	      "  -m, --reserve PERCENT  of the blocks for root only (0 to 50; default 0)\n"
	      "  -f, --force         overwrite a filesystem, partition table or pool\n"
	      "  -n, --dry-run       only show what would be done\n"
	      "  -q, --quiet         print errors only\n"
	      "      --sparse        do not allocate the file's blocks\n"
	      "  -h, --help\n"
	      "  -V, --version\n", f);
}

/* ---- arguments --------------------------------------------------------- */

/* A number with an optional suffix; 0 if it is none, or too large. */
static uint64_t parse_size(const char *s)
{
	static const char suffix[] = "KMGT";
	unsigned long long n;
	const char *at;
	unsigned shift;
	char *end;

	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno || end == s || *s == '-')
		return 0;
	if (!*end)
		return n;
	at = strchr(suffix, *end >= 'a' ? *end - 'a' + 'A' : *end);
	if (!at || (end[1] && strcmp(end + 1, "iB")))
		return 0;
	shift = 10 * (unsigned)(at - suffix + 1);
	return n > UINT64_MAX >> shift ? 0 : n << shift;
}

static int parse_uuid(const char *s, uint8_t *uuid)
{
	if (!strcmp(s, "random"))
		uuid_generate_random(uuid);
	else if (!strcmp(s, "time"))
		uuid_generate_time(uuid);
	else if (!strcmp(s, "clear"))
		uuid_clear(uuid);
	else if (uuid_parse(s, uuid))
		return -EINVAL;
	return 0;
}

/* 0 to 50, with one decimal; false: it is none. */
static bool parse_percent(const char *s, unsigned *permille)
{
	double v;
	char *end;

	errno = 0;
	v = strtod(s, &end);
	if (errno || end == s || *end || !(v >= 0 && v <= 50))
		return false;
	*permille = (unsigned)(v * 10 + 0.5);
	return true;
}

/* One option. false: it makes no sense, and that was said. */
static bool parse_option(struct args *a, int opt)
{
	switch (opt) {
	case 's':
		a->size = parse_size(optarg);
		if (!a->size)
			log_err("%s is not a size", optarg);
		return a->size != 0;
	case 'L':
		if (strlen(optarg) > PMEMFS_LABEL_MAX) {
			log_err("a label has at most %u bytes", PMEMFS_LABEL_MAX);
			return false;
		}
		memcpy(a->mk.label, optarg, strlen(optarg));
		return true;
	case 'U':
		if (!parse_uuid(optarg, a->mk.uuid))
			return true;
		log_err("%s is not a UUID", optarg);
		return false;
	case 'm':
		if (parse_percent(optarg, &a->mk.root_permille))
			return true;
		log_err("%s is not a percentage from 0 to 50", optarg);
		return false;
	case 'f':
		a->force = true;
		return true;
	case 'n':
		a->dry = true;
		return true;
	case 'q':
		a->quiet = true;
		return true;
	case 'S':
		a->mk.sparse = true;
		return true;
	default:
		return false;
	}
}

/* -1: go on; else the exit status. */
static int parse_args(struct args *a, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "size", required_argument, NULL, 's' },
		{ "label", required_argument, NULL, 'L' },
		{ "uuid", required_argument, NULL, 'U' },
		{ "reserve", required_argument, NULL, 'm' },
		{ "force", no_argument, NULL, 'f' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "sparse", no_argument, NULL, 'S' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int opt;

	memset(a, 0, sizeof(*a));
	uuid_generate_random(a->mk.uuid);
	a->mk.root_uid = geteuid();	/* who makes a pool may use it */
	a->mk.root_gid = getegid();
	while ((opt = getopt_long(argc, argv, "s:L:U:m:fnqhV", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			return EXIT_OK;
		}
		if (opt == 'V') {
			puts("mkfs.pmemfs " PACKAGE_VERSION);
			return EXIT_OK;
		}
		if (!parse_option(a, opt)) {
			if (opt == '?')
				usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind != argc - 1) {
		usage(stderr);
		return EXIT_USAGE;
	}
	a->path = argv[optind];
	return -1;
}

/* ---- what is there already --------------------------------------------- */

static bool is_super(const struct pmemfs_super *sb)
{
	return get64(sb->magic) == PMEMFS_MAGIC;
}

static bool file_has_pool(int fd, uint64_t size)
{
	static struct pmemfs_super sb;
	uint64_t last = align_down(size, PMEMFS_BLOCK_SIZE);

	if (pread(fd, &sb, sizeof(sb), 0) == (ssize_t)sizeof(sb) && is_super(&sb))
		return true;
	return last >= PMEMFS_BLOCK_SIZE &&
		pread(fd, &sb, sizeof(sb), last - PMEMFS_BLOCK_SIZE) ==
			(ssize_t)sizeof(sb) && is_super(&sb);
}

static bool map_has_pool(const struct pm *pm)
{
	return is_super(pm_at(pm, 0, sizeof(struct pmemfs_super))) ||
		is_super(pm_at(pm, pm_size(pm) - PMEMFS_BLOCK_SIZE,
			       sizeof(struct pmemfs_super)));
}

static blkid_probe new_probe(int fd)
{
	blkid_probe pr = blkid_new_probe();

	if (!pr)
		return NULL;
	if (blkid_probe_set_device(pr, fd, 0, 0)) {
		blkid_free_probe(pr);
		return NULL;
	}
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_MAGIC |
					  BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC);
	return pr;
}

/* Name what a file holds, in `found`. -EIO: cannot tell. */
static int probe_file(int fd, uint64_t size, char *found, size_t room)
{
	const char *type = NULL;
	blkid_probe pr;
	int rc;

	*found = '\0';
	if (size < 512)
		return 0;
	if (file_has_pool(fd, size)) {
		snprintf(found, room, "a pmemfs pool");
		return 0;
	}
	pr = new_probe(fd);
	if (!pr)
		return -EIO;
	rc = blkid_do_fullprobe(pr);
	if (rc == -2)
		snprintf(found, room, "several filesystems or partition tables");
	else if (rc == 0 && !blkid_probe_lookup_value(pr, "TYPE", &type, NULL))
		snprintf(found, room, "a filesystem (%s)", type);
	else if (rc == 0 && !blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL))
		snprintf(found, room, "a partition table (%s)", type);
	else if (rc == 0)
		snprintf(found, room, "something that libblkid knows");
	blkid_free_probe(pr);
	return rc == -1 ? -EIO : 0;
}

/* Take away every mark that libblkid knows, so that nobody sees two things. */
static int wipe_file(int fd)
{
	blkid_probe pr = new_probe(fd);

	if (!pr)
		return -EIO;
	while (blkid_do_probe(pr) == 0)
		if (blkid_do_wipe(pr, 0))
			break;
	blkid_free_probe(pr);
	return fsync(fd) ? -errno : 0;
}

/* ---- the file ---------------------------------------------------------- */

static int write_zeros(int fd, uint64_t size)
{
	static const uint8_t zeros[1 << 20];
	uint64_t pos = 0;
	ssize_t n;

	while (pos < size) {
		n = pwrite(fd, zeros, min64(sizeof(zeros), size - pos), (off_t)pos);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		pos += (uint64_t)n;
	}
	return 0;
}

static int allocate(int fd, uint64_t size)
{
	int err;

	do
		err = -posix_fallocate(fd, 0, (off_t)size);
	while (err == -EINTR);
	return err == -EOPNOTSUPP ? write_zeros(fd, size) : err;
}

/* The name of a new file is durable only when its directory is. */
static void sync_dir(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

static int size_file(const struct args *a, struct target *t)
{
	int err = 0;

	if (t->devdax)
		return 0;
	if (t->old_size != t->size && ftruncate(t->fd, (off_t)t->size))
		err = -errno;
	if (!err && !a->mk.sparse)
		err = allocate(t->fd, t->size);
	if (!err && fsync(t->fd))
		err = -errno;
	if (err)
		log_err("cannot allocate %llu bytes for %s: %s",
			(unsigned long long)t->size, a->path, strerror(-err));
	else if (t->made)
		sync_dir(a->path);
	return err;
}

/* ---- finding the target ------------------------------------------------ */

/*
 * A daemon that has just been unmounted may still be sealing its pool: wait
 * two seconds before giving up.
 */
static bool lock(int fd)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	unsigned i;

	for (i = 0; i < 100; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Open what is there, or make it. Leaves it locked. */
static int open_target(const struct args *a, struct target *t)
{
	struct stat st;
	int err;

	t->fd = open(a->path, (a->dry ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 && errno == ENOENT && a->size) {
		if (a->dry)
			return 0;
		t->fd = open(a->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		t->made = t->fd >= 0;
	}
	if (t->fd < 0 || fstat(t->fd, &st)) {
		err = -errno;
		log_err("%s: %s%s", a->path, strerror(-err),
			err == -ENOENT ? " (-s SIZE makes a file)" : "");
		return err;
	}
	if (S_ISBLK(st.st_mode))
		return pm_refuse_block(a->path);
	t->devdax = S_ISCHR(st.st_mode);
	if (!t->devdax && !S_ISREG(st.st_mode)) {
		log_err("%s is neither a file nor a devdax device", a->path);
		return -EMEDIUMTYPE;
	}
	t->old_size = t->devdax ? 0 : (uint64_t)st.st_size;
	if (!lock(t->fd)) {
		log_err("%s is in use: mounted, or being checked", a->path);
		return -EBUSY;
	}
	return 0;
}

static int choose_size(const struct args *a, struct target *t)
{
	if (t->devdax && a->size) {
		log_err("%s: the size of a device is what it is; leave out -s", a->path);
		return -EINVAL;
	}
	t->size = align_down(a->size ? a->size : t->old_size, PMEMFS_BLOCK_SIZE);
	if (!t->devdax && (t->size < PMEMFS_MIN_POOL || t->size > PMEMFS_MAX_POOL)) {
		log_err("%s: a pool has between 16 MiB and 64 TiB, not %llu bytes%s",
			a->path, (unsigned long long)t->size,
			t->size ? "" : " (-s SIZE)");
		return -EINVAL;
	}
	return 0;
}

static int check_content(const struct args *a, struct target *t)
{
	if (!t->devdax && t->fd >= 0 &&
	    probe_file(t->fd, t->old_size, t->found, sizeof(t->found)))
		log_warn("%s: cannot tell what it holds", a->path);
	if (!*t->found || a->force)
		return 0;
	if (a->dry) {
		log_warn("%s holds %s: -f would be needed", a->path, t->found);
		return 0;
	}
	log_err("%s holds %s; -f overwrites it", a->path, t->found);
	return -EEXIST;
}

/* ---- making ------------------------------------------------------------ */

static const char *human(uint64_t bytes, char *buf, size_t size)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes / 1024;
	unsigned i = 0;

	for (; v >= 1024 && i < ARRAY_SIZE(unit) - 1; i++)
		v /= 1024;
	snprintf(buf, size, v == (double)(uint64_t)v ? "%.0f %s" : "%.1f %s", v, unit[i]);
	return buf;
}

static void print_geometry(const struct args *a, const struct target *t,
			   const struct geometry *geo, const char *medium)
{
	char uuid[37], size[32], lane[32], label[4 * PMEMFS_LABEL_MAX + 1];

	if (a->quiet)
		return;
	uuid_unparse_lower(geo->uuid, uuid);
	printf("%s: %s%s%s\n", a->path, a->dry ? "would make a pool of " : "pool of ",
	       human(blk_off(geo->nr_blocks), size, sizeof(size)),
	       t->fd < 0 || t->made ? ", new file" : "");
	if (medium)
		printf("  medium   %s\n", medium);
	printf("  uuid     %s\n", uuid);
	if (*geo->label)
		printf("  label    %s\n", log_name(label, sizeof(label), geo->label,
						   strlen(geo->label)));
	printf("  blocks   %llu of %u bytes, %u groups\n",
	       (unsigned long long)geo->nr_blocks, PMEMFS_BLOCK_SIZE, geo->nr_groups);
	printf("  log      %u lanes of %s, from block %llu\n", geo->nr_lanes,
	       human(geo->lane_size, lane, sizeof(lane)),
	       (unsigned long long)geo->lanes_blk);
	printf("  data     from block %llu: %llu free, %llu of them in reserve\n",
	       (unsigned long long)geo->data_blk,
	       (unsigned long long)(geo->nr_blocks - geo->data_blk -
				    PMEMFS_CHUNK_BLOCKS - 1),
	       (unsigned long long)geo->reserve);
	if (geo->root_reserve)
		printf("  root     %llu blocks more for root only\n",
		       (unsigned long long)geo->root_reserve);
}

/* The pool is mapped, nothing but its size has changed so far. */
static int make_mapped(struct args *a, struct target *t, struct pm *pm)
{
	struct geometry geo;
	char medium[160];
	int err;

	if (t->devdax && !a->force && map_has_pool(pm)) {
		log_err("%s holds a pmemfs pool; -f overwrites it", a->path);
		return -EEXIST;
	}
	a->mk.nr_blocks = off_blk(min64(pm_size(pm), PMEMFS_MAX_POOL));
	if (a->dry)
		err = mkfs_geometry(&a->mk, &geo);
	else
		err = mkfs_pool(pm, &a->mk, &geo);
	if (err == -EINVAL)
		log_err("%s: a pool has between 16 MiB and 64 TiB", a->path);
	else if (err)
		log_err("cannot write to %s: %s", a->path, strerror(-err));
	else
		print_geometry(a, t, &geo, pm_describe(pm, medium, sizeof(medium)));
	return err;
}

static int make(struct args *a, struct target *t)
{
	/* our own lock is held: a second one would be refused */
	struct pm_config cfg = { .flags = PM_CREATE | PM_NOLOCK, .granularity = -1 };
	struct pm *pm;
	int err = 0;

	/* whatever the file held is still there unless it is a new one */
	a->mk.zeroed = !t->devdax && t->old_size == 0;
	if (*t->found && !t->devdax)
		err = wipe_file(t->fd);
	if (!err)
		err = size_file(a, t);
	if (!err)
		err = pm_open(&pm, a->path, &cfg);
	if (err)
		return err;
	err = make_mapped(a, t, pm);
	pm_close(pm);
	return err;
}

/* -n: the geometry, as far as it can be known without touching anything. */
static int show(struct args *a, struct target *t)
{
	struct pm_config cfg = { .flags = PM_CREATE | PM_NOLOCK, .granularity = -1 };
	struct geometry geo;
	struct pm *pm;
	int err;

	if (t->devdax) {
		err = pm_open(&pm, a->path, &cfg);
		if (err)
			return err;
		err = make_mapped(a, t, pm);
		pm_close(pm);
		return err;
	}
	a->mk.nr_blocks = off_blk(t->size);
	err = mkfs_geometry(&a->mk, &geo);
	if (!err)
		print_geometry(a, t, &geo, NULL);
	return err;
}

int main(int argc, char **argv)
{
	struct target t = { .fd = -1 };
	struct args a;
	int err, rc;

	log_init("mkfs.pmemfs");
	rc = parse_args(&a, argc, argv);
	if (rc >= 0)
		return rc;
	pm_fault_install();
	err = open_target(&a, &t);
	if (!err)
		err = choose_size(&a, &t);
	if (!err)
		err = check_content(&a, &t);
	if (!err)
		err = a.dry ? show(&a, &t) : make(&a, &t);
	if (err && t.made)
		unlink(a.path);
	if (t.fd >= 0)
		close(t.fd);
	return err ? EXIT_FAILED : EXIT_OK;
}
