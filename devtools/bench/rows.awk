# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Put rows of times, windows of instructions and targets together: a line for each benchmark of `names`.
#
#   targets.tsv   NAME key <= limit           what must hold of a number in the line
#   counts        NAME work ops instructions  two for each work; the difference is what an op costs
#   rows          NAME key=value ...

FILENAME ~ /targets/ {
	if ($0 !~ /^#/ && NF == 4)
		targets[$1] = targets[$1] $2 " " $3 " " $4 ";"
	next
}
FILENAME ~ /counts/ {
	id = $1 " " $2
	if (!(id in ops)) {
		works[$1] = works[$1] " " $2
	} else {
		per_op = ($4 - instructions[id]) / ($3 - ops[id])
		line[$1] = line[$1] sprintf(" instr_%s=%.2f", $2, per_op)
		if ($2 == "raw")
			raw[$1] = per_op
		else if ($1 in raw)
			line[$1] = line[$1] sprintf(" added_%s=%.2f", $2, per_op - raw[$1])
	}
	ops[id] = $3
	instructions[id] = $4
	next
}
FILENAME ~ /rows/ && $1 ~ /^B/ {
	name = $1
	$1 = ""
	times[name] = times[name] $0
}

function missed(name, text,	i, j, n, parts, t, fields, pair, value, list) {
	n = split(text, parts, " ")
	for (i = 1; i <= n; i++) {
		split(parts[i], pair, "=")
		value[pair[1]] = pair[2]
	}
	n = split(targets[name], parts, ";")
	for (j = 1; j < n; j++) {
		split(parts[j], t, " ")
		if (sub(/^\?/, "", t[1]) && !(t[1] in value))
			continue
		if (!(t[1] in value) || (t[2] == "<=" ? value[t[1]] > t[3] : value[t[1]] < t[3]))
			list = list (list == "" ? "" : ",") t[1]
	}
	return list == "" ? "-" : list
}

END {
	n = split(names, order, " ")
	for (i = 1; i <= n; i++) {
		name = order[i]
		text = times[name] line[name]
		print name text " missed=" missed(name, text)
	}
}
