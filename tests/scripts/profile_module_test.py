"""scripts/peers/profile_module: with a made-up PyTorch that reports made-up times, and, where PyTorch is installed, with real modules."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

import jsonschema

from in_folder import FolderTest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "peers"
BINARY = os.environ["EPOCHBENCH_BINARY"]
VALIDATOR = jsonschema.Draft7Validator(json.loads(pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).read_text()))

# A step of new.py takes SLOWER times that of others, and each process and step is 0.1 % apart.
CASE = r"""
import json, os, random, sys, time
for line in sys.stdin:
    command = json.loads(line)
    name = command["command"]
    if name == "prepare":
        case = command["case"]
        file = os.path.basename(case["module"])
        one = 0.002 * (float(os.environ["SLOWER"]) if file == "new.py" else 1)
        answer = {"event": "ready", "threads": 1, "device": "", "versions": {"torch": "9.8"}, "parameters": 1000, "batch": 4,
                  "forward_flops_per_sample": 1e6, "train_flops_per_sample": 3e6, "optimizer": "sgd", "fingerprint": "f" * 32,
                  "first_losses": [1.0, 1.0 if os.environ.get("FAULT") != "random" else 2.0]}
        if os.environ.get("FAULT") == file:
            answer = {"event": "error", "status": "failed", "message": file + " fails in backward on cpu: RuntimeError: no"}
    elif name == "finish":
        answer = {"event": "result", "peak_bytes": 1000000}
    else:
        seconds = [one * random.uniform(1, 1.001) for _ in range(command["steps"])]
        time.sleep(sum(seconds))  # a run takes longer than its steps
        answer = {"event": "steps", "seconds": seconds, "loss": [1.5] * len(seconds), "wall_seconds": sum(seconds),
                  "harness_seconds": 0.0, "page_faults": 0, "own_cpu_seconds": sum(seconds),
                  "busy_cpu_seconds": sum(seconds) * (1 + float(os.environ.get("BUSY", 0)))}
    print(json.dumps(answer), flush=True)
    if name == "finish" or answer["event"] == "error":
        sys.exit(0)
"""


class ProfileModule(FolderTest):
    def setUp(self):
        super().setUp()
        self.out, self.old = self.folder / "out.json", self.folder / "against.json"
        for name in ("new.py", "old.py"):
            (self.folder / name).write_text("")

    def call(self, *arguments, code=0, venv=True, **environ):
        done = subprocess.run([sys.executable, PEERS / "profile_module", *arguments, "--binary", BINARY, "--threads", "1",
                               "--min-time", "0.01", "--out", self.out, *(("--venv", self.folder) if venv else ())], cwd=self.folder,
                              env={**os.environ, **environ}, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def result(self, path):
        document = json.loads(path.read_text())
        VALIDATOR.validate(document)
        return document["runs"]

    def epochbench(self, *arguments, code=0):
        done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stdout


class MadeUp(ProfileModule):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        python = self.folder / "bin" / "python"
        (self.folder / "case.py").write_text(CASE)
        python.write_text(f"#!/bin/sh\nexec {sys.executable} {self.folder}/case.py\n")
        python.chmod(0o755)

    def test_a_result_that_all_commands_read(self):
        self.call("new.py", "--repetitions", "2", SLOWER="1")
        runs = self.result(self.out)
        self.assertEqual([(run["name"], run["repetition"]) for run in runs], [("new/pytorch/fp32/b4", 0), ("new/pytorch/fp32/b4", 1)])
        for run in runs:
            self.assertEqual(run["workload"]["train_flops_per_sample"], 3e6)
            self.assertEqual(run["timing"]["warmup_steps"], 3)
            self.assertGreaterEqual(len(run["timing"]["step_seconds"]), 10)
            self.assertAlmostEqual(run["throughput"]["samples_per_second"], 2000, delta=5)
        self.assertIn("2 runs agree with themselves", self.epochbench("verify", self.out))
        self.assertIn("new/pytorch/fp32/b4", self.epochbench("answers", self.out))
        self.epochbench("report", self.out, "-o", self.folder / "page.html")
        self.epochbench("cost", self.out)

    def test_the_gate_finds_a_version_that_is_five_percent_slower(self):
        self.call("new.py", "--against", "old.py", "--against-out", self.old, SLOWER="1.05")
        self.assertEqual(len(self.result(self.out)), 10)
        self.assertEqual(len(self.result(self.old)), 10)
        self.assertIn("verdict: regression", self.epochbench("compare", self.old, self.out, code=1))

    def test_versions_that_took_turns_are_judged_beside_other_jobs(self):
        for slower, code, verdict in (("1.05", 1, "verdict: regression"), ("1", 0, "verdict: no change")):
            self.call("new.py", "--against", "old.py", "--against-out", self.old, "--overwrite", SLOWER=slower, BUSY="1.5")
            self.assertIn(verdict, self.epochbench("compare", self.old, self.out, code=code))

    def test_results_are_not_replaced_unasked(self):
        self.out.write_text("mine")
        self.assertIn("exists: add --overwrite", self.call("new.py", code=2).stderr)
        self.assertEqual(self.out.read_text(), "mine")

    def test_a_file_that_fails_is_one_line_and_leaves_the_other(self):
        done = self.call("new.py", "--against", "old.py", "--against-out", self.old, "--repetitions", "1", code=1, FAULT="new.py", SLOWER="1")
        self.assertIn("fails in backward on cpu: RuntimeError: no", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 2, "what is measured first, and the reason")
        self.assertEqual([self.result(self.out)[0]["status"], self.result(self.old)[0]["status"]], ["failed", "ok"])

    def test_a_loss_that_differs_is_noted(self):
        self.assertIn("note: new.py is not deterministic", self.call("new.py", "--repetitions", "1", FAULT="random", SLOWER="1").stdout)

    def test_wrong_calls(self):
        self.assertIn("none.py is not a file", self.call("none.py", code=2).stderr)
        self.assertIn("'gpu' is unknown", self.call("new.py", "--device", "gpu", code=2).stderr)
        self.assertIn("cannot be written", self.call("new.py", "--against", "old.py", "--against-out", "/none/old.json", code=2).stderr)
        self.assertIn("belong together", self.call("new.py", "--against", "old.py", code=2).stderr)
        done = self.call("new.py", code=2, venv=False, EPOCHBENCH_PYTHON="/nope")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("no Python here has PyTorch (/nope: No such file or directory); install it", done.stderr)


@unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("torchvision"), "needs PyTorch")
class Real(ProfileModule):
    GOOD = """
import torch
def model():
    return torch.nn.Linear(8, 2)
def batch(device):
    return torch.ones(4, 8, device=device), torch.zeros(4, dtype=torch.long, device=device)
def loss(output, batch):
    return torch.nn.functional.cross_entropy(output, batch[1])
"""
    FAULTS = {
        "new.py (line 11) fails in backward on cpu": "class F(torch.autograd.Function):\n  forward = staticmethod(lambda c, x: x.sum())\n"
                                    "  def backward(c, g): raise RuntimeError('no')\ndef loss(output, batch):\n  return F.apply(output)\n",
        "fails in model() on cpu": "def model():\n    return torch.nn.Linear(8, 2, device='cuda')\n",
        "returns no loss": "del loss\n",
        "defines no batch()": "del batch\n",
    }

    def call_here(self, *arguments, **options):
        return self.call(*arguments, "--repetitions", "1", venv=False, EPOCHBENCH_PYTHON=sys.executable, **options)

    def test_flops_are_those_of_the_products(self):
        (self.folder / "new.py").write_text(self.GOOD)
        self.call_here("new.py")
        [run] = self.result(self.out)
        self.assertEqual(run["workload"]["forward_flops_per_sample"], 2 * 8 * 2)
        self.assertEqual((run["workload"]["parameters"], run["workload"]["batch"]), (18, 4))

    def test_what_a_file_does_wrong_is_one_line(self):
        for text, code in self.FAULTS.items():
            (self.folder / "new.py").write_text(self.GOOD + code)
            done = self.call_here("new.py", code=1)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 2, "what is measured first, and the reason: " + done.stderr)
            self.assertEqual(self.result(self.out)[0]["status"], "failed")


if __name__ == "__main__":
    unittest.main()
