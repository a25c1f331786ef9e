# SPDX-License-Identifier: BSD-3-Clause
# s_apps.sh - programs that people use, on a mount
#
# git, a build, tar, sqlite3, rsync, cp -a. Whatever they made is the same,
# byte by byte and name by name, after an unmount, fsck and a remount.
# LONG=1 configures and builds pmemfs itself on the mount.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 600
make_pool 512M
mount_pool

have() { command -v "$1" >/dev/null || { say "no $1 here: left out"; return 1; }; }

# A small tree with everything that copies get wrong.
odd_tree()
{
	mkdir -p "$1/dir/deep/er" "$1/empty"
	(
		cd "$1"
		echo one >plain
		ln plain dir/hard
		ln -s ../plain dir/soft
		ln -s "$(printf 'x%.0s' {1..300})" dir/long-soft
		ln -s nowhere dangling
		mkfifo fifo
		truncate -s 10M holes
		printf middle | dd of=holes bs=1 seek=5000000 conv=notrunc status=none
		: >zero
		head -c 100001 /dev/urandom >dir/deep/er/random
		echo odd >'with space'
		echo odd >-dash
		echo odd >$'new\nline'
		echo odd >"ünïcödé-日本"
		echo odd >$'not-utf8-\xff\xfe'
		echo odd >"$(printf 'n%.0s' {1..255})"
		chmod 751 dir; chmod 4755 plain; chmod 2775 empty; chmod 000 zero
		# In the past: rsync leaves times alone that are right to the second.
		find . -exec touch -h -d '2005-05-05 05:05:05.555 UTC' {} +
		touch -d '1969-12-31 23:59:58.123456789 UTC' dir/deep/er/random
		touch -d '2100-06-07 08:09:10.987654321 UTC' plain
	)
}

# identical A B: names, modes, times, links, content.
identical()
{
	manifest "$1" >"$T/a.list"
	manifest "$2" >"$T/b.list"
	cmp -s "$T/a.list" "$T/b.list" ||
		{ diff "$T/a.list" "$T/b.list" | head -n 20; fail "$1 and $2 differ"; }
}

try_git()
{
	have git || return 0
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
	export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com
	export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com
	if ! git clone -q "file://$srcdir" "$MNT/clone" 2>/dev/null ||
		! git -C "$MNT/clone" rev-parse -q --verify HEAD >/dev/null; then
		say "git: no history to clone here, a repository is made"
		rm -rf "$MNT/clone"
		git init -q "$T/repo"
		tar -C "$srcdir" -cf - --exclude=./.git --exclude=./build --exclude=./_build \
			--exclude=./_inst --exclude=./autom4te.cache . | tar -C "$T/repo" -xf -
		git -C "$T/repo" add -A
		git -C "$T/repo" commit -q -m first
		git clone -q "file://$T/repo" "$MNT/clone"
	fi
	(
		cd "$MNT/clone"
		git checkout -q -b work
		echo changed >new-file
		git add new-file
		git commit -q -m "on the mount"
		git gc -q
		git fsck --strict
		[ -z "$(git status --porcelain)" ] || fail "git status is not clean"
	)
}

try_build()
{
	local cc=${CC:-cc} i
	have "${cc%% *}" && have make || return 0
	if [ "${LONG:-0}" = 1 ]; then
		mkdir "$MNT/build"
		(cd "$MNT/clone" && autoreconf -fi && cd ../build && ../clone/configure &&
			make -j2) >"$T/build.log" 2>&1 ||
			{ tail "$T/build.log"; fail "the build of pmemfs"; }
		return 0
	fi
	mkdir "$MNT/build"
	for i in {1..20}; do
		echo "int f$i(void); int f$i(void) { return $i; }" >"$MNT/build/f$i.c"
	done
	{
		for i in {1..20}; do echo "int f$i(void);"; done
		echo '#include <stdio.h>'
		printf '%s\n' 'int main(void) { printf("%d\n", 0'
		for i in {1..20}; do echo " + f$i()"; done
		echo '); return 0; }'
	} >"$MNT/build/main.c"
	cat >"$MNT/build/Makefile" <<-'END'
	.RECIPEPREFIX = >
	sum: main.o libf.a
	> $(CC) -o $@ main.o libf.a
	libf.a: $(patsubst %.c,%.o,$(wildcard f*.c))
	> $(AR) rcs $@ $^
	END
	make -s -j2 -C "$MNT/build" CC="$cc"
	same "$("$MNT/build/sum")" 210 "what the program just built prints"
	make -s -q -C "$MNT/build" CC="$cc" || fail "make wants to build again: time stamps"
}

try_tar()
{
	local from=/usr/include
	[ -d $from ] || from=/etc/apt
	tar -cf "$MNT/tree.tar" --sort=name -C $from .
	mkdir "$MNT/tree"
	tar -xpf "$MNT/tree.tar" -C "$MNT/tree"
	diff -r --no-dereference $from "$MNT/tree"
	tar -cf - --sort=name -C "$MNT/tree" . | cmp - "$MNT/tree.tar"
}

try_sqlite()
{
	have sqlite3 || return 0
	local mode
	for mode in delete wal; do
		sqlite3 "$MNT/$mode.db" >/dev/null <<-END
		PRAGMA journal_mode = $mode;
		CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER);
		BEGIN;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
			INSERT INTO t SELECT i, 'row ' || i, i * i FROM n;
		COMMIT;
		CREATE INDEX t_b ON t (b);
		UPDATE t SET a = a || '!' WHERE id % 10 = 0;
		DELETE FROM t WHERE id % 1000 = 0;
		END
		same "$(sqlite3 "$MNT/$mode.db" 'SELECT count(*), sum(b % 1000) FROM t;')" \
			"99900|46150000" "sqlite, journal_mode=$mode"
		same "$(sqlite3 "$MNT/$mode.db" 'PRAGMA integrity_check;')" ok "sqlite integrity"
	done
}

try_rsync()
{
	have rsync || return 0
	odd_tree "$T/odd"
	rsync -aHAX "$T/odd/" "$MNT/rsync-1/"
	identical "$T/odd" "$MNT/rsync-1"
	if have setfattr; then
		setfattr -n user.colour -v blue "$MNT/rsync-1/plain"
		setfattr -n user.large -v "$(head -c 3000 /dev/zero | tr '\0' x)" "$MNT/rsync-1/dir"
	fi
	rsync -aHAX "$MNT/rsync-1/" "$MNT/rsync-2/"
	identical "$MNT/rsync-1" "$MNT/rsync-2"
	if have getfattr; then
		same "$(getfattr --only-values -n user.colour "$MNT/rsync-2/plain")" blue "an xattr"
		same "$(getfattr --only-values -n user.large "$MNT/rsync-2/dir" | wc -c)" 3000 \
			"size of an xattr"
	fi
	rsync -aH "$MNT/rsync-2/" "$T/back/"
	identical "$T/odd" "$T/back"
}

try_cp()
{
	[ -d "$T/odd" ] || odd_tree "$T/odd"
	cp -a "$T/odd" "$MNT/cp-1"
	identical "$T/odd" "$MNT/cp-1"
	cp -a --sparse=always "$MNT/cp-1" "$MNT/cp-2"
	identical "$T/odd" "$MNT/cp-2"
	[ "$(stat -c '%b' "$MNT/cp-2/holes")" -lt 100 ] || fail "a sparse copy is not sparse"
	cp -a "$MNT/cp-2" "$T/cp-back"
	identical "$T/odd" "$T/cp-back"
	same "$(stat -c %i "$MNT/cp-1/plain")" "$(stat -c %i "$MNT/cp-1/dir/hard")" "hard link"
}

for job in try_git try_build try_tar try_sqlite try_rsync try_cp; do
	say "$job"
	$job
done

say "unmount, fsck, mount again"
manifest "$MNT" >"$T/before"
unmount_pool
check_pool
mount_pool
manifest "$MNT" >"$T/after"
cmp -s "$T/before" "$T/after" ||
	{ diff "$T/before" "$T/after" | head -n 20; fail "the remount changed something"; }
say "$(wc -l <"$T/before") lines say the same before and after"

rm -rf "${MNT:?}"/*
unmount_pool
check_pool
