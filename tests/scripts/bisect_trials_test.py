"""scripts/experiments/bisect_trials in a small repository, whose scripts/run makes stand-ins for epochbench: they know what they were made of,
and their bisect answers as the commits' builds say, or as the file `answer` does."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from in_folder import FolderTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "experiments" / "bisect_trials"
RUN = """#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
test ! -e "$ANSWERS/no-build" || exit 2
mkdir -p "$root/build"
cp "$root/stand-in" "$root/build/epochbench"
grep -c unrelated "$root"/src/*.cpp >"$root/changes"
cat "$root/changes" "$root/kernels/cpu/pool.cpp" "$root/models/lenet5.cpp" | sed 's/^/# /' >>"$root/build/epochbench"
echo built >>"$ANSWERS/builds"
"""
STAND_IN = """#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys
answers = pathlib.Path(os.environ["ANSWERS"])
def git(*arguments): return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout
good, case = sys.argv[2], sys.argv[sys.argv.index("--case") + 1]
assert sys.argv[1:2] + sys.argv[3:4] + [case] == ["bisect", "main", "lenet5"], sys.argv
with open(answers / "calls", "a") as calls: calls.write(" ".join(sys.argv[4:]) + "\\n")
pathlib.Path("epochbench-bisect").mkdir(exist_ok=True)
if (answers / "interrupt").exists(): sys.exit(130)
kinds = []
for sha in git("rev-list", "--reverse", good + "..main").split():
    git("checkout", "--quiet", "--force", sha)
    built = subprocess.run(["sh", "build.sh"]).returncode == 0
    lines = pathlib.Path("build/epochbench").read_text().splitlines() if built else []
    text = "".join(line for line in lines if line.startswith("# "))  # the sources
    kinds.append((sha, "skipped" if not built or "channels = 7" in text else "slow" if "time < 2" in text else "fast"))
slow = next(i for i, (_, kind) in enumerate(kinds) if kind == "slow")
fast = max([i for i, (_, kind) in enumerate(kinds) if kind == "fast"], default=-1)
suspects = [sha for sha, _ in kinds[fast + 1:slow + 1]]
answer = {"verdict": "found" if len(suspects) == 1 else "range", "suspects": suspects, "ratio": 1.04,
          "commits": [{"pairs": 8} for _ in kinds], "step": {"pairs": 10}}
if (answers / "answer").exists(): answer.update(json.loads((answers / "answer").read_text()))
print(json.dumps(answer))
sys.exit(0 if answer["verdict"] == "found" else 4)
"""


class BisectTrials(FolderTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "repository"
        files = {"scripts/run": RUN, "stand-in": STAND_IN, "models/lenet5.cpp": '  "conv1", {.channels = 6, .kernel = 5}\n',
                 "kernels/cpu/pool.cpp": "          max_of_pixels(y + out, x);\n", ".gitignore": "/build/\n/changes\n",
                 **{f"src/file{i:02}.cpp": "// Empty.\n" for i in range(30)}}
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        (self.root / "scripts" / "experiments").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts" / "experiments")
        for path in ("scripts/run", "stand-in"):
            (self.root / path).chmod(0o755)
        self.commit()

    def commit(self):
        for arguments in (["init", "--quiet"], ["add", "."], ["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "One"]):
            subprocess.run(["git", "-C", self.root, *arguments], check=True)

    def trials(self, *arguments):
        return subprocess.run([sys.executable, self.root / "scripts" / "experiments" / "bisect_trials", self.folder / "out", *arguments],
                              capture_output=True, text=True, env={**os.environ, "ANSWERS": str(self.folder)})

    def lines(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def test_culprits_at_other_positions_are_found_and_what_was_made_stays(self):
        call = self.trials("--trials", "6")
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        self.assertEqual(len(self.lines("builds")), 43)
        binaries = [path.read_text() for path in (self.folder / "out" / "builds").iterdir()]
        self.assertEqual(len(set(binaries)), 43)
        *trials, counts = call.stdout.splitlines()
        self.assertEqual([int(line.split("culprit ")[1].split(":")[0]) for line in trials], [8, 13, 18, 23, 4, 9])
        self.assertIn("trial 1: culprit 8: a range of 2, ", trials[0])  # the commit before it does not build
        self.assertIn("trial 3: culprit 18: named, ", trials[2])
        self.assertRegex(counts, "^6 trials of [0-9a-f]{7}: 6 found \\(4 named\\), 0 wrong, 0 not found; 202 to 202 pairs, mean 202$")
        again = self.trials("--trials", "6")
        self.assertEqual(again.stdout, counts + "\n")
        self.assertEqual((len(self.lines("builds")), len(self.lines("calls"))), (43, 6))

    def test_an_interrupted_trial_goes_on(self):
        (self.folder / "interrupt").touch()
        call = self.trials("--trials", "1")
        self.assertEqual((call.returncode, call.stderr.splitlines()[-1]), (130, "bisect_trials: interrupted; the same call goes on"))
        (self.folder / "interrupt").unlink()
        call = self.trials("--trials", "1")
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        self.assertIn(", resumed\n", call.stdout)
        self.assertEqual(["--resume" in line for line in self.lines("calls")], [False, True])

    def test_a_wrong_commit_and_too_few_found_are_exit_1(self):
        (self.folder / "answer").write_text(json.dumps({"suspects": ["0" * 40]}))
        call = self.trials("--trials", "1")
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertIn("; WRONG\n", call.stdout)
        (self.folder / "out" / "trial-1.json").unlink()
        (self.folder / "answer").write_text(json.dumps({"verdict": "inconclusive", "suspects": []}))
        call = self.trials("--trials", "1")
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertIn("; not found\n", call.stdout)

    def test_what_cannot_be_made_says_why(self):
        (self.folder / "no-build").touch()
        call = self.trials()
        self.assertEqual((call.returncode, len(call.stderr.splitlines())), (2, 2), call.stderr)
        self.assertIn("fast-0 does not build; see ", call.stderr)
        (self.folder / "no-build").unlink()
        (self.root / "kernels/cpu/pool.cpp").write_text("// Rewritten.\n")
        self.commit()
        shutil.rmtree(self.folder / "out")
        call = self.trials()
        self.assertEqual(call.returncode, 2)
        self.assertIn("kernels/cpu/pool.cpp has not exactly one", call.stderr)


if __name__ == "__main__":
    unittest.main()
