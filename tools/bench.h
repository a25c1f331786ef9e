/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h - the commands of pmemfs-bench that have a file of their own
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* `pmemfs-bench dsa-model`: argv[0] is the command. Returns an exit status. */
int bench_dsa_model(int argc, char **argv);

#endif
