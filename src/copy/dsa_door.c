/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_door.c - the instructions that hand a descriptor to a device
 *
 * The store fence in here makes the descriptor, its empty record and the source
 * visible before the device can look for them. It promises nothing about
 * durability, so tests/lint/fences.sh lets it stand outside src/pm.
 *
 * The portal is in rax and the descriptor in rdx, always, so that a test can stand in for
 * an instruction that its CPU does not have.
 */
#include "copy/dsa_int.h"

#ifdef __x86_64__

#include <cpuid.h>

#define ECX_MOVDIR64B	(1u << 28)	/* CPUID leaf 7 */
#define ECX_ENQCMD	(1u << 29)

void dsa_door_has(bool *movdir64b, bool *enqcmd)
{
	unsigned a, b, c, d;

	*movdir64b = *enqcmd = false;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return;
	*movdir64b = c & ECX_MOVDIR64B;
	*enqcmd = c & ECX_ENQCMD;
}

void dsa_door_movdir64b(void *place, const struct dsa_desc *d)
{
	asm volatile("sfence\n\tmovdir64b (%1), %0" : : "a"(place), "d"(d) : "memory");
}

bool dsa_door_enqcmd(void *place, const struct dsa_desc *d)
{
	uint8_t refused;

	asm volatile("sfence\n\tenqcmd (%2), %1\n\tsetz %0"
		     : "=r"(refused) : "a"(place), "d"(d) : "memory", "cc");
	return !refused;
}

#else	/* no machine of another kind has the device */

void dsa_door_has(bool *movdir64b, bool *enqcmd)
{
	*movdir64b = *enqcmd = false;
}

void dsa_door_movdir64b(void *place, const struct dsa_desc *d)
{
	(void)place;
	(void)d;
}

bool dsa_door_enqcmd(void *place, const struct dsa_desc *d)
{
	(void)place;
	(void)d;
	return false;
}

#endif
