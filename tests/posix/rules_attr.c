/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules_attr.c - times, modes, owners, links, devices
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "posix/rule.h"

static void set_times(const char *path, int64_t a, long a_ns, int64_t m, long m_ns)
{
	struct timespec ts[2] = { { a, a_ns }, { m, m_ns } };

	OK(utimensat(AT_FDCWD, path, ts, AT_SYMLINK_NOFOLLOW));
}

static void times_far_away(void)
{
	static const int64_t sec[] = {
		0, -1, -2147483649LL, 2147483648LL, 4294967296LL, 15032385536LL, /* 2446 */
		253402300799LL,
	};

	make_file("f", 0644);
	for (unsigned i = 0; i < sizeof(sec) / sizeof(sec[0]); i++) {
		struct stat st;

		set_times("f", sec[i], 999999999, sec[i] + 1, 1);
		st = stat_of("f");
		SAME(st.st_atim.tv_sec, sec[i]);
		SAME(st.st_atim.tv_nsec, 999999999);
		SAME(st.st_mtim.tv_sec, sec[i] + 1);
		SAME(st.st_mtim.tv_nsec, 1);
	}
}

static void times_now_and_omit(void)
{
	struct stat st;

	make_file("f", 0644);
	set_times("f", 1000, 1, 2000, 2);
	set_times("f", 0, UTIME_OMIT, 3000, 3);
	st = stat_of("f");
	SAME(st.st_atim.tv_sec, 1000);
	SAME(st.st_mtim.tv_sec, 3000);
	set_times("f", 0, UTIME_NOW, 0, UTIME_OMIT);
	st = stat_of("f");
	WANT(st.st_atim.tv_sec > 1000000000);
	SAME(st.st_mtim.tv_sec, 3000);
	AS(1000, 1000)
		FAILS(utimensat(AT_FDCWD, "f", NULL, 0), EACCES);
	OK(chmod("f", 0666));
	AS(1000, 1000) {
		OK(utimensat(AT_FDCWD, "f", NULL, 0));
		FAILS(utimensat(AT_FDCWD, "f", (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0),
		      EPERM);
	}
}

static struct statx statx_of(const char *path)
{
	struct statx x;

	OK(statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &x));
	return x;
}

static void birth_time(void)
{
	struct statx a, b;
	int fd;

	make_file("f", 0644);
	a = statx_of("f");
	if (!(a.stx_mask & STATX_BTIME))
		rule_skip("no time of birth (Linux 6.6 asks FUSE for it)");
	WANT(a.stx_btime.tv_sec > 1000000000);
	fd = (int)OK(open("f", O_WRONLY));
	OK(write(fd, "x", 1));
	OK(close(fd));
	set_times("f", 5, 0, 6, 0);
	OK(rename("f", "g"));
	b = statx_of("g");
	SAME(b.stx_btime.tv_sec, a.stx_btime.tv_sec);
	SAME(b.stx_btime.tv_nsec, a.stx_btime.tv_nsec);
}

/* Wait for a clock that the next change can be told by. */
static void tick(void)
{
	OK(nanosleep(&(struct timespec){ 0, 20000000 }, NULL));
}

static bool later(struct timespec a, struct timespec b)
{
	return b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec > a.tv_nsec);
}

static struct stat before;

static void changed(const char *path, bool m, bool c)
{
	struct stat st = stat_of(path);

	SAME(later(before.st_mtim, st.st_mtim), m);
	SAME(later(before.st_ctim, st.st_ctim), c);
	before = st;
	tick();
}

static void times_of_a_file(void)
{
	int fd;

	make_file("f", 0644);
	before = stat_of("f");
	tick();
	OK(chmod("f", 0600));
	changed("f", false, true);
	OK(chown("f", 1, 2));
	changed("f", false, true);
	OK(link("f", "g"));
	changed("f", false, true);
	OK(rename("g", "h"));
	changed("f", false, true);
	OK(unlink("h"));
	changed("f", false, true);
	fd = (int)OK(open("f", O_WRONLY));
	OK(write(fd, "x", 1));
	OK(fsync(fd));
	changed("f", true, true);
	OK(ftruncate(fd, 1000));
	changed("f", true, true);
	OK(write(fd, "x", 0));
	OK(close(fd));
	changed("f", false, false);
	OK(truncate("f", 0));
	changed("f", true, true);
}

static void times_of_a_directory(void)
{
	make_dir("d", 0755);
	before = stat_of("d");
	tick();
	make_file("d/f", 0600);
	changed("d", true, true);
	OK(rename("d/f", "d/g"));
	changed("d", true, true);
	OK(chmod("d/g", 0644));
	changed("d", false, false);
	OK(link("d/g", "d/h"));
	changed("d", true, true);
	OK(mkdir("d/e", 0755));
	changed("d", true, true);
	OK(rmdir("d/e"));
	changed("d", true, true);
	FAILS(unlink("d/none"), ENOENT);
	changed("d", false, false);
}

static void links_of_a_directory(void)
{
	make_dir("d", 0755);
	make_dir("e", 0755);
	SAME(stat_of("d").st_nlink, 2);
	make_dir("d/a", 0755);
	make_dir("d/b", 0755);
	make_file("d/f", 0644);
	SAME(stat_of("d").st_nlink, 4);
	OK(rename("d/a", "e/a"));
	SAME(stat_of("d").st_nlink, 3);
	SAME(stat_of("e").st_nlink, 3);
	SAME(stat_of("e/a/..").st_ino, stat_of("e").st_ino);
	OK(rename("d/b", "e/a"));		/* over an empty one */
	SAME(stat_of("d").st_nlink, 2);
	SAME(stat_of("e").st_nlink, 3);
}

static void privileges_go(void)
{
	make_file("w", 06777);
	make_file("t", 06777);
	make_file("c", 06777);
	make_file("k", 02767);			/* mandatory locking, once */
	AS(1000, 1000) {
		int fd = (int)OK(open("w", O_WRONLY));

		OK(write(fd, "x", 1));
		OK(close(fd));
		OK(truncate("t", 5));
	}
	SAME(mode_of("w"), 0777);
	SAME(mode_of("t"), 0777);
	OK(chown("c", 1000, 1000));
	SAME(mode_of("c"), 0777);
	OK(chown("k", 1000, 1000));
	SAME(mode_of("k"), 02767);
}

static void setgid_directory(void)
{
	make_dir("d", 0777);
	OK(chown("d", 0, 2000));
	OK(chmod("d", 02777));
	AS(1000, 1000) {
		make_file("d/f", 0644);
		OK(mkdir("d/e", 0755));
		SAME(stat_of("d/f").st_gid, 2000);
		SAME(stat_of("d/e").st_gid, 2000);
		SAME(mode_of("d/e"), 02755);
		OK(mknod("d/x", S_IFREG | 02775, 0));	/* not in that group */
		SAME(mode_of("d/x") & S_ISGID, 0);
	}
}

static void sticky_directory(void)
{
	make_dir("d", 01777);
	make_file("d/f", 0666);
	AS(1000, 1000) {
		FAILS(unlink("d/f"), EPERM);
		FAILS(rename("d/f", "d/g"), EPERM);
		make_file("d/mine", 0644);
		OK(rename("d/mine", "d/still"));
		OK(unlink("d/still"));
	}
}

static void large_ids(void)
{
	make_file("f", 0644);
	OK(chown("f", 4294967294u, 4294967293u));
	SAME(stat_of("f").st_uid, 4294967294u);
	SAME(stat_of("f").st_gid, 4294967293u);
}

static void device_numbers(void)
{
	OK(mknod("c", S_IFCHR | 0600, makedev(4095, 1048575)));
	OK(mknod("b", S_IFBLK | 0600, makedev(259, 300)));
	SAME(stat_of("c").st_rdev, makedev(4095, 1048575));
	SAME(stat_of("b").st_rdev, makedev(259, 300));
	WANT(S_ISCHR(stat_of("c").st_mode) && S_ISBLK(stat_of("b").st_mode));
	make_dir("d", 0777);
	AS(1000, 1000)
		FAILS(mknod("d/n", S_IFCHR | 0600, makedev(1, 3)), EPERM);
}

static void times_of_reading(void)
{
	char c;
	int fd;

	make_file("f", 0644);
	make_dir("d", 0755);
	make_file("d/f", 0644);
	if (rule_cached())
		rule_skip("no time is noted where the page cache answers");
	fd = (int)OK(open("f", O_RDWR));
	OK(write(fd, "x", 1));
	set_times("f", 1000, 0, 2000, 0);		/* older than the change: relatime */
	set_times("d", 1000, 0, 2000, 0);
	OK(pread(fd, &c, 1, 0));
	OK(close(fd));
	WANT(stat_of("f").st_atim.tv_sec > 1000000000);
	SAME(stat_of("f").st_mtim.tv_sec, 2000);
	fd = (int)OK(open("d", O_RDONLY | O_DIRECTORY));
	OK(syscall(SYS_getdents64, fd, (char[2000]){ 0 }, 2000));
	OK(close(fd));
	WANT(stat_of("d").st_atim.tv_sec > 1000000000);
}

static void blocks_are_counted(void)
{
	int fd = (int)OK(open("f", O_CREAT | O_RDWR, 0600));

	OK(ftruncate(fd, 1 << 20));
	SAME(stat_of("f").st_blocks, 0);
	OK(pwrite(fd, "x", 1, 500000));
	OK(fsync(fd));
	if (rule_cached())
		rule_skip("the kernel shows the number it was told last");
	SAME(stat_of("f").st_blocks, 8);
	SAME(stat_of("f").st_size, 1 << 20);
	OK(ftruncate(fd, 0));
	SAME(stat_of("f").st_blocks, 0);
	OK(close(fd));
}

const struct rule rules_attr[] = {
	RULE(times_far_away), RULE(times_now_and_omit), RULE(birth_time),
	RULE(times_of_a_file), RULE(times_of_a_directory), RULE(links_of_a_directory),
	RULE(privileges_go), RULE(setgid_directory), RULE(sticky_directory),
	RULE(large_ids), RULE(device_numbers), RULE(blocks_are_counted),
	RULE(times_of_reading), RULES_END
};
