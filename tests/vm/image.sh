# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# image.sh - what a machine of tests/vm/run boots from: packages, a kernel,
# the installed product, an initramfs, memory
#
# The initramfs is two archives one after the other: programs and modules, made
# once per kernel, and the product and the cases, made for every boot. Neither
# is compressed: unpacking costs the emulated CPU more than reading.
set -eu
: "${top:?}"			# the source tree, from tests/vm/run

PACKAGES=(qemu-system-x86 busybox-static ndctl daxctl cpio kmod xz-utils
	e2fsprogs xfsprogs fio fuse3 util-linux procps)

# Programs of the guest besides busybox; those that are missing are left out.
PROGRAMS=(bash busybox awk cat chattr chmod cmp cp cut date dd df du env fallocate filefrag
	find findmnt fio fsck.ext4 fusermount3 grep head id kill ln losetup ls lsattr
	mkdir mkfifo mkfs.ext4 mkfs.xfs mktemp modprobe mount mountpoint mv ndctl daxctl cxl
	mount.fuse numfmt od paste ps python3-none readlink realpath rm rmdir
	sed seq sha256sum sleep
	sort split stat stdbuf sync tail tar tee timeout touch tr truncate umount uname
	uniq wc xargs xfs_info xfs_io strace exportfs rpc.mountd rpc.nfsd rpcbind)

install_packages()
{
	local p want=() sudo=()
	command -v dpkg-query >/dev/null || return 0
	for p in "${PACKAGES[@]}"; do
		dpkg-query -W -f='${Status}\n' "$p" 2>/dev/null | grep -q ' installed$' ||
			want+=("$p")
	done
	[ ${#want[@]} -gt 0 ] || return 0
	say "installing ${want[*]}"
	[ "$(id -u)" = 0 ] || sudo=(sudo)
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update </dev/null &&
		"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
			--no-install-recommends install "${want[@]}" </dev/null
}

# get_kernel OUT 6.12: download and unpack the newest cloud kernel of a series.
get_kernel()
{
	local out=$1 series=$2 dir=$1/kernel-$2 deb pkg
	pkg=$(apt-cache search --names-only "^linux-image-${series//./\\.}\.[0-9].*-cloud-amd64\$" |
		cut -d' ' -f1 | sort -V | tail -n 1)
	[ -n "$pkg" ] || return 1
	say "kernel: $pkg"
	(cd "$out/cache" && ls "$pkg"_*.deb >/dev/null 2>&1 ||
		apt-get -q download "$pkg" >/dev/null 2>&1) || return 1
	deb=$(find "$out/cache" -name "${pkg}_*.deb" | sort -V | tail -n 1)
	rm -rf "$dir"
	mkdir -p "$dir"
	dpkg-deb -x "$deb" "$dir/x"
	mv "$dir"/x/boot/vmlinuz-* "$dir/vmlinuz"
	if [ -d "$dir/x/lib/modules" ]; then
		mv "$dir/x/lib/modules" "$dir/modules"
	else
		mv "$dir/x/usr/lib/modules" "$dir/modules"
	fi
	rm -rf "$dir/x"
	ls "$dir/modules" >"$dir/version"
}

# make_product OUT [BUILD]: what `make install` installs, in OUT/product.
make_product()
{
	local out=$1 build=$2
	if [ -z "$build" ]; then
		build=$out/obj
		mkdir -p "$build"
		[ -x "$top/configure" ] || (cd "$top" && autoreconf -fi) >"$out/build.log" 2>&1
		[ -e "$build/Makefile" ] ||
			(cd "$build" && "$top/configure") >>"$out/build.log" 2>&1
	fi
	rm -rf "$out/product"
	if ! { make -C "$build" -j"$(nproc)" &&
		make -C "$build" install DESTDIR="$out/product" prefix=/usr; } \
		>>"$out/build.log" 2>&1; then
		tail -n 40 "$out/build.log"
		echo "0 passed, 1 failed, 0 skipped"
		exit 1
	fi
	install -D -m 755 "$build/examples/splice-in" "$out/product/usr/bin/splice-in"
	rm -rf "$out/product/usr/share" "$out/product/usr/include"
}

# The shared libraries of some programs, each once.
libraries()
{
	ldd "$@" 2>/dev/null |
		sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | sort -u
}

# copy_program ROOT PATH: with the libraries it needs.
copy_program()
{
	local root=$1 path=$2 lib
	install -D -m 755 "$path" "$root/usr/bin/$(basename "$path")"
	libraries "$path" | while IFS= read -r lib; do
		[ -e "$root$lib" ] || install -D -m 755 "$lib" "$root$lib"
	done
}

MODULES=(nfsv4 nfit nd_pmem nd_btt dax_pmem device_dax dax_hmem kmem virtio_pmem virtio_pci
	cxl_acpi cxl_pci cxl_mem cxl_port cxl_pmem
	nd_e820 fuse xfs nfsd loop hwpoison-inject)

# The modules of a kernel that the guest may load, and what they depend on;
# uncompressed, since the emulated CPU takes ten seconds for some.
copy_modules()
{
	local root=$1 kernel=$2 version m f
	version=$(cat "$kernel/version")
	mkdir -p "$root/lib/modules"
	if [ ! -e "$kernel/modules/$version/modules.dep.bin" ]; then
		mkdir -p "$kernel/lib"
		ln -sfn ../modules "$kernel/lib/modules"
		depmod -b "$kernel" "$version"
	fi
	for m in "${MODULES[@]}"; do
		modprobe -C /dev/null -d "$kernel" -S "$version" --show-depends "$m" 2>/dev/null |
			sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | sort -u | while IFS= read -r f; do
		install -D -m 644 "$f" "$root/lib/modules/${f#*/modules/}"
		case $f in
		*.xz) xz -d "$root/lib/modules/${f#*/modules/}" ;;
		esac
	done
	cp "$kernel/modules/$version"/modules.{order,builtin,builtin.modinfo} \
		"$root/lib/modules/$version/"
	depmod -b "$root" "$version"
}

# A root with /usr merged; both archives have it, or the second would put
# directories where the first has links.
skeleton()
{
	local d
	for d in bin sbin lib lib64; do
		mkdir -p "$1/usr/$d"
		ln -s "usr/$d" "$1/$d"
	done
}

# The part that does not change from boot to boot.
make_base()
{
	local out=$1 kernel=$2 root=$1/root-$2 p path
	rm -rf "$root"
	skeleton "$root"
	mkdir -p "$root"/{dev,proc,sys,tmp,mnt,run,etc,root,var/lib/nfs}
	install -m 755 "$(command -v busybox)" "$root/usr/bin/busybox"
	for p in "${PROGRAMS[@]}"; do
		path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$p") || continue
		[ -x "$path" ] || continue
		copy_program "$root" "$path"
	done
	ln -sf bash "$root/usr/bin/sh"
	for p in modprobe mount.fuse; do	# where the kernel and mount look for them
		ln -s ../bin/$p "$root/usr/sbin/$p"
	done
	printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534::/:/bin/false \
		>"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	ln -s /proc/self/mounts "$root/etc/mtab"
	printf 'user_allow_other\n' >"$root/etc/fuse.conf"
	copy_modules "$root" "$out/kernel-$kernel"
	archive "$root" "$out/base-$kernel.cpio"
	rm -rf "$root"
}

archive() { (cd "$1" && find . | cpio -o -H newc --quiet -R 0:0) >"$2"; }

# make_initrd OUT KERNEL FILE TESTS CASE...
make_initrd()
{
	local out=$1 kernel=$2 file=$3 tests=$4 root=$3.d c p
	shift 4
	[ "$out/base-$kernel.cpio" -nt "$tests/image.sh" ] || make_base "$out" "$kernel"
	rm -rf "$root"
	mkdir -p "$root/vm/cases"
	skeleton "$root"
	install -m 755 "$tests/guest/init" "$root/init"
	install -m 644 "$tests/guest/lib.sh" "$root/vm/lib.sh"
	install -m 644 "$tests/../../man/pmemfs.7" "$root/vm/pmemfs.7"
	for c; do
		install -m 644 "$tests/cases/$c.sh" "$root/vm/cases/$c.sh"
	done
	for p in "$out"/product/usr/sbin/* "$out"/product/usr/bin/*; do
		copy_program "$root" "$p"
	done
	archive "$root" "$root.cpio"
	cat "$out/base-$kernel.cpio" "$root.cpio" >"$file"
	rm -rf "$root" "$root.cpio"
}

# ---- memory and machines -----------------------------------------------------------

# The files behind the NVDIMMs: 2 MiB of label area, so that what is left is
# aligned as device-dax wants it.
make_memory()
{
	local dir=$1 base=/dev/shm i
	[ "$(df -Pm $base 2>/dev/null | awk 'NR == 2 { print $4 }')" -gt 2500 ] ||
		base=${TMPDIR:-/tmp}
	ln -sfn "$(mktemp -d "$base/pmemfs-vm.XXXXXX")" "$dir/memory"
	for i in 0 1; do
		truncate -s 1026M "$dir/memory/$i"
	done
}

drop_memory()
{
	[ -L "$1/memory" ] || return 0
	rm -rf "$(readlink "$1/memory")"
	rm -f "$1/memory"
}

# Leaves the arguments in machine_args.
machine_args()
{
	local machine=$1 dir=$2 i file="memory-backend-file,share=on,mem-path=$2/memory"
	machine_args=(-machine "q35,nvdimm=on")
	if [ "$machine" = cxl ]; then
		# a host bridge, a port, a device of 512 MiB with its label area; a second
		# port, or Linux 6.1 takes the bridge for one that needs no decoder
		machine_args=(-machine "q35,cxl=on,cxl-fmw.0.targets.0=b0,cxl-fmw.0.size=4G"
			-object "$file/0,id=m0,size=512M" -object "$file/1,id=m1,size=1M"
			-device "pxb-cxl,bus_nr=12,bus=pcie.0,id=b0"
			-device "cxl-rp,port=0,bus=b0,id=p0,chassis=0,slot=2"
			-device "cxl-rp,port=1,bus=b0,id=p1,chassis=0,slot=3"
			-device "cxl-type3,bus=p0,memdev=m0,lsa=m1,id=c0")
		return
	fi
	[ "$machine" != eadr ] || machine_args=(-machine "q35,nvdimm=on,nvdimm-persistence=cpu")
	if [ "$machine" = memmap ]; then
		return
	fi
	if [ "$machine" = virtio ]; then
		machine_args+=(-object "$file/0,id=m0,size=1024M"
			-device "virtio-pmem-pci,memdev=m0,id=v0")
		return
	fi
	for i in 0 1; do
		machine_args+=(-object "$file/$i,id=m$i,size=1026M"
			-device "nvdimm,id=n$i,memdev=m$i,label-size=2M")
	done
}
