"""compare --interleave: two binaries in turns, what they say, and what is refused. CiExamples.Slower finds a slower one."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import unittest

from support import BINARY, TIMEOUT_SECONDS, CliTest, load_turns, wait_until

DELAYED = os.environ["EPOCHBENCH_DELAYED"]
# The most steps that a turn may have take half of the time that it would fill.
TINY = {"cases": [{"model": "mlp:width=1,depth=1", "batch": 1, "data": "synthetic", "threads": 1}]}
NAME = "mlp:depth=1,width=1/cpu/fp32/b1"


class Turns(CliTest):
    def suite(self, content):
        return self.write("suite.json", content)

    def interleave(self, baseline, new, *arguments, suite=TINY, **options):
        return self.call("compare", "--interleave", baseline, new, "--suite", self.suite(suite), *arguments, **options)

    def kept(self):
        return load_turns(self.out.read_text())


class Interleave(Turns):
    def test_the_same_binary_twice_is_no_regression_with_any_seed(self):
        # Seeds are one case, whose pairs take them in turn.
        seeded = {"cases": [{**TINY["cases"][0], "seed": [7, 8]}]}
        call = self.interleave(BINARY, BINARY, "--max-pairs", 3, "--json", "-o", self.out, suite=seeded)
        self.assertEqual(call.returncode, 4, call.stderr)  # three pairs show nothing
        answer = json.loads(call.stdout)
        self.assertEqual(answer["verdict"], "inconclusive")
        self.assertEqual([case["verdict"] for case in answer["cases"]], ["inconclusive"])
        self.assertEqual((answer["missing"], answer["added"], answer["changed"]), ([], [], []))
        document = self.kept()
        self.assertEqual(document["baseline"], document["new"])
        self.assertEqual(document["new"]["binary"], BINARY)
        case, = document["cases"]
        pairs = case["pairs"]
        self.assertNotIn("seed", case["name"])
        self.assertNotIn("seed", case["settings"])
        self.assertEqual([pair["seed"] for pair in pairs], [7, 8, 7])
        first = [pair["new"]["first_losses"] for pair in pairs]
        self.assertEqual(first[0], first[2])
        self.assertNotEqual(first[0], first[1])
        for pair in pairs:
            self.assertEqual(pair["baseline"]["fingerprint"], pair["new"]["fingerprint"])
            self.assertEqual(pair["baseline"]["first_losses"], pair["new"]["first_losses"])
            self.assertEqual(pair["baseline"]["final_loss"], pair["new"]["final_loss"])
            self.assertEqual(pair["baseline"]["steps"], pair["new"]["steps"])
            self.assertEqual(len(pair["new"]["turn_seconds"]), 20)
            steps = 20 * pair["steps_per_turn"]
            self.assertEqual(len(pair["new"]["step_seconds"]), steps if steps <= 400 else 0)
            self.assertEqual(len(pair["first_by_round"]), 20)
            self.assertIsNotNone(pair["foreign_cpu_cores"])
        self.assertEqual(len({pair["steps_per_turn"] for pair in pairs}), 1)
        self.assertNotEqual(pairs[0]["first_by_round"], pairs[1]["first_by_round"])

    def test_a_model_needs_no_suite(self):
        call = self.call("compare", "--interleave", BINARY, BINARY, "--model", "mlp:width=1,depth=1", "--batch", 1, "--data", "synthetic",
                         "--threads", 1, "--max-pairs", 3, "-o", self.out)
        self.assertEqual(call.returncode, 4, call.stderr)
        document = self.kept()
        self.assertEqual((document["suite"], [case["name"] for case in document["cases"]]), ("", [NAME + "/data=synthetic/threads=1"]))
        more = re.search(r"next: more pairs:\n  epochbench (.+)", call.stdout)
        self.assertIsNotNone(more, call.stdout)
        again = self.call(*shlex.split(re.sub("--max-pairs [0-9]+", "--max-pairs 1", more[1])), "-o", self.out, "--overwrite")
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertEqual([case["settings"] for case in self.kept()["cases"]], [case["settings"] for case in document["cases"]])

    def test_a_case_that_is_not_ok_any_more_is_reported_by_name(self):
        # What the delayed binary cannot do: a delay so long that nothing but the kill of its process ends it.
        process = self.start("compare", "--interleave", BINARY, DELAYED, "--suite", self.suite(TINY), "-o", self.out,
                             env={**os.environ, "EPOCHBENCH_TEST_DELAY": "1e9"})
        delayed = wait_until(lambda: self.case_processes(process, DELAYED), "the delayed case")[0]
        os.kill(delayed, signal.SIGKILL)
        out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("not_ok", out)
        self.assertIn("killed by SIGKILL", out)
        self.assertIn(NAME, out)
        pair = self.kept()["cases"][0]["pairs"][0]
        self.assertEqual((pair["baseline"]["status"], pair["new"]["status"], pair["log_ratio"]), ("ok", "failed", None))

    def test_an_interrupt_tells_what_there_is(self):
        process = self.start("compare", "--interleave", BINARY, BINARY, "--suite", self.suite(TINY), "-o", self.out)
        wait_until(lambda: self.out.exists() and self.kept()["cases"][0]["pairs"], "the first pair")
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("inconclusive", out)
        self.assertIn("of the first 10 pairs measured", out)
        pairs = self.kept()["cases"][0]["pairs"]
        self.assertTrue(all(pair["log_ratio"] is not None for pair in pairs))
        self.assertLess(len(pairs), 10)

    def test_a_missing_gpu_is_skipped_visibly(self):
        both = {"cases": [*TINY["cases"], {"model": "mlp:width=32", "batch": 16, "threads": 1, "device": "cuda:7"}]}
        call = self.interleave(BINARY, BINARY, "--max-pairs", 1, "-o", self.out, suite=both)
        self.assertEqual(call.returncode, 2, call.stderr)
        self.assertIn("skipped: device cuda:7", call.stderr)
        skipped_case = "mlp:width=32/cuda/fp32/b16/device=cuda:7"
        self.assertIn("not measured: " + skipped_case, call.stdout)
        self.assertIn("verdict: not compared: 1 of 2 cases was not compared", call.stdout)
        self.assertEqual(self.interleave(BINARY, BINARY, "--max-pairs", 1, "--allow", skipped_case, suite=both).returncode, 4)
        skipped = [case["skipped"] is not None for case in self.kept()["cases"]]
        self.assertEqual(skipped, [False, True])

    @staticmethod
    def case_processes(process, binary):
        """Those that take turns, not the one that was asked who it is."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or os.readlink(entry / "exe") != os.path.realpath(binary):
                    continue
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == process.pid and b"OMP_WAIT_POLICY=passive" in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


class Refusals(Turns):
    def test_what_is_no_epochbench(self):
        script = self.folder / "script"
        script.write_text("#!/bin/sh\necho hello\nsleep 5\n")
        script.chmod(0o755)
        for other, parts in [("/bin/true", ["not an epochbench", "exit code 0"]),
                             ("none", ["No such file", "none"]),
                             (self.folder, ["Permission denied"]),
                             (script, ["not an epochbench", "hello"])]:
            for pair in [(BINARY, other), (other, BINARY)]:
                with self.subTest(pair):
                    call = self.interleave(*pair, "-o", self.out)
                    self.assert_refused(call, 2, "--interleave", str(other), *parts)
                    self.assertFalse(self.out.exists())

    def test_calls(self):
        suite = self.suite(TINY)
        for arguments, code, parts in [
            (["--interleave", BINARY, "--suite", suite], 2, ["--interleave"]),
            (["--interleave", BINARY, BINARY, "--suite", "none"], 2, ["none", "gate"]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "--max-pairs", "0"], 2, ["--max-pairs", "1"]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "--threshold", "-1"], 2, ["--threshold"]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "--order-seed", "x"], 2, ["--order-seed"]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "--", "old.json", "new.json"], 2, ["--interleave", "old.json"]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "--model", "mlp"], 2, ["--suite", "--model", "one of them"]),
            (["--interleave", BINARY, BINARY, "--batch", "8"], 2, ["--batch", "add --model"]),
            (["--interleave", BINARY, BINARY, "--model", "lenet"], 2, ["did you mean lenet5?"]),
            (["old.json", "new.json", "--model", "mlp"], 2, ["--model", "--interleave"]),
            (["old.json", "new.json", "--max-pairs", "3"], 2, ["--max-pairs", "--interleave"]),
            (["old.json", "new.json", "--suite", "gate"], 2, ["--suite", "--interleave"]),
            (["old.json", "new.json", "-o", self.out], 2, ["--out", "--interleave"]),
            (["old.json", "new.json", "--anonymous"], 2, ["--anonymous", "--interleave"]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "--allow", "none"], 2, ["--allow", "none", NAME]),
            (["--interleave", BINARY, BINARY, "--suite", suite, "-o", self.folder / "no" / "such.json"], 2, ["no/such.json"]),
        ]:
            with self.subTest(arguments):
                self.assert_refused(self.call("compare", *arguments), code, *parts)

    def test_an_anonymous_document_does_not_say_whose_it_is(self):
        shutil.copy(BINARY, self.folder / "mine")
        call = self.interleave("./mine", BINARY, "--max-pairs", 1, "--anonymous", "-o", self.out)
        self.assertEqual(call.returncode, 4, call.stderr)
        document = self.kept()
        self.assertIsNone(document["context"]["host_name"])
        self.assertNotIn(os.path.dirname(BINARY), self.out.read_text())
        self.assertEqual(document["new"]["binary"], "<path>")
        self.assertEqual(document["baseline"]["binary"], "./mine", "as the call says it")

    def test_what_would_be_written_twice(self):
        suite = {"cases": [{"model": "mlp:width=32", "save": str(self.folder / "weights.safetensors")}]}
        self.assert_refused(self.interleave(BINARY, BINARY, suite=suite), 2, "save")

    def test_a_device_that_is_not_there_alone(self):
        suite = {"cases": [{"model": "mlp:width=32", "device": "cuda:7"}]}
        self.assert_refused(self.interleave(BINARY, BINARY, suite=suite), 3, "cuda:7")


if __name__ == "__main__":
    unittest.main()
