#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Hold the contract runs among the rows on stdin against a table of counts, so
# that cases cannot vanish unseen. Prints a FAIL row for each shortfall.
#
#   expected.sh TABLE      device \t cases_run_at_least \t skips_at_most
#
# Looked at are programs labelled "contract DEVICE" (maybe behind "vm: "). Rows
# of the table whose device was not run say nothing here: it may belong to a
# suite that was not asked for.
table=$1
[ -e "$table" ] || {
	printf 'FAIL\tcontract counts\t%s\tno such file\n' "$table"
	exit 0
}
exec awk -F '\t' -v OFS='\t' -v table="$table" '
	FNR == NR {
		if ($1 !~ /^#/ && $1 != "device" && NF >= 3) { least[$1] = $2; most[$1] = $3 }
		next
	}
	$2 ~ /^(vm: )?contract / {
		device = $2
		sub(/^(vm: )?contract /, "", device)
		if (!(device in run)) run[device] = skips[device] = 0
		if ($1 == "SKIP") skips[device]++; else run[device]++
	}
	function fail(device, why) { print "FAIL", "contract counts", device, why }
	END {
		for (device in run)
			if (!(device in least))
				fail(device, "has no line in " table)
			else {
				if (run[device] < least[device])
					fail(device, run[device] " cases ran, " table " asks for " least[device])
				if (skips[device] > most[device])
					fail(device, skips[device] " cases skipped, " table " allows " most[device])
			}
	}' "$table" -
