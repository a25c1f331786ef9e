/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * site.h - which line of the program asks for a flush, a fence or a copy
 *
 * Compiled in front of src/meta, src/copy and src/op (-include) for the crash
 * tests only: each call of pm_flush(), pm_fence(), pm_copy() and
 * pm_copy_zero() is preceded by a note of its place. The code under test does
 * not change by a letter, and the places end up in a section of their own, so
 * that a test can ask for *all* of them, those never reached as well.
 */
#ifndef SUPPORT_SITE_H
#define SUPPORT_SITE_H

#include "pm/pm.h"

enum pm_site_kind { SITE_FLUSH, SITE_FENCE, SITE_COPY, SITE_COPY_ZERO };

struct pm_site {
	const char *file, *func;
	int line;
	enum pm_site_kind kind;
	char pad[40];			/* 64 bytes: no holes in the section */
};
_Static_assert(sizeof(struct pm_site) == 64, "the section is an array");

/* Who is about to call; the recorder takes it. */
extern _Thread_local const struct pm_site *pm_site_now;

/* All of the program, in no order. */
extern const struct pm_site __start_pm_sites[] __attribute__((weak, visibility("hidden")));
extern const struct pm_site __stop_pm_sites[] __attribute__((weak, visibility("hidden")));

#define PM_SITE(what) do {						\
	static const struct pm_site here				\
		__attribute__((section("pm_sites"), used, aligned(64))) = {	\
		.file = __FILE__, .func = __func__, .line = __LINE__,	\
		.kind = (what),						\
	};								\
	pm_site_now = &here;						\
} while (0)

#define pm_flush(pm, off, len) \
	({ PM_SITE(SITE_FLUSH); (pm_flush)(pm, off, len); })
#define pm_fence(pm) \
	({ PM_SITE(SITE_FENCE); (pm_fence)(pm); })
#define pm_copy(pm, off, src, len) \
	({ PM_SITE(SITE_COPY); (pm_copy)(pm, off, src, len); })
#define pm_copy_zero(pm, off, len) \
	({ PM_SITE(SITE_COPY_ZERO); (pm_copy_zero)(pm, off, len); })

#endif
