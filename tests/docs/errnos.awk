# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# "FUNCTION ERRNO" for each errno that the comment on a public function names, as -EXXX or, behind "rte_errno", as
# EXXX. Not of what is the library's own: comments that begin with "Cold" or "OWNED". Headers are the arguments.

FNR == 1 { on = 0 }
/^\/\*\*/ { on = 1; text = "" }
on == 1 {
	text = text " " $0
	if (/\*\//)
		on = 2
	next
}
on == 2 && /^[^ \t#].*\(|^plx_/ {
	on = 0
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	if (name !~ /^plx_/ || text ~ /^ \/\*\*[ *]*(Cold|OWNED)/)
		next
	made = match(text, /rte_errno/)
	while (match(text, /-?E[A-Z][A-Z0-9]+/)) {
		errno = substr(text, RSTART, RLENGTH)
		before = substr(text, RSTART - 1, 1)
		text = substr(text, RSTART + RLENGTH)
		if (errno != "EAL" && before ~ /[ :(;,*]/ && (errno ~ /^-/ || made)) {
			sub(/^-/, "", errno)
			print name, errno
		}
	}
}
on == 2 && /^(struct|enum|typedef|#)/ && !/\(/ { on = 0 }
