/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * close_waits.h - what a software device and its user share for each node
 *
 * In a file beside the node, NODE.closed. Whoever has closed the node raises `asked`
 * and waits for `done` to be the same: the device has then seen it, and executes
 * nothing that was submitted before.
 */
#ifndef DSA_CLOSE_WAITS_H
#define DSA_CLOSE_WAITS_H

#include <stdatomic.h>
#include <stdint.h>

#define CLOSE_SUFFIX	".closed"

struct close_waits {
	_Atomic uint64_t asked, done;
	_Atomic int32_t pid;		/* of the device; 0: there is none */
};

#endif
