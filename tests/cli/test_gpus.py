"""Whole commands where a GPU is missing, too old, full, divided, another one than before, or disappears meanwhile.

The program is epochbench with GPUs that the CPU emulates (tests/support/cuda_emulated), as machine.h describes them: everything
above the CUDA runtime is the product's. What a driver that is not there answers is in test_cuda.py.
"""
import json
import os
import subprocess
import unittest

from support import CliTest, known_peaks

TINY = ["--batch", "16", "--steps", "5", "--warmup", "1", "--meters", "off"]
ONE_STEP = ["--batch", "1", "--steps", "1", "--warmup", "1", "--meters", "off"]
A100, T4, V100 = ({"name": name, "capability": capability} for name, capability in (("A100", 80), ("T4", 75), ("V100", 70)))
LOST_IN_SECOND_CASE = {**A100, "lost_at_launch": 10}  # of a step: the first case has fewer, and so have trials
TOO_LARGE = "mlp:width=8192,depth=3"  # 2.2 GiB
FULL = {**A100, "memory_bytes": 3 << 30, "held_bytes": 5 << 29}


class GpuTest(CliTest):
    def setUp(self):
        super().setUp()
        self.description = self.folder / "gpus"
        self.environment = {**os.environ, "EPOCHBENCH_EMULATED_GPUS": str(self.description), "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)

    def machine(self, *cards, **machine):
        self.description.write_text(json.dumps({"cards": cards, **machine}))

    def repaired(self, *cards):
        for mark in self.folder.glob("gpus.lost.*"):
            mark.unlink()
        self.machine(*cards)

    def suite(self, *cases, **defaults):
        path = self.write("suite.json", {"defaults": {"batch": 16, "steps": 5, "warmup": 1, "meters": "off", **defaults}, "cases": cases})
        return ["--suite", path]

    def quietly(self, *arguments, **environment):
        return self.call("run", *arguments, "--quiet", env={**self.environment, **environment})

    def run_it(self, *arguments, **environment):
        return self.quietly(*arguments, *known_peaks(), "--out", self.out, **environment)

    def resume(self, *arguments, **environment):
        return self.quietly(*arguments, "--resume", self.out, **environment)

    def runs(self):
        """The result's runs by model, device and precision: mlp:width=32/cuda:1/fp32."""
        runs = {}
        for run in self.result()["runs"]:
            model, device, precision, *others = run["name"].split("/")
            others = [other.removeprefix("device=") for other in others if other.startswith("device=")]
            runs["/".join([model, *(others or [device]), precision])] = run
        return runs

    def statuses(self):
        return {name: run["status"] for name, run in self.runs().items()}

    def assert_lines(self, call, code, *lines):
        """The exit code, and as many lines as given here, each with all of its parts."""
        self.assertEqual(call.returncode, code, call.stderr)
        found = call.stderr.strip().splitlines()
        self.assertEqual(len(found), len(lines), call.stderr)
        for line, parts in zip(found, lines):
            self.assertTrue(line.startswith("epochbench: "), line)
            self.assertLess(len(line), 400)
            for part in parts:
                self.assertIn(part, line)


class Usable(GpuTest):
    def test_results_say_that_nothing_was_measured_on_a_gpu(self):
        self.machine(A100)
        self.assert_lines(self.run_it("--model", "mlp:width=32,lenet5", "--device", "cpu,cuda", *TINY), 0)
        result = self.result()
        self.assertEqual([gpu["name"] for gpu in result["context"]["gpus"]], ["emulated A100"])
        self.assertEqual(result["context"]["gpus"][0]["cudnn"], "emulated")
        losses = {}
        for run in result["runs"]:
            self.assertEqual(run["status"], "ok")
            if run["device"]["backend"] == "cuda":
                self.assertTrue(run["device"]["name"].startswith("emulated "))
                self.assertIn("linear: ", " ".join(run["device"]["ways"]))
            else:
                self.assertNotIn("ways", run["device"])
            losses.setdefault(run["workload"]["model"], []).append(run["quality"]["loss"])
        for on_cpu, on_gpu in losses.values():  # the same training, through our own kernels
            for a, b in zip(on_cpu, on_gpu, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-4)

    def test_how_the_peak_was_measured_is_stored_and_not_tried_again(self):
        self.machine(A100)
        self.assert_lines(self.run_it("--model", "mlp:width=32", "--device", "cuda", *TINY), 0)
        file = self.folder / "cache/epochbench/choices-3.json"
        stored = json.loads(file.read_text())
        peaks = [choice for choice in stored["places"][0]["choices"] if "[8192,8192]" in choice["problem"]]
        self.assertEqual(len(peaks), 4)  # precisions
        for choice in peaks:
            choice["refused"] = "a mark, which a new choice would not have"
        file.write_text(json.dumps(stored))
        self.assert_lines(self.run_it("--model", "mlp:width=32", "--device", "cuda", "--overwrite", *TINY), 0)
        self.assertEqual(json.loads(file.read_text()), stored)

    def test_a_schedule_trains_as_on_the_cpu(self):
        self.machine(A100)
        self.assert_lines(self.run_it("--model", "mlp:width=32", "--device", "cpu,cuda", "--lr-schedule", "step", "--lr-warmup", "2",
                                      "--learning-rate", "0.01", *TINY), 0)
        on_cpu, on_gpu = (run["quality"]["loss"] for run in self.result()["runs"])
        for a, b in zip(on_cpu, on_gpu, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-4)
        self.assert_lines(self.run_it("--model", "mlp:width=32", "--device", "cuda", "--learning-rate", "0.01", "--overwrite", *TINY), 0)
        constant = self.result()["runs"][0]["quality"]["loss"]
        self.assertGreater(max(abs(a - b) for a, b in zip(constant, on_gpu, strict=True)), 1e-2)


class Suggested(GpuTest):
    """A message names a GPU only where one is usable or says why none is, and precisions only where it has them."""

    def refused(self, *arguments):
        call = self.call("run", "--model", "lenet5", "--dry-run", *arguments, env=self.environment)
        self.assertEqual(call.returncode, 2, call.stderr)
        return call.stderr

    def test_devices(self):
        self.machine(A100, A100)
        self.assertIn("choose from cpu, cuda:0, cuda:1, reference; did you mean cuda:0?", self.refused("--device", "gpu"))
        self.assertIn("did you mean cuda:1?", self.refused("--device", "CUDA:1x"))
        self.machine(V100)
        self.assertIn("choose from cpu, reference; cuda:0 is not usable here: ", self.refused("--device", "gpu"))

    def test_precisions(self):
        self.machine(A100)
        self.assertIn("choose from fp32, tf32, bf16, fp16\n", self.refused("--device", "cuda", "--precision", "x"))
        self.machine(T4)
        self.assertIn("choose from fp32, fp16\n", self.refused("--device", "cuda", "--precision", "x"))

    def test_what_to_compare(self):
        self.machine(A100)
        self.assert_lines(self.run_it("--model", "mlp:width=32", "--device", "cpu", *TINY), 0)
        call = self.call("speedup", self.out, env=self.environment)
        self.assertIn("`epochbench run --model resnet20 --device cpu,cuda:0 ", call.stderr)


class Unusable(GpuTest):
    """Devices that no case can begin on: named by the call, and listed by a suite."""

    def refused(self, *parts, device="cuda", **environment):
        out = self.folder / "none.json"
        call = self.call("run", "--model", "mlp:width=32", *TINY, "--device", device, "--out", out,
                         env={**self.environment, **environment})
        self.assert_refused(call, 3, *parts)
        self.assertFalse(out.exists())

    def left_out(self, *parts):
        """A suite's CPU cases are measured, its GPU cases skipped for this one reason; and the same where --device names them."""
        suite = self.suite({"model": "mlp:width=32", "device": ["cpu", "cuda:0"]}, {"model": "mlp:width=64", "device": "cuda:0"})
        self.assert_lines(self.run_it(*suite), 0, parts)
        expected = {"mlp:width=32/cpu/fp32": "ok", "mlp:width=32/cuda/fp32": "skipped", "mlp:width=64/cuda/fp32": "skipped"}
        self.assertEqual(self.statuses(), expected)
        self.assert_lines(self.resume(*suite, "--device", "cpu,cuda"), 3, parts)
        self.assertEqual(self.statuses(), expected)

    def test_no_gpu(self):
        self.machine()
        self.refused("cuda:0", "the NVIDIA driver finds no GPU")
        self.left_out("cuda:0", "the NVIDIA driver finds no GPU")

    def test_a_driver_that_is_too_old(self):
        self.machine(A100, driver=11080)
        self.refused("cuda:0", "driver is too old", "CUDA 11.8", "update the driver")
        self.left_out("cuda:0", "driver is too old")

    def test_a_card_that_is_too_old(self):
        self.machine(V100)
        self.refused("cuda:0 (emulated V100, compute capability 7.0) is too old", "7.5 or later")
        self.left_out("V100", "7.5 or later")

    def test_gpus_that_are_hidden_or_not_there(self):
        self.machine(A100, A100)
        self.refused('CUDA_VISIBLE_DEVICES is ""', CUDA_VISIBLE_DEVICES="")
        self.refused("there is no cuda:2", "cuda:0 to cuda:1", device="cuda:2")
        self.refused("there is no cuda:1", 'CUDA_VISIBLE_DEVICES is "1"', device="cuda:1", CUDA_VISIBLE_DEVICES="1")


class OutOfMemory(GpuTest):
    PEAKS = ("cuda:0: the peaks of this machine were not measured", "too little memory", "stay unknown")

    def test_at_batch_1(self):
        self.machine(FULL)
        call = self.run_it("--model", TOO_LARGE, *ONE_STEP, "--device", "cuda")
        self.assert_lines(call, 1, self.PEAKS, (
            "mlp:depth=3,width=8192/cuda/fp32/b1", "out of memory", "cuda:0 (emulated A100) has too little memory", "free of 3.00 GiB",
            "batch is 1 already: use a smaller model", "nvidia-smi"))
        self.assertEqual(self.result()["runs"][0]["status"], "out_of_memory")

    def test_more_than_the_whole_card(self):
        self.machine({**A100, "memory_bytes": 1 << 30})
        call = self.run_it("--model", TOO_LARGE, *TINY, "--device", "cuda")
        self.assert_lines(call, 1, self.PEAKS, ("b16", "out of memory", "1.00 GiB are available", "smaller --batch"))

    def test_of_one_case_leaves_the_others(self):
        self.machine(FULL)
        models = ["mlp:width=32", TOO_LARGE, "mlp:width=64"]
        cases = self.suite({"model": models, "device": "cuda:0"}, {"model": "mlp:width=32"})
        self.assert_lines(self.run_it(*cases), 1, self.PEAKS, ("width=8192", "out of memory"))
        self.assertEqual(sorted(self.statuses().values()), ["ok", "ok", "ok", "out_of_memory"])
        finished = {name: run for name, run in self.runs().items() if run["status"] == "ok"}
        self.machine({**A100, "memory_bytes": 2 << 30})  # nothing else uses it, but it is smaller
        self.assert_lines(self.resume(*cases), 1, ("width=8192", "needs 2.16 GiB, and 2.00 GiB are available"))
        self.assertLessEqual(finished.items(), self.runs().items())

    def test_of_a_point_is_an_answer_of_a_sweep(self):
        self.machine({**A100, "memory_bytes": 1 << 30})
        call = self.call("sweep", "--model", "mlp", "--over", "width", "--values", "64,16384", "--steps", "2", "--batch", "16",
                         "--meters", "off", "--device", "cuda", *known_peaks(), "--out", self.out, "--quiet",
                         env=self.environment)
        self.assert_lines(call, 0, self.PEAKS, ("width=16384", "out of memory", "smaller --batch"))
        self.assertEqual([run["status"] for run in self.result()["runs"]], ["out_of_memory", "ok"], "the largest first")


class Disappears(GpuTest):
    GONE = ("cuda:0 (emulated A100)", "unknown error (cudaErrorUnknown)", "dmesg, lines with Xid")

    def cases(self, *devices):
        return self.suite({"model": "mlp:width=32", "device": ["cpu", *devices]},
                          {"model": "mlp:width=64", "device": devices, "steps": 60},
                          {"model": "mlp:width=48", "device": [*devices, "cpu"]})

    def test_during_a_case_of_a_suite(self):
        self.machine(LOST_IN_SECOND_CASE)
        suite = self.cases("cuda:0")
        self.assert_lines(self.run_it(*suite), 1, ("width=64/cuda", "failed", *self.GONE),
                          ("width=48/cuda", "failed", "the NVIDIA driver finds no GPU"))
        finished = {"mlp:width=32/cpu/fp32": "ok", "mlp:width=32/cuda/fp32": "ok", "mlp:width=48/cpu/fp32": "ok"}
        failed = {"mlp:width=64/cuda/fp32": "failed", "mlp:width=48/cuda/fp32": "failed"}
        self.assertEqual(self.statuses(), {**finished, **failed})
        kept = self.runs()

        # Still gone: what failed stays on record, with its reason.
        self.assert_lines(self.resume(*suite), 1, ("cuda:0", "finds no GPU"))
        self.assertEqual(self.runs(), kept)
        self.assertEqual([gpu["name"] for gpu in self.result()["context"]["gpus"]], ["emulated A100"])

        # Another card in its place is refused, before anything is measured.
        self.repaired(T4)
        before = self.out.read_bytes()
        self.assert_lines(self.resume(*suite), 2, ("--resume", 'cuda:0 is "emulated A100"', 'here it is "emulated T4"',
                                                   "CUDA_VISIBLE_DEVICES"))
        self.assertEqual(self.out.read_bytes(), before)

        self.repaired(A100)
        self.assert_lines(self.resume(*suite), 0)
        self.assertEqual(set(self.statuses().values()), {"ok"})
        self.assertEqual({name: run for name, run in self.runs().items() if name in finished},
                         {name: kept[name] for name in finished})

    def test_for_other_reasons(self):
        for error, text in ((214, "uncorrectable ECC error"), (719, "unspecified launch failure")):
            with self.subTest(text):
                self.repaired({**LOST_IN_SECOND_CASE, "error": error})
                call = self.run_it("--model", "mlp:width=64", "--batch", "16", "--steps", "60", "--device", "cuda", "--overwrite")
                self.assert_lines(call, 1, ("failed", "cuda:0 (emulated A100)", text))

    def test_in_the_first_trial(self):
        self.machine({**A100, "lost_at_launch": 1})  # the first of each process, on trial
        call = self.run_it("--model", "mlp:width=32,mlp:width=64", *TINY, "--repetitions", "2", "--device", "cuda,cpu")
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertEqual(sorted(run["status"] for run in self.result()["runs"]), ["failed"] * 4 + ["ok"] * 4)

    def test_and_the_next_card_does_not_take_its_place(self):
        self.machine(LOST_IN_SECOND_CASE, T4)
        suite = self.cases("cuda:0", "cuda:1")
        self.assert_lines(
            self.run_it(*suite), 1, ("width=64/cuda", *self.GONE), ("width=64/cuda", "there is no cuda:1"),
            ("width=48/cuda", 'cuda:0 was "emulated A100" when this call began, and is "emulated T4" here'),
            ("width=48/cuda", "there is no cuda:1"))
        for name, run in self.runs().items():
            if run["status"] == "ok" and "/cuda" in name:
                self.assertEqual(run["device"]["name"], "emulated T4" if "cuda:1" in name else "emulated A100")
        self.assertEqual(sorted(self.statuses().values()), ["failed"] * 4 + ["ok"] * 4)
        self.assert_lines(self.resume(*suite), 2, ('cuda:0 is "emulated A100"', "CUDA_VISIBLE_DEVICES"))


# Registered where its epochbench-mpi was built.
class Ranks(GpuTest):
    LENET = ["--model", "lenet5", "--batch", "4", "--steps", "3", "--warmup", "1", "--meters", "off"]
    TWO = ["--ranks", "2", "--oversubscribe"]  # on a machine with one core two are too many otherwise

    def setUp(self):
        super().setUp()
        # The address sanitizer would report memory of modules that Open MPI has closed.
        self.environment.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0"})

    def run_lenet(self, *arguments, device="cuda"):
        return self.run_it(*self.LENET, "--device", device, *arguments, "--overwrite")

    def train(self, *arguments):
        self.assert_lines(self.run_lenet(*arguments), 0)
        return self.result()["runs"][0]

    def assert_alike(self, run, expected):
        for a, b in zip(run["quality"]["loss"], expected["quality"]["loss"], strict=True):
            self.assertAlmostEqual(a / b, 1, delta=1e-6)

    def test_have_a_gpu_each_and_train_as_parts_of_a_batch(self):
        self.machine(A100, A100)
        parts = self.train("--accumulate", "2")
        ranks = self.train(*self.TWO)
        self.assert_alike(ranks, parts)
        self.assertEqual(ranks["workload"]["fingerprint"], parts["workload"]["fingerprint"])
        self.assertEqual((ranks["ranks"]["count"], ranks["ranks"]["rounds"]), (2, 2))
        parameters = 61706 + 1  # and the loss; what pads tensors travels as well
        self.assertGreaterEqual(ranks["ranks"]["bus_bytes"], 4 * parameters)
        self.assertLess(ranks["ranks"]["bus_bytes"], 4 * parameters + 1000)
        for step, communication in zip(ranks["ranks"]["step_seconds"], ranks["ranks"]["communication_seconds"], strict=True):
            self.assertLess(0, communication)
            self.assertLess(communication, step)
        share = ["--price", "cuda=p4d.24xlarge", "--price-scaling", "per-gpu"]
        one, two = (self.train(*ranks, *share)["cost"]["usd_per_hour"] for ranks in ([], self.TWO))
        self.assertAlmostEqual(two, 2 * one)
        shards = self.train(*self.TWO, "--shard", "optimizer")
        self.assert_alike(shards, parts)
        self.assertEqual(shards["ranks"]["rounds"], 4)  # the loss, shares, parameters
        # A rank on the wrong card would find no room.
        self.machine(A100, {**FULL, "held_bytes": 3 << 30})
        call = self.run_lenet(*self.TWO)
        self.assertEqual(self.result()["runs"][0]["status"], "out_of_memory", call.stderr)
        self.assertIn("rank 1: cuda:1", self.result()["runs"][0]["message"])

    def test_are_at_most_as_many_as_gpus(self):
        self.machine(A100)
        self.assert_lines(self.run_lenet(*self.TWO), 3, ("--ranks 2 on cuda:0", "there is one", "fewer --ranks"))
        self.machine(A100, A100)
        self.assert_lines(self.run_lenet(*self.TWO, device="cuda:1"), 3, ("--ranks 2 on cuda:1", "there are 2"))
        self.assert_lines(self.run_lenet(*self.TWO, "--shard", "optimizer", "--precision", "fp16"), 2,
                          ("--shard optimizer knows no loss scale", "leave out --shard"))

    def test_have_plans(self):
        self.machine(A100, A100)
        call = self.call("plan", "bert-tiny", "--batch", "8", "--ranks", "2", "--shard", "optimizer", "--device", "cuda",
                         "--precision", "bf16", env=self.environment)
        self.assertRegex(call.stdout, r"(?m)^memory .* per rank of 2: parameters 16.8 MiB")
        self.assertRegex(call.stdout, r"(?m)^shard +optimizer: its state .* per rank instead of ")
        self.assertRegex(call.stdout, r"(?m)^cuda:1 +.* fits")
        self.assert_lines(self.call("plan", "lenet5", "--batch", "8", "--ranks", "2", "--shard", "optimizer", "--device", "cuda",
                                    "--precision", "fp16", env=self.environment), 2, ("knows no loss scale", "leave out --shard"))

    def test_need_nccl(self):
        self.machine(A100, A100, no_nccl="NCCL cannot be loaded: install it")
        self.assert_lines(self.run_lenet(*self.TWO), 2, ("--ranks 2 on cuda:0: NCCL cannot be loaded: install it",))
        self.train("--accumulate", "2")


class SeveralCards(GpuTest):
    def test_of_different_kinds(self):
        self.machine(A100, T4, V100)
        call = self.run_it("--model", "mlp:width=32", *TINY, "--device", "cuda:0,cuda:1,cuda:2", "--precision", "fp32,bf16")
        self.assert_lines(call, 3, ("bf16 on cuda:1", "compute capability 8.0", "this one has 7.5"), ("cuda:2 (emulated V100", "too old"))
        self.assertEqual({name: (run["status"], run["device"]["name"]) for name, run in self.runs().items()}, {
            "mlp:width=32/cuda/fp32": ("ok", "emulated A100"),
            "mlp:width=32/cuda/bf16": ("ok", "emulated A100"),
            "mlp:width=32/cuda:1/fp32": ("ok", "emulated T4"),
            "mlp:width=32/cuda:1/bf16": ("skipped", "cuda:1"),
            "mlp:width=32/cuda:2/fp32": ("skipped", "cuda:2"),
            "mlp:width=32/cuda:2/bf16": ("skipped", "cuda:2")})
        self.assertEqual([gpu["name"] for gpu in self.result()["context"]["gpus"]], ["emulated A100", "emulated T4", "emulated V100"])
        self.assert_lines(self.resume("--model", "mlp:width=64", *TINY, "--device", "cuda:0", CUDA_VISIBLE_DEVICES="1,0"), 2,
                          ("--resume", 'cuda:0 is "emulated A100"', '"emulated T4"'))

    # What nvidia-smi's management library says of uuids, as far as the program asks when there is no other meter.
    MANAGEMENT = r"""
    #include <string.h>
    int nvmlInit_v2(void) { return 0; }
    int nvmlShutdown(void) { return 0; }
    int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) { return strncmp(uuid, "MIG-", 4) ? 6 : 0; }
    """

    def test_slices_of_one(self):
        source = self.folder / "management.c"
        source.write_text(self.MANAGEMENT)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", self.folder / "libnvidia-ml.so.1", source], check=True)
        self.environment["LD_LIBRARY_PATH"] = str(self.folder)
        first, second = "10" * 16, "20" * 16
        self.machine({**A100, "memory_bytes": 4 << 30, "instances": [first, second]})

        def slice_of(uuid):
            return f"MIG-{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}"

        both = f"{slice_of(first)},{slice_of(second)}"
        call = self.run_it("--model", "mlp:width=32", *TINY, "--device", "cuda:0,cuda:1", CUDA_VISIBLE_DEVICES=both)
        self.assert_lines(call, 3, ("there is no cuda:1", both, "CUDA shows a process only one instance (MIG): use one call for each"))
        gpu, = self.result()["context"]["gpus"]
        self.assertEqual((gpu["name"], gpu["uuid"], gpu["memory_bytes"]), ("emulated A100 MIG", slice_of(first), 2 << 30))
        self.assertEqual(self.statuses(), {"mlp:width=32/cuda/fp32": "ok", "mlp:width=32/cuda:1/fp32": "skipped"})
        # The other slice goes on where the first one was; the whole card does not.
        more = ["--model", "mlp:width=64", *TINY, "--device", "cuda:0"]
        self.assert_lines(self.resume(*more, CUDA_VISIBLE_DEVICES=slice_of(second)), 0)
        self.machine(A100)
        self.assert_lines(self.resume(*more), 2, ('cuda:0 is "emulated A100 MIG"', 'here it is "emulated A100"'))


if __name__ == "__main__":
    unittest.main()
