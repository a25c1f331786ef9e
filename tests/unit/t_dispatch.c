/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dispatch.c - whatever a request looks like, it gets one sound answer
 *
 * Requests are made by hand and answered into memory, on a pool in memory.
 * The fuzz at the end throws well-formed and broken ones at the daemon's
 * handlers: no crash, one answer each, lengths and error codes that the
 * kernel would accept.
 */
#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/ops.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "fuse/transport.h"
#include "fuse/virtual.h"
#include "support/check_main.h"
#include "support/pool.h"

static union { uint64_t align; uint8_t b[1 << 17]; } in;
static uint8_t out[OUT_SIZE];
static struct {
	unsigned nr;			/* answers to the last request */
	struct fuse_out_header h;
	uint8_t body[OUT_SIZE + 4096];
	size_t len;
	int fail;			/* what send() shall return */
} got;

static int send_to_memory(struct request *rq, const struct iovec *iov, unsigned nr)
{
	got.nr++;
	got.len = 0;
	memcpy(&got.h, iov[0].iov_base, sizeof(got.h));
	for (unsigned i = 1; i < nr; i++) {
		memcpy(got.body + got.len, iov[i].iov_base, iov[i].iov_len);
		got.len += iov[i].iov_len;
	}
	ck_assert_uint_eq(got.h.len, sizeof(got.h) + got.len);
	ck_assert_uint_eq(got.h.unique, rq->h->unique);
	ck_assert_int_le(got.h.error, 0);
	ck_assert_int_gt(got.h.error, -512);
	return got.fail;
}

/* The kernel learns of what was answered, and forgets a file. */
static uint64_t to_forget;

static void hand_over(struct request *rq)
{
	if (to_forget) {
		op_release(rq->s->fs, to_forget);
		op_forget(rq->s->fs, to_forget, 1);
	}
	to_forget = 0;
}

static const struct transport to_memory = {
	.name = "memory", .send = send_to_memory, .hand_over = hand_over,
};
static struct worker worker;

static struct options opt;
static struct session s;
static uint32_t ask_uid;

#define NAME_Z(name)	name, sizeof(name)

static struct pool pool;

static void begin(void)
{
	pool_make(&pool, 32 << 20);
	memset(&s, 0, sizeof(s));
	s.fs = pool.fs;
	s.opt = &opt;
	s.fd = -1;
	s.minor = FUSE_KERNEL_MINOR_VERSION;
	s.direct = true;
	s.read_map = true;
	s.transport = &to_memory;
}

/* Lengths as they come, right or wrong; answers are counted. */
static void ask_raw(size_t have)
{
	struct request rq = {
		.s = &s, .tr = &to_memory, .w = &worker, .out = out, .ctx.fs = s.fs,
	};

	got.nr = 0;
	if (request_lay(&rq, in.b, have, have, -1) == 0)
		dispatch(&rq);
}

static int ask(uint32_t opcode, uint64_t nodeid, const void *arg, size_t arg_len,
	       const void *rest, size_t rest_len)
{
	struct fuse_in_header h = {
		.len = (uint32_t)(sizeof(h) + arg_len + rest_len),
		.opcode = opcode, .unique = 7, .nodeid = nodeid, .uid = ask_uid,
	};

	memcpy(in.b, &h, sizeof(h));
	if (arg_len)
		memcpy(in.b + sizeof(h), arg, arg_len);
	if (rest_len)
		memcpy(in.b + sizeof(h) + arg_len, rest, rest_len);
	ask_raw(h.len);
	return got.nr ? got.h.error : 1;
}

static uint64_t entry_node(void)
{
	struct fuse_entry_out e;

	memcpy(&e, got.body, sizeof(e));
	return e.nodeid;
}

static uint64_t create(const char *name)
{
	struct fuse_create_in c = { .mode = S_IFREG | 0644 };

	ck_assert_int_eq(ask(FUSE_CREATE, 1, &c, sizeof(c), name, strlen(name) + 1), 0);
	ck_assert_uint_eq(got.len, sizeof(struct fuse_entry_out) +
			  sizeof(struct fuse_open_out));
	return entry_node();
}

START_TEST(write_then_read)
{
	struct fuse_write_in w = { .offset = 5, .size = 3 };
	struct fuse_read_in r = { .offset = 0, .size = 4096 };
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_uint_eq(s.open_files, 1);
	ck_assert_int_eq(ask(FUSE_WRITE, n, &w, sizeof(w), "abc", 3), 0);
	ck_assert_int_eq(ask(FUSE_WRITE, n, &w, sizeof(w), "abcd", 4), -EINVAL);
	for (int map = 0; map < 2; map++) {
		s.read_map = map;
		ck_assert_int_eq(ask(FUSE_READ, n, &r, sizeof(r), NULL, 0), 0);
		ck_assert_uint_eq(got.len, 8);
		ck_assert_mem_eq(got.body, "\0\0\0\0\0abc", 8);
	}
	pool_end(&pool);
}
END_TEST

/* A name that is not there is worth remembering; "." and ".." are not. */
START_TEST(negative_entries)
{
	begin();
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "none", 5), 0);
	ck_assert_uint_eq(entry_node(), 0);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "..", 3), 0);
	ck_assert_uint_eq(entry_node(), 1);
	pool_end(&pool);
}
END_TEST

START_TEST(strings_must_end)
{
	struct fuse_mkdir_in d = { .mode = 0755 };
	struct fuse_rename2_in r = { .newdir = 1 };
	static char longer[300];

	begin();
	memset(longer, 'x', sizeof(longer) - 1);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "none", 4), -EINVAL);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "", 1), -EINVAL);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, NULL, 0), -EINVAL);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "a\0b", 4), -EINVAL);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, longer, 300), -ENAMETOOLONG);
	ck_assert_int_eq(ask(FUSE_MKDIR, 1, &d, sizeof(d), "a/b", 4), -EINVAL);
	ck_assert_int_eq(ask(FUSE_MKDIR, 1, &d, 4, NULL, 0), -EINVAL);
	ck_assert_int_eq(ask(FUSE_RENAME2, 1, &r, sizeof(r), "a", 2), -EINVAL);
	ck_assert_int_eq(ask(FUSE_SYMLINK, 1, NULL, 0, "a\0b", 4), 0);
	ck_assert_int_eq(ask(FUSE_SYMLINK, 1, NULL, 0, "c", 2), -EINVAL);
	pool_end(&pool);
}
END_TEST

/* The header's own length, and extensions, must fit what was read. */
START_TEST(lengths_must_fit)
{
	struct fuse_in_header *h = (void *)in.b;

	begin();
	ask(FUSE_STATFS, 1, NULL, 0, NULL, 0);
	ck_assert_int_eq(got.h.error, 0);
	h->len = 41;
	ask_raw(40);
	ck_assert_int_eq(got.h.error, -EINVAL);
	h->len = 40;
	h->total_extlen = 1;
	ask_raw(40);
	ck_assert_int_eq(got.h.error, -EINVAL);
	ask_raw(39);
	ck_assert_uint_eq(got.nr, 0);
	pool_end(&pool);
}
END_TEST

/* Unimplemented on purpose; the kernel copes, and asks no more. */
START_TEST(not_here)
{
	static const uint32_t op[] = {
		FUSE_FSYNCDIR, FUSE_FLUSH, FUSE_GETLK, FUSE_SETLK,
		FUSE_SETLKW, FUSE_INTERRUPT, 7, 4096,
	};
	begin();
	for (size_t i = 0; i < ARRAY_SIZE(op); i++)
		ck_assert_int_eq(ask(op[i], 1, &(uint64_t){ 0 }, 8, NULL, 0), -ENOSYS);
	/* nor this, but it must go on asking as long as something can be dirty */
	ck_assert_int_eq(ask(FUSE_FSYNC, 1, (uint64_t [2]){ 0 }, 16, NULL, 0), 0);
	s.fs->ro = true;
	ck_assert_int_eq(ask(FUSE_FSYNC, 1, (uint64_t [2]){ 0 }, 16, NULL, 0), -ENOSYS);
	s.fs->ro = false;
	pool_end(&pool);
}
END_TEST

/* Both opcodes: their answers differ in length. */
START_TEST(ranges)
{
	struct fuse_copy_file_range_in how = { .off_in = 2, .off_out = 3, .len = 1000 };
	struct fuse_copy_file_range_out large;
	struct fuse_write_out small;
	uint64_t a;

	begin();
	a = create("a");
	how.nodeid_out = create("b");
	pool_write(&pool, a, 0, "0123456789", 10);
	ck_assert_int_eq(ask(FUSE_COPY_FILE_RANGE, a, &how, sizeof(how), NULL, 0), 0);
	ck_assert_uint_eq(got.len, sizeof(small));
	memcpy(&small, got.body, sizeof(small));
	ck_assert_uint_eq(small.size, 8);
	ck_assert_int_eq(ask(FUSE_COPY_FILE_RANGE_64, a, &how, sizeof(how), NULL, 0), 0);
	ck_assert_uint_eq(got.len, sizeof(large));
	memcpy(&large, got.body, sizeof(large));
	ck_assert_uint_eq(large.bytes_copied, 8);
	pool_expect(&pool, how.nodeid_out, 0, "\0\0\00023456789", 11);
	how.flags = 1;
	ck_assert_int_eq(ask(FUSE_COPY_FILE_RANGE, a, &how, sizeof(how), NULL, 0), -EINVAL);
	pool_end(&pool);
}
END_TEST

/* One ioctl with n bytes in, room for `room` out. */
static int ioctl_of(uint64_t node, uint32_t cmd, const void *data, uint32_t n, uint32_t room)
{
	struct fuse_ioctl_in i = { .cmd = cmd, .in_size = n, .out_size = room };

	return ask(FUSE_IOCTL, node, &i, sizeof(i), data, n);
}

START_TEST(ioctls)
{
	struct fsxattr x = { .fsx_xflags = FS_XFLAG_DAX | FS_XFLAG_NODUMP, .fsx_projid = 7 };
	const size_t head = sizeof(struct fuse_ioctl_out);
	uint32_t fl = FS_NOATIME_FL, v;
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_int_eq(ioctl_of(n, FS_IOC_SETFLAGS, &fl, 4, 0), 0);
	ck_assert_uint_eq(got.len, head);
	ck_assert_int_eq(ioctl_of(n, FS_IOC_GETFLAGS, NULL, 0, 4), 0);
	ck_assert_uint_eq(got.len, head + 4);
	memcpy(&v, got.body + head, 4);
	ck_assert_uint_eq(v, fl);
	ck_assert_int_eq(ioctl_of(n, FS_IOC_FSSETXATTR, &x, sizeof(x), 0), 0);
	memset(&x, 0, sizeof(x));
	ck_assert_int_eq(ioctl_of(n, FS_IOC_FSGETXATTR, NULL, 0, sizeof(x)), 0);
	memcpy(&x, got.body + head, sizeof(x));
	ck_assert_uint_eq(x.fsx_xflags, FS_XFLAG_DAX | FS_XFLAG_NODUMP);
	ck_assert_uint_eq(x.fsx_projid, 7);
	/* lsattr -v has room for an int only, whatever the number says */
	ck_assert_int_eq(ioctl_of(n, FS_IOC_GETVERSION, NULL, 0, 8), 0);
	ck_assert_uint_eq(got.len, head + 4);
	/* what nobody has, what is too short, what has no room */
	fl = FS_COMPR_FL;
	ck_assert_int_eq(ioctl_of(n, FS_IOC_SETFLAGS, &fl, 4, 0), -EOPNOTSUPP);
	x.fsx_xflags = FS_XFLAG_EXTSIZE;
	ck_assert_int_eq(ioctl_of(n, FS_IOC_FSSETXATTR, &x, sizeof(x), 0), -EOPNOTSUPP);
	ck_assert_int_eq(ioctl_of(n, FS_IOC_SETFLAGS, &fl, 3, 0), -EINVAL);
	ck_assert_int_eq(ioctl_of(n, FS_IOC_FSSETXATTR, &x, 27, 0), -EINVAL);
	ck_assert_int_eq(ioctl_of(n, FS_IOC_GETFLAGS, NULL, 0, 3), -EINVAL);
	ck_assert_int_eq(ioctl_of(n, 0x5401, NULL, 0, 0), -ENOTTY);
	pool_end(&pool);
}
END_TEST

/* Kernels before 5.14 leave it to us who may. */
START_TEST(ioctls_unchecked)
{
	static const struct { uint32_t uid, minor, fl; int err; } tries[] = {
		{ 5, 33, FS_IMMUTABLE_FL, -EPERM }, { 0, 33, FS_IMMUTABLE_FL, 0 },
		{ 5, 33, 0, -EPERM }, { 0, 33, FS_NODUMP_FL, 0 },
		{ 5, 33, FS_NOATIME_FL, 0 }, { 5, 33, FS_APPEND_FL, -EPERM },
		{ 6, 33, FS_NODUMP_FL, -EPERM }, { 6, 34, FS_APPEND_FL, 0 },
	};
	struct fuse_setattr_in own = { .valid = FATTR_UID, .uid = 5 };
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_int_eq(ask(FUSE_SETATTR, n, &own, sizeof(own), NULL, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		s.minor = tries[i].minor;
		ask_uid = tries[i].uid;
		ck_assert_int_eq(ioctl_of(n, FS_IOC_SETFLAGS, &tries[i].fl, 4, 0),
				 tries[i].err);
	}
	/* the number that a kernel which checks does not look at */
	s.minor = 34;
	ask_uid = 0;
	ck_assert_int_eq(ioctl_of(n, FS_IOC32_SETFLAGS, &tries[0].fl, 4, 0), -ENOTTY);
	s.minor = 33;
	ask_uid = 6;
	ck_assert_int_eq(ioctl_of(n, FS_IOC32_SETFLAGS, &tries[0].fl, 4, 0), -EPERM);
	ask_uid = 0;
	pool_end(&pool);
}
END_TEST

static int write_as(uint64_t node, uint64_t pos, uint32_t size, uint32_t write_flags)
{
	static uint8_t bytes[100000];
	struct fuse_write_in w = { .offset = pos, .size = size, .write_flags = write_flags };

	return ask(FUSE_WRITE, node, &w, sizeof(w), bytes, size);
}

static uint32_t written(void)
{
	struct fuse_write_out w;

	memcpy(&w, got.body, sizeof(w));
	return w.size;
}

/* Where the kernel gathers writes, the times are its own (K1). */
START_TEST(writeback_times)
{
	struct fuse_setattr_in t = {
		.valid = FATTR_MTIME | FATTR_CTIME, .mtime = 5000, .ctime = 6000,
	};
	uint32_t fl = FS_IMMUTABLE_FL;
	uint64_t n;

	begin();
	n = create("f");
	s.writeback = true;
	ck_assert_int_eq(ask(FUSE_SETATTR, n, &t, sizeof(t), NULL, 0), 0);
	ck_assert_int_eq(write_as(n, 0, 10, FUSE_WRITE_CACHE), 0);
	ck_assert_int_eq(pool_attr(&pool, n).mtime.sec, 5000);
	ck_assert_int_eq(pool_attr(&pool, n).ctime.sec, 6000);
	/* what was dirty when the file became immutable, and its times */
	ck_assert_int_eq(ioctl_of(n, FS_IOC_SETFLAGS, &fl, 4, 0), 0);
	ck_assert_int_eq(write_as(n, 0, 10, FUSE_WRITE_CACHE), 0);
	ck_assert_int_eq(write_as(n, 0, 10, 0), -EPERM);
	ck_assert_int_eq(ask(FUSE_SETATTR, n, &t, sizeof(t), NULL, 0), 0);
	ck_assert_int_eq(pool_attr(&pool, n).mtime.sec, 5000);
	/* a mapping where it does not */
	s.writeback = false;
	ck_assert_int_eq(write_as(n, 0, 10, FUSE_WRITE_CACHE), 0);
	ck_assert_int_gt(pool_attr(&pool, n).mtime.sec, 6000);
	pool_end(&pool);
}
END_TEST

/* It takes a page for written that was written in part (K2). */
START_TEST(writeback_without_room)
{
	uint64_t n, pos = 0;
	uint32_t left;
	int err;

	begin();
	n = create("f");
	do {				/* all but what one request needs */
		err = write_as(n, pos, 100000, 0);
		left = err ? 0 : written();
		pos += left;
	} while (left == 100000);
	ck_assert_uint_gt(left, 0);	/* the pool was not a multiple of it */
	ck_assert_int_eq(pool_truncate(&pool, n, pos - 50000), 0);
	pool_settled_blocks(&pool);
	ck_assert_int_eq(write_as(n, pos - 50000, 100000, FUSE_WRITE_CACHE), -ENOSPC);
	ck_assert_int_eq(pool_truncate(&pool, n, pos - 50000), 0);
	pool_settled_blocks(&pool);
	ck_assert_int_eq(write_as(n, pos - 50000, 100000, 0), 0);
	ck_assert_uint_lt(written(), 100000);
	pool_end(&pool);
}
END_TEST

/* It does not write its dirty pages before it asks for holes (K3). */
START_TEST(writeback_seeks)
{
	struct fuse_lseek_in l = { .whence = SEEK_DATA };
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_int_eq(write_as(n, 0, 10, 0), 0);
	ck_assert_int_eq(ask(FUSE_LSEEK, n, &l, sizeof(l), NULL, 0), 0);
	s.writeback = true;
	ck_assert_int_eq(ask(FUSE_LSEEK, n, &l, sizeof(l), NULL, 0), -ENOSYS);
	pool_end(&pool);
}
END_TEST

static unsigned count_entries(bool plus, bool *has_dot_node)
{
	size_t head = plus ? sizeof(struct fuse_entry_out) : 0;
	unsigned nr = 0;

	for (size_t at = 0; at < got.len; nr++) {
		const struct fuse_entry_out *e = (void *)(got.body + at);
		const struct fuse_dirent *d = (void *)(got.body + at + head);

		ck_assert_uint_le(at + head + FUSE_DIRENT_HEAD + d->namelen, got.len);
		if (plus && d->name[0] == '.' && e->nodeid)
			*has_dot_node = true;
		at += head + align_up(FUSE_DIRENT_HEAD + d->namelen, 8);
		ck_assert_uint_le(at, got.len);
	}
	return nr;
}

START_TEST(listing)
{
	struct fuse_read_in r = { .size = 4096 };
	bool dot_node = false;

	begin();
	create("one");
	create("two");
	ck_assert_int_eq(ask(FUSE_READDIR, 1, &r, sizeof(r), NULL, 0), 0);
	ck_assert_uint_eq(count_entries(false, &dot_node), 4);
	ck_assert_int_eq(ask(FUSE_READDIRPLUS, 1, &r, sizeof(r), NULL, 0), 0);
	ck_assert_uint_eq(count_entries(true, &dot_node), 4);
	ck_assert(!dot_node);
	r.size = 3 * 160;		/* two whole ones and not the third */
	ck_assert_int_eq(ask(FUSE_READDIRPLUS, 1, &r, sizeof(r), NULL, 0), 0);
	ck_assert_uint_le(got.len, r.size);
	r.size = 8;
	ck_assert_int_eq(ask(FUSE_READDIR, 1, &r, sizeof(r), NULL, 0), -EINVAL);
	pool_end(&pool);
}
END_TEST

/* An answer that does not arrive takes back what it handed out. */
START_TEST(lost_answers)
{
	struct fuse_create_in c = { .mode = 0644 };

	begin();
	got.fail = -ENOENT;
	ask(FUSE_CREATE, 1, &c, sizeof(c), "f", 2);
	ck_assert_uint_eq(s.open_files, 0);
	got.fail = 0;
	ck_assert_int_eq(ask(FUSE_UNLINK, 1, NULL, 0, "f", 2), 0);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "f", 2), 0);
	ck_assert_uint_eq(entry_node(), 0);
	pool_end(&pool);			/* which finds no orphan */
}
END_TEST

static uint64_t random64(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

START_TEST(fuzz)
{
	uint64_t seed = 88172645463325252ull;

	begin();
	log_set_level(LOG_LVL_ERR);
	create("f");
	for (unsigned i = 0; i < 60000; i++) {
		struct fuse_in_header *h = (void *)in.b;
		size_t len = 40 + random64(&seed) % 200;
		bool silent;

		for (size_t at = 0; at < len; at += 8) {
			uint64_t v = random64(&seed);

			if (v & 1)	/* small numbers and letters get further */
				v = (v >> 8) % 3 ? v >> 60 : 0x61006200630064;
			memcpy(in.b + at, &v, 8);
		}
		h->opcode = (uint32_t)(random64(&seed) % (FUSE_OPCODES + 2));
		if (h->opcode == FUSE_RELEASE)
			continue;	/* the kernel keeps its books */
		h->len = (uint32_t)len;
		h->nodeid = random64(&seed) % 4 ? random64(&seed) % 4 : h->nodeid;
		h->total_extlen = random64(&seed) % 8 ? 0 : 3;
		ask_raw(len);
		silent = h->opcode == FUSE_FORGET || h->opcode == FUSE_BATCH_FORGET ||
			 h->opcode == FUSE_NOTIFY_REPLY;
		ck_assert_uint_eq(got.nr, silent ? 0 : 1);
	}
	pool_end(&pool);
}
END_TEST

/* An attribute of every node, of no listing, for root and the mount's owner. */
START_TEST(numbers_are_an_attribute)
{
	struct fuse_getxattr_in g = { .size = 0 };
	struct fuse_setxattr_in x = { .size = 1 };
	struct fuse_getxattr_out size;
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_int_eq(ask(FUSE_GETXATTR, n, &g, sizeof(g), NAME_Z(VIRTUAL_STATS)), 0);
	memcpy(&size, got.body, sizeof(size));
	ck_assert_uint_eq(size.size, STATS_MAX);
	g.size = 100;
	ck_assert_int_eq(ask(FUSE_GETXATTR, n, &g, sizeof(g), NAME_Z(VIRTUAL_STATS)), -ERANGE);
	g.size = STATS_MAX;
	ck_assert_int_eq(ask(FUSE_GETXATTR, n, &g, sizeof(g), NAME_Z(VIRTUAL_STATS)), 0);
	got.body[got.len] = '\0';
	ck_assert_ptr_nonnull(strstr((char *)got.body, "\"CREATE\":{\"count\":1,"));
	ask_uid = geteuid() + 1;
	ck_assert_int_eq(ask(FUSE_GETXATTR, 1, &g, sizeof(g), NAME_Z(VIRTUAL_STATS)), -EACCES);
	ask_uid = geteuid();
	ck_assert_int_eq(ask(FUSE_GETXATTR, 1, &g, sizeof(g), NAME_Z(VIRTUAL_STATS)), 0);
	ask_uid = 0;
	ck_assert_int_eq(ask(FUSE_LISTXATTR, n, &g, sizeof(g), NULL, 0), 0);
	ck_assert_uint_eq(got.len, 0);
	ck_assert_int_eq(ask(FUSE_SETXATTR, n, &x, FUSE_SETXATTR_IN_OLD, VIRTUAL_STATS "\0x",
			     sizeof(VIRTUAL_STATS) + 1), -EOPNOTSUPP);
	pool_end(&pool);
}
END_TEST

#define LIST	"system.posix_acl_access"
static const uint8_t list[] = {
	2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 7, 0, 0, 0,
	4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 5, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255,
};

static int set_list(uint64_t n, struct fuse_setxattr_in *x, size_t arg_len)
{
	uint8_t rest[sizeof(LIST) + sizeof(list)];

	memcpy(rest, LIST, sizeof(LIST));
	memcpy(rest + sizeof(LIST), list, sizeof(list));
	return ask(FUSE_SETXATTR, n, x, arg_len, rest, sizeof(rest));
}

static uint32_t mode_of(uint64_t n)
{
	return pool_attr(&pool, n).mode & 07777;
}

/* Only where the kernel obeys them; the longer arguments only where agreed on. */
START_TEST(access_lists)
{
	struct fuse_setxattr_in x = {
		.size = sizeof(list), .setxattr_flags = FUSE_SETXATTR_ACL_KILL_SGID,
	};
	struct op_setattr set = { .valid = OP_SET_MODE, .mode = 02700 };
	struct op_attr a;
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_int_eq(op_setattr(&pool.c, n, &set, &a), 0);
	ck_assert_int_eq(set_list(n, &x, FUSE_SETXATTR_IN_OLD), -EOPNOTSUPP);
	s.flags = FUSE_POSIX_ACL;
	ck_assert_int_eq(set_list(n, &x, sizeof(x)), -EINVAL);
	ck_assert_int_eq(set_list(n, &x, FUSE_SETXATTR_IN_OLD), 0);
	ck_assert_uint_eq(mode_of(n), 02750);
	s.flags |= FUSE_SETXATTR_EXT;
	/* the head of the name is taken for arguments */
	ck_assert_int_eq(set_list(n, &x, FUSE_SETXATTR_IN_OLD), -EOPNOTSUPP);
	x.setxattr_flags = 0;
	ck_assert_int_eq(set_list(n, &x, sizeof(x)), 0);
	ck_assert_uint_eq(mode_of(n), 02750);
	x.setxattr_flags = FUSE_SETXATTR_ACL_KILL_SGID;
	ck_assert_int_eq(set_list(n, &x, sizeof(x)), 0);
	ck_assert_uint_eq(mode_of(n), 0750);
	pool_end(&pool);
}
END_TEST

START_TEST(the_umask_is_ours_to_apply)
{
	struct fuse_create_in c = { .mode = S_IFREG | 0666, .umask = 027 };
	struct fuse_mkdir_in d = { .mode = 0777, .umask = 027 };
	struct fuse_mknod_in k = { .mode = S_IFIFO | 0666, .umask = 027 };

	begin();
	ck_assert_int_eq(ask(FUSE_CREATE, 1, &c, sizeof(c), NAME_Z("a")), 0);
	ck_assert_uint_eq(mode_of(entry_node()), 0640);
	ck_assert_int_eq(ask(FUSE_MKDIR, 1, &d, sizeof(d), NAME_Z("b")), 0);
	ck_assert_uint_eq(mode_of(entry_node()), 0750);
	ck_assert_int_eq(ask(FUSE_MKNOD, 1, &k, sizeof(k), NAME_Z("c")), 0);
	ck_assert_uint_eq(mode_of(entry_node()), 0640);
	ck_assert_int_eq(ask(FUSE_TMPFILE, 1, &c, sizeof(c), NULL, 0), 0);
	ck_assert_uint_eq(mode_of(entry_node()), 0640);
	ck_assert_uint_eq(mode_of(create("d")), 0644);	/* not that of the last */
	pool_end(&pool);
}
END_TEST

/* Everything the kernel needs for its part has been handed over before. */
START_TEST(no_room_until_the_kernel_forgets)
{
	static uint8_t data[64 << 10];
	struct fuse_write_in w = { .size = sizeof(data) };
	uint64_t f, g;
	size_t done;

	begin();
	f = create("f");
	g = create("g");
	pool_fill(&pool, g, 0, 'g', 4 * sizeof(data));
	while (!pool_try_write(&pool, f, w.offset, data, sizeof(data), &done))
		w.offset += done;
	ck_assert_int_eq(ask(FUSE_WRITE, f, &w, sizeof(w), data, sizeof(data)),
			 -ENOSPC);
	ck_assert_int_eq(pool_unlink(&pool, 1, "g"), 0);
	to_forget = g;
	ck_assert_int_eq(ask(FUSE_WRITE, f, &w, sizeof(w), data, sizeof(data)), 0);
	ck_assert_uint_eq(pool_attr(&pool, f).size, w.offset + sizeof(data));
	pool_end(&pool);
}
END_TEST

CHECK_MAIN("dispatch", no_room_until_the_kernel_forgets, access_lists,
	   the_umask_is_ours_to_apply, numbers_are_an_attribute,
	   write_then_read, negative_entries,
	   strings_must_end, lengths_must_fit, not_here, ranges, ioctls, ioctls_unchecked,
	   writeback_times, writeback_without_room, writeback_seeks, listing, lost_answers,
	   fuzz)
