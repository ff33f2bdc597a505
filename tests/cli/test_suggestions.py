"""No refusal suggests what is refused next: each way out that a message names is tried.

Wrong calls come from the table of options: every option of `run` with right and wrong values, alone, and in pairs whose options
are accepted alone. A message has to name a way out in one of the forms below, unless it is about files or programs that are not
there. Where a message lists words, each device and precision has to work, and of other lists one.
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import threading
import unittest

from support import BINARY, TIMEOUT_SECONDS, CliTest

# Images and texts, on data of their own and on synthetic data.
MODELS = ["lenet5", "resnet20", "bert-tiny", "lstm"]
TOKENS = pathlib.Path(__file__).resolve().parents[1] / "data/wordpiece/uncased.txt"
# Options of `run` that say how it measures and what it prints, or that a test of their own has.
OTHERS = {"--suite", "--recipe", "--model", "--repetitions", "--budget", "--price", "--price-scaling", "--out", "--also",
          "--overwrite", "--allow-skipped", "--dry-run", "--resume", "--anonymous", "--quiet", "--json", "--feed", "--verbose",
          "--profile", "--with", "--help"}
VALUES = {  # of all other options, a right one first; None: it takes no value
    "--device": ["reference", "cuda:0", "gpu", "tpu", "cuda:x"],
    "--precision": ["fp32", "tf32", "bf16", "fp16", "int8", "fp8", "FP32"],
    "--mode": ["forward", "infer"],
    "--batch": ["1", "6", "100000", "0", "x"],
    "--accumulate": ["2", "4", "0"],
    "--checkpoint": ["blocks", "layers"],
    "--threads": ["1", "999", "0"],
    "--pin": ["cores", "none", "core"],
    "--ranks": ["2", "64", "0"],
    "--communication-threads": ["1", "2"],
    "--launcher": ["none -n {ranks}", "srun"],
    "--oversubscribe": [None],
    "--shard": ["optimizer", "all"],
    "--bucket": ["8", "0"],
    "--without": ["fusion", "graph-capture", "library-attention", "packed-weights", "prefetch", "winograd", "speed"],
    "--kernels": ["portable", "avx2", "fast"],
    "--meters": ["off", "yes"],
    "--data": ["synthetic", "digits", "founding-documents", "digit", "images:none", "idx:none", "text:none", "."],
    "--tokenizer": [f"wordpiece:{TOKENS}", "wordpiece:none", "bert"],
    "--epochs": ["1", "0"],
    "--steps": ["5", "0"],
    "--min-time": ["1", "0"],
    "--until": ["accuracy=0.5", "accuracy=97", "f1=1", "loss"],
    "--warmup": ["0", "-1"],
    "--epoch-samples": ["4096", "0"],
    "--seed": ["1", "-1"],
    "--learning-rate": ["0.1", "inf"],
    "--lr-schedule": ["cosine", "linear"],
    "--lr-warmup": ["9", "-1"],
    "--weight-decay": ["0.1", "2"],
    "--label-smoothing": ["0.1", "1"],
    "--mixup": ["0.2", "-1"],
    "--ema": ["0.9", "1"],
    "--order": ["sequential", "random"],
    "--dropout": ["0.5", "1"],
    "--augment": ["crop", "rotate"],
    "--normalize": ["measured", "none"],
    "--on-bad-image": ["skip", "wait"],
    "--cold": ["on", "very"],
    "--loader-threads": ["0", "2", "-1"],
    "--decode-cost": ["0.001", "-1"],
    "--cache": ["decoded", "pixels"],
    "--only-with": ["cores:1", "cores:9999", "cuda:0", "data", "tpu"],
    "--init": ["none"],
    "--save": ["weights", "none/file"],
    "--trace": ["trace", "none/folder"],
}
TOGETHER = [  # options that need each other
    {"--ranks": "2", "--launcher": "none -n {ranks}"}, {"--ranks": "2", "--launcher": "srun"},
    {"--ranks": "2", "--shard": "all"}, {"--ranks": "2", "--bucket": "0"},
    {"--ranks": "2", "--communication-threads": "1"}, {"--ranks": "2", "--communication-threads": "2"},
    {"--ranks": "2", "--shard": "optimizer", "--precision": "fp16"}, {"--ranks": "2", "--device": "reference"},
    {"--mode": "forward", "--precision": "int8"}, {"--mode": "forward", "--precision": "int7"},
    {"--mode": "forward", "--precision": "int8", "--kernels": "portable"}, {"--kernels": "portable", "--precision": "bf16"},
    {"--kernels": "portable", "--precision": "fp16"}, {"--data": "digits", "--cache": "decoded", "--loader-threads": "-1"}]
# What a call cannot change: files and programs that are not there, and what the machine and the build have.
OUTSIDE = re.compile(r"install|does not exist|is not a folder|cannot be (read|written|opened|found)|was not found|"
                     r"no folder train|in a folder that is there|OMPI_ALLOW_RUN_AS_ROOT|EPOCHBENCH_LIBRARIES=ON")


class Refused:
    """A call, as options with their values, and the line that refused it."""

    def __init__(self, options, line):
        self.options = options
        self.line = re.sub(r" \(see epochbench [a-z ]*--help\)$", "", line.removeprefix("epochbench: "))
        first = re.match(r"(?:[\w./:=,-]+: )?(--[a-z-]+(?:, --[a-z-]+)*)", self.line)
        named = first[1].split(", ") if first else []
        self.subjects = [name for name in named if name in options]  # what the line is about
        self.subject = self.subjects[0] if self.subjects else "--data"  # errors of data sets begin with their names

    def without(self, *names):
        return {name: value for name, value in self.options.items() if name not in names}

    def replaced(self, value, option=None):
        return {**self.options, option or self.subject: value}

    def corrected(self, word):
        """The call with this word in place of the one that the line quotes, which may be a part of the option's value."""
        wrong = re.search(r"'([^']*)'", self.line)
        value = self.options.get(self.subject) or ""
        return self.replaced(value.replace(wrong[1], word) if wrong and wrong[1] in value else word)

    def in_the_call(self, text):
        return [name for name in dict.fromkeys(re.findall(r"--[a-z-]+", text)) if name in self.options]

    def parts_of_a_batch(self):
        return int(self.options.get("--accumulate") or 1) * int(self.options.get("--ranks") or 1)

    def fewer_ranks(self):
        names = ("--ranks", "--communication-threads", "--oversubscribe", "--shard", "--bucket", "--launcher", "--threads")
        return self.without(*names)

    def named_with_dashes(self, *keys):
        return [name for name in self.options if name.removeprefix("--") in keys]

    def ways_out(self):
        """[(whether each has to work, [calls])]."""
        found = []
        for pattern, calls_of in WAYS_OUT:
            for match in re.finditer(pattern, self.line):
                every = calls_of not in (listed, ranged) or self.subject in ("--device", "--precision")
                calls = calls_of(self, match)
                if calls:
                    found.append((every, calls))
        return found


def listed(refused, match):
    # A form such as images:PATH stands for a file that is not here.
    values = [value for value in match[1].split(", ") if not re.search(r":(DIR|PATH|FILE)$", value)]
    return [refused.corrected(value) for value in values]


def meant(refused, match):
    return [refused.corrected(value) for value in re.split(r", | or ", match[1].removeprefix("--data "))]


def used(refused, match):
    option, value, in_its_place = match.groups()
    kept = refused.without(refused.subject) if in_its_place else refused.options
    return [{**kept, option: "1" if value == "N" else value}]


def one_kept(refused, match):
    named = refused.named_with_dashes(*re.findall(r"[a-z-]+", match[1]))
    return [refused.without(*(name for name in named if name != kept)) for kept in named]


def given_steps(refused, _):
    kept = refused.without("--min-time")
    return [{**kept, "--epochs": "9"}] if "--until" in kept else [{**kept, "--epochs": "9"}, {**kept, "--steps": "99"}]


def ranged(refused, match):
    least = match[2] if match[1] == "from" else str(float(match[2]) + 0.5)
    return [refused.corrected(least), refused.replaced(VALUES[refused.subject][0])]


WAYS_OUT = [  # a form of a way out, and the calls that follow it
    (r"leave (?:it|them) out", lambda r, m: [r.without(*r.subjects)] if r.subjects else []),
    (r"leave out ((?:--[a-z-]+(?: \w+)?(?: or )?)+)", lambda r, m: [r.without(name) for name in r.in_the_call(m[1])]),
    (r"leave out mode forward", lambda r, m: [r.without("--mode")]),
    (r"leave out one of (?:them|the two)", lambda r, m: [r.without(name) for name in r.in_the_call(r.line)]),
    (r"([a-z, -]+) exclude each other; give one", one_kept),
    (r"cannot be combined with steps or min-time; use epochs to cap it",
     lambda r, m: [{**r.without("--steps", "--min-time"), "--epochs": "1"}]),
    (r"add epochs \(with until, the maximum\) or steps", given_steps),
    (r"use (--[a-z-]+) ([\w:.-]+)( in its place)?", used),
    (r"use it with (--device) (cpu)()", used),
    (r"use ([\w-]+(?: or [\w-]+)?) \(--data\)", lambda r, m: [r.replaced(data, "--data") for data in m[1].split(" or ")]),
    (r"use (fp32|tf32|bf16|fp16|int8)\b", lambda r, m: [r.replaced(m[1], "--precision")]),
    (r"did you mean ([^?]+)\?", meant),
    (r"(?:choose from|use one of) ([^;(]+?)(?:, or several [^;]*)?(?=$|;| \()", listed),
    (r"must be a (?:whole )?number (from|above) (\S+)", ranged),
    (r"must be .*such as (\S+)", lambda r, m: [r.replaced(m[1])]),
    (r"write (accuracy=\S+) for", lambda r, m: [r.replaced(m[1])]),
    (r"must be cores:N", lambda r, m: [r.replaced("cores:1"), r.replaced("data")]),
    (r"must be gpt2:DIR", lambda r, m: [r.without("--tokenizer")]),
    (r"must have \{ranks\}", lambda r, m: [r.without("--launcher")]),
    (r"ask for fewer --threads", lambda r, m: [r.replaced("1", "--threads")]),
    (r"ask for fewer(?: --ranks|, or add --oversubscribe)", lambda r, m: [r.fewer_ranks()]),
    (r"larger than the ([\d,]+) training samples", lambda r, m: [r.replaced(m[1].replace(",", ""), "--batch")]),
    (r"use a --batch that is a multiple of it", lambda r, m: [r.replaced(str(r.parts_of_a_batch()), "--batch")]),
    (r"use a --batch that is a multiple of (\d+)", lambda r, m: [r.replaced(m[1], "--batch")]),
    (r"use fewer, or train longer", lambda r, m: [r.replaced("0", "--lr-warmup")]),
    (r"an empty value; give one", lambda r, m: [r.without(r.subject)]),
]


class Following(CliTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.lines = {}

    def line_of(self, options):
        """The line that refuses the call; "" if it is accepted."""
        key = tuple(options.items())
        if key not in self.lines:
            arguments = [word for option in options.items() for word in option if word is not None]
            folder = self.folder / str(threading.get_ident())  # a trace's folder is made for a moment
            folder.mkdir(exist_ok=True)
            done = subprocess.run([BINARY, "run", *arguments, "--dry-run"], cwd=folder, env=self.environment,
                                  capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
            self.assertIn(done.returncode, (0, 2, 3), done.stderr)
            self.lines[key] = done.stderr.splitlines()[-1] if done.returncode else ""
        return self.lines[key]

    def refusals(self, calls):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            lines = list(pool.map(self.line_of, calls))
        return [Refused(call, line) for call, line in zip(calls, lines) if line]

    def why_not(self, refused, call):
        """Why the way out is none; "" if the call is accepted, or refused for another option, from which the ways lead on."""
        line = self.line_of(call)
        if not line or OUTSIDE.search(line):
            return ""
        again = Refused(call, line)
        changed = {name for name in {**call, **refused.options} if call.get(name) != refused.options.get(name)}
        if changed.intersection(again.subjects or [again.subject]):
            return f"{call}: {line}"
        return next((f"{call}: {line}: {why}" for why in self.dead_ends(again)), "")

    def dead_ends(self, refused):
        """What is wrong with the ways out of a refusal."""
        ways = refused.ways_out()
        if not ways and not OUTSIDE.search(refused.line):
            return [f"no way out is known: {refused.line}"]
        found = []
        for every, calls in ways:
            reasons = [why for why in (self.why_not(refused, call) for call in calls) if why]
            found += reasons if every or len(reasons) == len(calls) else []
        return found

    def assert_ways_out_work(self, calls):
        for refused in self.refusals(calls):
            with self.subTest(" ".join(map(str, itertools.chain(*refused.options.items()))), line=refused.line):
                self.assertEqual(self.dead_ends(refused), [])

    def calls_alone(self, **base):
        """Without wrong values of an option whose right value is refused, too."""
        base = {f"--{name}": value for name, value in base.items()}
        calls = []
        for option, (right, *others) in VALUES.items():
            calls.append({**base, option: right})
            if not self.line_of(calls[-1]):
                calls += [{**base, option: other} for other in others]
        return calls

    def check_alone(self, models):
        self.assert_ways_out_work([call for model in models for call in self.calls_alone(model=model)])
        self.assert_ways_out_work([{"--model": model, **options} for model in models for options in TOGETHER])

    def check_pairs(self, models, among):
        """Pairs with one of the options `among`."""
        for model in models:
            alone = self.calls_alone(model=model)
            wrong = [refused.options for refused in self.refusals(alone)]
            right = [call for call in alone if call not in wrong]
            pairs = [{**one, **two} for one, two in itertools.combinations(right, 2)
                     if len({**one, **two}) == 3 and among.intersection({**one, **two})]
            self.assert_ways_out_work(pairs)


class Suggestions(Following):
    def test_every_option_of_run_is_tried(self):
        options = re.findall(r"^  (?:    |-\w, )(--[\w-]+)", self.call("run", "--help").stdout, re.MULTILINE)
        self.assertEqual(set(options) - OTHERS, set(VALUES))

    def test_options_alone(self):
        self.check_alone(MODELS)

    def test_options_in_pairs(self):
        self.check_pairs(["resnet20", "bert-tiny"], set(VALUES))

    def test_other_commands(self):
        self.out.write_text('{"schema_version": 1, "context": {}, "runs": []}')
        for arguments in (["plan", "lenet5", "--device", "cpu", "--precision", "fp16"],
                          ["plan", "lenet5", "--precision", "fp8"], ["plan", "lenet5", "--device", "gpu"],
                          ["plan", "lenet5", "--on", "T4", "--precision", "fp8"],
                          ["rent", "lenet5", "--epochs", "1", "--precision", "fp8"],
                          ["sweep", "lenet5", "--over", "batch", "--values", "1,2", "--dry-run", "--precision", "fp8"],
                          ["sweep", "lenet5", "--over", "batch", "--values", "1,2", "--dry-run", "--device", "gpu"]):
            with self.subTest(arguments):
                done = self.call(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                for values in re.findall(r"choose from ([^;]+?)(?:;|$)", done.stderr.strip()):
                    for value in values.split(", "):
                        followed = [*arguments[:-1], value]
                        again = self.call(*followed)
                        self.assertEqual(again.returncode, 0, f"{followed}: {again.stderr}")

    def test_what_speedup_suggests(self):
        call = self.succeed("run", "--model", "mlp:width=16", "--batch", "8", "--steps", "2", "--meters", "off", "--out", self.out)
        for to in ([], ["--to", "quality"]):
            with self.subTest(to):
                done = self.call("speedup", self.out, *to)
                self.assertEqual(done.returncode, 2, done.stderr)
                (command,) = re.findall(r"`epochbench ([^`]+)`", done.stderr)
                self.succeed(*shlex.split(command), "--dry-run")
                few = ["--out", "few.json", "--overwrite", "--meters", "off", *([] if to else ["--batch", "8", "--steps", "2"])]
                self.succeed(*shlex.split(re.sub(r"--repetitions \d+", "--repetitions 1", command)), *few)
                self.assertEqual(self.call("speedup", "few.json", *to).returncode, 0)


class OnALesserCpu(Following):  # tests/support/lesser_cpu.cpp
    def test_options_alone(self):
        self.check_alone(MODELS)

    def test_what_the_device_decides(self):
        self.check_pairs(["resnet20", "bert-tiny"], {"--device", "--precision", "--mode", "--kernels", "--without"})

    test_other_commands = Suggestions.test_other_commands
    test_what_speedup_suggests = Suggestions.test_what_speedup_suggests


class WithATuringGpu(Following):  # which has no bf16 and no tf32; tests/support/cuda_emulated
    def setUp(self):
        super().setUp()
        description = self.write("gpus", {"cards": [{"name": "T4", "capability": 75}]})
        self.environment |= {"EPOCHBENCH_EMULATED_GPUS": str(description), "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)

    def test_options_alone(self):
        for model in MODELS:
            self.assert_ways_out_work(self.calls_alone(model=model, device="cuda:0"))
            self.assert_ways_out_work([{"--model": model, "--device": "cuda:0", **options} for options in TOGETHER])

    def test_precisions_with_each_option(self):
        self.assert_ways_out_work([{"--model": model, "--device": "cuda:0", "--precision": precision, option: values[0]}
                                   for model in ("resnet20", "bert-tiny") for precision in ("bf16", "fp16", "tf32")
                                   for option, values in VALUES.items()
                                   if option not in ("--device", "--precision") and not self.line_of(
                                       {"--model": model, "--device": "cuda:0", option: values[0]})])


if __name__ == "__main__":
    unittest.main()
