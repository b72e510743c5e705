#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Process 1 of the guest once it stands on the host's files: bring up network
# and RDMA devices, run the command, hand its results to the host, end.
job=/run/job

stage() {
	read -r up rest </proc/uptime
	echo "vm-run: stage $1 at $up" >/dev/console
	: "$rest"
}
stage root

hostname pollux-vm
ip -batch - <<-END
	link set lo up
	link set dummy0 mtu 4200 up
	link set dummy1 mtu 4200 up
	address add 10.77.0.1/24 dev dummy0
	address add 10.78.0.1/24 dev dummy1
END
# On separate interfaces: librdmacm takes the first device of an address. MTU
# 4200 leaves room for a RoCE path MTU of 4096.
rdma link add rxe0 type rxe netdev dummy0 || echo 'vm-run: no rxe0' >/dev/console
[ ! -e /sys/module/siw ] || rdma link add siw0 type siw netdev dummy1 ||
	echo 'vm-run: no siw0' >/dev/console
# shellcheck disable=SC3045 # every sh of Debian can
ulimit -l unlimited
stage devices

# Through pipes into host files: a write that returned has reached the host,
# so nothing is lost when the machine is cut off below.
mkfifo /run/stdout /run/stderr
cat </run/stdout >>$job/stdout &
out=$!
cat </run/stderr >>$job/stderr &
err=$!
: >$job/started
sh $job/command.sh </dev/null >/run/stdout 2>/run/stderr
status=$?

# The pipes end with their last writer. A daemon that the command left behind
# could hold them for ever, hence the limit.
(sleep 3 && kill $out $err) 2>/dev/null &
wait $out $err
dmesg >$job/dmesg
sync
echo $status >$job/status
echo b >/proc/sysrq-trigger # with -no-reboot this ends QEMU
sleep 60
