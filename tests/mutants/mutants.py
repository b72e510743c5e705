#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
"""
Break the product on purpose and demand that a test notices.

    mutants.py BUILD-FOLDER mutants.txt [NAME...]

Without names: all of them with PLX_TEST_SCALE=soak, else every twelfth; that each still applies is a case
always.

mutants.txt says what is changed, where, and why that is wrong. For each mutant the changed file goes to a copy of
the tree; of the program that must notice, what depends on it is compiled again, by the commands of the build folder,
and linked. A mutant that the program passes has survived: a failed case. So is one whose text is no longer there.

Printed like cmocka does, one case each, with what noticed. The build folder is only read.
"""
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

LIMIT = 60  # seconds that a mutant may run; one that hangs is noticed, too


class Mutant:
    def __init__(self, name):
        self.name, self.file, self.inside, self.why = name, None, None, []
        self.by, self.hunks = "explore", []


def read_mutants(path):
    """Blocks of "# NAME", "file:", "in:", "by:", "why:", and hunks of "-" and "+" lines."""
    mutants, last = [], ""
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        m = mutants[-1] if mutants else None
        if line.startswith("# "):
            mutants.append(Mutant(line[2:].strip()))
        elif line.startswith("file: "):
            m.file = line[6:]
        elif line.startswith("in: "):
            m.inside = line[4:]
        elif line.startswith("by: "):
            m.by = line[4:]
        elif line.startswith("why: ") or line.startswith("     "):
            m.why.append(line[5:])
        elif line[:1] == "-":
            if last != "-":
                m.hunks.append(([], []))
            m.hunks[-1][0].append(line[1:])
        elif line[:1] == "+":
            m.hunks[-1][1].append(line[1:])
        elif line and m:
            sys.exit(f"{path}:{number}: what is this? {line}")
        last = line[:1]
    return mutants


def bare(line):
    return " ".join(line.split())


def find(lines, old, begin, end):
    """Where the lines of `old` stand, whatever their indentation, looking at begin to end alone."""
    want = [bare(line) for line in old]
    return [i for i in range(begin, end - len(want) + 1)
            if [bare(line) for line in lines[i:i + len(want)]] == want]


def scope(lines, function):
    """The lines of one function."""
    if function is None:
        return 0, len(lines)
    for i, line in enumerate(lines):
        if re.match(re.escape(function) + r"\(", line):
            return i, next((j for j in range(i, len(lines)) if lines[j].startswith("}")), len(lines))
    return 0, 0


def mutate(mutant, root, write=True):
    """Change the copy at `root`, or see whether it could be; None, or why that cannot be done."""
    path = os.path.join(root, mutant.file)
    if not os.path.exists(path):
        return f"{mutant.file} is not there"
    lines = open(path).read().split("\n")
    for old, new in mutant.hunks:
        begin, end = scope(lines, mutant.inside)
        at = find(lines, old, begin, end)
        if len(at) != 1:
            where = f"{mutant.file}, {mutant.inside}()" if mutant.inside else mutant.file
            return f"no longer applies: {len(at)} times in {where}: {bare(old[0])}"
        lines[at[0]:at[0] + len(old)] = new
    if write:
        os.unlink(path)
        open(path, "w").write("\n".join(lines))
    return None


def flags_of(command):
    """A compile command without its input, its outputs, forced includes, and what only people need."""
    words, flags = shlex.split(command), []
    while words:
        word = words.pop(0)
        if word in ("-o", "-c", "-MF", "-MQ", "-include"):
            words.pop(0)
        elif word not in ("ccache", "-MD", "-Werror", "-g1", "-g"):
            flags.append(word)
    return flags + ["-w"]


class Program:
    """A program of the build folder: how it is compiled and linked."""

    def __init__(self, build, path, work):
        self.path = path
        self.headers = os.path.join(work, path.replace("/", "_") + ".h")
        self.link = subprocess.run(["ninja", "-C", build, "-t", "commands", path], check=True, text=True,
                                   capture_output=True).stdout.strip().split("\n")[-1]
        self.parts = [word for word in shlex.split(self.link) if word.endswith((".o", ".a"))
                      and not word.startswith("/")]
        self.compile = {}  # object -> command
        for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
            out = entry["output"]
            if any(out == part or out.startswith(part + ".p/") for part in self.parts):
                self.compile[out] = entry
        self.precompile(build)
        self.deps = {}
        text = subprocess.run(["ninja", "-C", build, "-t", "deps"] + list(self.compile), check=True, text=True,
                              capture_output=True).stdout
        for block in text.split("\n\n"):
            head, *rest = block.strip().split("\n")
            self.deps[head.split(":")[0]] = {os.path.normpath(line.strip()) for line in rest}

    def precompile(self, build):
        """What every file has before its own text: mostly DPDK's headers, most of the time that compiling takes."""
        entry = next((e for e in self.compile.values() if "-include instead.h" in e["command"]), None)
        if entry is None:
            self.headers = None
            return
        with open(self.headers, "w") as out:
            for header in ("rte_config", "instead", "rte_lcore", "rte_errno", "rte_ring", "rte_mempool"):
                out.write(f'#include "{header}.h"\n')
        subprocess.run(flags_of(entry["command"]) + ["-x", "c-header", self.headers, "-o", self.headers + ".gch"],
                       cwd=build, check=True)

    def command(self, out):
        """How to compile `out` in a copy."""
        command = self.compile[out]["command"]
        if self.headers and "-include instead.h" in command:
            before = ["-include", self.headers]
        else:
            before = ["-include", "rte_config.h"]
        return flags_of(command) + before + ["-o", out, "-c", self.compile[out]["file"]]

    def rebuild(self, build, work, changed):
        """Compile what needs `changed` in the copy at `work` and link it there; None, or what failed."""
        name = os.path.normpath(os.path.join("..", changed))
        objects = [out for out in self.compile if name in self.deps.get(out, ())]
        if not objects:
            return f"nothing of {self.path} depends on {changed}"
        for out in objects:
            os.makedirs(os.path.join(work, "build", os.path.dirname(out)), exist_ok=True)
            done = subprocess.run(self.command(out), cwd=os.path.join(work, "build"), capture_output=True, text=True)
            if done.returncode != 0:
                return "does not compile: " + next((line for line in done.stderr.split("\n") if "error" in line), "")
        words, extra = [], [os.path.join(work, "build", out) for out in objects]
        for word in shlex.split(self.link):
            if word in objects:
                continue
            words.append(os.path.join(work, "build", "program") if words and words[-1] == "-o" else word)
        # In front of the archives, which then have nothing to add where a changed object stands in for a member.
        words[words.index("-o"):words.index("-o")] = extra
        done = subprocess.run(words, cwd=build, capture_output=True, text=True)
        return None if done.returncode == 0 else "does not link: " + done.stderr.strip().split("\n")[-1]


def program_path(by):
    kind, _, name = by.partition(" ")
    return "tests/explore/plx-explore" if kind == "explore" else f"tests/unit/test_{name.replace('/', '_')}"


def noticed(program, by):
    """What the program failed on; None if it passed."""
    command = [program] + (["-q"] if by == "explore" else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    text = done.stdout + done.stderr
    cases = list(dict.fromkeys(re.findall(r"\[  FAILED  \] ([a-z]\w+)", text)))
    ended = re.findall(r"^explore: (.*)", text, re.M)
    running = re.findall(r"\[ RUN      \] (\w+)", text)
    if not running:  # no test looked at the mutant: a program that does not start notices nothing
        sys.exit(f"{' '.join(command)} ran no case, exit status {done.returncode}: {text[-300:]}")
    return ended[0] if ended else ", ".join(cases[:3]) or "fails in or behind " + running[-1]


def run(mutant, build, source, program):
    with tempfile.TemporaryDirectory(prefix="plx-mutant-") as work:
        for folder in ("lib", "drivers", "tests/explore", "tests/unit", "tests/support"):
            shutil.copytree(os.path.join(source, folder), os.path.join(work, folder))
        os.mkdir(os.path.join(work, "build"))
        os.symlink(os.path.realpath(os.path.join(build, "config")), os.path.join(work, "build", "config"))
        wrong = mutate(mutant, work) or program.rebuild(build, work, mutant.file)
        if wrong:
            return False, wrong
        by = noticed(os.path.join(work, "build", "program"), mutant.by)
        return by is not None, by or "survived: " + " ".join(mutant.why)


def chosen(mutants, names):
    if names:
        return [m for m in mutants if m.name in names]
    # All of them take a minute and a half on two CPUs; the same twelfth of them is in the quick tier.
    return mutants if os.environ.get("PLX_TEST_SCALE") == "soak" else mutants[::12]


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    build, table, *words = sys.argv[1:]
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    every = read_mutants(table)
    mutants = chosen(every, words)
    failed = 0

    def result(name, ok, what):
        print(f"[ RUN      ] {name}\n{name}: {what}\n[{'       OK' if ok else '  FAILED '} ] {name}", flush=True)
        return not ok

    with tempfile.TemporaryDirectory(prefix="plx-mutants-") as work:
        programs = {by: Program(build, program_path(by), work) for by in sorted({m.by for m in mutants})}
        for by, program in programs.items():
            wrong = noticed(os.path.join(build, program.path), by)
            if wrong:
                sys.exit(f"{program.path} fails without any mutant: {wrong}")
        print(f"[==========] Running {len(mutants) + 1} test(s).", flush=True)
        lost = [f"{m.name} {why}" for m in every if (why := mutate(m, source, write=False))]
        failed += result("each_mutant_applies", not lost, "; ".join(lost) or f"{len(every)} of them")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [(m, pool.submit(run, m, build, source, programs[m.by])) for m in mutants]
            for mutant, job in jobs:
                failed += result(mutant.name, *job.result())
    sys.exit(failed != 0 or not mutants)


main()
