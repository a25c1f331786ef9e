/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.c - into the tree, and out of it
 *
 * libfuse mounts (mount(2) for root, fusermount3 for others) and hands us the
 * descriptor of /dev/fuse; its session is given an empty table of operations
 * and never sees a request. We unmount ourselves: fuse_session_unmount()
 * closes the descriptor *first*, and with it goes every dirty page.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 312
#include "fuse/mount.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/virtual.h"

extern char **environ;

/* What libfuse has to say becomes a line of ours, without its prefix. */
static void on_fuse_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[512];
	char *p = line;
	size_t len;

	vsnprintf(line, sizeof(line), fmt, ap);
	if (!strncmp(p, "fuse: ", 6))
		p += 6;
	len = strlen(p);
	while (len && isspace((unsigned char)p[len - 1]))
		p[--len] = '\0';
	if (len)
		log_line(level <= FUSE_LOG_ERR ? LOG_LVL_ERR : LOG_LVL_DEBUG,
			 "mounting: %s", p);
}

/* ---- /proc/self/mountinfo ---------------------------------------------- */

struct mount_line {
	unsigned major, minor;
	char path[4096];
	char type[64], source[4096];
};

/* \ooo stands for a blank, a tab, a newline or a backslash. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && isdigit((unsigned char)s[1]) &&
		    isdigit((unsigned char)s[2]) && isdigit((unsigned char)s[3])) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static bool parse_mount_line(const char *line, struct mount_line *ml)
{
	const char *dash = strstr(line, " - ");

	if (!dash || sscanf(line, "%*d %*d %u:%u %*s %4095s", &ml->major,
			    &ml->minor, ml->path) != 3 ||
	    sscanf(dash, " - %63s %4095s", ml->type, ml->source) != 2)
		return false;
	unescape(ml->path);
	return true;
}

/*
 * Look for path; with a device number, for that one there. What is mounted
 * last is seen. 0, -ENOENT, or -errno when nothing can be known.
 */
static int find_mount(const char *path, unsigned major, unsigned minor,
		      struct mount_line *found)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount_line ml;
	char *line = NULL;
	size_t size = 0;
	int err = -ENOENT;

	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0) {
		if (!parse_mount_line(line, &ml) || strcmp(ml.path, path))
			continue;
		if ((major || minor) && (ml.major != major || ml.minor != minor))
			continue;
		*found = ml;
		err = 0;
	}
	free(line);
	fclose(f);
	return err;
}

bool mount_is_there(const struct mount *m)
{
	struct mount_line ml;
	int err = find_mount(m->path, m->major, m->minor, &ml);

	/* the number of a filesystem that has gone is soon another's; the pool
	 * is not, as long as we have it open */
	return err ? err != -ENOENT : !m->source || !strcmp(ml.source, m->source);
}

/* ---- in ----------------------------------------------------------------- */

static char *session_options(const struct options *o, const char *fsname)
{
	char *opts = o->mount_opts ? strdup(o->mount_opts) : NULL;
	char *name = NULL;
	int err;

	if (asprintf(&name, "fsname=%s", fsname) < 0)
		return NULL;
	err = fuse_opt_add_opt(&opts, "default_permissions") ||
	      fuse_opt_add_opt(&opts, "subtype=" FS_SUBTYPE) ||
	      fuse_opt_add_opt_escaped(&opts, name) ||
	      (o->fs.atime == FS_NOATIME && fuse_opt_add_opt(&opts, "noatime")) ||
	      ((o->allow_other || o->allow_root) && fuse_opt_add_opt(&opts, "allow_other"));
	free(name);
	if (!err)
		return opts;
	free(opts);
	return NULL;
}

static struct fuse_session *new_session(const struct options *o,
					const char *fsname)
{
	static const struct fuse_lowlevel_ops none;
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *se = NULL;
	char *opts = session_options(o, fsname);

	if (opts && !fuse_opt_add_arg(&args, "pmemfs-fuse") &&
	    !fuse_opt_add_arg(&args, "-o") && !fuse_opt_add_arg(&args, opts))
		se = fuse_session_new(&args, &none, sizeof(none), NULL);
	fuse_opt_free_args(&args);
	free(opts);
	return se;
}

int mount_up(struct mount *m, const struct options *o, const char *fsname,
	     const char *path)
{
	struct mount_line ml;

	memset(m, 0, sizeof(*m));
	m->fd = -1;
	if (access("/dev/fuse", F_OK)) {
		log_err("no /dev/fuse: load the module first (modprobe fuse)");
		return -ENODEV;
	}
	fuse_set_log_func(on_fuse_log);
	m->path = strdup(path);
	m->se = m->path ? new_session(o, fsname) : NULL;
	if (!m->se) {
		log_err("cannot prepare to mount on %s", path);
		free(m->path);
		return -EIO;
	}
	if (fuse_session_mount(m->se, path)) {
		log_err("cannot mount on %s", path);
		mount_close(m);
		return -EIO;
	}
	m->fd = fuse_session_fd(m->se);
	if (find_mount(path, 0, 0, &ml) == 0) {
		m->major = ml.major;
		m->minor = ml.minor;
		m->source = strdup(ml.source);
	}
	return 0;
}

void mount_close(struct mount *m)
{
	fuse_session_destroy(m->se);	/* closes the descriptor */
	free(m->path);
	free(m->source);
	m->se = NULL;
	m->path = NULL;
	m->source = NULL;
	m->fd = -1;
}

/* ---- out ---------------------------------------------------------------- */

static int run_fusermount(const char *path, bool lazy)
{
	char *argv[] = {
		(char *)(uintptr_t)"fusermount3", (char *)(uintptr_t)"-u",
		(char *)(uintptr_t)"-q", (char *)(uintptr_t)"--",
		(char *)(uintptr_t)path, NULL,
	};
	posix_spawnattr_t attr;
	sigset_t none;
	int status, err;
	pid_t pid;

	if (lazy)
		argv[2] = (char *)(uintptr_t)"-qz";
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawnp(&pid, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int mount_down(const struct mount *m, bool lazy)
{
	if (!mount_is_there(m))
		return -EINVAL;
	if (umount2(m->path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	return errno == EPERM ? run_fusermount(m->path, lazy) : -errno;
}

int mount_sync(const struct mount *m, int *fd)
{
	int at = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd)
		*fd = at;
	if (at < 0)
		return -errno;
	err = syncfs(at) ? -errno : 0;
	if (!fd)
		close(at);
	return err;
}

/* ---- remount ------------------------------------------------------------ */

/* What is in force now: flags that are not named must not get lost. */
static unsigned long current_flags(const struct statvfs *sv)
{
	static const struct { unsigned long st, ms; } map[] = {
		{ ST_RDONLY, MS_RDONLY }, { ST_NOSUID, MS_NOSUID },
		{ ST_NODEV, MS_NODEV }, { ST_NOEXEC, MS_NOEXEC },
		{ ST_SYNCHRONOUS, MS_SYNCHRONOUS },
		{ ST_NOATIME, MS_NOATIME },
		{ ST_NODIRATIME, MS_NODIRATIME },
		{ ST_RELATIME, MS_RELATIME },
	};
	unsigned long flags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		if (sv->f_flag & map[i].st)
			flags |= map[i].ms;
	return flags;
}

int mount_remount(const struct options *o, const char *path)
{
	struct mount_line ml;
	struct statvfs sv;
	unsigned long flags;
	char ro = '0';

	if (find_mount(path, 0, 0, &ml) ||
	    strcmp(ml.type, "fuse." FS_SUBTYPE)) {
		log_err("%s: no pmemfs is mounted there", path);
		return EXIT_MOUNT;
	}
	if (statvfs(path, &sv)) {
		log_err("%s: %s", path, strerror(errno));
		return EXIT_MOUNT;
	}
	flags = (current_flags(&sv) | o->ms_set) & ~o->ms_clear;
	if (!(flags & MS_RDONLY) && getxattr(path, VIRTUAL_RO, &ro, 1) == 1 &&
	    ro == '1') {
		log_err("%s: the pool was opened read-only; unmount it and"
			" mount it again to write", path);
		return EXIT_MOUNT;
	}
	if (mount("none", path, NULL, MS_REMOUNT | flags, NULL)) {
		log_err("cannot remount %s: %s", path, strerror(errno));
		return EXIT_MOUNT;
	}
	return 0;
}
