#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Install the Debian 12 packages that a purpose needs, and only those missing.
#
#   devtools/setup.sh [build|bench|test|vm]...       (default: build)
#
# build   compile and run the library and the apps
# bench   build, and what devtools/bench.sh needs
# test    build, and what devtools/test.sh needs on the host
# vm      what devtools/vm-run needs: QEMU, RDMA tools for the guest (whose
#         root file system is this machine's own), a compiler for siw
#
# Nothing missing: returns at once, asks nobody, touches no network. Something
# missing and not root: prints the line to run, exit status 1; 2: an unknown
# purpose. Talks on stderr only, so that callers keep stdout for themselves.
set -eu

# libdpdk-dev itself depends on every librte-* package, the EAL plugins among
# them (ring mempool driver!), so no recommended package is needed.
build_set='gcc meson ninja-build pkg-config libdpdk-dev libibverbs-dev
	librdmacm-dev libcmocka-dev libboost-context-dev'
bench_set="$build_set binutils jq valgrind"
test_set="$build_set clang libclang-rt-14-dev valgrind g++ jq
	python3 doxygen spin"
# ibverbs-providers holds the user half of rxe and siw. gcc-12 by name: Debian's
# kernel headers ask for it.
vm_set='qemu-system-x86 seabios busybox-static cpio kmod xz-utils zstd binutils
	iproute2 procps rdma-core ibverbs-providers ibverbs-utils rdmacm-utils
	perftest make gcc-12'

say() { echo "setup: $*" >&2; }

missing() { # those of the arguments that are not installed
	# shellcheck disable=SC2016 # dpkg-query's own variables
	have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null) || :
	printf '%s\n' "$@" | sort -u | while read -r pkg; do
		case "
$have
" in
		*"
$pkg installed
"*) ;;
		*) printf '%s ' "$pkg" ;;
		esac
	done
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
		-o DPkg::Lock::Timeout=600 -o APT::Sandbox::User=root "$@" </dev/null >&2
}

want=
for purpose in "${@:-build}"; do
	case $purpose in
	build) want="$want $build_set" ;;
	bench) want="$want $bench_set" ;;
	test) want="$want $test_set" ;;
	vm) want="$want $vm_set" ;;
	-h | --help) sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
	*)
		say "unknown purpose '$purpose'; it is one of: build bench test vm"
		exit 2
		;;
	esac
done

# shellcheck disable=SC2086 # lists of words
need=$(missing $want)
[ -n "$need" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	say "packages are missing, and only root may install them. Run:"
	say "  apt-get install --no-install-recommends $need"
	exit 1
fi

say "installing: $need"
# Package lists that are absent or out of date are the one reason to update.
# shellcheck disable=SC2086
apt install $need || { say 'updating the package lists first' && apt update && apt install $need; } || {
	say "could not install: $need"
	exit 1
}
