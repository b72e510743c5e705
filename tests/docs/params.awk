# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Every name behind @p in a comment on a function must stand in the declaration that follows, which doxygen does not
# look at. Prints "FILE:LINE: NAME: ..." for each that does not; headers are the arguments.

function finish(   i) { # the declaration is complete: compare
	if (decl ~ /\(/ && decl !~ /^[ \t]*(struct|enum|union) [a-z_]* *\{/)
		for (i = 1; i <= nb; i++)
			if (!match(decl, "(^|[^A-Za-z0-9_])" name[i] "([^A-Za-z0-9_]|$)")) {
				print FILENAME ":" line[i] ": @p " name[i] " is no parameter of what follows"
				bad++
			}
	looked += nb
	state = ""
}
FNR == 1 { state = "" }
state == "" && /^[ \t]*\/\*\*([^<]|$)/ { state = "comment"; nb = 0; decl = "" }
state == "comment" {
	text = $0
	while (match(text, /@p +[A-Za-z_][A-Za-z0-9_]*/)) {
		name[++nb] = substr(text, RSTART + 3, RLENGTH - 3)
		sub(/^ +/, "", name[nb])
		line[nb] = FNR
		text = substr(text, RSTART + RLENGTH)
	}
	if (/\*\//)
		state = "declaration"
	next
}
state == "declaration" {
	decl = decl " " $0
	if (/^[ \t]*$/ && decl ~ /^[ \t]*$/) # a comment on nothing: @file
		state = ""
	else if (/[;{]/ || (decl ~ /^ *#define/ && !/\\$/))
		finish()
}
END {
	if (!looked) {
		print "no @p was looked at: the search is broken"
		bad++
	}
	exit bad > 0
}
