/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c - INIT, and the threads
 *
 * We answer INIT ourselves instead of leaving it to libfuse: the library of
 * Debian 12 (3.14) does not know half of the flags that matter (it never
 * sends PARALLEL_DIROPS, cannot ask for HANDLE_KILLPRIV_V2 or
 * DIRECT_IO_ALLOW_MMAP), does not pass on the flags of OPEN and WRITE that
 * those oblige us to honour, refuses opcodes newer than itself, and takes
 * two global locks per request. So libfuse mounts and parses options, and
 * every request is ours. A flag is asked for only if the kernel offers it.
 *
 * With a ring (uring.h) its threads are started before INIT is answered, and
 * one more reads /dev/fuse for what never comes by the ring.
 *
 * Stopping: a worker sleeps in a system call. The flag `stop` is set, then the
 * workers are sent STOP_SIGNAL, again and again until all have left: a signal
 * that arrives between a worker's look at the flag and its call would
 * otherwise be lost.
 */
#include "fuse/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/proto.h"
#include "fuse/request.h"
#include "fuse/stats.h"
#include "fuse/transport.h"
#include "fuse/uring.h"

#define STOP_SIGNAL	SIGUSR1
#define STOP_TRIES	2000		/* of 5 ms */
#define MAX_BACKGROUND	64
#define DEFAULT_THREADS	8
#define EXTRA_READERS	64
#define VALID_SECONDS	86400u		/* reply.c says why so long */

/*
 * Not asked for: AUTO_INVAL_DATA (nobody else writes), POSIX_LOCKS and
 * FLOCK_LOCKS (the kernel's own are right).
 * WRITEBACK_CACHE only with dax=never: it holds for a whole
 * connection, and where it does the kernel takes no time of a file from us, so
 * that one written directly would keep the times it had when it was opened.
 * DONT_MASK: a default ACL takes the place of the umask, and only we know
 * whether there is one. SETXATTR_EXT tells who sets an ACL without being in
 * the file's group.
 */
#define WANTED	(FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | \
		 FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES | \
		 FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | \
		 FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | \
		 FUSE_CACHE_SYMLINKS | FUSE_NO_OPENDIR_SUPPORT | \
		 FUSE_EXPLICIT_INVAL_DATA | FUSE_HANDLE_KILLPRIV_V2 | \
		 FUSE_INIT_EXT | FUSE_DIRECT_IO_ALLOW_MMAP | \
		 FUSE_POSIX_ACL | FUSE_DONT_MASK | FUSE_SETXATTR_EXT)

static void on_stop(int sig)
{
	(void)sig;			/* only to interrupt a wait */
}

int session_init(struct session *s, struct fs *fs, const struct options *opt,
		 struct dsa *dsa, int fd)
{
	enum pm_kind kind = pm_kind(fs->pm);
	struct sigaction sa = { .sa_handler = on_stop };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(s, 0, sizeof(*s));
	s->fs = fs;
	s->opt = opt;
	s->dsa = dsa;
	s->fd = fd;
	s->started = stats_clock();
	s->transport = &transport_dev;
	pthread_mutex_init(&s->spawn_lock, NULL);
	sigaction(STOP_SIGNAL, &sa, NULL);	/* no SA_RESTART */
	s->read_map = opt->read == READ_MAP ||
		      (opt->read == READ_AUTO &&
		       kind != PM_FSDAX && kind != PM_DEVDAX);
	/* whoever is not let in shall not see what others made the kernel cache */
	s->valid = opt->allow_root ? 0 : VALID_SECONDS;
	s->nr_readers = opt->threads;
	if (s->nr_readers == 0) {
		cpus = cpus > DEFAULT_THREADS ? DEFAULT_THREADS : cpus;
		s->nr_readers = cpus < 2 ? 2 : (unsigned)cpus;
	}
	s->max_workers = s->nr_readers + EXTRA_READERS;
	if (opt->transport != TRANSPORT_DEV)
		s->max_workers += uring_threads_max();
	s->workers = calloc(s->max_workers, sizeof(*s->workers));
	return s->workers ? 0 : -ENOMEM;
}

static int send_init(int fd, uint64_t unique, const struct fuse_init_out *out,
		     size_t len)
{
	struct fuse_out_header h = {
		.len = (uint32_t)(sizeof(h) + len), .unique = unique,
	};
	struct iovec iov[2] = {
		{ &h, sizeof(h) }, { (void *)(uintptr_t)out, len },
	};

	return writev(fd, iov, 2) < 0 ? -errno : 0;
}

/* Decide what this mount will be like, from what the kernel offers. */
static void settle(struct session *s, const struct fuse_init_in *in,
		   struct fuse_init_out *out)
{
	uint64_t offered = in->flags;

	if (in->flags & FUSE_INIT_EXT)
		offered |= (uint64_t)in->flags2 << 32;
	s->flags = offered & (WANTED | (s->opt->dax == DAX_NEVER ? FUSE_WRITEBACK_CACHE : 0) |
			      (s->opt->idmap ? FUSE_ALLOW_IDMAP : 0));
	if (s->opt->idmap && !(s->flags & FUSE_ALLOW_IDMAP))
		log_warn("-o idmap is ignored: the kernel offers it from Linux 6.12 on");
	s->minor = in->minor < FUSE_KERNEL_MINOR_VERSION ?
		   in->minor : FUSE_KERNEL_MINOR_VERSION;
	s->direct = s->flags & FUSE_DIRECT_IO_ALLOW_MMAP;
	s->writeback = s->flags & FUSE_WRITEBACK_CACHE;
	s->no_opendir = (s->flags & FUSE_NO_OPENDIR_SUPPORT) &&
			s->opt->fs.atime != FS_STRICTATIME;

	memset(out, 0, sizeof(*out));
	out->major = FUSE_KERNEL_VERSION;
	out->minor = FUSE_KERNEL_MINOR_VERSION;
	out->max_readahead = in->max_readahead;
	out->flags = (uint32_t)s->flags;
	out->flags2 = (uint32_t)(s->flags >> 32);
	out->max_background = MAX_BACKGROUND;
	out->congestion_threshold = MAX_BACKGROUND * 3 / 4;
	out->max_write = MAX_WRITE;
	out->max_pages = MAX_PAGES;
	out->time_gran = 1;
}

/* ---- a ring, if it can be had ------------------------------------------- */

static void join_workers(struct session *s)
{
	while (s->nr_workers--)
		if (atomic_load(&s->workers[s->nr_workers].state) != WORKER_JOINED)
			pthread_join(s->workers[s->nr_workers].tid, NULL);
	s->nr_workers = 0;
}

/* err: why it is not used. The threads have not served anything yet. */
static void drop_ring(struct session *s, int err)
{
	s->no_uring_err = err;
	s->flags &= ~FUSE_OVER_IO_URING;
	if (!s->uring)
		return;
	uring_drop(s->uring);
	join_workers(s);
	uring_free(s->uring);
	s->uring = NULL;
}

/* Before INIT is answered. -ENOTSUP: -o transport=uring, and none to be had. */
static int prepare_ring(struct session *s, uint64_t offered,
			struct fuse_init_out *out)
{
	int err;

	if (s->opt->transport == TRANSPORT_DEV)
		return 0;
	if (!(offered & FUSE_OVER_IO_URING)) {
		s->no_uring = "the kernel does not offer it"
			      " (Linux 6.14, fuse.enable_uring=Y)";
	} else {
		err = uring_prepare(s, &s->uring, &s->no_uring);
		if (!err) {
			s->flags |= FUSE_OVER_IO_URING;
			out->flags2 |= FUSE_OVER_IO_URING >> 32;
			return 0;
		}
		drop_ring(s, err);
	}
	return s->opt->transport == TRANSPORT_URING ? -ENOTSUP : 0;
}

static int no_ring_at_all(const struct session *s)
{
	char why[160];

	log_err("-o transport=uring: %s", session_describe(s, why, sizeof(why)));
	return -ENOTSUP;
}

/* After it. What has gone wrong now the kernel knows as well. */
static int start_ring(struct session *s)
{
	bool map = s->read_map;
	int err;

	if (!s->uring)
		return 0;
	/* requests come before the call returns: answers are built in the
	 * payload, so what a fault leaves there must be known before */
	s->transport = &transport_uring;
	s->read_map = false;
	err = uring_register(s->uring, &s->no_uring);
	if (!err)
		return 0;
	s->transport = &transport_dev;
	s->read_map = map;
	drop_ring(s, err);
	if (err == -ENOTRECOVERABLE)
		return -EIO;
	return s->opt->transport == TRANSPORT_URING ? no_ring_at_all(s) : 0;
}

char *session_describe(const struct session *s, char *buf, size_t size)
{
	unsigned n = s->uring ? uring_nr_rings(s->uring) : s->nr_readers;

	if (s->uring)
		snprintf(buf, size, "requests by io_uring, %u ring%s of %u", n,
			 n == 1 ? "" : "s", uring_depth(s->uring));
	else
		snprintf(buf, size, "requests by /dev/fuse, %u thread%s%s%s%s%s%s", n,
			 n == 1 ? "" : "s", s->no_uring ? " (no io_uring: " : "",
			 s->no_uring ? s->no_uring : "",
			 s->no_uring_err ? ": " : "",
			 s->no_uring_err ? strerror(-s->no_uring_err) : "",
			 s->no_uring ? ")" : "");
	return buf;
}

/* ---- INIT ----------------------------------------------------------------- */

/* One INIT. -EAGAIN: the kernel will send another. */
static int answer_init(struct session *s, const struct fuse_in_header *h,
		       size_t len)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION };
	struct fuse_init_in in = { 0 };
	int err;

	if (len < sizeof(*h) + FUSE_INIT_IN_OLD || h->opcode != FUSE_INIT)
		return -EPROTO;
	memcpy(&in, h + 1, min64(len - sizeof(*h), sizeof(in)));
	if (in.major > FUSE_KERNEL_VERSION) {
		err = send_init(s->fd, h->unique, &out, sizeof(out));
		return err ? err : -EAGAIN;
	}
	if (in.major < FUSE_KERNEL_VERSION || in.minor < FUSE_OLDEST_MINOR) {
		log_err("the kernel speaks FUSE %u.%u; pmemfs-fuse needs %u.%u"
			" (Linux 5.4)", in.major, in.minor,
			FUSE_KERNEL_VERSION, FUSE_OLDEST_MINOR);
		return -EPROTO;
	}
	settle(s, &in, &out);
	err = prepare_ring(s, (uint64_t)in.flags2 << 32, &out);
	if (err)
		return no_ring_at_all(s);
	log_debug("kernel 7.%u offers %x %x, taken %x %x", in.minor, in.flags,
		  in.flags2, out.flags, out.flags2);
	if (s->opt->dax != DAX_NEVER && !s->direct)
		log_info("this kernel cannot map direct files (Linux 6.6 can): %s",
			 s->opt->fs.data == FS_DATA_ATOMIC ?
			 "with data=atomic there are no shared mappings" :
			 "files are cached, and written through");
	err = send_init(s->fd, h->unique, &out, sizeof(out));
	if (err)
		drop_ring(s, err);
	return err;
}

int session_handshake(struct session *s)
{
	/* before INIT is answered the kernel asks for no more room than this */
	uint64_t buf[FUSE_MIN_READ_BUFFER / sizeof(uint64_t)];
	ssize_t got;
	int err;

	do {
		got = read(s->fd, buf, sizeof(buf));
		err = got < 0 ? -errno : answer_init(s, (void *)buf, (size_t)got);
	} while (err == -EINTR || err == -EAGAIN || err == -ENOENT);
	if (!err)
		err = start_ring(s);
	return err;
}

/* One reader of /dev/fuse less; once. Called with spawn_lock. */
static void discount(struct worker *w)
{
	if (w->counted)
		w->s->readers--;
	w->counted = false;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct session *s = w->s;
	int err = w->tr->run(w);

	pthread_mutex_lock(&s->spawn_lock);
	discount(w);
	pthread_mutex_unlock(&s->spawn_lock);
	if (err)
		log_err("worker %u ends: %s", w->nr, strerror(-err));
	/* on a ring nobody else would serve what this one served */
	if (err && s->uring && !w->extra)
		atomic_store(&s->broken, true);
	atomic_store(&w->state, WORKER_LEFT);
	if (atomic_fetch_sub(&s->running, 1) == 1 || atomic_load(&s->broken))
		kill(getpid(), SESSION_GONE_SIGNAL);
	return NULL;
}

/* Leave a worker the stop signal and those it causes itself. */
static void worker_mask(sigset_t *set)
{
	static const int open[] = {
		STOP_SIGNAL, SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGTRAP,
	};

	sigfillset(set);
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		sigdelset(set, open[i]);
}

/* w is nobody's. Called with spawn_lock. */
static int start_worker(struct worker *w)
{
	struct session *s = w->s;
	sigset_t mask, old;
	int err;

	worker_mask(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	atomic_store(&w->state, WORKER_RUNS);
	atomic_fetch_add(&s->running, 1);
	w->counted = w->tr == &transport_dev;
	s->readers += w->counted;
	err = -pthread_create(&w->tid, NULL, worker_main, w);
	if (err) {
		discount(w);
		atomic_fetch_sub(&s->running, 1);
		atomic_store(&w->state, WORKER_JOINED);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

static int spawn(struct session *s, const struct transport *tr, void *arg, bool extra)
{
	struct worker *w = &s->workers[s->nr_workers];
	int err;

	if (s->nr_workers == s->max_workers)
		return -EAGAIN;
	*w = (struct worker){
		.s = s, .tr = tr, .arg = arg, .nr = s->nr_workers, .extra = extra,
	};
	err = start_worker(w);
	if (!err)
		s->nr_workers++;
	return err;
}

int session_spawn(struct session *s, const struct transport *tr, void *arg)
{
	int err;

	pthread_mutex_lock(&s->spawn_lock);
	err = spawn(s, tr, arg, false);
	pthread_mutex_unlock(&s->spawn_lock);
	return err;
}

/* ---- readers in place of those who wait ----------------------------------- */

/* In the place of one that has left, or a new one. */
static int spawn_extra(struct session *s)
{
	for (unsigned i = 0; i < s->nr_workers; i++) {
		struct worker *w = &s->workers[i];

		if (!w->extra || atomic_load(&w->state) == WORKER_RUNS)
			continue;
		if (atomic_load(&w->state) == WORKER_LEFT)
			pthread_join(w->tid, NULL);
		return start_worker(w);
	}
	return spawn(s, &transport_dev, NULL, true);
}

bool session_may_wait(struct request *rq)
{
	struct session *s = rq->s;
	int err = 0;

	if (!rq->w)
		return true;
	if (rq->tr->hand_over)
		rq->tr->hand_over(rq);
	if (rq->tr != &transport_dev)
		return true;
	pthread_mutex_lock(&s->spawn_lock);
	if (s->waiting + 1 >= s->readers)
		err = session_stops(s) ? -EINTR : spawn_extra(s);
	s->waiting += !err;
	pthread_mutex_unlock(&s->spawn_lock);
	return !err;
}

void session_waited(struct request *rq)
{
	struct session *s = rq->s;

	if (!rq->w || rq->tr != &transport_dev)
		return;
	pthread_mutex_lock(&s->spawn_lock);
	s->waiting--;
	pthread_mutex_unlock(&s->spawn_lock);
}

bool session_needs(struct worker *w)
{
	struct session *s = w->s;
	bool needed;

	if (!w->extra)
		return true;
	pthread_mutex_lock(&s->spawn_lock);
	needed = s->waiting + 1 >= s->readers;
	if (!needed)
		discount(w);
	pthread_mutex_unlock(&s->spawn_lock);
	return needed;
}

int session_start(struct session *s)
{
	/* beside a ring, /dev/fuse has FORGET and INTERRUPT only */
	unsigned nr = s->uring ? 1 : s->nr_readers;
	int err = 0;

	for (unsigned i = 0; i < nr && !err; i++)
		err = session_spawn(s, &transport_dev, NULL);
	if (err)
		log_err("cannot start %u threads: %s", nr, strerror(-err));
	return err;
}

int session_stop(struct session *s)
{
	atomic_store(&s->stop, true);
	for (int i = 0; i < STOP_TRIES && atomic_load(&s->running); i++) {
		pthread_mutex_lock(&s->spawn_lock);
		for (unsigned n = 0; n < s->nr_workers; n++)
			if (atomic_load(&s->workers[n].state) == WORKER_RUNS)
				pthread_kill(s->workers[n].tid, STOP_SIGNAL);
		pthread_mutex_unlock(&s->spawn_lock);
		usleep(5000);
	}
	if (atomic_load(&s->running))
		return -ETIMEDOUT;
	join_workers(s);
	if (s->uring)
		uring_free(s->uring);
	s->uring = NULL;
	free(s->workers);
	s->workers = NULL;
	return 0;
}

bool session_is_dead(const struct session *s)
{
	struct pollfd p = { .fd = s->fd };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}
