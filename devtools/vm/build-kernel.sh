#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Make the guest's kernel: build-kernel.sh DIR fills DIR, which must be empty.
#
#   DIR/release         what uname -r says in the guest
#   DIR/vmlinux         uncompressed; unpacking it under emulation costs seconds
#   DIR/tree/lib/modules/RELEASE/       every module of Debian's package
#   DIR/base.cpio       first part of the initramfs: static busybox and the
#                       modules of the boot, /boot-modules naming their order
#   DIR/siw.log         left behind only when siw.ko could not be built
#
# Nothing is installed: packages are downloaded and unpacked in DIR. Any user
# may do it, so long as apt has its package lists.
set -euo pipefail

dir=$1
cd "$dir"
say() { echo "vm-run: $*" >&2; }

# What the guest loads before it has a root file system. rxe and siw ask for
# their checksums through a modprobe that the initramfs does not have, so both
# crc32 modules stand here and come first.
root_modules='virtio_pci 9pnet_virtio 9p overlay'
rdma_modules='crc32_generic crc32c_generic dummy ib_uverbs ib_umad rdma_ucm rdma_rxe'

fetch() { # fetch INTO PACKAGE...: download, after an update if it must be
	local into=$1 quiet=(-qq -o APT::Sandbox::User=root)
	shift
	mkdir -p "$into"
	(
		cd "$into"
		apt-get "${quiet[@]}" download "$@" 2>/dev/null ||
			{ apt-get "${quiet[@]}" update && apt-get "${quiet[@]}" download "$@"; }
	) >&2
}

unpack_kernel() {
	local image packed
	image=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
	[[ $image ]] || { say 'apt knows no linux-image-amd64; apt-get update?'; return 1; }
	say "fetching $image (once)"
	fetch deb "$image" busybox-static
	dpkg-deb -f deb/linux-image-*.deb Version >version
	dpkg-deb -x deb/linux-image-*.deb tree
	dpkg-deb -x deb/busybox-static_*.deb tree
	rm -rf deb tree/usr/share
	[[ -d tree/lib/modules ]] || cp -al tree/usr/lib/modules tree/lib/
	packed=$(echo tree/boot/vmlinuz-*)
	echo "${packed#*vmlinuz-}" >release
	unpack_vmlinux "$packed" >vmlinux
	readelf -h vmlinux >/dev/null
	depmod -b tree "$(<release)"
}

# The boot protocol's header tells where a bzImage keeps its compressed ELF:
# sectors of set-up code (byte at 0x1f1), then payload_offset (0x248) and
# payload_length (0x24c) counted from the end of those.
unpack_vmlinux() {
	local sectors offset length start unpack
	sectors=$(od -An -tu1 -j $((0x1f1)) -N 1 "$1")
	read -r offset length < <(od -An -tu4 -j $((0x248)) -N 8 "$1")
	start=$(((sectors + 1) * 512 + offset))
	case $(od -An -tx1 -j $start -N 4 "$1") in
	*'fd 37 7a 58') unpack=xz ;;
	*'28 b5 2f fd') unpack=zstd ;;
	*'1f 8b'*) unpack=gzip ;;
	*) say "$1: unknown compression"; return 1 ;;
	esac
	# Four bytes of size follow the compressed data; the unpacker dislikes
	# them after it has written everything.
	tail -c +$((start + 1)) "$1" | head -c "$length" | $unpack -dc 2>/dev/null || true
}

# Debian ships no siw: build the module from Debian's source of this very
# kernel. One absolute path in the packaged header tree must be bent to ours.
build_siw() {
	local release version series headers
	release=$(<release) version=$(<version) series=$(cut -d. -f1,2 release)
	headers=$PWD/siw/usr/src/linux-headers-$release
	say "building siw.ko for $release (once)"
	fetch siw/deb "linux-source-$series=$version" "linux-kbuild-$series=$version" \
		"linux-headers-$release=$version" "linux-headers-${release%-amd64}-common=$version" || return
	for deb in siw/deb/linux-{headers,kbuild}-*.deb; do dpkg-deb -x "$deb" siw || return; done
	mkdir siw/src
	dpkg-deb --fsys-tarfile siw/deb/linux-source-*.deb |
		tar -xO "./usr/src/linux-source-$series.tar.xz" |
		tar -xJ -C siw/src --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw/*' || return
	sed -i "s|/usr/src/|$PWD/siw/usr/src/|" "$headers/Makefile" || return
	make -C "$headers" M="$PWD/siw/src" CONFIG_RDMA_SIW=m modules || return
	install -D -m 644 siw/src/siw.ko "tree/lib/modules/$release/updates/siw.ko" || return
	depmod -b tree "$release"
}

pack_base() {
	local release base=base name path
	release=$(<release)
	mkdir -p $base/{bin,modules,proc,sys,dev,host,top,root}
	cp tree/bin/busybox $base/bin/
	[[ -e siw.log ]] || rdma_modules+=' siw'
	for name in $root_modules $rdma_modules; do
		modprobe -d "$PWD/tree" -S "$release" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
		name=$(basename "${path%%.ko*}")
		case $path in
		*.xz) xz -dc "$path" ;;
		*.zst) zstd -dc "$path" ;;
		*) cat "$path" ;;
		esac >"$base/modules/$name.ko"
		# Smaller, and no signature to verify under emulation.
		strip --strip-debug "$base/modules/$name.ko"
		echo "$name" >>$base/boot-modules
	done
	for name in $root_modules $rdma_modules; do
		[[ -e $base/modules/$name.ko ]] || { say "the kernel has no module $name"; return 1; }
	done
	(cd $base && find . | cpio --quiet -o -H newc) >base.cpio
	rm -rf $base
}

unpack_kernel
if build_siw >siw.log 2>siw.err; then rm siw.log; else cat siw.err >>siw.log; fi
grep '^vm-run:' siw.err >&2 || true
rm -rf siw siw.err
pack_base
