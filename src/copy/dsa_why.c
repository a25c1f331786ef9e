/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_why.c - names of the reasons why bytes went by the CPU, in every build
 */
#include "copy/dsa.h"

const char *dsa_why_name(enum dsa_reason why)
{
	static const char *const name[DSA_NR_WHY] = {
		[DSA_WHY_SMALL] = "small", [DSA_WHY_POLICY] = "policy",
		[DSA_WHY_FULL] = "full", [DSA_WHY_OFF] = "off", [DSA_WHY_FAULT] = "fault",
		[DSA_WHY_STATUS] = "status", [DSA_WHY_TIMEOUT] = "timeout",
		[DSA_WHY_HALTED] = "halted", [DSA_WHY_DISABLED] = "disabled",
		[DSA_WHY_GONE] = "gone", [DSA_WHY_MEDIUM] = "medium",
	};

	return name[why];
}
