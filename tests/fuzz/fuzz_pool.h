/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_pool.h - the one call that libFuzzer and replay.c make
 */
#ifndef FUZZ_FUZZ_POOL_H
#define FUZZ_FUZZ_POOL_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
