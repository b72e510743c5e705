#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The row of B3: indirect calls between submit and the device, and back, with a constant table; as the test of the same
# counts them in the disassembly, at -O3. On verbs libibverbs' own, one for each of post_send, post_recv and poll_cq,
# are told apart.
set -euo pipefail

cd "$(dirname "$0")/../.."
row=B3
drivers=null
! grep -q 'define PLX_HAS_VERBS 1' build/config/plx_config.h || drivers='null verbs'
for driver in $drivers; do
	# ... -O3: N indirect calls, M allowed; exit status 1 when there are more
	out=$(PLX_TABLE_LEVELS=-O3 tests/integration/static_table.sh . build $driver "${CC:-cc}" || :)
	read -r nb allowed < <(sed -n 's/.* -O3: \([0-9]*\) indirect calls, \([0-9]*\) allowed$/\1 \2/p' <<<"$out")
	[[ ${nb:-} && $nb -ge $allowed ]] || { echo "b3.sh: $driver: $out" >&2; exit 1; } # fewer: not what it looks for
	row+=" indirect_calls_$driver=$((nb - allowed))"
	[[ $allowed = 0 ]] || row+=" libibverbs_own=$allowed"
done
echo "$row"
