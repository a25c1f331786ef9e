/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.c - SIGBUS inside a pool costs one request, not the daemon
 *
 * The handler maps private zeros, a *stand-in*, under the faulting address
 * and returns, so the code that touched it goes on and unwinds by itself.
 * What keeps a zero of a stand-in from being taken for the medium's:
 *
 *   F1  seq becomes odd before the first stand-in is mapped, and moves with
 *       every further one; pm_faulted() is true whenever seq is odd or has
 *       moved since the mark.
 *   F2  fault_repair() maps the pool back first and moves seq to an even
 *       value afterwards: who took a mark while stand-ins were mapped is
 *       told, even if the repair came in between.
 *   F3  a stand-in that cannot be mapped back stays, and seq stays odd. So
 *       it is, in a private mapping, where a page already stored to is lost
 *       (the file has an older one), or too many pages to list.
 *
 * The handler calls mmap(2), which on Linux is a bare system call, and spins
 * on a lock that is never held by code that touches a pool, so never by the
 * thread it interrupted. A SIGBUS that belongs to no pool gets the default
 * action back and happens again: a bug crashes as ever.
 */
#include "pm/fault.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/log.h"

#define MAX_POOLS	16
#define PAGE		4096u

static _Atomic(struct fault_pool *) pools[MAX_POOLS];

static void lock(struct fault_pool *fp)
{
	while (atomic_flag_test_and_set_explicit(&fp->busy, memory_order_acquire))
		sched_yield();
}

static void unlock(struct fault_pool *fp)
{
	atomic_flag_clear_explicit(&fp->busy, memory_order_release);
}

static struct fault_pool *find(const void *addr)
{
	for (unsigned i = 0; i < MAX_POOLS; i++) {
		struct fault_pool *fp = atomic_load_explicit(&pools[i],
							     memory_order_acquire);

		if (fp && (uintptr_t)addr >= (uintptr_t)fp->base &&
		    (uintptr_t)addr - (uintptr_t)fp->base < fp->size)
			return fp;
	}
	return NULL;
}

/* Is there a stand-in at off already? Another thread may have been faster. */
static bool listed(const struct fault_pool *fp, uint64_t off)
{
	for (unsigned i = 0; i < fp->nr && i < FAULT_STAND_INS; i++)
		if (fp->at[i] == off)
			return true;
	return false;
}

/* Private pages that were stored to exist nowhere else. */
static bool is_lost(const struct fault_pool *fp, uint64_t off)
{
	uint64_t page = off / 4096, end = (off + fp->unit) / 4096;

	if (!fp->copied)
		return false;
	if (fp->nr >= FAULT_STAND_INS)
		return true;
	for (; page < end; page++)
		if (fp->copied[page / 8] & 1u << page % 8)
			return true;
	return false;
}

/* ---- memory of what is bad ------------------------------------------------ */

/* The last news of each thread, for whoever has to answer for it. */
static _Thread_local struct { const struct fault_pool *fp; uint64_t off; } mine;

bool fault_here(const struct fault_pool *fp, uint64_t *off)
{
	bool yes = mine.fp == fp;

	*off = mine.off;
	if (yes)
		mine.fp = NULL;
	return yes;
}

/* With the lock: one writer, and readers that look below nr_bad only. */
static bool note_bad(struct fault_pool *fp, struct pm_range r)
{
	unsigned n = atomic_load_explicit(&fp->nr_bad, memory_order_relaxed);

	for (unsigned i = 0; i < n; i++)
		if (r.off >= fp->bad[i].off && r.off + r.len <= fp->bad[i].off + fp->bad[i].len)
			return false;
	if (n == PM_BAD_MAX)
		return false;
	fp->bad[n] = r;
	atomic_store_explicit(&fp->nr_bad, n + 1, memory_order_release);
	return true;
}

void fault_note_bad(struct fault_pool *fp, struct pm_range r)
{
	lock(fp);
	note_bad(fp, r);
	unlock(fp);
}

/* ---- the handler ----------------------------------------------------------- */

static bool stand_in(struct fault_pool *fp, uint64_t addr_off)
{
	uint64_t off = align_down(addr_off, fp->unit);
	bool ok = true;
	void *p;

	lock(fp);
	atomic_fetch_add(&fp->count, 1);
	atomic_store(&fp->last, addr_off);
	if (note_bad(fp, (struct pm_range){ align_down(addr_off, PAGE), PAGE })) {
		mine.fp = fp;
		mine.off = align_down(addr_off, PAGE);
	}
	if (!listed(fp, off)) {
		atomic_store(&fp->seq, (atomic_load(&fp->seq) + 2) | 1); /* F1 */
		p = mmap(fp->base + off, fp->unit, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
			 -1, 0);
		ok = p != MAP_FAILED;
		fp->lost |= is_lost(fp, off);
		if (fp->nr < FAULT_STAND_INS)
			fp->at[fp->nr] = off;
		if (fp->nr <= FAULT_STAND_INS)
			fp->nr++;
	}
	unlock(fp);
	return ok;
}

/*
 * Notice of bad memory that nobody has touched yet. It comes at any moment,
 * even while this thread has the lock: then the news is left for who touches.
 */
static void note_ahead(struct fault_pool *fp, const void *addr)
{
	uint64_t off = (uint64_t)((uintptr_t)addr - (uintptr_t)fp->base);

	if (atomic_flag_test_and_set_explicit(&fp->busy, memory_order_acquire))
		return;
	note_bad(fp, (struct pm_range){ align_down(off, PAGE), PAGE });
	unlock(fp);
}

static void on_sigbus(int sig, siginfo_t *si, void *uc)
{
	struct fault_pool *fp = si->si_code > 0 ? find(si->si_addr) : NULL;
	int saved = errno;

	(void)uc;
	if (si->si_code == BUS_MCEERR_AO) {
		if (fp)
			note_ahead(fp, si->si_addr);
		return;
	}
	if (fp && stand_in(fp, (uint64_t)((uintptr_t)si->si_addr -
					  (uintptr_t)fp->base))) {
		errno = saved;
		return;
	}
	signal(sig, SIG_DFL);
	if (si->si_code <= 0)
		raise(sig);	/* sent by someone: it will not recur by itself */
	errno = saved;
}

void pm_fault_install(void)
{
	struct sigaction sa = {
		.sa_sigaction = on_sigbus,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};

	sigemptyset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, NULL);
}

int fault_register(struct fault_pool *fp, const struct pm_map *m)
{
	atomic_flag_clear(&fp->busy);
	if (!m->unit)
		return 0;
	fp->base = m->base;
	fp->size = m->size;
	fp->unit = m->unit;
	fp->fd = m->fd;
	fp->map_flags = m->map_flags;
	fp->prot = m->prot;
	fp->copied = m->copied;
	for (unsigned i = 0; i < MAX_POOLS; i++) {
		struct fault_pool *none = NULL;

		if (atomic_compare_exchange_strong(&pools[i], &none, fp)) {
			fp->registered = true;
			return 0;
		}
	}
	log_err("more than %d pools mapped by one process", MAX_POOLS);
	return -EMFILE;
}

void fault_unregister(struct fault_pool *fp)
{
	for (unsigned i = 0; fp->registered && i < MAX_POOLS; i++) {
		struct fault_pool *me = fp;

		if (atomic_compare_exchange_strong(&pools[i], &me, NULL))
			fp->registered = false;
	}
}

static bool map_back(struct fault_pool *fp, uint64_t off, uint64_t len)
{
	return mmap(fp->base + off, len, fp->prot, fp->map_flags | MAP_FIXED, fp->fd,
		    (off_t)off) != MAP_FAILED;
}

bool fault_repair(struct fault_pool *fp)
{
	bool ok;

	if (!(atomic_load_explicit(&fp->seq, memory_order_relaxed) & 1))
		return false;
	lock(fp);
	ok = !fp->lost;
	if (ok && fp->nr > FAULT_STAND_INS)
		ok = map_back(fp, 0, align_up(fp->size, fp->unit));
	for (unsigned i = 0; ok && fp->nr <= FAULT_STAND_INS && i < fp->nr; i++)
		ok = map_back(fp, fp->at[i], fp->unit);
	if (ok && fp->nr) {
		fp->nr = 0;
		atomic_store(&fp->seq, (atomic_load(&fp->seq) + 2) & ~1ull); /* F2 */
	}
	unlock(fp);				/* F3 otherwise */
	return true;
}
