#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Which numbered cases do the tests claim to cover?
#
#   devtools/cases.sh              one line per id:  2.14  tests/unit/op/table.c:stale_id_is_refused
#   devtools/cases.sh TABLE.tsv    then also each id of the table that no test names
#
# A test claims ids in a comment, "case 2.14" or "cases 1.1 1.2", right above
# itself or indented in its body. TABLE's first column holds the ids; exit
# status 1 when one of them has no test.
set -euo pipefail

table=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."

# shellcheck disable=SC2016 # awk's own
claims() { # ID \t FILE:TEST, sorted by id
	find tests -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.cc' \) -print0 |
		sort -z | xargs -0 -r awk '
		function flush(test,    i) {
			for (i = 1; i <= nb; i++) print id[i] "\t" file ":" test
			nb = 0
		}
		FNR == 1 { flush("(file)"); file = FILENAME; test = "(file)" }

		# A definition: an unindented line with NAME( that is no comment.
		/^[A-Za-z_].*\(/ && !/;[ \t]*$/ {
			test = $0
			sub(/[ \t]*\(.*/, "", test)
			sub(/.*[^A-Za-z_0-9]/, "", test)
			flush(test)
		}

		/(\/\*|\*|\/\/|#).*(^|[^A-Za-z])cases? +[0-9]+\.[0-9]/ {
			rest = $0
			sub(/.*[^A-Za-z]cases? +/, "", rest)
			while (match(rest, /^(,? *(and )? *)[0-9]+\.[0-9]+/)) {
				word = substr(rest, 1, RLENGTH)
				rest = substr(rest, RLENGTH + 1)
				sub(/.*[ ,]/, "", word)
				id[++nb] = word
			}
			if ($0 ~ /^[ \t]/ && $0 !~ /^ \*/) flush(test)
		}
		END { flush("(file)") }' | sort -u | sort -s -t . -k 1,1n -k 2,2n
}

claimed=$(claims)
[[ ! $claimed ]] || echo "$claimed"
[[ $table ]] || exit 0

untested=$(awk -F '\t' 'FNR == NR { has[$1]; next } $1 ~ /^[0-9]+\.[0-9]+$/ && !($1 in has) { print $1 }' \
	<(echo "$claimed") "$table")
[[ $untested ]] || exit 0
echo "without a test: $(tr '\n' ' ' <<<"$untested")"
exit 1
