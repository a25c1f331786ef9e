# SPDX-License-Identifier: BSD-3-Clause
# s_kill.sh - what was acknowledged outlives writers and the daemon
#
# Twenty writers make files under a temporary name, rename them, now and then
# remove one, and record outside the mount what the file system has answered.
# SIGKILL hits some writers, then the daemon. After a remount every recorded
# file is there and whole, every recorded removal has happened, no file under
# a final name is torn, and fsck agrees.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 300
writers=20

# writer DIR NUMBER: until the mount dies. Lines of its journal:
#   want NAME SUM (before)   made NAME (answered)   gone NAME (answered)
writer()
{
	local dir=$1/$2 log=$T/log.$2 i name sum how
	mkdir "$dir" || return 0
	for ((i = 0; ; i++)); do
		name=$i.$RANDOM
		# Sizes that are whole blocks, less than one, and odd ones.
		case $((i % 4)) in
		0) yes "$2 $name" | head -c 4096 ;;
		1) yes "$2 $name" | head -c $((RANDOM % 4000 + 1)) ;;
		2) yes "$2 $name" | head -c $((RANDOM * 4 + 5000)) ;;
		3) yes "$2 $name" | head -c 65536 ;;
		esac >"$T/data.$2"
		sum=$(sha256sum <"$T/data.$2")
		echo "want $name ${sum%% *}" >>"$log"
		how=
		[ $((i % 2)) = 0 ] || how=conv=fsync
		dd if="$T/data.$2" of="$dir/.tmp" bs=64k ${how:+"$how"} status=none || return 0
		mv "$dir/.tmp" "$dir/$name" || return 0
		echo "made $name" >>"$log"
		if [ $((i % 5)) = 4 ]; then
			name=$(sed -n 's/^made //p' "$log" | head -n 1)
			[ -e "$dir/$name" ] || continue
			echo "will-go $name" >>"$log"
			rm "$dir/$name" || return 0
			echo "gone $name" >>"$log"
		fi
	done 2>/dev/null
}

# judge DIR NUMBER: hold the directory against the journal.
judge()
{
	local dir=$1/$2 log=$T/log.$2 name sum have
	declare -A want=() gone=()
	while read -r what name sum; do
		case $what in
		want) want[$name]=$sum ;;
		will-go) gone[$name]=maybe ;;
		gone)
			gone[$name]=yes
			[ ! -e "$dir/$name" ] || fail "writer $2: $name was removed, and is back" ;;
		esac
	done <"$log"
	while read -r what name sum; do
		[ "$what" = made ] || continue
		made=$((made + 1))
		[ -e "$dir/$name" ] || [ -n "${gone[$name]:-}" ] ||
			fail "writer $2: $name was acknowledged, and is lost"
	done <"$log"
	for name in "$dir"/*; do
		[ -e "$name" ] || continue
		have=$(sha256sum <"$name")
		same "${have%% *}" "${want[${name##*/}]:-nothing}" "content of $name"
		whole=$((whole + 1))
	done
}

round()
{
	local w pids=() made=0 whole=0
	say "round: -o ${1:-(defaults)}"
	rm -f "$T"/log.*
	mount_pool "$1"
	mkdir "$MNT/$2"
	for ((w = 0; w < writers; w++)); do
		writer "$MNT/$2" $w &
		pids+=($!)
	done
	sleep 2
	for w in 3 7 11; do
		kill -KILL "${pids[w]}"
		wait "${pids[w]}" || true
	done 2>/dev/null
	sleep 1
	kill_daemon
	for w in "${pids[@]}"; do
		wait "$w" 2>/dev/null || true
	done

	mount_pool
	for ((w = 0; w < writers; w++)); do
		judge "$MNT/$2" $w
	done
	say "$made files were acknowledged; $whole are there, and whole"
	[ "$made" -ge $writers ] || fail "the writers hardly wrote"
	unmount_pool
	check_pool
}

make_pool 256M
round "" default
round dax=never never
round "" again
mount_pool
rm -r "${MNT:?}"/*
unmount_pool
check_pool
