# SPDX-License-Identifier: BSD-3-Clause
# real.sh - small jobs of real programs, each in the folder it is started in
#
#	real.sh prepare MATERIAL | real.sh tar|git|sqlite|make MATERIAL
set -eu
what=$1 material=$2

case $what in
prepare)
	mkdir -p "$material/tree"
	for d in 1 2 3 4 5 6 7 8; do
		mkdir "$material/tree/d$d"
		for f in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
			seq "$((d * f))" "$((d * f + 400 * (f % 5)))" >"$material/tree/d$d/f$f"
		done
	done
	mkdir "$material/make"
	for f in 1 2 3 4 5 6; do
		printf '#include <stdio.h>\nint f%d(void) { return puts("%d"); }\n' $f $f \
			>"$material/make/f$f.c"
	done
	printf 'all: f1.o f2.o f3.o f4.o f5.o f6.o\n\tar rc libf.a *.o\n' >"$material/make/Makefile"
	tar -C "$material" -cf "$material/tree.tar" tree
	{
		echo 'create table t(a integer primary key, b text);'
		for i in $(seq 100); do
			echo "begin; insert into t values($i, 'row $i'); commit;"
		done
		echo 'select count(*) from t;'
	} >"$material/sql" ;;
tar)
	tar -xf "$material/tree.tar"
	tar -cf copy.tar tree
	rm -r tree ;;
git)
	export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD
	git init -q -b main .
	cp -r "$material/tree" .
	git add tree
	git -c user.name=bench -c user.email=bench@localhost commit -q -m tree
	git status --short
	git clone -q . clone ;;
sqlite)
	[ "$(sqlite3 db <"$material/sql")" = 100 ] ;;
make)
	cp "$material"/make/* .
	make -s ;;
*)
	exit 2 ;;
esac
