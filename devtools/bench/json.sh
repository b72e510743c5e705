#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The lines of a run as one JSON object, with the machine and the targets.
#
#   json.sh LINES CLOCK >FILE        run from the project root
#
# CLOCK is "tsc HZ" or "monotonic HZ", as plx-bench calibrated it. A number in
# the object is the number in the line.
set -euo pipefail

option() { meson introspect --buildoptions build 2>/dev/null | jq -r --arg n "$1" '.[] | select(.name == $n) | .value' || :; }
cpu() { lscpu | sed -n "s/^$1: *//p" | head -n 1; }

jq -n --rawfile lines "$1" --rawfile targets tests/bench/targets.tsv \
	--arg clock "$2" --arg cpu "$(cpu 'Model name')" --arg hypervisor "$(cpu 'Hypervisor vendor')" --arg cores "$(nproc)" \
	--arg cpuflags "$(cpu Flags)" --arg kernel "$(uname -r)" --arg compiler "$(${CC:-cc} --version | head -n 1)" \
	--arg buildtype "$(option buildtype)" --arg optimization "$(option optimization)" --arg c_args "$(option c_args)" \
	--arg dpdk "$(pkg-config --modversion libdpdk)" --arg dpdkflags "$(pkg-config --cflags-only-other libdpdk)" \
	--arg when "$(date -u +%FT%TZ)" '
	def numbers: [splits(" +") | select(contains("=")) | split("=") | select(.[0] != "missed") |
		{key: .[0], value: (.[1] | tonumber)}] | from_entries;
	($targets | [splits("\n") | select(test("^B")) | [splits("[ \t]+")]]) as $limits |
	{
		when: $when,
		machine: {
			cpu: $cpu, cores: ($cores | tonumber), hypervisor: $hypervisor, cpu_flags: ($cpuflags | split(" ")),
			kernel: $kernel, clock: ($clock | split(" ") | .[0]), clock_hz: ($clock | split(" ") | .[1] | tonumber)
		},
		build: {compiler: $compiler, buildtype: $buildtype, optimization: $optimization, c_args: $c_args, dpdk: $dpdk,
			dpdk_flags: $dpdkflags},
		benchmarks: [$lines | splits("\n") | select(. != "") | (split(" ")[0]) as $name | numbers as $n | {
			name: $name,
			numbers: $n,
			targets: [$limits[] | select(.[0] == $name) | (.[1] | startswith("?")) as $optional |
				.[1] |= ltrimstr("?") | select(($optional | not) or $n[.[1]] != null) | (.[3] | tonumber) as $limit | $n[.[1]] as $value | {
				number: .[1], relation: .[2], limit: $limit, value: $value,
				met: ($value != null and (if .[2] == "<=" then $value <= $limit else $value >= $limit end))
			}]
		}]
	}'
