#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Which numbered cases have a test, and which wait for a room that is not built yet?
#
#   devtools/cases.sh
#
#   2.14  tests/unit/op/table.c:stale_id_is_refused
#   7.1   waits for cm
#   14.2  no test: the environment's
#
# tests/cases.tsv says what each is about, a failure that users of this field
# have met, and what it waits for, or why it has none ("no test: ..."). A test claims ids in a comment, "case 2.14" or "cases 1.1 1.2",
# right above itself or indented in its body.
#
# Exit status 1 when a case neither has a test nor waits, has both, or is
# claimed and not in the table.
set -euo pipefail

[[ $# = 0 ]] || { echo "usage: $0" >&2; exit 2; }
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

claims | awk -F '\t' '
	FNR == NR { tests[$1] = tests[$1] " " $2; next }
	FNR == 1 { next }
	function bad(what) { print $1 "\t" what; failed = 1 }
	{
		known[$1]
		n = split(tests[$1], list, " ")
		for (i = 1; i <= n; i++) print $1 "\t" list[i]
		if ($2 == "-" && n == 0) bad("NO TEST: " $3)
		else if ($2 ~ /^no test: / && n == 0) print $1 "\t" $2
		else if ($2 != "-" && n == 0) print $1 "\twaits for " $2
		else if ($2 != "-") bad("HAS A TEST; the table says: " $2)
	}
	END {
		for (id in tests)
			if (!(id in known)) { print id "\tCLAIMED, and not in the table"; failed = 1 }
		exit failed
	}' - tests/cases.tsv
