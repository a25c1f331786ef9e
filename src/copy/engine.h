/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h - the routes behind copy_in(), private to src/copy
 *
 * Each moves len bytes from the front of p to the pool at off, takes what it
 * moved off p, and leaves the bytes flushed. len <= p->len.
 */
#ifndef COPY_ENGINE_H
#define COPY_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "copy/copy.h"

/* Never fails. */
int copy_cpu(struct pm *pm, uint64_t off, struct payload *p, size_t len);
/* -EIO: the pipe ended early, failed, or the pool did. */
int copy_pipe(struct pm *pm, uint64_t off, struct payload *p, size_t len);
/* The same, straight from the pipe to the pool's file, if pm_can_splice(). */
int copy_splice(struct pm *pm, uint64_t off, struct payload *p, size_t len);
/* The bytes are at off already, stored by the kernel or a device. Never fails. */
int copy_landed(struct pm *pm, uint64_t off, struct payload *p, size_t len);

#endif
