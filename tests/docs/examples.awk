# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# All ```c blocks of a page, in order, as one file: what a reader would paste. Lines keep their numbers, so that the
# compiler names the page's. Exit status 3: the page has no such block; 1: one does not end.

BEGIN { print "#line 1" }
/^```/ && on { on = 0; print ""; next }
/^```c$/ { on = nb = 1; print ""; next }
{ print on ? $0 : "" }
END { exit on ? 1 : nb ? 0 : 3 }
