# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# From the output of test programs to one row a case.
#
# In:   for each program a line "\001LABEL\tENDED", then all it printed.
#       ENDED is "ok", "skip", or how it failed ("exit status 3", "timed out").
# Out:  STATUS \t LABEL \t CASE \t DETAIL, where STATUS is PASS, FAIL or SKIP.
#       The end of what a failed program printed goes to stderr.
#
# Read is cmocka's standard format, whose two streams may come one behind the
# other. So a case counts by what follows its "[ RUN" on stdout, and one with
# nothing there has failed: assertions, set-ups and crashes all look like that.
# A program without cases (a script, say) is one case itself, judged by its exit.
# A line "skip: CASE: needs THIS" gives the reason for a skip.

BEGIN { FS = "\t"; OFS = "\t" }

function row(status, name, detail) {
	nb[status]++
	if (status == "SKIP") { # its reason may come later, on stderr
		skipped[++nb_skipped] = name
		hint[nb_skipped] = detail
	} else
		print status, label, name, detail
}

function close_case(status, detail) {
	if (running == "")
		return
	row(status, running, detail)
	running = ""
	seen++
}

function close_group(why) {
	close_case("FAIL", why)
	if (seen < planned)
		row("FAIL", "(group)", (planned - seen) " of " planned " cases did not run")
	seen = planned = 0
}

function finish_program(    i, why, first) {
	if (label == "")
		return
	why = ended == "ok" ? "no result" : ended
	close_group(why)
	if (!nb["PASS"] && !nb["FAIL"] && !nb["SKIP"])
		row(ended == "ok" ? "PASS" : ended == "skip" ? "SKIP" : "FAIL", "(program)",
			ended == "ok" ? "" : ended == "skip" ? last_reason : ended)
	else if (ended != "ok" && ended != "skip" && !nb["FAIL"])
		row("FAIL", "(program)", ended)
	for (i = 1; i <= nb_skipped; i++) {
		why = hint[i]
		if (why == "" && skipped[i] in reason)
			why = reason[skipped[i]]
		print "SKIP", label, skipped[i], why == "" ? "no reason given" : why
	}
	if (nb["FAIL"]) {
		print "---- " label ": " ended ", the end of its output:" >"/dev/stderr"
		first = nb_lines > 60 ? nb_lines - 59 : 1
		for (i = first; i <= nb_lines; i++)
			print line[i] >"/dev/stderr"
	}
}

/^\001/ {
	finish_program()
	label = substr($1, 2)
	ended = $2
	running = last_reason = ""
	planned = seen = nb_skipped = nb_lines = 0
	split("", nb)
	split("", reason)
	next
}

{ line[++nb_lines] = $0 }

match($0, /skip: [^:]+: .+/) {
	split(substr($0, RSTART + 6, RLENGTH - 6), part, ": ")
	last_reason = substr($0, RSTART + 6 + length(part[1]) + 2)
	reason[part[1]] = last_reason
	if (running != "")
		running_reason = last_reason
}

match($0, /\[==========\] .*Running [0-9]+ test/) {
	close_group("no result")
	match($0, /Running [0-9]+/)
	planned = substr($0, RSTART + 8, RLENGTH - 8) + 0
}

match($0, /\[ RUN      \] .+/) {
	close_case("FAIL", "no result")
	running = substr($0, RSTART + 13)
	running_reason = ""
}

/\[       OK \] /		{ close_case("PASS", "") }
/\[  SKIPPED \] /		{ close_case("SKIP", running_reason) }
/\[  FAILED  \] GROUP /	{ # set-up or tear-down of a whole group
	match($0, /GROUP [A-Z]+/)
	row("FAIL", "(group)", substr($0, RSTART, RLENGTH) " failed, " planned " cases in it")
	seen = planned
}

# FAILED closes a case only under its own name: a summary lists names again.
match($0, /\[  (FAILED |ERROR  ) \] .+/) {
	if (running != "" && substr($0, RSTART + 13, RLENGTH - 13) == running)
		close_case("FAIL", "assertion")
}

END { finish_program() }
