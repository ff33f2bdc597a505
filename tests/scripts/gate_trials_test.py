"""Tests scripts/experiments/gate_trials on a made-up epochbench, which answers as a file beside it says."""

import json
import pathlib
import subprocess
import sys
import unittest

from in_folder import FolderTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "experiments" / "gate_trials"
BINARY = """#!/usr/bin/env python3
import json, pathlib, sys
folder = pathlib.Path(sys.argv[3]).parent
slower = sys.argv[4].endswith("epochbench_delayed")
code, verdict, ratio = json.loads((folder / ("slower" if slower else "same")).read_text())
with open(folder / "calls", "a") as calls: calls.write(sys.argv[4] + "\\n")
print(json.dumps({"verdict": verdict, "cases": [{"name": "m/cpu/fp32/b8", "verdict": verdict, "ratio": ratio}]}))
sys.exit(code)
"""


class GateTrials(FolderTest):
    def setUp(self):
        super().setUp()
        (self.folder / "tests").mkdir()
        for path in (self.folder / "epochbench", self.folder / "tests" / "epochbench_delayed"):
            path.write_text(BINARY)
            path.chmod(0o755)
        self.answers("same", 0, "no_change", 1.001)
        self.answers("slower", 1, "regression", 1.041)

    def answers(self, kind, code, verdict, ratio):
        (self.folder / kind).write_text(json.dumps([code, verdict, ratio]))

    def trials(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, self.folder / "out", "--build", self.folder, *arguments],
                              capture_output=True, text=True)

    def test_counts_what_the_gate_said(self):
        call = self.trials("--same", "2", "--slower", "1")
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn("same-1: m no change 1.001", call.stdout)
        self.assertIn("the binary against itself: 2 suites: 2 no change; of 2 cases 0 regressions", call.stdout)
        self.assertIn("steps 4 % longer: 1 suites: 1 regression", call.stdout)

    def test_a_trial_that_is_there_is_not_repeated(self):
        self.trials("--same", "1")
        self.answers("same", 4, "inconclusive", None)
        call = self.trials("--same", "2")
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn("2 suites: 1 inconclusive, 1 no change", call.stdout)
        self.assertEqual(len((self.folder / "calls").read_text().splitlines()), 2)

    def test_another_job_runs_meanwhile_and_ends(self):
        call = self.trials("--busy", "1")
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn("the same beside another job: 1 suites: 1 no change", call.stdout)

    def test_a_false_alarm_and_a_slowdown_that_is_missed_are_exit_1(self):
        self.answers("slower", 0, "no_change", 1.01)
        self.assertEqual(self.trials("--slower", "1").returncode, 1)
        self.answers("same", 1, "regression", 1.05)
        self.assertEqual(self.trials("--same", "1").returncode, 1)

    def test_a_trial_that_cannot_be_made_says_why(self):
        self.answers("same", 2, "", None)
        call = self.trials("--same", "1")
        self.assertEqual(call.returncode, 2)
        self.assertIn("compare ended with 2", call.stderr)
        (self.folder / "tests" / "epochbench_delayed").unlink()
        call = self.trials("--same", "1")
        self.assertEqual(call.returncode, 2)
        self.assertIn("scripts/test", call.stderr)


if __name__ == "__main__":
    unittest.main()
