# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The first ```c block of a page as a file that compiles: README.md's example. A page without one, or
# with one that is longer than the 30 lines that it speaks of, is an error.

BEGIN {
	print "#include <stdio.h>\n#include <string.h>\n"
	print "#include <plx_conn.h>\n#include <plx_memory.h>\n#include <plx_poller.h>\n"
	print "int hello(unsigned int lcore);\n"
}
/^```$/ && on { exit }
on { print; lines++ }
/^```c$/ { on = 1 }
END { if (lines < 10 || lines > 30) exit 1 }
