/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * damage.c - the recipes on a file, for a script
 *
 *	damage list			NAME NUMBER safe|ask rest|killed|power
 *	damage make FILE rest|killed|power
 *	damage hurt NAME FILE
 *	damage check NAME FILE		is what should be whole whole?
 */
#include <stdio.h>
#include <string.h>

#include "fsck/recipes.h"

static const char *const endings[] = {
	[AT_REST] = "rest", [KILLED] = "killed", [POWER_CUT] = "power",
};

static const struct recipe *recipe_of(const char *name)
{
	const struct recipe *d;

	for (d = recipes; d->name; d++)
		if (!strcmp(d->name, name))
			return d;
	die("no recipe %s", name);
}

static void list(void)
{
	const struct recipe *d;

	for (d = recipes; d->name; d++)
		printf("%s %04u %s %s\n", d->name, d->number, d->safe ? "safe" : "ask",
		       endings[d->end]);
}

static void make(const char *path, const char *how)
{
	struct image img;
	int end;

	image_map(&img, path);
	for (end = 0; end < NR_ENDINGS; end++)
		if (!strcmp(endings[end], how))
			image_make(&img, (enum ending)end);
}

static void damage(const char *name, const char *path)
{
	struct image img;

	image_map(&img, path);
	image_geometry(&img);
	recipe_of(name)->damage(&img);
}

static int check(const char *name, const char *path)
{
	const struct recipe *d = recipe_of(name);
	uint32_t whole, want = T_ALL & ~d->lost;
	struct image img;
	unsigned logged;
	struct fs *fs;
	int found;

	image_map(&img, path);
	fs = image_open(&img, true);
	whole = image_whole(fs);
	found = image_found(fs);
	logged = image_logged(fs);
	image_walk(fs);
	fs_close(fs);
	if (whole == want && (d->found == -2 || found == d->found) && logged >= d->logged)
		return 0;
	printf("%s: whole %x, wanted %x; %d in lost+found, wanted %d; %u of the log, wanted %u\n",
	       name, whole, want, found, d->found, logged, d->logged);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list"))
		list();
	else if (argc == 4 && !strcmp(argv[1], "make"))
		make(argv[2], argv[3]);
	else if (argc == 4 && !strcmp(argv[1], "hurt"))
		damage(argv[2], argv[3]);
	else if (argc == 4 && !strcmp(argv[1], "check"))
		return check(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
