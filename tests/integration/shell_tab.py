#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
"""Tab completion of plx-test's prompt, on a terminal.

    shell_tab.py PLX-TEST

Types a beginning and a tab, and looks at the very bytes that come back.
"""
import os
import pty
import re
import select
import sys
import termios
import time


class Session:
    def __init__(self, program):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execl(program, program)
        self.wait_for("plx>>")
        # rte_cmdline prints its prompt before it turns the echo off.
        deadline = time.monotonic() + 60
        while termios.tcgetattr(self.fd)[3] & termios.ECHO:
            if time.monotonic() > deadline:
                sys.exit("the terminal still echoes")
            time.sleep(0.01)

    def wait_for(self, pattern):
        """All bytes up to and with the first match of the pattern."""
        seen, deadline = b"", time.monotonic() + 60
        while not re.search(pattern.encode(), seen):
            if not select.select([self.fd], [], [], deadline - time.monotonic())[0]:
                sys.exit(f"wants {pattern!r}, has {seen!r}")
            try:
                seen += os.read(self.fd, 4096)
            except OSError:
                sys.exit(f"wants {pattern!r}, ended after {seen!r}")
        return seen

    def type(self, text, pattern):
        os.write(self.fd, text.encode())
        seen = self.wait_for(pattern)
        # The end alone: a whole autotest would read as rows of this test's own.
        print(f"typed {text!r:22} came {seen[-80:]!r}")
        return seen


session = Session(sys.argv[1])
# One choice: the rest of it, and a space.
session.type("hist_\t", "^hist_autotest ")
session.type("\n", r"# hist_autotest(.|\n)*Test OK(.|\n)*plx>>")
# Several: a list of them, and the line again.
seen = session.type("op_\t", r"plx>>op_(\x1b\[0K)?$")
for choice in (b"op_autotest", b"op_perf_autotest"):
    if choice not in seen:
        sys.exit(f"{choice!r} is no choice in {seen!r}")
session.type("p\t\n", r"# op_perf_autotest(.|\n)*Test OK(.|\n)*plx>>")
session.type("q\t\n", "quit")
status = os.waitstatus_to_exitcode(os.waitpid(session.pid, 0)[1])
sys.exit(f"exit status {status}" if status != 0 else 0)
