"""The commands of scripts/check_gpu in order: those that prove most come first.

build and smoke test; the record (bf16 first) beside PyTorch and the CPU; other precisions compiled by PyTorch; the suites hour and
claims; then tests, parity of the other models and compute-sanitizer. The commands before tf32 in the record are the core, which fits
into two calls of ten minutes by its expected times; those of the record were measured on an H200.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import sys

import gpu_results as results
from commands import Command, Partial

GPU = "cuda:0"
ALL = ",".join(results.PRECISIONS)
SINCE_AMPERE = ("tf32", "bf16")  # formats of tensor cores of compute capability 8.0
RECORD = ("resnet50", "bert-base")
RECORD_PRECISIONS = ("bf16", "fp32", "fp16", "tf32")  # the most requested first
LARGE_CARD_BYTES = 40 * 2 ** 30  # holds resnet50 and bert-base at batch 256 in fp32
QUICK = ("info", "smoke-", "record-", "cpu-")  # with --quick: these commands, and those that they need
SUITES = {"hour": 240, "claims": 150}  # seconds in one call; later calls go on
# Comparisons with the CPU, one command per entry: models, batch, precisions and further options. The first three use data sets
# and loaders. Dropout is off, because cuDNN generates its own masks; the last entry has it on where the masks are ours.
PARITY = (("mlp,lenet5", 32, ALL, ["--learning-rate", "1e-4"]),  # at their own, rounding is amplified: docs/validation.md
          ("resnet20", 32, ALL, []),
          ("bert-tiny", 8, ALL, ["--dropout", "0"]),
          *((model, 8, ALL, []) for model in ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")),
          *((model, 4, ALL, ["--dropout", "0"]) for model in ("bert-base", "bert-large")),
          ("vit-b-16,vit-s-16", 4, ALL, []),
          ("lstm,lstm-lm", 8, ALL, []),
          ("gpt2:sequence=128", 2, ALL, ["--dropout", "0"]),
          ("llama-15m,llama-15m:kv-heads=2", 2, ALL, []),
          ("llama-110m:sequence=128", 2, ALL, []),
          ("efficientnet-b0,efficientnet-b2", 4, ALL, ["--dropout", "0"]),
          ("mobilenet-v2", 4, ALL, ["--learning-rate", "5e-6"]),  # likewise
          ("nasnet-mobile", 4, ALL, ["--dropout", "0", "--learning-rate", "1e-6"]),  # likewise
          ("bert-tiny", 8, "fp32,tf32", []))
# Models of the program without parity, and why.
NO_PARITY = {**dict.fromkeys(("gpt2-medium", "gpt2-large", "gpt2-xl"), "the graph of gpt2 with more and wider layers"),
             "nasnet-large": "the graph of nasnet-mobile with more cells and filters",
             "llama-7b": "108 GB of weights, gradients and moments, and the graph of llama-110m"}
# Options per tool. All but initcheck look at our kernels only. Initcheck must see every kernel, because it treats memory written
# by a kernel it did not see as uninitialized; its reports on the libraries' kernels are left out when they are judged.
OURS = ["--kernel-name", "kns=epochbench"]
SANITIZERS = {"memcheck": OURS, "racecheck": OURS, "initcheck": [], "synccheck": OURS}


class Plan:
    """capability: such as 9.0. price: options of `epochbench run`. pytorch: None, or what PyTorch's side lacks here.
    suffix: of result files, "" on the first kind of machine, "-2" on a second one. given: an installed program, or None."""

    def __init__(self, root, build, folder, capability, memory_bytes, packages, price, pytorch, suffix, digest, commit,
                 quick=False, given=None):
        self.root, self.build, self.folder, self.binary = root, build, folder, given or build / "epochbench"
        self.given, self.quick = given, quick
        self.capability, self.packages, self.price, self.pytorch = capability, packages, price, pytorch
        self.suffix, self.digest, self.commit = suffix, digest, commit
        self.memory_bytes = memory_bytes
        self.batch = 256 if memory_bytes >= LARGE_CARD_BYTES else 64
        self.cpu_batch = self.batch // 8 if quick else self.batch
        self.left_out = left_out_on(capability)
        self.record_precisions = [precision for precision in RECORD_PRECISIONS if precision not in self.left_out]
        if "bf16" in self.left_out:  # fp16 is then requested most
            self.record_precisions.sort(key=lambda precision: precision != "fp16")

    def supported(self, precisions):
        """The precisions of a comma-separated list that the card has."""
        return ",".join(precision for precision in precisions.split(",") if precision not in self.left_out)

    def file(self, name):
        return self.folder / f"{name}{self.suffix}.json"

    def commands(self):
        """With --quick those of QUICK, and what they need."""
        commands = list(self.all_commands())
        if not self.quick:
            return commands
        wanted = {command.name for command in commands if command.name.startswith(QUICK)}
        for command in reversed(commands):  # a command comes after those that it needs
            if command.name in wanted:
                wanted.update(command.needs)
        return [command for command in commands if command.name in wanted]

    def all_commands(self):
        yield from self.builds()
        yield self.measuring("info", [self.binary, "info", "--json"], 60, 10, core=True, out=self.folder / "info.json",
                             judge=lambda log: results.gpu_seen(self.folder / "info.json"))
        # A minute with `info`: steps without warm-up are not tuned. A limit is three times the expected time, because a bare
        # machine reads gigabytes of libraries for the first time.
        for model, batch, options in (("lenet5", 32, []), ("bert-tiny", 8, ["--dropout", "0"])):
            yield self.compared(f"smoke-{model}", model, batch, ALL, 1, options, 60, 20, core=True)
        # The record's attention with dropout, at which an H200 gave no step of the record (docs/performance.md): by products,
        # as 0.1 is not a multiple of 1/16, and by the library.
        for name, dropout in (("smoke-products", 0.1), ("smoke-attention", 0.125)):
            yield self.run(name, name, ["--model", "bert-base:layers=2", "--device", GPU, "--precision", self.record_precisions[0],
                           "--data", "synthetic", "--batch", self.batch, "--dropout", dropout, "--steps", 3, "--warmup", 0,
                           "--profile"], 60, 5, lambda log, name=name: results.near_bounds(self.file(name)), core=True)
        yield from self.record()
        for precision in self.record_precisions[1:]:
            for model in RECORD:
                yield self.peer(model, precision, "max-autotune", 300, 90)
        for suite, seconds in SUITES.items():
            yield self.suite(suite, seconds)
        yield self.measuring("tests", ["ctest", "--test-dir", self.build, "-L", "gpu", "--parallel", self.parallel_tests(),
                                       "--output-on-failure", "--no-tests=error"], 400, 120, needs=("build-tests",),
                             judge=lambda log: results.skipped_tests(log, self.left_out))
        for number, (models, batch, precisions, options) in enumerate(PARITY):
            yield self.compared(f"parity-{number}", models, batch, precisions, results.PARITY_STEPS, options, 240, 60)
        yield from self.sanitizers()

    def parallel_tests(self):
        """Each process of a test takes half a gigabyte of the card's memory and more."""
        return max(1, min(cores(), self.memory_bytes >> 32))

    def run(self, name, group, options, limit, expected, judge=None, core=False):
        """`epochbench run` into the group's result file; the runs that it has are kept."""
        return self.measuring(name, lambda left: [self.binary, "run", *options, *self.price, "--anonymous", "--quiet",
                                                  *into(self.file(group))], limit, expected, judge, core=core)

    def measuring(self, name, argv, limit, expected, judge=None, needs=("build",), **others):
        return Command(name, argv, limit, expected, judge, needs=() if self.given else needs, **others)

    # Programs of this machine; a state may bring the first one along.
    def builds(self):
        if self.given:
            return
        yield Command("configure", lambda left: self.configure("OFF"), 120, 15, lambda log: self.mark("configured", "OFF"),
                      core=True, here=lambda: self.is_marked("configured"))
        yield Command("build", self.compile(["epochbench"]), 500, 150, lambda log: self.mark("program"), core=True,
                      needs=("configure",), here=lambda: self.is_marked("program") and self.binary.exists())
        googletest = self.packages / "src/googletest" if self.packages else None
        needs = ("build",)
        if googletest and googletest.exists():
            needs, folder = ("build", "googletest"), self.build / "googletest"
            yield Command("configure-googletest", ["cmake", "-S", googletest, "-B", folder, *generator(folder),
                          "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_INSTALL_PREFIX={self.packages}"], 60, 10, here=(folder / "CMakeCache.txt").exists)
            yield Command("googletest", ["cmake", "--build", folder, "--target", "install", "--parallel", cores()], 120, 20,
                          needs=("configure-googletest",), here=(folder / "install_manifest.txt").exists)
        yield Command("configure-tests", lambda left: self.configure("GPU"), 120, 15, lambda log: self.mark("configured", "GPU"),
                      needs=needs, here=lambda: self.is_marked("configured", "GPU"))
        yield Command("build-tests", self.compile(["gpu_test", *gpu_test_programs(self.root)]), 500, 120,
                      lambda log: self.mark("tests"), needs=("build", "configure-tests"), here=lambda: self.is_marked("tests"))

    def configure(self, tests):
        """Without D3, because pages are drawn elsewhere."""
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DEPOCHBENCH_KERNELS=native", "-DEPOCHBENCH_CUDA=ON",
                   f"-DEPOCHBENCH_TESTS={tests}", "-DEPOCHBENCH_D3=OFF",
                   f"-DEPOCHBENCH_CUDA_ARCHITECTURES={self.capability.replace('.', '')}", f"-DEPOCHBENCH_PYTHON={sys.executable}"]
        if self.packages:
            options += [f"-DCMAKE_PREFIX_PATH={self.packages}", f"-DEPOCHBENCH_PACKAGES={self.packages}"]
        if self.commit and not (self.root / ".git").exists():
            options.append(f"-DEPOCHBENCH_GIT_SHA={self.commit}")
        return ["cmake", "-S", self.root, "-B", self.build, *generator(self.build), *options]

    def compile(self, targets):
        return ["cmake", "--build", self.build, "--parallel", os.environ.get("EPOCHBENCH_JOBS", cores()), "--target", *targets]

    # The build folder serves one version of the sources after another; these files record which one it has.
    def mark(self, what, detail=""):
        (self.build / f"{what}.mark").write_text(f"{self.digest} {self.capability} {self.packages} {detail}")
        return []

    def is_marked(self, what, detail=""):
        mark = self.build / f"{what}.mark"
        return mark.exists() and mark.read_text().startswith(f"{self.digest} {self.capability} {self.packages} {detail}")

    def record(self):
        first, *others = self.record_precisions
        yield from self.ours_and_eager(first)
        for model in RECORD:  # at the GPU's batch a step takes seconds, so there are only a few
            yield self.run(f"cpu-{model}", "record", ["--model", model, "--device", "cpu", "--data", "synthetic", "--batch",
                           self.cpu_batch, "--warmup", 1, "--steps", 2], 300, 60 * self.cpu_batch // self.batch, core=True)
        core = [precision for precision in others if precision != "tf32"]
        for precision in core:
            yield from self.ours_and_eager(precision)
        for model in RECORD:  # last, as it may take minutes
            yield self.peer(model, first, "max-autotune", 300, 90, core=True)
        for precision in others[len(core):]:
            yield from self.ours_and_eager(precision, core=False)

    def ours_and_eager(self, precision, core=True):
        for model in RECORD:
            yield self.run(f"record-{model}-{precision}", "record", ["--model", model, "--device", GPU, "--precision", precision,
                           "--data", "synthetic", "--batch", self.batch, "--min-time", 5, "--profile"], 120, 42, core=core)
        for model in RECORD:
            yield self.peer(model, precision, "eager", 120, 33, core=core)

    def peer(self, model, precision, mode, limit, expected, core=False):
        options = ["--binary", self.binary, "--model", model, "--batch", self.batch, "--precision", precision, "--device", GPU,
                   "--compile", mode, "--min-time", 5, *self.price, "--anonymous", "--quiet"]
        name = "eager" if mode == "eager" else "compiled"
        return self.measuring(f"{name}-{model}-{precision}", lambda left: [
            sys.executable, self.root / "scripts/peers/train_pytorch", *options, *into(self.file("peers"))],
            limit, expected, absent=self.pytorch, core=core)

    def suite(self, suite, seconds):
        file = self.file(suite)
        return self.measuring(suite, lambda left: [
            self.binary, "run", "--suite", suite, "--budget", max(10, min(seconds, int(left) - 30)), *self.price, "--allow-skipped",
            "--anonymous", "--quiet", *into(file)], seconds + 60, 60, lambda log: judge_suite(file))

    def compared(self, name, models, batch, precisions, steps, options, limit, expected, core=False):
        file = self.file(name)
        return self.run(name, name, ["--model", models, "--batch", batch, "--device", f"cpu,{GPU}", "--precision",
                        self.supported(precisions), "--steps", steps, "--warmup", 0, *options], limit, expected,
                        lambda log: results.parity([file], steps), core=core)

    def sanitizers(self):
        models = ["--model", "lenet5,resnet20,bert-tiny:sequence=32", "--batch", 4, "--device", GPU, "--precision",
                  self.supported("fp32,bf16,fp16"), "--warmup", 0, "--steps", 3, "--quiet", "--overwrite"]
        for tool in SANITIZERS:
            yield self.sanitizer(tool, "models", [self.binary, "run", *models, "--out", self.folder / "logs" / f"{tool}.json"],
                                 ("build",))
        for program in gpu_test_programs(self.root):
            for tool in SANITIZERS:
                yield self.sanitizer(tool, program, [self.build / "tests" / program], ("build-tests",))

    def sanitizer(self, tool, name, command, needs):
        logs, stem = self.folder / "logs", f"sanitizer-{tool}-{name}"

        def argv(left):
            for old in logs.glob(f"{stem}.*.txt"):
                old.unlink()
            return ["compute-sanitizer", "--tool", tool, *SANITIZERS[tool], "--target-processes", "all", "--print-limit", 10000,
                    "--log-file", logs / f"{stem}.%p.txt", *command]
        return Command(stem, argv, 300, 90, lambda log: results.sanitizer(sorted(logs.glob(f"{stem}.*.txt"))), needs=needs)


def left_out_on(capability):
    """Precisions that a card of this compute capability lacks; none if it is not known."""
    return SINCE_AMPERE if capability != "native" and int(capability.split(".")[0]) < 8 else ()


def why_left_out(capability):
    """None, or one line."""
    absent = left_out_on(capability)
    return f"{' and '.join(absent)} are left out: they need compute capability 8.0, and this card has {capability}" if absent else None


def into(file):
    return ["--resume", file] if file.exists() else ["--out", file]


def generator(folder):
    """Ninja if it is installed, perhaps without make; a configured folder keeps its own generator."""
    return ["-G", "Ninja"] if shutil.which("ninja") and not (folder / "CMakeCache.txt").exists() else []


def cores():
    return len(os.sched_getaffinity(0))


def judge_suite(file):
    """A suite that was ended by its budget is partial; runs that this machine cannot do are not complaints."""
    runs = results.runs_of(file)
    left = [run["name"] for run in runs if run["status"] == "skipped" and "the budget of" in (run["message"] or "")]
    if left:
        raise Partial(f"{len(left)} of {len(runs)} runs are left, {left[0]} first")
    return [] if any(run["status"] == "ok" for run in runs) else ["no run is ok"]


def gpu_test_programs(root):
    """Programs whose tests have the label gpu, except the one that trains whole models; named as the .cmake files do."""
    names = set()
    for file in sorted((root / "tests").rglob("*.cmake")):
        text = file.read_text()
        names |= {f"{name}_gpu" for name in re.findall(r"^epochbench_(?:cuda|gpu)_kernel_tests?\((\w+)", text, re.MULTILINE)}
        names |= {f"cuda_{name}_gpu" for name in re.findall(r"^epochbench_op_tests\((\w+)", text, re.MULTILINE)}
    return sorted(names)


def price_options(root, gpu_name, given):
    """`given`, or the list price of an instance with this card; nothing where none is known, as for a part of a card (MIG)."""
    if given:
        return ["--price", given]
    cards = json.loads((root / "bench/devices.json").read_text())["gpus"]
    known = [{card["name"], *card["also"]} for card in cards]
    names = set().union(*(each for each in known if gpu_name in each))
    prices = json.loads((root / "bench/prices.json").read_text())["prices"]
    fitting = [price for price in prices if price["gpus"] and price["gpus"]["model"] in names]
    return ["--price", f"cuda={fitting[0]['instance']}", "--price-scaling", "per-gpu"] if fitting else []


def missing_pytorch():
    """None, or why this Python cannot run PyTorch's side."""
    missing = [name for name in ("torch", "torchvision") if importlib.util.find_spec(name) is None]
    return f"{sys.executable} has no {' and no '.join(missing)}" if missing else None


def version_of_pytorch():
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None
