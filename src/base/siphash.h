/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * siphash.h - SipHash-2-4, a keyed hash that strangers cannot steer
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash24(const uint8_t key[16], const void *buf, size_t len);

#endif
