"""The commands of scripts/check_cpu in order: those that prove most come first.

The build; the tests of every CPU kernel; products and convolutions on their own, then beside oneDNN, OpenBLAS and MKL; training
beside PyTorch; inference in int8 beside fp32 and bf16. The core is everything before the training. `expected` seconds are for two
shared cores of an AMD EPYC (Zen 4).
"""

import os
import pathlib
import re
import sys

import cpu_results as results
from commands import Command

# The set-up of scripts/test (scripts/lib/setup.sh) for some targets only.
SET_UP = 'program=scripts/check_cpu; root=$1; . "$root/scripts/lib/setup.sh"; set_up "$2" "$3" "$test_packages"'
OPTIONS = "EPOCHBENCH_TESTS=ON EPOCHBENCH_BENCHMARKS=ON"
# Kinds of work: file of problems, libraries that have it, and seconds expected beside them with one thread and with all, by
# precision.
WORK = {"products": ("gemm13.txt", "onednn,openblas,mkl", {"fp32": (110, 75), "bf16": (45, 35)}),
        "convolutions": ("resnet50.txt", "onednn", {"fp32": (110, 80), "bf16": (75, 60)})}
PROCESSES = 5  # ratios have an interval from 5 on
# epochbench, and the result file, options of the run
RUN_AND_COMPARE = 'runs=$1; shift; "$0" run "$@" --out "$runs" >/dev/null; "$0" speedup "$runs" --json'
# Inference: model, batch, steps, seconds expected.
INFERENCE = (("resnet50", 16, 5, 80), ("bert-base", 8, 3, 100))
# Training: model, batch, precision, rounds per group of processes, seconds expected. Five groups, so ratios have an interval.
TRAINING = (("resnet50", 16, "bf16", 2, 330), ("bert-base", 8, "bf16", 2, 330), ("resnet50", 16, "fp32", 2, 420),
            ("bert-base", 8, "fp32", 2, 520), ("resnet20", 128, "fp32", 6, 180), ("lenet5", 64, "fp32", 6, 150))
GROUPS = 5
NO_BF16 = "this CPU has no instruction that multiplies bf16"
NO_INT8 = "this CPU has no instruction that multiplies int8"


class Plan:
    """folder: for stamps and results. threads: the maximum. bf16, int8: whether the CPU has instructions for it."""

    def __init__(self, root, folder, threads, bf16, int8):
        self.root, self.folder, self.threads, self.bf16, self.int8 = root, folder, threads, bf16, int8
        self.build = root / "build"
        self.binary, self.bench = self.build / "epochbench", self.build / "bench" / "epochbench_bench"
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.libraries = pathlib.Path(cache) / "epochbench" / "libraries"  # the default of scripts/peers/libraries
        self.made = set()  # what this call has built or fetched; repeated in each call, as the folders may have changed

    def commands(self):
        yield self.making("build", self.set_up(["epochbench", "epochbench_bench", *test_programs(self.root)], OPTIONS), 3000, 300)
        yield self.measuring("info", [self.binary, "info", "--json"], 120, 10, out=self.folder / "info.json",
                             judge=lambda log: results.info_complaints(self.folder / "info.json"))
        yield self.measuring("smoke", [self.binary, "run", "--model", "lenet5,bert-tiny", "--device", "cpu", "--precision",
                             ",".join(self.precisions()), "--threads", self.threads, "--warmup", 1, "--steps", 5, "--anonymous",
                             "--quiet", "--overwrite", "--out", self.folder / "smoke.json"], 120, 15,
                             explain=lambda: results.failed_runs(self.folder / "smoke.json"))
        for name in test_programs(self.root):
            yield self.measuring(f"tests-{name}", ["env", "OMP_WAIT_POLICY=passive", self.build / "tests" / name, "--gtest_brief=1"],
                                 600, 6, explain=lambda name=name: results.failed_tests(self.log(f"tests-{name}")))
        for precision in self.precisions():
            for kind in WORK:
                yield self.alone(kind, precision)
        yield self.making("libraries", [sys.executable, self.root / "scripts/peers/libraries", self.libraries], 1200, 120)
        yield self.making("build-libraries", self.set_up(["epochbench_bench"], f"{OPTIONS} EPOCHBENCH_PEER_LIBRARIES={self.libraries}"),
                          600, 30, ("build", "libraries"))
        for precision in ("fp32", "bf16"):
            for threads in dict.fromkeys((self.threads, 1)):
                for kind in WORK:
                    yield self.beside(kind, precision, threads)
        yield self.making("pytorch", [sys.executable, self.root / "scripts/peers/environment.py"], 1800, 300)
        for model, batch, precision, rounds, seconds in TRAINING:
            yield self.training(model, batch, precision, rounds, seconds)
        for model, batch, steps, seconds in INFERENCE:
            yield self.inference(model, batch, steps, seconds)

    def precisions(self):
        return ("fp32", "bf16") if self.bf16 else ("fp32",)

    def log(self, name):
        return self.folder / "logs" / f"{name}.log"

    def set_up(self, targets, options):
        return ["sh", "-euc", SET_UP, "sh", self.root, " ".join(targets), options]

    def making(self, name, argv, limit, expected, needs=()):
        def made(log):
            self.made.add(name)
            return []
        return Command(name, argv, limit, expected, made, needs=needs, here=lambda: name in self.made)

    def measuring(self, name, argv, limit, expected, judge=None, out=None, explain=None, needs=("build",), absent=None, core=True):
        return Command(name, argv, limit, expected, judge, out, needs, None, absent, core, explain)

    def alone(self, kind, precision):
        """Our kernels without libraries, with all threads and one, in one process: shares of the peak, no intervals."""
        file, name = self.folder / f"own-{kind}-{precision}.txt", f"own-{kind}-{precision}"
        both = ["--scaling"] if self.threads > 1 else ["--peers="]
        return self.measuring(name, [self.bench, *both, "--rounds=2", *self.problems(kind, precision, self.threads)], 600, 20,
                              lambda log: results.table_complaints(file, kind), file)

    def beside(self, kind, precision, threads):
        name = f"{kind}-{precision}-{threads}"
        file = self.folder / f"{name}.txt"
        _, peers, seconds = WORK[kind]
        expected = seconds[precision][0 if threads == 1 else 1]
        return self.measuring(name, [self.bench, f"--peers={peers}", f"--processes={PROCESSES}", "--rounds=1",
                                     *self.problems(kind, precision, threads)], 10 * expected, expected,
                              lambda log: results.table_complaints(file, kind), file, needs=("build", "build-libraries"),
                              absent=None if precision in self.precisions() else NO_BF16)

    def problems(self, kind, precision, threads):
        return [f"--shapes={self.root / 'bench/shapes' / WORK[kind][0]}", f"--threads={threads}", f"--precision={precision}"]

    def inference(self, model, batch, steps, seconds):
        """Five processes of each precision, then their ratios."""
        name = f"inference-{model}"
        table, runs = self.folder / f"{name}.table.json", self.folder / f"{name}.json"
        return self.measuring(name, [
            "sh", "-euc", RUN_AND_COMPARE, self.binary, runs, "--model", model, "--device", "cpu", "--mode", "forward", "--batch", batch,
            "--precision", ",".join((*self.precisions(), "int8")), "--threads", self.threads, "--warmup", 2, "--steps", steps,
            "--repetitions", PROCESSES, "--anonymous", "--quiet", "--overwrite"], 6 * seconds, seconds,
            lambda log: results.inference_complaints(table), table, lambda: results.failed_runs(runs),
            absent=None if self.int8 else NO_INT8, core=False)

    def training(self, model, batch, precision, rounds, seconds):
        name = f"training-{model}-{precision}"
        table, runs = self.folder / f"{name}.table.json", self.folder / f"{name}.json"
        return self.measuring(name, [
            sys.executable, self.root / "scripts/peers/take_turns", "--binary", self.binary, "--model", model, "--batch", batch,
            "--precision", precision, "--threads", self.threads, "--compile", "eager,default", "--rounds", rounds, "--drop", 1,
            "--warmup", 1, "--groups", GROUPS, "--quiet", "--json", "--resume", "--out", runs], 6 * seconds, seconds,
            lambda log: results.training_complaints(table), table, lambda: results.failed_runs(runs), ("build", "pytorch"),
            None if precision in self.precisions() else NO_BF16, core=False)


def test_programs(root):
    """Tests that compare CPU kernels, gradients and models with the reference, named as the .cmake files do."""
    names = []
    for file in ("tests/kernels/kernels.cmake", "tests/kernels/op_tests.cmake", "tests/graph/graph.cmake"):
        names += re.findall(r"^epochbench_(?:op_)?tests?\((?:\w+/)?(\w+) (?=.*(?:LABEL parity|epochbench_kernels_reference|kernels/))",
                            (root / file).read_text(), re.MULTILINE)
    return names
