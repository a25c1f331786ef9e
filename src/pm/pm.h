/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm.h - the medium: map it, read it, store to it, make it durable
 *
 * Four words, used everywhere in this program:
 *   stored     the CPU sees it;
 *   flushed    on its way to the persistence domain, will arrive by the next
 *              fence of this thread;
 *   durable    survives a loss of power;
 *   committed  recovery will honour it (only meta/ uses this one).
 *
 * Nothing outside src/pm flushes or fences. pm_at() is const and we build
 * with -Wcast-qual, so nobody can store behind a backend's back; a recording
 * backend (tests/support) therefore sees every store there is.
 *
 * Offsets and lengths are bytes in the pool. Callers have checked them
 * against pm_size(); a violation is a bug and is asserted.
 */
#ifndef PM_PM_H
#define PM_PM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum pm_granularity {		/* what a flush is (libpmem2) */
	PM_GRAN_BYTE,		/* eADR: stores are durable at the fence */
	PM_GRAN_LINE,		/* 64-byte lines are flushed */
	PM_GRAN_PAGE,		/* msync of 4 KiB pages: page cache */
};

enum pm_kind { PM_FILE, PM_TMPFS, PM_FSDAX, PM_DEVDAX, PM_MEMORY };

#define PM_RDONLY	0x01u	/* map private: stores stay in DRAM (L14) */
#define PM_CREATE	0x02u	/* mkfs: no lock conflict check of content */
#define PM_NOLOCK	0x04u	/* dump: look even while someone else works */
#define PM_LOOK		0x08u	/* map shared and never store: under an overlay */

struct pm;
struct pm_backend;

struct pm_config {
	const struct pm_backend *backend;	/* NULL: libpmem2 */
	void *backend_arg;			/* for the backend */
	unsigned flags;				/* PM_* */
	int granularity;			/* forced enum pm_granularity, or -1 */
};

/*
 * Open, lock and map a pool.
 *
 * -EBUSY: locked by another mount or by fsck. -ENOTBLK: a raw block device
 * (the caller explains). -EMEDIUMTYPE: neither file nor devdax. -EINVAL: empty
 * or a size that is not a multiple of 4096 (the tail is ignored for files).
 * Otherwise -errno of open/map. A line saying why has been logged.
 */
int pm_open(struct pm **out, const char *path, const struct pm_config *cfg);
/* Say what to do with a block device; -ENOTBLK. */
int pm_refuse_block(const char *path);
void pm_close(struct pm *pm);

uint64_t pm_size(const struct pm *pm);
enum pm_granularity pm_granularity(const struct pm *pm);
enum pm_kind pm_kind(const struct pm *pm);
bool pm_has_holes(const struct pm *pm);	/* file blocks are missing */
bool pm_survives_power_loss(const struct pm *pm);
int pm_numa(const struct pm *pm);	/* node of the memory; -1: not known */
/*
 * One line for people: "fsdax file, cache-line granularity, MAP_SYNC, 2 MiB
 * pages, NUMA node 0 (persistent memory)".
 */
const char *pm_describe(const struct pm *pm, char *buf, size_t size);

/* Read-only view of [off, off + len). */
const void *pm_at(const struct pm *pm, uint64_t off, size_t len);

/* ---- stores ------------------------------------------------------------ */

/* Small metadata, ordinary cached stores. Leaves: stored. */
void pm_write(struct pm *pm, uint64_t off, const void *src, size_t len);
void pm_zero(struct pm *pm, uint64_t off, size_t len);
/* Set or clear bits of the little-endian bitmap at off (8-byte aligned);
 * atomic against other callers. Leaves: stored. */
void pm_bits(struct pm *pm, uint64_t off, uint32_t bit, uint32_t nr, bool set);

/* Bulk, non-temporal where it pays, edges included. Leaves: flushed. */
void pm_copy(struct pm *pm, uint64_t off, const void *src, size_t len);
void pm_copy_zero(struct pm *pm, uint64_t off, size_t len);

/*
 * A window is writable memory handed to a foreign writer (the kernel in a
 * read(2) or splice, a device). Between the two calls the pool's bytes in it
 * are undefined. pm_window_done says how many bytes were written from the
 * start. Leaves: stored (call pm_flush next).
 */
void *pm_window(struct pm *pm, uint64_t off, size_t len);
void pm_window_done(struct pm *pm, uint64_t off, size_t len);

/*
 * Let the pages be there for a device to store to. No byte changes. 0 or -errno: some
 * cannot be had (a CPU that touches them may fault), or the kernel is too old.
 */
int pm_populate(struct pm *pm, uint64_t off, size_t len);

/*
 * Can bytes go from a pipe to the pool by splice(2), past this program and the CPU's
 * cache? On fsdax they can: the kernel copies them to the medium with non-temporal
 * stores (drivers/dax/super.c, dax_copy_from_iter() of a DAXDEV_NOCACHE device, which
 * every nd_pmem is; edges are flushed by arch/x86/lib/usercopy_64.c).
 */
bool pm_can_splice(const struct pm *pm);
/*
 * Move up to len bytes. How many were, which may be fewer than there are; 0: the
 * pipe is at its end; or -errno, with nothing moved. Leaves: flushed.
 */
ssize_t pm_splice(struct pm *pm, uint64_t off, int pipe, size_t len);

/* ---- durability -------------------------------------------------------- */

/* Leaves: flushed. */
void pm_flush(struct pm *pm, uint64_t off, size_t len);

/*
 * All that this thread flushed or copied is durable on return.
 * 0, or -EIO: the medium refused (msync); then nothing is known about what
 * arrived and the caller must stop writing (L6). Never retry.
 */
int pm_fence(struct pm *pm);

/* ---- counters (cheap, always on, relaxed) ------------------------------- */

struct pm_stats {
	uint64_t fences, flushes, flushed_bytes;
	uint64_t copies, copied_bytes, stored_bytes;
};
void pm_get_stats(const struct pm *pm, struct pm_stats *out);
/* All that is counted about this pool, here and in the layers above. */
struct counters *pm_counters(struct pm *pm);

/* ---- faults ------------------------------------------------------------ */

/*
 * SIGBUS inside a pool (no memory behind a page, bad media) must cost the
 * request that met it and nothing else. The handler puts a private page of
 * zeros under the faulting address, so that the code which touched it goes on
 * and unwinds by itself, locks and all, and bumps a counter. Whoever is about
 * to believe what it read, or to commit what it stored, asks pm_faulted():
 *
 *	uint64_t mark = pm_fault_mark(pm);
 *	... touch the pool ...
 *	if (pm_faulted(pm, mark))
 *		return -EIO;
 *
 * pm_fault_repair() maps the pool back over the stand-in pages; a request
 * that was faulted calls it at its end, with no lock held. A request that
 * merely ran at the same time may get -EIO too: rare, and never a wrong byte.
 */
void pm_fault_install(void);		/* the handler, once per process */
uint64_t pm_fault_mark(const struct pm *pm);
bool pm_faulted(const struct pm *pm, uint64_t mark);
void pm_fault_repair(struct pm *pm);
/* Number of faults so far and the pool offset of the last (for the log). */
uint64_t pm_fault_count(const struct pm *pm, uint64_t *last_off);
/* Has this thread met a page since it last asked that was not known to be bad?
 * Where (the last one)? */
bool pm_fault_here(const struct pm *pm, uint64_t *off);

/* ---- bad memory -------------------------------------------------------- */

struct pm_range { uint64_t off, len; };

/*
 * Pages that cannot be read: those the kernel knew of when the pool was
 * opened, then those that a fault met since. The list only grows, up to
 * PM_BAD_MAX; what is beyond is not remembered.
 */
#define PM_BAD_MAX	1024u
unsigned pm_bad_count(const struct pm *pm);
struct pm_range pm_bad(const struct pm *pm, unsigned i);

/* Read a byte of every cache line, so that what is bad there becomes known
 * (the kernel's own accesses end in EFAULT and tell nobody where). */
void pm_touch(const void *at, size_t len);

/*
 * Give up the bytes of the known bad blocks that touch r, so that the device
 * takes them out of its list. What is read there afterwards is zero, or
 * whatever the device makes of it. -ENOENT: the device has no such block;
 * -EOPNOTSUPP, -EIO: it refused, and a line says so.
 */
int pm_bad_clear(struct pm *pm, struct pm_range r);

#endif
