"""scripts/peers/train_pytorch without PyTorch: a made-up worker answers in its place, epochbench is the real one."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

from in_folder import FolderTest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "peers"
BINARY = os.environ["EPOCHBENCH_BINARY"]
VALIDATOR = jsonschema.Draft7Validator(json.loads(pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).read_text()))

# Appends what it was asked to the file ASKED. FAULT: what goes wrong. STEP: seconds per step.
CASE = r"""
import json, os, sys
fault, asked, case = os.environ.get("FAULT", ""), open(os.environ["ASKED"], "a"), None
for line in sys.stdin:
    print(line.strip(), file=asked, flush=True)
    command = json.loads(line)
    name = command["command"]
    if name == "prepare":
        case = command["case"]
        on_gpu = case["device"] != "cpu"
        answer = {"event": "ready", "protocol": 1, "case": {key: value for key, value in case.items() if key != "without"},
                  "compile_seconds": 0.5, "planned_bytes": None, "samples_per_epoch": case["samples_per_epoch"],
                  "steps_per_epoch": 9, "evaluates": False, "metric": "loss", "asynchronous": on_gpu,
                  "library_dropout_masks": case["model"].startswith("bert"),
                  "parameters": case["parameters"] + (fault == "another model"),
                  "device": {"backend": "pytorch", "name": "a GPU" if on_gpu else "a CPU", "isa": None,
                             "threads": None if on_gpu else case["threads"] or 2}}
    elif name in ("warm_up", "step"):
        n, one = command["steps"], float(os.environ["STEP"])
        seconds = [one * (1 + 0.01 * case["repetition"] * (i % 3)) for i in range(n)]
        answer = {"event": "steps", "seconds": seconds, "loss": [1.5] * n, "samples": n * case["batch"],
                  "data_wait_seconds": 0.0, "idle_seconds": 0.0, "harness_seconds": 0.0, "wall_seconds": sum(seconds),
                  "page_faults": 0, "own_cpu_seconds": sum(seconds), "busy_cpu_seconds": None}
    elif name == "finish":
        answer = {"event": "result", "peak_bytes": int(os.environ.get("PEAK", "1000")), "skipped_steps": 1 if case["precision"] == "fp16" else None}
    else:
        answer = {"event": "epoch"}
    if fault == "no memory" and name == "warm_up":
        answer = {"event": "error", "status": "out_of_memory", "message": "too large"}
    if fault == "crash" and name == "step":
        sys.exit(7)
    print(json.dumps(answer), flush=True)
    if name == "finish":
        sys.exit(0)
"""


@functools.cache
def result_of_epochbench():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "ours.json"
        subprocess.run([BINARY, "run", "--model", "resnet20", "--batch", "16", "--steps", "1", "-q", "--out", out], check=True)
        return json.loads(out.read_text())


def known_peaks():
    """A result without runs: a call that resumes it takes this machine's peaks from it, and need not measure them for 2 s."""
    result = result_of_epochbench()
    cpu = result["context"]["cpu"]
    context = {**result["context"], "cpu": {**cpu, "peak_processes": 5 * cpu["peak_processes"][:1]}}
    return json.dumps({**result, "context": context, "runs": []})


class TrainPytorch(FolderTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(PEERS, self.folder / "peers")
        (self.folder / "peers" / "pytorch_case").write_text(CASE)
        self.out, self.asked = self.folder / "out.json", self.folder / "asked"

    def call(self, *arguments, binary=BINARY, fault="", into="--out", step=0.25):
        # An environment that is this Python's own needs no PyTorch.
        return subprocess.run([sys.executable, self.folder / "peers" / "train_pytorch", "--binary", binary, "--venv", sys.prefix,
                               "--quiet", into, self.out, *map(str, arguments)],
                              env={**os.environ, "FAULT": fault, "ASKED": str(self.asked), "STEP": str(step)},
                              capture_output=True, text=True, timeout=120)

    def measure(self, *arguments, code=0, into="--resume", **more):
        if into == "--resume" and not self.out.exists():
            self.out.write_text(known_peaks())
        done = self.call(*arguments, into=into, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        document = json.loads(self.out.read_text())
        VALIDATOR.validate(document)
        return document["runs"]

    def commands(self):
        return [json.loads(line) for line in self.asked.read_text().splitlines()]

    def test_the_workload_is_that_of_epochbench(self):
        [run] = self.measure("--model", "resnet20", "--batch", 16, "--steps", 4, into="--out")
        self.assertEqual(run["workload"], result_of_epochbench()["runs"][0]["workload"])
        self.assertEqual(run["name"], "resnet20/pytorch/fp32/b16")

    def test_numbers_follow_from_the_steps(self):
        [run] = self.measure("--model", "bert-tiny", "--batch", 4, "--steps", 10, "--precision", "bf16", "--device", "cuda:0",
                             "--compile", "max-autotune")
        self.assertEqual(run["name"], "bert-tiny/pytorch/bf16/b4/compile=max-autotune/data=synthetic/device=cuda:0")
        self.assertEqual({key: run["device"][key] for key in ("backend", "name", "threads", "isa")},
                         {"backend": "pytorch", "name": "a GPU", "threads": None, "isa": None})
        self.assertEqual(run["throughput"], {"samples_per_second": 16.0, "tokens_per_second": 16.0 * 128})
        self.assertEqual(run["efficiency"]["flops_per_second"], 16 * run["workload"]["train_flops_per_sample"])
        self.assertEqual(run["timing"]["step_seconds"], [0.25] * 10)
        self.assertEqual(run["timing"]["step_seconds_ci95"], [0.25, 0.25])
        self.assertEqual(run["timing"]["epoch_kind"], "projected")
        self.assertEqual(len(run["quality"]["loss"]), 13)
        self.assertEqual(run["quality"]["dropout_masks"], "library")
        self.assertEqual(run["settings"]["compile"], "max-autotune")
        self.assertEqual(sum(c["steps"] for c in self.commands() if c["command"] == "step"), 10)
        prepared = next(c["case"] for c in self.commands() if c["command"] == "prepare")
        self.assertEqual((prepared["tokens"], prepared["compile"], prepared["data"]), (128, "max-autotune", "synthetic"))

    def test_blocks_on_a_gpu_are_as_long_as_ours(self):
        """At least 1 s and 16 steps, as of any device that queues; and 2 s of warm-up and 3 s of timed steps."""
        for step in (0.25, 0.01):
            for file in (self.out, self.asked):
                file.unlink(missing_ok=True)
            [run] = self.measure("--model", "lenet5", "--device", "cuda:0", step=step)
            warm_up, timed = ([c["steps"] for c in self.commands() if c["command"] == name] for name in ("warm_up", "step"))
            self.assertGreaterEqual(min(timed), max(16, 1 / step))
            self.assertGreaterEqual(sum(warm_up) * step, 2)
            self.assertGreaterEqual(sum(timed) * step, 3)
            self.assertEqual(sum(timed), len(run["timing"]["step_seconds"]))

    def test_each_case_has_a_run_and_tf32_is_not_for_cpus(self):
        runs = self.measure("--model", "lenet5,mlp:width=64,depth=1", "--precision", "tf32,fp16", "--steps", 2, code=2)
        self.assertEqual([run["status"] for run in runs], ["skipped", "ok"] * 2)
        self.assertEqual(runs[3]["name"], "mlp:depth=1,width=64/pytorch/fp16/b64/data=synthetic")

    def test_resume_keeps_what_is_good_and_what_was_not_asked(self):
        self.measure("--model", "lenet5", "--steps", 2)
        self.measure("--model", "resnet20", "--steps", 2, fault="no memory", code=1)
        self.asked.unlink()
        runs = self.measure("--model", "lenet5,resnet20", "--steps", 2)
        self.assertEqual([run["status"] for run in runs], ["ok", "ok"])
        self.assertEqual([c["case"]["model"] for c in self.commands() if c["command"] == "prepare"], ["resnet20"])

    def test_what_goes_wrong_is_a_status_with_its_reason(self):
        for fault, status, text in (("no memory", "out_of_memory", "too large"), ("crash", "failed", "exit code 7"),
                                     ("another model", "failed", "not the same workload")):
            self.out.unlink(missing_ok=True)
            [run] = self.measure("--model", "lenet5", "--steps", 2, fault=fault, code=1)
            self.assertEqual(run["status"], status)
            self.assertIn(text, run["message"])

    def test_a_setting_that_the_worker_ignores_is_refused(self):
        [run] = self.measure("--model", "lenet5", "--steps", 2, "--without", "fusion", code=1)
        self.assertIn("does not know 'without'", run["message"])

    def test_wrong_calls(self):
        for arguments, text in ((["--model", "vgg"], "vgg"), (["--model", "lenet5", "--precision", "fp8"], "fp8"),
                                 (["--model", "lenet5", "--device", "tpu"], "tpu"),
                                 (["--model", "lenet5", "--compile", "fast"], "fast"),
                                 (["--model", "lenet5", "--batch", "0"], "0")):
            done = self.call(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr.splitlines()[-1])
            self.assertNotIn("Traceback", done.stderr)
        done = self.call("--model", "lenet5", binary=self.folder / "none")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
        self.out.write_text("{")
        done = self.call("--model", "lenet5", into="--resume")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))


class SyntheticData(unittest.TestCase):
    """The worker in Python knows two numbers of the program's headers."""

    def test_is_as_many_batches_and_masks_as_epochbench_has(self):
        root = PEERS.parents[1]
        for name, constant, header in (("SYNTHETIC_BATCHES", "kInputSlots", "include/epochbench/executable.h"),
                                       ("MASK_ID", "kMaskId", "src/data/text.h")):
            here = re.search(rf"^{name} = (\d+)", (PEERS / "training.py").read_text(), re.MULTILINE)[1]
            self.assertEqual(here, re.search(rf"\b{constant} = (\d+)", (root / header).read_text())[1], constant)


class RunWith(FolderTest):
    """`run --with pytorch`, where a made-up Python has a made-up PyTorch."""

    def setUp(self):
        super().setUp()
        (self.folder / "case.py").write_text(CASE)
        self.out, self.asked, self.python = self.folder / "out.json", self.folder / "asked", self.folder / "python"
        self.make_python("""echo '{"torch": "9.8", "cuda": false}'""")
        self.out.write_text(known_peaks())

    def make_python(self, probed):
        self.python.write_text(f"""#!/bin/sh
case $1 in -c) {probed} ;; */pytorch_case) exec {sys.executable} {self.folder}/case.py ;; *) exit 9 ;; esac
""")
        self.python.chmod(0o755)

    def call(self, *arguments, fault="", code=0):
        done = subprocess.run([BINARY, "run", "--with", "pytorch", "--quiet", "--resume", self.out, *map(str, arguments)],
                              env={**os.environ, "EPOCHBENCH_PYTHON": str(self.python), "FAULT": fault, "ASKED": str(self.asked),
                                   "STEP": "1e-4", "PEAK": "1000000"}, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def runs(self):
        document = json.loads(self.out.read_text())
        VALIDATOR.validate(document)
        return document["runs"]

    def answers(self):
        return json.loads(subprocess.run([BINARY, "answers", self.out, "--json"], check=True, capture_output=True).stdout)

    def test_each_case_runs_there_too_in_turn(self):
        self.call("--model", "lenet5", "--batch", 8, "--threads", 1, "--steps", 3, "--repetitions", 2)
        runs = self.runs()
        in_turn = ["lenet5/cpu/fp32/b8", "lenet5/pytorch/fp32/b8", "lenet5/pytorch/fp32/b8/compile=default"]
        self.assertEqual([run["name"].replace("/data=synthetic", "").replace("/threads=1", "") for run in runs], 2 * in_turn)
        self.assertEqual({run["status"] for run in runs}, {"ok"})
        self.assertEqual({run["workload"]["fingerprint"] for run in runs}, {runs[0]["workload"]["fingerprint"]})
        self.assertEqual({run["workload"]["dataset"] for run in runs}, {"synthetic"})
        self.assertEqual({run["device"]["threads"] for run in runs}, {1})
        speed = "\n".join(self.answers()["sections"][0]["answers"])
        self.assertRegex(speed, r"this program trains \S+x as fast as PyTorch on this device \(PyTorch, ")
        self.assertNotIn("not measured", speed)

    def test_without_it_answers_say_so_with_the_command(self):
        done = subprocess.run([BINARY, "run", "lenet5", "--steps", "3", "--threads", "1", "-q", "--resume", self.out], check=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("PyTorch was not measured: epochbench run lenet5 --with pytorch", self.answers()["sections"][0]["answers"])

    def test_what_fails_there_leaves_our_runs(self):
        for fault, status, text in (("no memory", "out_of_memory", "too large"), ("another model", "failed", "not the same workload")):
            self.out.write_text(known_peaks())
            done = self.call("--model", "lenet5", "--steps", 3, "--repetitions", 1, "--compile", "eager", fault=fault, code=1)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual([run["status"] for run in self.runs()], ["ok", status])

    def test_a_pytorch_without_cuda_is_one_line_and_exit_code_3(self):
        done = self.call("--model", "lenet5", "--steps", 3, "--repetitions", 1, "--device", "cpu,cuda:0", "--compile", "eager", code=3)
        self.assertEqual(sum("PyTorch 9.8" in line for line in done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual([run["status"] for run in self.runs() if run["device"]["threads"]], ["ok", "ok"])

    def test_wrong_calls_are_found_before_anything_is_measured(self):
        lenet5 = ("--model", "lenet5", "--steps", 3)
        for arguments, text in (((*lenet5, "--mode", "forward"), "no case of this call does"),
                                ((*lenet5, "--data", "digits"), "no case of this call does"),
                                ((*lenet5, "--without", "fusion"), "no case of this call does"),
                                ((*lenet5, "--compile", "fast"), "--compile: 'fast' is unknown")):
            done = self.call(*arguments, code=2)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
        self.make_python("echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1")
        done = self.call(*lenet5, code=2)
        self.assertIn(f"no Python here has PyTorch ({self.python}: ModuleNotFoundError: No module named 'torch'); install", done.stderr)
        self.make_python("echo well")
        self.assertIn("no Python here has PyTorch", self.call(*lenet5, code=2).stderr)
        self.python.unlink()
        self.assertIn(f"{self.python}: No such file or directory", self.call(*lenet5, code=2).stderr)
        self.assertEqual(self.runs(), [])


class Worker(unittest.TestCase):
    """scripts/peers/pytorch_case itself, as far as it answers without PyTorch."""

    def answers(self, *commands):
        done = subprocess.run([sys.executable, PEERS / "pytorch_case"], capture_output=True, text=True, timeout=60,
                              input="".join(json.dumps(command) + "\n" for command in commands))
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def test_it_refuses_what_it_does_not_do(self):
        case = {"mode": "train", "data": "synthetic"}
        for command, text in (({"command": "burst"}, "burst"), ({"command": "evaluate"}, "evaluate"),
                               ({"command": "latency", "steps": 1}, "latency"), ({"command": "step", "steps": 1}, "before prepare"),
                               ({"command": "prepare", "protocol": 9, "case": case}, "version 9"),
                               ({"command": "prepare", "protocol": 1, "case": {**case, "mode": "forward"}}, "--mode train"),
                               ({"command": "prepare", "protocol": 1, "case": {**case, "data": "digits"}}, "synthetic")):
            code, [answer] = self.answers(command, {"command": "finish"})
            self.assertEqual((code, answer["event"], answer["status"]), (1, "error", "failed"))
            self.assertIn(text, answer["message"])

    def test_it_ends_with_its_parent(self):
        self.assertEqual(self.answers(), (1, []))


class Cuda:
    """As much of torch.cuda as counts memory."""

    def __init__(self, in_use, reserved):
        self.in_use, self.reserved = in_use, reserved

    def mem_get_info(self):
        return 1000 - self.in_use, 1000

    def memory_reserved(self):
        return self.reserved


class DeviceMemory(unittest.TestCase):
    """PyTorch's peak on a GPU is the driver's count, as epochbench's is."""

    def setUp(self):
        sys.path.insert(0, str(PEERS))
        self.addCleanup(sys.path.remove, str(PEERS))

    def memory(self, cuda):
        import device_memory
        return device_memory.DeviceMemory(cuda)

    def test_what_the_driver_counts_since_before_the_model(self):
        cuda = Cuda(in_use=100, reserved=0)
        memory = self.memory(cuda)
        cuda.in_use = 400
        memory.note_compiled()
        self.assertEqual(memory.peak_bytes(), 300)
        cuda.in_use = 450
        self.assertEqual(memory.peak_bytes(), 350)
        cuda.in_use = 350  # a cache that was given back was taken all the same
        self.assertEqual(memory.peak_bytes(), 300)

    def test_memory_that_the_allocator_holds_by_then_is_the_runs(self):
        self.assertEqual(self.memory(Cuda(in_use=100, reserved=34)).peak_bytes(), 34)

    def test_another_process_that_ends_makes_no_negative_number(self):
        cuda = Cuda(in_use=100, reserved=0)
        memory = self.memory(cuda)
        cuda.in_use = 20
        self.assertEqual(memory.peak_bytes(), 0)


if __name__ == "__main__":
    unittest.main()
