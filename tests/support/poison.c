/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poison.c - memory that goes bad under a program that is not told
 *
 * Linked into a copy of the daemon or of fsck.pmemfs, with the linker putting
 * this backend where the real one is (--wrap), so that nothing in the product
 * is there for the test's sake. The file that $PMEMFS_POISON names has a line
 * for each bad piece of the pool:
 *
 *	known 40960 4096	the kernel's list has it, so pm_bad() does
 *	hidden 40960 4096	only who touches it finds out
 *	stuck 40960 4096	the same, and it cannot be cleared
 *
 * A page is made bad by mapping a page of an empty file over it: a load or
 * store is a SIGBUS, the kernel's own access EFAULT, as with a page that the
 * memory controller gave up. When fault.c maps the pool back, it is done again.
 *
 * With $PMEMFS_POISON_WATCH the file is read again whenever it changes, and
 * the number of pieces in force is written to that path.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "pm/backend.h"

#define MAX_PIECES	64u
#define MAX_MAPS	8u
#define PAGE		4096u

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
extern const struct pm_backend __real_pm_backend_pmem2;
extern struct pm_backend __wrap_pm_backend_pmem2;
struct pm_backend __wrap_pm_backend_pmem2;

struct piece { struct pm_range r; bool known, stuck; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece piece[MAX_PIECES];
static unsigned nr_pieces;
static struct { uint8_t *base; uint64_t size; } maps[MAX_MAPS];
static int empty = -1;

static void read_list(void)
{
	unsigned long long off, len;
	char word[16];
	FILE *f = fopen(getenv("PMEMFS_POISON"), "r");
	unsigned n = 0;

	while (f && n < MAX_PIECES && fscanf(f, "%15s %llu %llu", word, &off, &len) == 3) {
		piece[n].r = (struct pm_range){ off, len };
		piece[n].stuck = !strcmp(word, "stuck");
		piece[n++].known = !strcmp(word, "known");
	}
	if (f)
		fclose(f);
	__atomic_store_n(&nr_pieces, n, __ATOMIC_RELEASE);
}

static void poison(uint8_t *base, uint64_t size, struct pm_range r)
{
	for (uint64_t off = r.off; off < r.off + r.len && off < size; off += PAGE)
		if (__real_mmap(base + off, PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_FIXED, empty, 0) == MAP_FAILED)
			abort();
}

static void poison_all(void)
{
	for (unsigned k = 0; k < MAX_MAPS; k++)
		for (unsigned i = 0; maps[k].base && i < nr_pieces; i++)
			poison(maps[k].base, maps[k].size, piece[i].r);
}

/* From the signal handler as well: no lock, and the list only grows there. */
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *p = __real_mmap(at, len, prot, flags, fd, off);
	unsigned n = __atomic_load_n(&nr_pieces, __ATOMIC_ACQUIRE);

	if (p == MAP_FAILED || !(flags & MAP_FIXED) || fd < 0)
		return p;
	for (unsigned k = 0; k < MAX_MAPS; k++) {
		uint8_t *base = maps[k].base;

		for (unsigned i = 0; base && i < n; i++)
			if (base + piece[i].r.off >= (uint8_t *)p &&
			    base + piece[i].r.off < (uint8_t *)p + len)
				poison(base, maps[k].size, piece[i].r);
	}
	return p;
}

static void *watch(void *arg)
{
	const char *path = getenv("PMEMFS_POISON"), *ack = arg;
	struct timespec last = { 0, -1 };
	struct stat st;
	FILE *f;

	for (;; usleep(5000)) {
		if (stat(path, &st) || (st.st_mtim.tv_sec == last.tv_sec &&
					st.st_mtim.tv_nsec == last.tv_nsec))
			continue;
		last = st.st_mtim;
		pthread_mutex_lock(&lock);
		read_list();
		poison_all();
		pthread_mutex_unlock(&lock);
		f = fopen(ack, "w");
		if (f) {
			fprintf(f, "%u\n", nr_pieces);
			fclose(f);
		}
	}
	return NULL;
}

static void start(void)
{
	static bool started;
	char *ack = getenv("PMEMFS_POISON_WATCH");
	pthread_t t;

	if (started)
		return;
	started = true;
	empty = memfd_create("empty", MFD_CLOEXEC);
	if (empty < 0)
		abort();
	read_list();
	if (ack && !pthread_create(&t, NULL, watch, ack))
		pthread_detach(t);
}

static int poison_open(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	int err = __real_pm_backend_pmem2.open(m, path, cfg);
	unsigned i, k;

	if (err || !getenv("PMEMFS_POISON"))
		return err;
	pthread_mutex_lock(&lock);
	start();
	for (k = 0; k < MAX_MAPS - 1 && maps[k].base; k++)
		;
	maps[k].size = m->size;
	maps[k].base = m->base;
	for (i = 0; i < nr_pieces; i++)
		if (piece[i].known) {
			m->bad = realloc(m->bad, (m->nr_bad + 1) * sizeof(*m->bad));
			m->bad[m->nr_bad++] = piece[i].r;
		}
	poison_all();
	pthread_mutex_unlock(&lock);
	return 0;
}

static void poison_close(struct pm_map *m)
{
	for (unsigned k = 0; k < MAX_MAPS; k++)
		if (maps[k].base == m->base)
			maps[k].base = NULL;
	__real_pm_backend_pmem2.close(m);
}

static void write_list(void)
{
	FILE *f = fopen(getenv("PMEMFS_POISON"), "w");

	for (unsigned i = 0; f && i < nr_pieces; i++)
		fprintf(f, "%s %llu %llu\n",
			piece[i].known ? "known" : piece[i].stuck ? "stuck" : "hidden",
			(unsigned long long)piece[i].r.off,
			(unsigned long long)piece[i].r.len);
	if (f)
		fclose(f);
}

/* As a device does: the list forgets it, zeros are there. */
static int poison_clear(struct pm_map *m, struct pm_range r)
{
	static const char zeros[PAGE];
	unsigned i, n = 0;

	for (i = 0; i < nr_pieces; i++) {
		struct pm_range p = piece[i].r;

		if (p.off >= r.off + r.len || r.off >= p.off + p.len) {
			piece[n++] = piece[i];
			continue;
		}
		if (piece[i].stuck)
			return -EIO;	/* alone in a list, or what came before is lost */
		for (uint64_t at = p.off; at < p.off + p.len; at += PAGE)
			if (pwrite(m->fd, zeros, PAGE, (off_t)at) != (ssize_t)PAGE)
				return -EIO;
		__real_mmap(m->base + p.off, p.len, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, m->fd, (off_t)p.off);
	}
	if (n == nr_pieces)
		return -ENOENT;
	nr_pieces = n;
	write_list();
	return 0;
}

__attribute__((constructor))
static void set_up(void)
{
	__wrap_pm_backend_pmem2 = __real_pm_backend_pmem2;
	__wrap_pm_backend_pmem2.open = poison_open;
	__wrap_pm_backend_pmem2.close = poison_close;
	__wrap_pm_backend_pmem2.clear = poison_clear;
}
