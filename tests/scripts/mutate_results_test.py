"""Tests scripts/mutate_results: it finds what a made-up epochbench does wrong, and nothing in the real one.

EPOCHBENCH_BINARY names the real one.
"""

import os
import pathlib
import subprocess
import sys
import unittest

from in_folder import FolderTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mutate_results"
# What a made-up epochbench does, one after the other -> what the script says of it.
MISTAKES = {
    "kill -SEGV $$": "ended by signal 11",
    "exit 7": "exit code 7",
    "exit 2": "a refusal of 0 lines",
    "echo one >&2; echo two >&2; exit 2": "a refusal of 2 lines",
    "echo ratio -nan": "'-nan' in standard output",
    "echo +inf >&2": "'+inf' in standard error",
    "printf '\\033[2J'": "control character '\\x1b' in standard output",
    "printf '\\r' > exported": "control character '\\r' in exported",
    "echo ::error::owned": "an annotation in standard output",
    """echo '<script type="application/json">{"a": NaN}</script>' > page.html""": "the data of page.html is not JSON",
}


class MutateResults(FolderTest):
    def call(self, binary, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments, "--binary", binary, "--findings", self.folder / "findings"],
                              capture_output=True, text=True)

    def made_up(self, mistake):
        """Takes the objects that the script starts from, which come without a second file."""
        binary = self.folder / "epochbench"
        binary.write_text(f"#!/bin/sh\n[ -e second.json ] || exec grep -q ^{{ first.json\n{mistake}\n")
        binary.chmod(0o755)
        return binary

    def test_finds_each_mistake(self):
        count = f"number=0; until mkdir {self.folder}/$number 2> {os.devnull}; do number=$((number + 1)); done; case $number in"
        cases = "".join(f"{number}) {mistake} ;;\n" for number, mistake in enumerate(MISTAKES))
        call = self.call(self.made_up(f"{count}\n{cases}esac"), str(len(MISTAKES)))
        self.assertEqual(call.returncode, 1, call.stderr)
        # A call with --json adds that its output is not JSON; which mistake meets one depends on the order of parallel calls.
        found = [line.split(": ", 2)[2].split("; ")[0] for line in call.stdout.splitlines() if line.startswith("finding ")]
        self.assertEqual(sorted(found), sorted(MISTAKES.values()))
        self.assertIn(f"{len(MISTAKES)} executions with seed 1: {len(MISTAKES)} findings in ", call.stdout)

    def test_repeats_one(self):
        binary = self.made_up("exit 7")
        call = self.call(binary, "3")
        first = call.stdout.splitlines()[0]
        again = self.call(binary, "--only", "0")
        self.assertEqual(again.returncode, 1)
        self.assertIn(first.split("epochbench ")[1].split(": exit")[0], again.stdout)
        self.assertIn("exit code 7", again.stdout)
        self.assertTrue((self.folder / "findings" / "0" / "first.json").is_file())

    def test_a_missing_program_is_one_line(self):
        call = self.call(self.folder / "nothing")
        self.assertEqual((call.returncode, call.stdout), (2, ""))
        self.assertRegex(call.stderr, r"\Ascripts/mutate_results: there is no .*; build it with scripts/run --version\n\Z")

    def test_the_program_makes_no_mistake(self):
        call = self.call(os.environ["EPOCHBENCH_BINARY"], "100")
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        self.assertIn("100 executions with seed 1: 0 findings", call.stdout)


if __name__ == "__main__":
    unittest.main()
