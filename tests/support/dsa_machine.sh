# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# dsa_machine.sh - a machine with a DSA, as sysfs and /dev show it
#
#	. tests/support/dsa_machine.sh
#	dsa_inside "$0" "$@"		(first: the script goes on in mounts of its own)
#	dsa_machine file|fifo		(then: /sys/bus/dsa and /dev/dsa are there)
#	echo disabled >"$DSA_BUS/devices/wq0.1/state"
#	dsa_no_machine			(and are not there any more)
#
# What is there is emulated: one device, dsa0, and two of its work queues, which
# users may have: wq0.0 is shared, wq0.1 dedicated. The attributes are those that
# libaccel-config 3.5 insists on, in the kernel's format; a node of /dev/dsa is
# a file of one page, which can be mapped like a portal, or a FIFO, which cannot.
# Nothing outside the namespace changes.
set -eu

DSA_BUS=/sys/bus/dsa

# In a mount namespace of our own, or not at all: exit status 77.
dsa_inside()
{
	local how=(unshare --mount --propagation private)
	[ -z "${DSA_INSIDE:-}" ] || return 0
	[ "$(id -u)" = 0 ] || how=(unshare --map-root-user --mount --propagation private)
	"${how[@]}" true 2>/dev/null || {
		echo "skipped: no mount namespace to be had"
		exit 77
	}
	DSA_INSIDE=1 exec "${how[@]}" "$BASH" "$@"
}

# dsa_attrs DIR: "name value" lines on standard input, each an attribute
dsa_attrs()
{
	local name value
	mkdir -p "$1"
	while read -r name value; do
		printf '%s\n' "$value" >"$1/$name"
	done
}

dsa_device()
{
	dsa_attrs "$1" <<-END
		cdev_major 237
		clients 0
		cmd_status 0x0
		configurable 1
		errors 0x0 0x0 0x0 0x0
		gen_cap 0x40915f010f
		ims_size 2048
		max_batch_size 1024
		max_engines 4
		max_groups 4
		max_read_buffers 96
		max_transfer_size 2147483648
		max_work_queues 8
		max_work_queues_size 128
		numa_node -1
		op_cap 0x1003f03ff 0x0 0x0 0x0
		pasid_enabled 1
		read_buffer_limit 0
		state enabled
		version 0x100
	END
}

# dsa_queue DIR NAME MODE THRESHOLD
dsa_queue()
{
	dsa_attrs "$1/$2" <<-END
		ats_disable 0
		block_on_fault 0
		cdev_minor ${2#wq0.}
		clients 0
		driver_name user
		group_id 0
		max_batch_size 32
		max_transfer_size 2097152
		mode $3
		name test
		occupancy 0
		op_config 00000000,00000000,00000000,00000000,00000000,00000000,00000001,003f03ff
		prs_disable 0
		priority 10
		size 32
		state enabled
		threshold $4
		type user
	END
}

# dsa_tree DIR: what stands under /sys/bus/dsa
dsa_tree()
{
	local d=$1/devices/dsa0 e
	mkdir -p "$1/drivers/idxd" "$1/drivers/user" "$1/drivers/dmaengine" "$d"
	for e in idxd user dmaengine; do
		: >"$1/drivers/$e/bind"
		: >"$1/drivers/$e/unbind"
	done
	dsa_device "$d"
	dsa_attrs "$d/group0.0" <<-END
		engines engine0.0 engine0.1 engine0.2 engine0.3
		read_buffers_allowed 96
		read_buffers_reserved 0
		traffic_class_a 1
		traffic_class_b 1
		use_read_buffer_limit 0
		work_queues wq0.0 wq0.1
	END
	for e in 0 1 2 3; do
		echo "group_id 0" | dsa_attrs "$d/engine0.$e"
	done
	dsa_queue "$d" wq0.0 shared 28
	dsa_queue "$d" wq0.1 dedicated 0
	for e in group0.0 engine0.0 engine0.1 engine0.2 engine0.3 wq0.0 wq0.1; do
		ln -s "dsa0/$e" "$1/devices/$e"
	done
}

# dsa_cover PLACE: a folder of our own over it, with all in it that was there
dsa_cover()
{
	local stage e n
	stage=$(mktemp -d)
	mount -t tmpfs -o mode=755 dsa-machine "$stage"
	for e in "$1"/*; do
		n=$stage/${e##*/}
		if [ -L "$e" ]; then
			ln -s "$(readlink "$e")" "$n"
		elif [ -d "$e" ]; then
			mkdir "$n"
			mount --rbind "$e" "$n"
		elif [ -e "$e" ]; then
			: >"$n"
			mount --bind "$e" "$n"
		fi
	done
	mount --rbind "$stage" "$1"
	umount -l "$stage"
	rmdir "$stage"
}

# dsa_nodes file|fifo: fresh nodes for both queues
dsa_nodes()
{
	local q
	rm -rf /dev/dsa/wq0.0 /dev/dsa/wq0.1
	for q in wq0.0 wq0.1; do
		if [ "$1" = fifo ]; then
			mkfifo "/dev/dsa/$q"
		else
			truncate -s 4096 "/dev/dsa/$q"
		fi
	done
}

# dsa_machine file|fifo
dsa_machine()
{
	dsa_cover /sys/bus
	dsa_cover /dev
	mkdir "$DSA_BUS" /dev/dsa
	dsa_tree "$DSA_BUS"
	dsa_nodes "$1"
}

# dsa_again file|fifo: as it was in the beginning
dsa_again()
{
	mkdir -p "$DSA_BUS" /dev/dsa
	rm -rf "${DSA_BUS:?}"/*
	dsa_tree "$DSA_BUS"
	dsa_nodes "$1"
}

dsa_no_machine()
{
	rm -rf "$DSA_BUS" /dev/dsa
}
