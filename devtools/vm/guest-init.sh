#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# shellcheck shell=dash
# /init of the guest: from the initramfs to the host's files.
#
#     /root  overlay --+-- upper: tmpfs, so everything may be written and is dropped
#                      +-- lower: the host's /, 9p, read-only
#     /root/run        tmpfs
#     /root/run/job    9p: vm-run's job folder, results go there
#
# Only busybox exists here. Each `stage` line on the console is a sign of life
# that vm-run waits for.
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
exec </dev/null >/dev/console 2>&1

stage() {
	read -r up rest </proc/uptime
	echo "vm-run: stage $1 at $up"
}
stage kernel

while read -r name; do
	case $name in
	dummy) set -- numdummies=2 ;;
	*) set -- ;;
	esac
	$bb insmod "/modules/$name.ko" "$@" || echo "vm-run: cannot load $name"
done </boot-modules
stage modules

ninep() { # ninep TAG WHERE OPTIONS
	$bb mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2" ||
		echo "vm-run: cannot mount share $1 on $2"
}
ninep host /host ro,cache=loose
$bb mount -t tmpfs top /top
$bb mkdir /top/upper /top/work
$bb mount -t overlay -o lowerdir=/host,upperdir=/top/upper,workdir=/top/work root /root
$bb mount -t tmpfs run /root/run
$bb mkdir -p /root/run/job /root/run/lock
ninep job /root/run/job cache=none

modules='' hugepages=0
# shellcheck source=/dev/null
. /root/run/job/guest.conf
$bb mkdir -p "/root/lib/modules/$($bb uname -r)"
$bb mount --bind "/root$modules" "/root/lib/modules/$($bb uname -r)"
tag=0
while read -r path; do
	[ -n "$path" ] || continue
	ninep "share$tag" "/root$path" cache=mmap
	tag=$((tag + 1))
done </root/run/job/shares

for fs in proc sys; do $bb mount --move /$fs /root/$fs; done
$bb mkdir -p /dev/pts /dev/shm /dev/hugepages
$bb mount -t devpts pts /dev/pts
$bb mount -t tmpfs shm /dev/shm
[ "$hugepages" = 0 ] || $bb mount -t hugetlbfs huge /dev/hugepages
$bb ln -s /proc/self/fd /dev/fd
for fd in 0:stdin 1:stdout 2:stderr; do $bb ln -s "fd/${fd%:*}" "/dev/${fd#*:}"; done
$bb mount --move /dev /root/dev

exec $bb switch_root /root /bin/sh /run/job/guest-main.sh
