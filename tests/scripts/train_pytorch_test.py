"""scripts/peers/train_pytorch without PyTorch: a made-up case process answers in its place, epochbench is the real one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PEERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "peers"
BINARY = os.environ["EPOCHBENCH_BINARY"]
VALIDATOR = jsonschema.Draft7Validator(json.loads(pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).read_text()))

# Tells what it was asked in the file ASKED. FAULT: what goes wrong.
CASE = r"""
import json, os, sys
fault, asked = os.environ.get("FAULT", ""), open(os.environ["ASKED"], "a")
for line in sys.stdin:
    print(line.strip(), file=asked, flush=True)
    command = json.loads(line)
    name = command["command"]
    if name == "prepare":
        case = command["case"]
        answer = {"event": "ready", "protocol": 1, "compile_seconds": 0.5, "planned_bytes": None, "samples_per_epoch": 0,
                  "asynchronous": case["device"] != "cpu", "library_dropout_masks": case["model"].startswith("bert"),
                  "parameters": case["parameters"] + (fault == "another model"),
                  "device": {"threads": 2}, "versions": {"torch": "0.0"}}
    elif name in ("warm_up", "step"):
        n = command["steps"]
        answer = {"event": "steps", "seconds": [0.25] * n, "loss": [1.5] * n, "samples": n * case["batch"],
                  "data_wait_seconds": 0, "harness_seconds": 0, "wall_seconds": 0.25 * n, "page_faults": 0}
    else:
        answer = {"event": "result", "peak_bytes": 1000, "skipped_steps": 1 if case["precision"] == "fp16" else None}
    if fault == "no memory" and name == "warm_up":
        answer = {"event": "error", "status": "out_of_memory", "message": "too large"}
    if fault == "crash" and name == "step":
        sys.exit(7)
    print(json.dumps(answer), flush=True)
"""
INFO = {"cpu": {"model": "a CPU", "sockets": 1, "cores": 2, "threads_available": 2, "isa": [], "cache_bytes":
                {"l1d": None, "l2": None, "l3": None}, "memory_bytes": None, "frequency_scaling": "unknown",
                "peak_flops_per_second": {"fp32": 1e9, "bf16": None}, "memory_bandwidth_bytes_per_second": None},
        "gpus": [{"name": "a GPU", "uuid": None, "compute_capability": "9.0", "memory_bytes": 1, "driver": None, "cuda": None,
                  "cublas": None, "cudnn": None, "memory_bandwidth_bytes_per_second": None,
                  "host_to_device_bytes_per_second": None,
                  "peak_flops_per_second": {"fp32": None, "tf32": None, "bf16": 4e9, "fp16": 4e9}}]}


class TrainPytorch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        shutil.copytree(PEERS, self.folder / "peers")
        case = self.folder / "peers" / "pytorch_case"
        case.write_text(CASE)
        (self.folder / "info.json").write_text(json.dumps(INFO))
        self.out, self.asked = self.folder / "out.json", self.folder / "asked"

    def call(self, *arguments, binary=BINARY, fault=""):
        # An environment that is this Python's own needs no PyTorch.
        return subprocess.run([sys.executable, self.folder / "peers" / "train_pytorch", "--binary", binary, "--venv", sys.prefix,
                               "--info", self.folder / "info.json", "--out", self.out, *map(str, arguments)],
                              env={**os.environ, "FAULT": fault, "ASKED": str(self.asked)},
                              capture_output=True, text=True, timeout=120)

    def measure(self, *arguments, code=0, **more):
        done = self.call(*arguments, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        document = json.loads(self.out.read_text())
        VALIDATOR.validate(document)
        return document["runs"]

    def commands(self):
        return [json.loads(line) for line in self.asked.read_text().splitlines()]

    def test_the_workload_is_that_of_epochbench(self):
        [run] = self.measure("--model", "resnet20", "--batch", 16, "--steps", 4)
        ours = self.folder / "ours.json"
        subprocess.run([BINARY, "run", "--model", "resnet20", "--batch", "16", "--steps", "1", "--quiet", "--out", ours],
                       check=True)
        self.assertEqual(run["workload"], json.loads(ours.read_text())["runs"][0]["workload"])
        self.assertEqual(run["name"], "resnet20/pytorch/fp32/b16")

    def test_numbers_follow_from_the_steps(self):
        [run] = self.measure("--model", "bert-tiny", "--batch", 4, "--steps", 10, "--precision", "bf16", "--device", "cuda:0",
                             "--compile", "max-autotune")
        self.assertEqual(run["name"], "bert-tiny/pytorch/bf16/b4/compile=max-autotune/data=synthetic/device=cuda:0")
        self.assertEqual(run["device"], {"backend": "pytorch", "name": "a GPU", "threads": None, "isa": None})
        self.assertEqual(run["throughput"], {"samples_per_second": 16.0, "tokens_per_second": 16.0 * 128})
        self.assertEqual(run["efficiency"]["flops_per_second"], 16 * run["workload"]["train_flops_per_sample"])
        self.assertAlmostEqual(run["efficiency"]["peak_fraction"], 16 * run["workload"]["train_flops_per_sample"] / 4e9)
        self.assertEqual(run["timing"]["step_seconds"], [0.25] * 10)
        self.assertEqual(run["timing"]["step_seconds_ci95"], [0.25, 0.25])
        self.assertEqual(len(run["quality"]["loss"]), 13)
        self.assertEqual(run["quality"]["dropout_masks"], "library")
        self.assertEqual(sum(c["steps"] for c in self.commands() if c["command"] == "step"), 10)

    def test_steps_fill_the_time(self):
        [run] = self.measure("--model", "lenet5", "--min-time", 2)
        self.assertGreaterEqual(run["timing"]["steps_total_seconds"], 2)
        self.assertLess(run["timing"]["steps_total_seconds"], 3)
        self.assertEqual(run["timing"]["stopped_by"], "time")

    def test_each_case_has_a_run_and_tf32_is_none_of_a_cpu(self):
        runs = self.measure("--model", "lenet5", "--model", "mlp:width=64,depth=1", "--precision", "tf32,fp16", "--steps", 2)
        self.assertEqual([run["status"] for run in runs], ["skipped", "ok"] * 2)
        self.assertEqual(runs[3]["name"], "mlp:depth=1,width=64/pytorch/fp16/b64/data=synthetic")

    def test_resume_keeps_what_is_good_and_what_was_not_asked(self):
        self.measure("--model", "lenet5", "--steps", 2)
        self.measure("--model", "resnet20", "--steps", 2, "--resume", fault="no memory", code=1)
        self.asked.unlink()
        runs = self.measure("--model", "lenet5", "--model", "resnet20", "--steps", 2, "--resume")
        self.assertEqual([run["status"] for run in runs], ["ok", "ok"])
        self.assertEqual([c["case"]["model"] for c in self.commands() if c["command"] == "prepare"], ["resnet20"])

    def test_what_goes_wrong_is_a_status_with_its_reason(self):
        for fault, status, words in (("no memory", "out_of_memory", "too large"), ("crash", "failed", "with 7"),
                                     ("another model", "failed", "not the same workload")):
            [run] = self.measure("--model", "lenet5", "--steps", 2, fault=fault, code=1)
            self.assertEqual(run["status"], status)
            self.assertIn(words, run["message"])

    def test_wrong_calls(self):
        for arguments, words in ((["--model", "vgg"], "vgg"), (["--model", "lenet5", "--precision", "fp8"], "fp8"),
                                 (["--model", "lenet5", "--device", "tpu"], "tpu"),
                                 (["--model", "lenet5", "--compile", "fast"], "fast"),
                                 (["--model", "lenet5", "--batch", "0"], "0")):
            done = self.call(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr.splitlines()[-1])
            self.assertNotIn("Traceback", done.stderr)
        done = self.call("--model", "lenet5", binary=self.folder / "none")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
        self.out.write_text("{")
        done = self.call("--model", "lenet5", "--resume")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))


class Numbers(unittest.TestCase):
    def test_interval_of_the_median(self):
        sys.path.insert(0, str(PEERS))
        import peer_results
        self.assertIsNone(peer_results.median_interval([1, 2, 3, 4, 5]))
        # Binomial(n, 1/2): of 6 samples the ends, of 10 the second and the ninth, of 20 the sixth and the fifteenth.
        self.assertEqual(peer_results.median_interval(list(range(6))), [0, 5])
        self.assertEqual(peer_results.median_interval(list(range(10))[::-1]), [1, 8])
        self.assertEqual(peer_results.median_interval(list(range(20))), [5, 14])
        low, high = peer_results.median_interval(list(range(1002)))
        self.assertTrue(465 <= low <= 470 and 531 <= high <= 536, (low, high))


if __name__ == "__main__":
    unittest.main()
