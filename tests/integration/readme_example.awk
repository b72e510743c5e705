# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The first ```c block of a page, and nothing else: README.md's example. A page without one is an error.

/^```$/ && on { exit }
on
/^```c$/ { on = 1 }
END { if (!on) exit 1 }
