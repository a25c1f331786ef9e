/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_main.h - a test program is a list of claims and this main()
 *
 *	START_TEST(a_claim) { ck_assert(...); } END_TEST
 *	CHECK_MAIN("what", a_claim, another_claim)
 */
#ifndef SUPPORT_CHECK_MAIN_H
#define SUPPORT_CHECK_MAIN_H

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

static inline int check_main(const char *name, const TTest *const *test, size_t nr)
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	for (size_t i = 0; i < nr; i++)
		tcase_add_test(tc, test[i]);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define CHECK_MAIN(name, ...)						\
int main(void)								\
{									\
	const TTest *const tests[] = { __VA_ARGS__ };			\
									\
	return check_main(name, tests, sizeof(tests) / sizeof(tests[0])); \
}

#endif
