#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Boot the guest once, run there what talks to real devices, print the rows.
#
# What is run: the contract tests on rxe0, then each line of
# build/tests/vm-tests.txt (written by meson), a command line relative to the
# project root. Results arrive in build/vm: N.out and N.rc of command N. So they
# survive a guest that dies half-way, and what has no N.rc did not end. What the
# kernel said meanwhile is a row, too.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
results=build/vm
list=build/tests/vm-tests.txt
contract='build/tests/contract/plx-contract-tests -d rxe0'

rm -rf "$results"
mkdir -p "$results"
{
	echo "$contract"
	[[ ! -e $list ]] || cat "$list"
} | awk 'NF && !seen[$0]++' >"$results/commands"
[[ -e $list ]] || printf 'FAIL\tvm\t%s\tno such file; meson writes it\n' "$list"

# The guest's CPU is emulated: small rounds, unless soaking.
limit=600
if [[ ${PLX_TEST_SCALE-} = soak ]]; then unset PLX_TEST_SCALE; limit=7200; else export PLX_TEST_SCALE=small; fi
export CMOCKA_MESSAGE_OUTPUT=STDOUT
boot=ok
devtools/vm-run -t $limit -m 2048 -w "$results" -e CMOCKA_MESSAGE_OUTPUT -e PLX_TEST_SCALE \
	devtools/test/guest.sh "$results" >"$results/log" 2>&1 || boot="vm-run: exit status $?"
cat "$results/log" >&2

for device in rxe0 siw0; do
	if grep -qsx $device "$results/devices"; then
		printf 'PASS\tvm\tguest has %s\t\n' $device
	else
		printf 'FAIL\tvm\tguest has %s\t%s\n' $device "$boot"
	fi
done
devtools/test/kernel-log.sh "$results/dmesg"

number=0
while IFS= read -r command; do
	number=$((number + 1))
	status=$(cat "$results/$number.rc" 2>/dev/null || true)
	case $status in
	0) ended=ok ;;
	77) ended=skip ;;
	124 | 137) ended='timed out' ;;
	'') ended="the guest ended first ($boot)" ;;
	*) ended="exit status $status" ;;
	esac
	name=$(sed -E 's|^build/tests/||; s|^contract/plx-contract-tests.* -d +([^ ]+).*|contract \1|' <<<"$command")
	printf '\001%s\t%s\n' "vm: $name" "$ended"
	cat "$results/$number.out" 2>/dev/null || true
	echo
done <"$results/commands" | awk -f "$here/rows.awk"
