/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.h - the checksum of every metadata structure (Castagnoli)
 *
 * Reflected, polynomial 0x82f63b78, initial value and final xor 0xffffffff
 * as in RFC 3720 when seed is 0; crc32c(crc32c(0, a), b) == crc32c(0, ab).
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t seed, const void *buf, size_t len);
/* The portable version, which a test compares with the one above. */
uint32_t crc32c_soft(uint32_t seed, const void *buf, size_t len);

/* Seal: crc of the bytes behind the first four, seeded with the pool offset. */
uint32_t seal_crc(const void *obj, size_t len, uint64_t off);

#endif
