/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_sysfs.h - what sysfs says about a work queue; private to src/copy and its tests
 */
#ifndef COPY_DSA_SYSFS_H
#define COPY_DSA_SYSFS_H

#include "copy/dsa_int.h"

/* Has the machine a DSA at all? */
bool dsa_sysfs_any(const char *root);
/* Is all there without which libaccel-config fails? false: `why` says what is not. */
bool dsa_sysfs_sound(const char *root, char *why, size_t size);
/*
 * Fill in what the queue wq->name is; wq->path stays. 0, or -errno: `why` says why it cannot
 * be used.
 */
int dsa_sysfs_wq(const char *root, struct dsa_wq *wq, char *why, size_t size);
/* As dsa_find_again(). */
enum dsa_wq_state dsa_sysfs_state(const char *root, struct dsa_wq *wq);
/* A set of operations in any of the kernel's formats. false: it is none. */
bool dsa_ops_parse(const char *text, uint64_t ops[4]);

#endif
