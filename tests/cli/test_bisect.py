"""bisect: repositories whose builds are stand-ins with made-up, noisy step times (tests/support/fake_worker_main.cpp).

EPOCHBENCH_BISECT_TRIALS: how many trials, each with its culprit at another position, in place of two; prints what they took.
"""
import json
import os
import re
import signal
import subprocess
import unittest

from support import TIMEOUT_SECONDS, CliTest, wait_until

FAKE_WORKER = os.environ["EPOCHBENCH_FAKE_WORKER"]
SUITE = {"cases": [{"model": "mlp:width=32", "batch": 16, "data": "synthetic", "threads": 1}]}
CASE = "mlp:width=32/cpu/fp32/b16/data=synthetic/threads=1"
BUILD = r"""test ! -e broken || exit 3
mkdir -p out
printf '#!/bin/sh\nFAKE_WORKER_PLAN='\''%s'\'' exec %s "$@"\n' "$(cat plan.json)" "$EPOCHBENCH_FAKE_WORKER" >out/epochbench
chmod +x out/epochbench
"""
COMMITS, BROKEN, CHANGED = 24, (7, 16), 12  # of a history: numbers from 1, those that do not build, one with other work
NOISE = 0.0105  # as of pairs on two shared cores (tests/analysis/decision_simulation_test.cpp)


class History(CliTest):
    """A repository of commits 0, the good one, to `commits`, with what each plans."""

    def make(self, plans):
        lines = []
        for number, plan in enumerate(plans):
            plan = dict(plan)
            files = {"plan.json": None, "build.sh": BUILD}
            if plan.pop("broken", False):
                files["broken"] = ""
            files["plan.json"] = json.dumps(plan)
            lines += [f"commit refs/heads/main\nmark :{number + 1}\ncommitter T <t@example.org> {1700000000 + number} +0000",
                      f"data <<END\nChange {number}\nEND\n"]
            if number:
                lines.append(f"from :{number}\ndeleteall")
            for name, content in files.items():
                lines.append(f"M 644 inline {name}\ndata {len(content)}\n{content}")
        self.git("init", "--quiet", ".")
        self.git("fast-import", "--quiet", input="\n".join(lines) + "\n")
        self.shas = self.git("rev-list", "--reverse", "main").split()
        (self.folder / "suite.json").write_text(json.dumps(SUITE))

    def git(self, *arguments, **options):
        return subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, text=True, **options).stdout

    def environment(self, noise=0.0, seed=0):
        return {**os.environ, "FAKE_WORKER_NOISE": str(noise), "FAKE_WORKER_SEED": str(seed),
                "FAKE_WORKER_DRAWS": str(self.folder / "draws")}

    def arguments(self, *more):
        return ["bisect", self.shas[0], "main", "--suite", "suite.json", "--build", "sh build.sh", "--binary", "out/epochbench",
                *more]

    def bisect(self, *more, **options):
        return self.call(*self.arguments(*more), env=self.environment(**options))


def plans_of(culprit):
    plans = [{"slowdown": 0.04 if number >= culprit else 0.0} for number in range(COMMITS + 1)]
    for number in BROKEN:
        plans[number]["broken"] = True
    plans[CHANGED]["fingerprint"] = "2222"
    return plans


class Bisect(History):
    def test_names_the_commit_its_ratio_and_the_op(self):
        self.make(plans_of(10))
        call = self.bisect()
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        self.assertIn(f"first slow commit: {self.shas[10][:7]} (2023-11-14) Change 10", call.stdout)
        self.assertIn("takes 1.040 times (95 % interval 1.040 to 1.040, 10 pairs) the time of " + self.shas[9][:7], call.stdout)
        self.assertRegex(call.stdout, r"gemm +9.00 ms +9.40 ms +\+400 µs \(\+4.44 %\)")
        self.assertIn(f"skipped {self.shas[12][:7]}: another workload: 2222 in place of 1111", call.stdout)
        self.assertRegex(call.stderr, r"up to \d commits? to measure; about .* left")
        self.assertEqual(self.git("status", "--porcelain").strip(), "?? draws\n?? suite.json")
        again = self.bisect("--json", "--overwrite")
        self.assertEqual(re.findall(r"^build .*(Change \d+)", again.stderr, re.MULTILINE), ["Change 7"])  # which failed
        answer = json.loads(again.stdout)
        self.assertEqual((answer["verdict"], answer["suspects"], answer["case"]), ("found", [self.shas[10]], CASE))
        self.assertEqual(answer["last_fast"]["sha"], self.shas[9])

    def test_reports_a_range_where_the_culprit_borders_what_does_not_build(self):
        self.make(plans_of(8))
        call = self.bisect("--json")
        self.assertEqual(call.returncode, 4, call.stderr)
        answer = json.loads(call.stdout)
        self.assertEqual((answer["verdict"], answer["suspects"]), ("range", self.shas[7:9]))
        reason, = [commit["reason"] for commit in answer["commits"] if commit["sha"] == self.shas[7]]
        self.assertIn("the build ended with exit code 3", reason)

    def test_an_interrupt_keeps_builds_and_pairs(self):
        self.make(plans_of(20))
        process = self.start(*self.arguments(), env=self.environment())
        kept = self.folder / "epochbench-bisect"
        wait_until(lambda: len(list(kept.glob("pairs-*/*.json"))) > 1, "the pairs of a commit")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("--resume continues", errors)
        self.assert_refused(self.bisect(), 2, "--resume", "--overwrite")
        self.assert_refused(self.bisect("--resume", "--overwrite"), 2, "give one of the two")
        draws = (self.folder / "draws").stat().st_size
        call = self.bisect("--resume", "--json")
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertEqual(json.loads(call.stdout)["suspects"], [self.shas[20]])
        resumed = (self.folder / "draws").stat().st_size - draws
        self.assertEqual(self.bisect("--resume", "--json").stdout, call.stdout)
        self.assertGreater(resumed, 2 * 8)

    def test_says_where_nothing_is_slower(self):
        self.make([{}, {}, {}])
        call = self.bisect()
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertIn("no change", call.stdout)
        self.assertIn("nothing to look for", call.stderr)

    def test_refusals(self):
        self.make([{}, {"slowdown": 0.1}, {"slowdown": 0.1, "broken": True}, {"build_type": "Debug"}])
        good = self.shas[0]
        for arguments, parts in [
            (["bisect"], ["GOOD", "BAD"]),
            (["bisect", good], ["BAD"]),
            (["bisect", good, "nowhere"], ["'nowhere'", "no commit"]),
            (["bisect", good, good], ["same commit"]),
            (["bisect", "main", good], ["not an ancestor"]),
            (["bisect", good, "main", "--max-pairs", "7"], ["--max-pairs", "8"]),
            (["bisect", good, "main", "--case", "vgg"], ["--case", "no case", "resnet20"]),
            (["bisect", good, "main~1", "--build", "sh build.sh", "--binary", "out/epochbench"], ["ended with exit code 3", "--build"]),
            (["bisect", good, "main", "--build", "true"], ["leaves no program build/epochbench"]),
            (["bisect", good, "main", "--build", "sh build.sh", "--binary", "out/epochbench"], ["Release"]),
        ]:
            with self.subTest(arguments):
                call = self.call(*arguments, "--quiet", env=self.environment())
                self.assert_refused(call, 2, *parts)
                if "--build" not in arguments:
                    self.assertFalse((self.folder / "epochbench-bisect").exists(), "refused before anything is built")


class Trials(History):
    def test_each_with_its_culprit_at_another_position(self):
        asked = os.environ.get("EPOCHBENCH_BISECT_TRIALS")
        count = int(asked or 2)
        found, ranges, undecided, pairs = 0, 0, 0, []
        for trial in range(count):
            culprit = 1 + (trial * 5 + 2) % COMMITS  # 5 and 24 have no common factor: every position in turn
            with self.subTest(culprit=culprit, trial=trial):
                self.setUp()
                self.make(plans_of(culprit))
                call = self.bisect("--json", "--quiet", noise=NOISE, seed=trial)
                self.assertIn(call.returncode, (0, 4), call.stderr)
                answer = json.loads(call.stdout)
                pairs.append(sum(commit["pairs"] for commit in answer["commits"]) + answer["step"]["pairs"])
                found += answer["verdict"] == "found"
                ranges += answer["verdict"] == "range"
                undecided += answer["verdict"] == "inconclusive"
                if answer["verdict"] != "inconclusive":
                    self.assertIn(self.shas[culprit], answer["suspects"])  # none names a wrong commit
                if asked:
                    print(f"trial {trial + 1}: culprit {culprit}, {answer['verdict']}, {len(answer['suspects'])} suspects,"
                          f" {pairs[-1]} pairs", flush=True)
        if asked:
            print(f"{count} trials: {found} found, {ranges} ranges, {undecided} undecided,"
                  f" {min(pairs)} to {max(pairs)} pairs, mean {sum(pairs) / count:.1f}")
        self.assertGreaterEqual(found + ranges, 0.9 * count)


if __name__ == "__main__":
    unittest.main()
