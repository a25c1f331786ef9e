/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_device.h - pmemfs-bench copy: by a copying device, if there is one
 */
#ifndef TOOLS_BENCH_DEVICE_H
#define TOOLS_BENCH_DEVICE_H

#include <stdint.h>
#include <stddef.h>

struct pm;
struct bench_device;

#define DEVICE_DEPTH	16u
#define DEVICE_MIN	256u	/* bytes; below, the CPU would copy them */

/* NULL: there is none that copies for us now; *what says why, or which. */
struct bench_device *bench_device_open(struct pm *pm, char *what, size_t size);
void bench_device_close(struct bench_device *d);

/*
 * Copy len bytes at src to off in the pool; durable after pm_fence() (or, where pages are
 * flushed, msync) when it and bench_device_end() have returned. With depth jobs in flight
 * it returns when fewer are. Returns the nanoseconds that the CPU worked: submitting,
 * reaping and flushing, not waiting.
 */
int64_t bench_device_copy(struct bench_device *d, uint64_t off, const void *src, size_t len,
			  unsigned depth);
int64_t bench_device_end(struct bench_device *d);

/* Of all bytes so far, those that the device copied: 0 to 1. */
double bench_device_share(const struct bench_device *d);

#endif
