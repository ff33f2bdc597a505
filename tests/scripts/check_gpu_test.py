"""scripts/check_gpu on a machine that is made up: nvidia-smi, cmake, ctest, compute-sanitizer, epochbench and PyTorch's peer
are stand-ins, so that stages, stamps, the budget and the verdicts are tested without a GPU. Nothing is measured here."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

import gpu_results  # noqa: E402
from gpu_stages import Command, Runner, Stage  # noqa: E402

# Each stand-in tells the file CALLS what it was called for; FAULT says what goes wrong.
HEAD = f"""#!{sys.executable} -SE
import json, os, pathlib, sys, time
args, fault = sys.argv[1:], os.environ.get("FAULT", "")
print(pathlib.Path(sys.argv[0]).name, *args, file=open(os.environ["CALLS"], "a"))
def value(name, default=""):
    return args[args.index(name) + 1] if name in args else default
"""
NVIDIA_SMI = 'print("9.0, Some Card, 600.1")\n'
# The build leaves the stand-in of epochbench behind.
CMAKE = """
if args[0] == "--build":
    if fault == "build":
        sys.exit("error: no such thing")
    import shutil
    shutil.copy2(os.environ["EPOCHBENCH_STAND_IN"], pathlib.Path(args[1]) / "epochbench")
else:
    pathlib.Path(value("-B")).mkdir(exist_ok=True)
"""
CTEST = """
if "--show-only=json-v1" in args:
    print(json.dumps({"tests": [{"command": ["/no/gpu_test"]}, {"command": ["true"]}]}))
elif fault == "skipped test":
    print("The following tests did not run:\\n\\t  3 - Gpu.Parity (Skipped)")
elif fault == "hangs":
    time.sleep(60)
"""
SANITIZER = """
log = pathlib.Path(value("--log-file").replace("%p", str(os.getpid())))
kind = "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" if fault == "race" and value("--tool") == "racecheck" else \\
    "ERROR SUMMARY: 0 errors"
log.write_text("========= COMPUTE-SANITIZER\\n========= " + kind + "\\n")
"""
# Runs of every case asked for. The GPU's losses differ from the CPU's by 1e-6; throughput grows with the batch up to 128.
EPOCHBENCH = """
if args[0] == "info":
    print(json.dumps({"gpus": [] if fault == "no backend" else [{"name": "Some Card"}], "gpus_reason": "none built"}))
    sys.exit()
out = pathlib.Path(value("--out") or value("--resume"))
runs = json.loads(out.read_text())["runs"] if out.exists() else []
for batch in value("--batch", "64").split(","):
  for model in value("--model").split(","):
    for device in value("--device", "cpu").split(","):
      for precision in value("--precision", "fp32").split(","):
        backend = device.split(":")[0]
        name = f"{model}/{backend}/{precision}/b{batch}"
        if backend == "cpu" and precision != "fp32" or any(run["name"] == name for run in runs):
            continue  # not supported, or done before
        shift = 0 if backend == "cpu" else 1e-6
        if fault == "wrong loss" and precision == "bf16":
            shift = 0.1
        worse = 0.02 if fault == "learns less" and precision == "fp16" else 0
        runs.append({
            "name": name, "status": "ok", "message": None, "precision": precision,
            "workload": {"model": model, "dataset": "digits", "batch": int(batch), "seed": int(value("--seed", "0"))},
            "device": {"backend": backend},
            "throughput": {"samples_per_second": 1000.0 * min(int(batch), 128) if backend == "cuda" else 500.0},
            "efficiency": {"peak_fraction": 0.5 if backend == "cuda" else None},
            "gpu": {"skipped_steps": 0} if backend == "cuda" else None,
            "quality": {"loss": [2.0 * (1 + shift)] * 10, "eval_metric": "accuracy", "eval_history": [0.1] + [0.9 - worse] * 5,
                        "parity_with": f"{model}/cpu/fp32/b{batch}" if backend == "cuda" else None}})
out.write_text(json.dumps({"runs": runs}))
"""
PEER = """
out = pathlib.Path(value("--out") or value("--resume"))
runs = json.loads(out.read_text())["runs"] if out.exists() else []
for batch in value("--batch").split(","):
    for precision in value("--precision").split(","):
        compiled = value("--compile") != "eager"
        runs.append({"name": "p/compile=" + value("--compile") if compiled else "p", "status": "ok", "precision": precision,
                     "workload": {"model": value("--model"), "batch": int(batch)}, "device": {"backend": "pytorch"},
                     "throughput": {"samples_per_second": 80000.0 if compiled else 64000.0}})
out.write_text(json.dumps({"runs": runs}))
"""


class CheckGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.root, self.bin, self.out = self.folder / "clone", self.folder / "bin", self.folder / "out"
        self.calls_file = self.folder / "calls"
        self.bin.mkdir()
        shutil.copytree(REPOSITORY / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        (self.root / "src").mkdir()
        (self.root / "src" / "main.cpp").write_text("int main() {}\n")
        for name, body in (("nvidia-smi", NVIDIA_SMI), ("cmake", CMAKE), ("ctest", CTEST), ("compute-sanitizer", SANITIZER),
                           ("stand_in", EPOCHBENCH)):
            self.command(self.bin / name, body)
        self.command(self.root / "scripts" / "peers" / "train_pytorch", PEER)
        (self.bin / "true").symlink_to(shutil.which("true"))

    def command(self, path, body):
        path.write_text(HEAD + body)
        path.chmod(0o755)

    def call(self, *arguments, fault="", out=True):
        self.calls_file.write_text("")
        environment = {"PATH": str(self.bin), "CALLS": str(self.calls_file), "FAULT": fault, "HOME": str(self.folder),
                       "EPOCHBENCH_STAND_IN": str(self.bin / "stand_in"), "CUDA_HOME": str(self.folder)}
        return subprocess.run([sys.executable, self.root / "scripts" / "check_gpu", *([self.out] if out else []),
                               *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120)

    def calls(self, program):
        return [line for line in self.calls_file.read_text().splitlines() if line.split()[0] == program]

    def assert_ends(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_no_gpu_is_one_line_and_exit_3(self):
        (self.bin / "nvidia-smi").unlink()
        done = self.call()
        self.assert_ends(done, 3, "no GPU here")
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))
        self.command(self.bin / "nvidia-smi", "sys.exit('No devices\\nwere found')\n")
        done = self.call()
        self.assert_ends(done, 3, "No devices were found")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertFalse(self.out.exists())

    def test_dry_run_prints_every_stage_and_does_nothing(self):
        (self.bin / "nvidia-smi").unlink()
        done = self.call("--dry-run")
        self.assert_ends(done, 0)
        for texts in ("cmake -S", "-DEPOCHBENCH_TESTS=GPU", "ctest", "--tool memcheck", "--tool racecheck", "--tool initcheck",
                      "--tool synccheck", "--model resnet50 --batch 256", "--compile max-autotune", "--compile eager"):
            self.assertIn(texts, done.stdout)
        self.assertFalse(self.out.exists() or self.calls("cmake") or self.calls("ctest"))
        models = " ".join(line for line in done.stdout.splitlines() if "parity" in line)
        for model in ("mlp", "lenet5", "resnet20", "bert-tiny", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
                      "bert-base", "bert-large"):
            self.assertIn(model, models)

    def test_all_is_well_and_the_table_compares_with_the_better_peer(self):
        done = self.call()
        self.assert_ends(done, 0, "Some Card")
        self.assertIn("-DEPOCHBENCH_CUDA_ARCHITECTURES=90", self.calls("cmake")[0])
        rows = {tuple(line.split()[:3]): line.split()[3:] for line in done.stdout.splitlines()}
        self.assertEqual(rows["resnet50", "bf16", "b256"], ["128,000", "50.0%", "64,000", "80,000", "1.60", "500.0", "256"])
        self.assertEqual(rows["bert-base", "fp32", "b128"][0], "128,000")  # 256 is no faster than 128
        self.assertEqual(len([key for key in rows if key[0] in ("resnet50", "bert-base")]), 8)

        done = self.call()  # only builds
        self.assert_ends(done, 0)
        self.assertEqual(len(self.calls("cmake")), 2)
        self.assertEqual(self.calls("epochbench") + self.calls("ctest") + self.calls("train_pytorch"), [])
        self.assertIn("resnet50 bf16 b256", done.stdout)

    def test_a_call_ends_in_its_budget_and_the_next_goes_on(self):
        begin = time.monotonic()
        done = self.call("--budget", 10, "--only", "build,info,tests,batches", fault="hangs")
        self.assertLess(time.monotonic() - begin, 40)
        self.assert_ends(done, 4, "tests: stopped", "left for another call: tests, batches")
        self.assert_ends(self.call("--only", "build,info,tests,batches"), 0)
        self.assertNotIn("info", " ".join(self.calls("epochbench")))
        self.assertEqual(len([call for call in self.calls("ctest") if "output-on-failure" in call]), 1)

    def test_a_stage_that_fails_is_reported_and_tried_again(self):
        for fault, stage, texts in (("skipped test", "tests", "Gpu.Parity: skipped"),
                                    ("wrong loss", "parity", "lenet5/cuda/bf16/b32: losses 1.0e-01"),
                                    ("race", "sanitizers-racecheck", "1 errors"), ("no backend", "info", "none built"),
                                    ("learns less", "quality", "lenet5, digits, batch 64, 6 epochs, cuda: accuracy fp32 0.9000, fp16 0.8800")):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.call("--only", f"build,{stage}", fault=fault)
            self.assert_ends(done, 1, texts, f"failed: {stage}\n")
            self.assert_ends(self.call("--only", f"build,{stage}"), 0 if stage not in ("parity", "quality") else 1)

    def test_a_failed_build_ends_the_call(self):
        done = self.call(fault="build")
        self.assert_ends(done, 1, "build: FAILED", "left for another call: info")
        self.assertEqual(self.calls("ctest"), [])

    def test_results_of_other_sources_are_not_mixed_in(self):
        self.assert_ends(self.call("--only", "build,info"), 0)
        (self.root / "src" / "main.cpp").write_text("int main() { return 1; }\n")
        self.assert_ends(self.call("--only", "build,info"), 2, "other sources")
        self.assert_ends(self.call("--only", "build,info", out=False), 0)

    def test_an_unknown_stage(self):
        done = self.call("--only", "polish")
        self.assert_ends(done, 2, "polish", "parity")
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_carried_packages_are_named_to_cmake(self):
        os.environ["EPOCHBENCH_PACKAGES"] = str(self.folder)
        self.addCleanup(os.environ.pop, "EPOCHBENCH_PACKAGES")
        done = subprocess.run([sys.executable, self.root / "scripts" / "check_gpu", "--dry-run", "--only", "build"],
                              capture_output=True, text=True)
        self.assertIn(f"-DCMAKE_PREFIX_PATH={self.folder} -DEPOCHBENCH_PACKAGES={self.folder}", done.stdout)


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runner = Runner(folder.name, 60, dict(os.environ), lambda *texts: None)

    def run_stage(self, limit, *seconds):
        self.runner.run(Stage("stage", limit, lambda: [Command("sleep", each) for each in seconds]))
        return self.runner.state["stage"]

    def test_commands_that_are_together_longer_than_the_limit_are_done(self):
        self.assertEqual(self.run_stage(2, 1.2, 1.2), "done")

    def test_one_that_is_longer_fails_and_the_others_are_run(self):
        complaints = self.run_stage(1, 30, 0, 30)
        self.assertEqual([complaint.split(" (")[0] for complaint in complaints], ["longer than 1 s: sleep 30"] * 2)


class Verdicts(unittest.TestCase):
    def judge(self, ours, precision="fp32", skipped=0):
        run = {"name": "run", "precision": precision, "quality": {"loss": ours}, "gpu": {"skipped_steps": skipped}}
        return gpu_results.losses_apart(run, {"quality": {"loss": [2.0] * 10}})

    def test_parity_bounds_the_first_loss_and_all_ten(self):
        self.assertEqual(self.judge([2.0 * (1 + 9e-6)] + [2.0 * (1 + 9e-5)] * 9), [])
        self.assertEqual(len(self.judge([2.0 * (1 + 2e-5)] + [2.0] * 9)), 1)
        self.assertEqual(len(self.judge([2.0] * 9 + [2.0 * (1 + 2e-4)])), 1)
        self.assertEqual(len(self.judge([2.0] * 9 + [None])), 1)
        self.assertEqual(len(self.judge([None] + [2.0] * 9)), 2)
        self.assertEqual(len(self.judge([2.0] * 9 + [float("nan")])), 1)
        self.assertEqual(len(self.judge([2.0] * 9)), 1)

    def test_sixteen_bits_may_differ_by_their_roundoff(self):
        self.assertEqual(self.judge([2.0] + [2.0 * (1 + 3.9 / 256)] * 9, "bf16"), [])
        self.assertEqual(len(self.judge([2.0] + [2.0 * (1 + 4.1 / 256)] * 9, "bf16")), 1)
        self.assertEqual(len(self.judge([2.0] + [2.0 * (1 + 3.9 / 256)] * 9, "fp16")), 1)

    def test_skipped_steps_excuse_later_losses_alone(self):
        later = [2.0] + [2.5] * 9
        self.assertEqual(self.judge(later, "fp16", skipped=1), [])
        self.assertEqual(len(self.judge([2.5] * 10, "fp16", skipped=1)), 1)
        self.assertEqual(len(self.judge([2.0] * 10, "fp16", skipped=5)), 1)

    def test_every_sanitized_process_must_have_a_clean_summary(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            self.assertEqual(len(gpu_results.sanitizer([])), 1)
            for text, complaints in (("ERROR SUMMARY: 0 errors", 0), ("ERROR SUMMARY: 1 error", 1), ("killed", 1),
                                     ("RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", 0)):
                log.write_text("========= " + text)
                self.assertEqual(len(gpu_results.sanitizer([log])), complaints, text)


if __name__ == "__main__":
    unittest.main()
