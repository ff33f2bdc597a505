"""Calls that are wrong: exit code, one line, and nothing touched."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import BINARY, CliTest, QUICK, TIMEOUT_SECONDS, known_peaks


@contextlib.contextmanager
def busy_cpus():
    """Another process that computes all the time."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


class BadInput(CliTest):
    def setUp(self):
        super().setUp()
        self.out.write_text("an older result")

    def refused(self, *arguments, code=2, parts=()):
        before = sorted(os.listdir(self.folder))
        self.assert_refused(self.call("run", "--out", self.out, "--overwrite", *arguments), code, *parts)
        self.assertEqual(self.out.read_text(), "an older result")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_options(self):
        for arguments, parts in [
            (["--model", "vgg"], ["vgg", "list models", "resnet152"]),
            (["--model", ""], ["--model"]),
            (["--model", "mlp,,lenet5"], ["--model"]),
            (["--model", "mlp:width=0"], ["width"]),
            (["--model", "mlp:height=3"], ["height", "width"]),
            (["--model", "width=3"], ["width=3"]),
            ([*QUICK, "--frobnicate"], ["--frobnicate"]),
            ([*QUICK, "--trace", "no/folder"], ["--trace", "no/folder"]),
            ([*QUICK, "--trace", "."], ["--trace", "has files"]),
            ([*QUICK, "--trace", "d", "--mode", "forward"], ["--trace"]),
            ([*QUICK, "--trace", "d", "--repetitions", "2"], ["--trace", "several"]),
            ([*QUICK, "--save", "no/file"], ["--save", "no/file"]),
            (["--model", "mlp,lenet5", "--steps", "2", "--save", "f"], ["--save", "several"]),
            ([*QUICK, "--init", "result.json"], ["result.json", "safetensors"]),
            ([*QUICK, "--data", "founding-documents"], ["images"]),
            (["--model", "bert-tiny", "--data", "digits"], ["text"]),
            ([*QUICK, "--data", "digit"], ["unknown data 'digit'", "did you mean digits?"]),
            (["--model", "resnet20", "--data", "/proc/sys"], ["it is a folder", "did you mean --data images:/proc/sys?"]),
            (["--model", "bert-tiny", "--data", "result.json"], ["it is a file", "did you mean --data text:result.json?"]),
            ([*QUICK, "--data", "result.json"], ["unknown data 'result.json': use one of synthetic, digits"]),
            ([*QUICK, "--augment", "crop"], [": --augment: digits is not made of image files"]),
            (["--model", "bert-tiny", "--data", "text:result.json"], ["15 bytes", "126"]),
            (["--model", "lstm-lm", "--data", "founding-documents", "--tokenizer", "gpt2:."], ["does not exist", "vocab.json", "gpt2:DIR"]),
            (["--model", "mlp", "--lr-schedule", "cosine"], ["how many steps", "epochs"]),
            (["--model", "mlp", "--lr-schedule", "step", "--lr-warmup", "9", "--steps", "9"], ["--lr-warmup 9", "none of 9 steps"]),
            (["--model", "bert-tiny:sequence=513"], ["sequence", "512"]),
            ([*QUICK, "--device", "tpu"], ["tpu", "cpu"]),
            ([*QUICK, "--precision", "fp8"], ["fp8", "fp32"]),
            ([*QUICK, "--precision", "tf32"], ["tf32"]),
            ([*QUICK, "--precision", "fp16"], ["fp16"]),
            ([*QUICK, "--precision", "int8"], ["--precision: int8 is for inference", "mode forward"]),
            ([*QUICK, "--precision", "int8", "--mode", "forward", "--kernels", "portable"], ["int8", "portable"]),
            (["--model", "mlp", "--until", "f1=0.5"], ["f1", "accuracy"]),
            (["--model", "mlp", "--until", "accuracy=97"], ["--until"]),
            (["--model", "resnet20", "--until", "accuracy=0.5"], ["synthetic"]),
            (["--model", "mlp", "--mode", "infer"], ["infer", "train"]),
            ([*QUICK, "--without", "speed"], ["speed", "fusion", "winograd"]),
            ([*QUICK, "--without", "graph-capture"], ["--without graph-capture", "CUDA"]),
            ([*QUICK, "--without", "library-attention"], ["--without library-attention", "lenet5", "bf16"]),
            ([*QUICK, "--without", "winograd"], ["--without winograd", "lenet5"]),
            ([*QUICK, "--without", "prefetch", "--data", "synthetic"], ["--without prefetch", "synthetic"]),
            (["--model", "lenet5", "--batch", "6", "--accumulate", "4"], ["--accumulate 4", "batch 6"]),
            ([*QUICK, "--accumulate", "2", "--mode", "forward"], ["--accumulate", "forward"]),
            ([*QUICK, "--checkpoint", "layers"], ["layers", "blocks"]),
            (["--model", "mlp:width=8,depth=1", "--batch", "1", "--checkpoint", "blocks"], ["--checkpoint blocks", "mlp"]),
            ([*QUICK, "--gemm", "fast"], ["fast", "portable"]),
            ([*QUICK, "--gemm", "portable", "--precision", "fp16"], ["fp16"]),
            (["--model", "resnet18:height=16"], ["height", "64"]),
            ([*QUICK, "--threads", "0"], ["--threads"]),
            ([*QUICK, "--threads", ""], ["--threads"]),
            ([*QUICK, "--pin", "core"], ["--pin", "cores"]),
            ([*QUICK, "--pin", "cores", "--threads", "1000"], ["--pin cores", "1000", "--threads"]),
            ([*QUICK, "--loader-threads", "-1"], ["--loader-threads"]),
            ([*QUICK, "--decode-cost", "1e9"], ["--decode-cost"]),
            ([*QUICK, "--data", "synthetic", "--decode-cost", "0.001"], ["--decode-cost", "synthetic", "digits"]),
            (["--model", "bert-tiny", "--cache", "decoded"], ["--cache", "text"]),
            ([*QUICK, "--feed", "2900"], ["--feed", "--decode-cost", "images:DIR"]),
            (["--model", "resnet20", "--feed", "2900", "--dry-run"], ["--feed", "decodes anything"]),
            ([*QUICK, "--price", "cpu=cheap"], ["--price", "cheap"]),
            ([*QUICK, "--price", "cpu=-1"], ["--price"]),
            ([*QUICK, "--price", "cpu=nan"], ["--price"]),
            ([*QUICK, "--price", "0.34"], ["--price", "DEVICE"]),
            ([*QUICK, "--seed", "-1"], ["--seed"]),
            ([*QUICK, "--repetitions", "0"], ["--repetitions"]),
            ([*QUICK, "--budget", "0"], ["--budget", "'0'"]),
            ([*QUICK, "--budget", "1h"], ["--budget", "'1h'"]),
            ([*QUICK, "--epochs", "2"], ["exclude"]),
            ([*QUICK, "--learning-rate", "inf"], ["--learning-rate"]),
            ([*QUICK, "--data", "mnist"], ["mnist"]),
            ([*QUICK, "--data", "idx:/nowhere"], ["/nowhere"]),
            ([*QUICK, "--suite", "quick"], ["--suite", "--model"]),
            ([*QUICK, "--resume", "/nowhere.json"], ["/nowhere.json"]),
            (["--suite", "no-such"], ["no-such", "quick"]),
            (["--model", "x" * 5000], ["--model"]),
            (["--model", "a\nb"], ["--model"]),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(*arguments, parts=parts)

    def test_more_threads_than_cpus_are_noted(self):
        done = self.succeed("run", *QUICK, "--threads", "999", "--dry-run")
        self.assertRegex(done.stderr, r"note: --threads 999: this machine has \d+ logical CPUs?, so threads take turns")
        self.assertNotIn("note", self.call("run", *QUICK, "--threads", "1", "--dry-run").stderr)

    def test_batches(self):
        for batch in ["0", "-4", "1e20", str(10**20), "3.5", "x", "", "5000"]:
            with self.subTest(batch=batch):
                self.refused("--model", "lenet5", "--batch", batch, "--steps", "2", parts=["batch"])

    def test_suites(self):
        for text, parts in [
            ('{"cases": [{"model": "mlp", "bach": 3}]}', ["bach", "batch"]),
            ('{"cases": [{"model": "mlp", "batch": 0}]}', ["cases[0].batch"]),
            ('{"cases": [{"model": "mlp"}], "casses": []}', ["casses"]),
            ('{"cases": []}', ["cases"]),
            ('{"cases": [', ["not valid JSON"]),
            ("[" * 100000 + "]" * 100000, ["nested"]),
            ("", ["not valid JSON"]),
            ('{"cases": [{"model": "mlp", "steps": 1e999}]}', ["not valid JSON"]),
            ('{"schema_version": 2, "context": {}, "runs": []}', ["a result, not a suite", "--resume"]),
        ]:
            with self.subTest(text=text[:60]):
                suite = self.folder / "suite.json"
                suite.write_text(text)
                self.refused("--suite", suite, parts=parts)
        self.refused("--suite", self.folder, parts=["a folder; name a file"])

    def test_results_that_cannot_be_resumed(self):
        for text, parts in [
            ("{", ["not valid JSON"]),
            ("{}", ["schema_version"]),
            ('{"schema_version": 99, "context": {}, "runs": []}', ["newer", "update"]),
            ("[" * 1000, ["nested"]),
        ]:
            with self.subTest(text=text[:60]):
                old = self.folder / "old.json"
                old.write_text(text)
                self.refused(*QUICK, "--resume", old, parts=["old.json", *parts])
                self.assertEqual(old.read_text(), text)

    def test_places_that_cannot_be_written(self):
        for place in ["/nowhere/r.json", "/proc/r.json", "/dev/full", str(self.folder), ""]:
            with self.subTest(place=place):
                self.assert_refused(self.call("run", *QUICK, "--out", place), 2, place or "--out")
        self.assert_refused(self.call("run", *QUICK, "--out", "/nowhere/r.json"), 2, "the folder /nowhere does not exist")

    def test_output_that_is_not_taken(self):
        measured = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).with_name("zen4-2cores-quick.json")
        for arguments in (["--help"], ["list", "models", "--json"], ["claims", "--json"], ["export", measured, "--format", "bmf"],
                      ["export", measured, "--format", "mllog"]):  # the last is more than a buffer
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                call = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=TIMEOUT_SECONDS)
                self.assertEqual(call.returncode, 2, call.stderr)
                self.assertRegex(call.stderr, r"\Aepochbench: cannot write the output: .+; send stdout elsewhere\n\Z")

    def test_data_files(self):
        data = self.folder / "data"
        data.mkdir()

        def idx(dimensions, payload, magic=None):
            header = (0x800 + len(dimensions) if magic is None else magic).to_bytes(4, "big")
            return header + b"".join(d.to_bytes(4, "big") for d in dimensions) + payload

        images = idx([100, 8, 8], bytes(6400))
        labels = idx([100], bytes(100))
        for name, bad_images, bad_labels in [
            ("truncated", images[:-1], labels),
            ("header alone", images[:6], labels),
            ("wrong magic", idx([100, 8, 8], bytes(6400), magic=0x0D03), labels),
            ("absurdly large", idx([2**32 - 1] * 3, b""), labels),
            ("mislabeled", images, idx([100], bytes([200] * 100))),
            ("other count", images, idx([99], bytes(99))),
            ("empty", b"", labels),
        ]:
            with self.subTest(name):
                for split in ("train", "t10k"):
                    (data / f"{split}-images-idx3-ubyte").write_bytes(bad_images)
                    (data / f"{split}-labels-idx1-ubyte").write_bytes(bad_labels)
                self.refused("--model", "lenet5", "--steps", "2", "--data", f"idx:{data}", parts=["ubyte"])
        cifar = self.folder / "cifar"
        cifar.mkdir()
        for name, content in [("truncated", bytes(3073 * 4 - 1)), ("mislabeled", bytes([77]) + bytes(3072)), ("empty", b"")]:
            with self.subTest(name):
                for batch in ("data_batch_1.bin", "test_batch.bin"):
                    (cifar / batch).write_bytes(content)
                self.refused("--model", "resnet20", "--steps", "2", "--data", f"cifar10:{cifar}", parts=["batch"])


class OtherCommands(CliTest):
    def test_wrong_words(self):
        self.assert_refused(self.call(), 2, "run")
        self.assert_refused(self.call("train"), 2, "train")
        self.assert_refused(self.call("list", "planets"), 2, "planets", "models")
        self.assert_refused(self.call("plan"), 2, "--model")
        self.assert_refused(self.call("plan", "--model", "vgg"), 2, "vgg", "list models")
        self.assert_refused(self.call("plan", "--model", "mlp", "--batch", "0"), 2, "--batch")
        self.assert_refused(self.call("plan", "--model", "mlp", "--device", "cpu", "--precision", "fp16"), 2, "fp16", "use ")
        self.assert_refused(self.call("info", "--frob"), 2, "--frob")

    def test_device_that_is_not_there(self):
        self.assert_refused(self.call("run", *QUICK, "--device", "cuda:0", "--out", self.out, "--overwrite"), 3, "cuda")
        self.assert_refused(self.call("run", "--device", "cuda", "--out", self.out, "--overwrite"), 3, "cuda")
        self.assertFalse(self.out.exists())

    def test_help_and_version(self):
        commands = ("run", "list", "info", "plan", "cost", "speedup", "sweep", "claims", "export", "answers", "report")
        for arguments in (["--help"], *([command, "--help"] for command in commands)):
            call = self.call(*arguments)
            self.assertEqual(call.returncode, 0)
            self.assertIn("epochbench", call.stdout)
            if len(arguments) == 2:
                self.assertIn("Examples:", call.stdout)
            self.assertNotIn("calibrate", call.stdout)
        self.assertRegex(self.call("--version").stdout, r"^epochbench \d+\.\d+\.\d+")

    def test_info_and_what_a_build_contains(self):
        _, kernels, *libraries, gpu_code = self.call("--version").stdout.splitlines()
        self.assertRegex(kernels, r"^CPU kernels: portable(, \w+)*$")
        self.assertRegex(gpu_code, r"^GPU code: (none, since it has no CUDA backend|compute capability .+)$")
        machine = json.loads(self.call("info", "--json").stdout)
        self.assertEqual(", ".join(machine["cpu_kernels"]), kernels.removeprefix("CPU kernels: "))
        self.assertEqual(libraries, ["CPU libraries: " + ", ".join(machine["cpu_libraries"])] if machine["cpu_libraries"] else [])
        self.assertEqual(bool(machine["gpu_code"]), "none" not in gpu_code)
        self.assertGreater(machine["cpu"]["peak_flops_per_second"]["fp32"], 1e8)
        self.assertGreater(machine["cpu"]["memory_bandwidth_bytes_per_second"], 1e7)
        self.assertTrue(machine["cpu"]["peak_instruction"]["fp32"])
        self.assertEqual(machine["cpu"]["peak_instruction"]["bf16"] is None,
                         machine["cpu"]["peak_flops_per_second"]["bf16"] is None)
        self.assertGreaterEqual(machine["cpu"]["peak_threads"], 1)
        for precision, bursts in machine["cpu"]["peak_bursts_flops_per_second"].items():
            self.assertEqual((len(bursts), max(bursts)), (5, machine["cpu"]["peak_flops_per_second"][precision]))
        self.assertEqual(machine["gpus"], [])
        self.assertTrue(machine["gpus_reason"])
        self.assertEqual({meter["name"] for meter in machine["meters"]}, {"rapl", "nvml", "proc-stat"})
        call = self.call("run", *QUICK, "--device", "cpu", *known_peaks(), "-o", self.out)
        self.assertNotIn("kernels_missing", call.stdout + call.stderr, "this machine built it")
        context = json.loads(self.out.read_text())["context"]
        self.assertEqual((context["cpu_kernels"], context["gpu_code"]), (machine["cpu_kernels"], machine["gpu_code"]))

    def test_the_fastest_kernels_are_chosen_or_refused(self):
        call = self.call("run", *QUICK, "--device", "cpu", "--kernels", "fastest", *known_peaks(), "-o", self.out)
        libraries = json.loads(self.call("info", "--json").stdout)["cpu_libraries"]
        if not libraries:
            self.assertEqual(call.returncode, 3, call.stdout)
            self.assertIn("build with EPOCHBENCH_LIBRARIES=ON scripts/run", call.stderr)
            return
        self.assertEqual(call.returncode, 0, call.stderr)
        (run,) = json.loads(self.out.read_text())["runs"]
        self.assertEqual((run["settings"]["kernels"], run["name"]), ("fastest", "lenet5/cpu/fp32/b16/gemm=fastest"))
        for way in run["device"]["ways"]:
            self.assertRegex(way, r"^(gemm|conv2d) .*: [\w. ]+ \[\w+ [\d.]+ \w+(, \w+ [\d.]+ [\d.]+ \w+)+\]$")
        self.assertTrue(any(f", {library} " in way for way in run["device"]["ways"] for library in libraries))
        call = self.call("run", "--model", "lenet5", "--mode", "forward", "--precision", "int8", "--kernels", "fastest")
        self.assertEqual(call.returncode, 2, call.stderr)
        self.assertIn("--kernels fastest: the libraries run no int8", call.stderr)

    def test_info_shows_the_spread_of_its_bursts(self):
        call = self.succeed("info")
        self.assertRegex(call.stdout, r"(?m)^fp32 peak +[\d.,]+ [GT]FLOP/s( †)? \(.+ to .+ in 5 bursts\), measured")
        self.assertEqual("†: " in call.stdout, " † (" in call.stdout, "a mark has its reason")
        if len(os.sched_getaffinity(0)) > 16:
            return  # of so many CPUs one that is busy says little
        with busy_cpus():
            busy = self.call("info")
        self.assertRegex(busy.stdout, r"(?m)^fp32 peak +[\d.,]+ [GT]FLOP/s † \(")
        self.assertRegex(" ".join(busy.stdout.split()), r" †: .*other processes took [\d.]+ CPU cores meanwhile")

    def test_list(self):
        document = json.loads(self.call("list", "--json").stdout)
        self.assertEqual(sorted(document), ["claims", "datasets", "devices", "models", "prices", "published", "recipes", "suites"])
        counts = {model["name"]: model["parameters"] for model in document["models"]}
        self.assertEqual(counts["lenet5"], 61706)
        self.assertEqual(counts["resnet20"], 272474)
        for what in document:
            self.assertEqual(list(json.loads(self.call("list", what, "--json").stdout)), [what])
            self.assertTrue(self.call("list", what).stdout.strip())

    def test_system_says_what_disturbs_and_what_helps(self):
        names = ["governor", "turbo", "SMT siblings", "huge pages", "CPU quota", "foreign load", "container", "NUMA", "thermal state"]
        checks = json.loads(self.call("system", "--json").stdout)["checks"]
        self.assertEqual([check["name"] for check in checks], names)
        for check in checks:
            with self.subTest(check):
                self.assertIn(check["state"], ("ok", "disturbs", "not known"))
                self.assertTrue(check["found"])
                self.assertEqual(bool(check["fix"]), check["state"] == "disturbs")
                self.assertEqual(bool(check["why"]), check["state"] == "disturbs")
        call = self.succeed("system")
        for name in names:
            self.assertRegex(call.stdout, rf"(?m)^{name} +(ok|disturbs|not known) ")

    def test_a_suite_begins_with_what_disturbs(self):
        suite = self.folder / "suite.json"
        suite.write_text('{"cases": [{"model": "mlp", "steps": 2}]}')
        with busy_cpus():
            loud = self.call("run", "--suite", suite, *known_peaks(), "-o", self.out)
            self.assertRegex(loud.stderr, "(?m)^system: .*foreign load.* disturbs? measurements here: epochbench system$")
            quiet = self.call("run", "--suite", suite, *known_peaks(), "-o", self.out, "--overwrite", "--quiet")
            self.assertEqual(quiet.stderr, "")
            alone = self.call("run", *QUICK, *known_peaks(), "-o", self.out, "--overwrite")
            self.assertNotIn("system: ", alone.stderr)

    def test_plan_of_lists_is_a_table(self):
        arguments = ["plan", "--model", "mlp,lenet5", "--precision", "fp32", "--batch", "8,16"]
        rows = json.loads(self.call(*arguments, "--json").stdout)
        self.assertEqual([(row["model"], row["batch"]) for row in rows], [("mlp", 8), ("mlp", 16), ("lenet5", 8), ("lenet5", 16)])
        lines = self.call(*arguments).stdout.splitlines()
        self.assertEqual(lines[0].split()[:2], ["model", "precision"])
        self.assertEqual([line.split()[0] for line in lines[1:5]], ["mlp", "mlp", "lenet5", "lenet5"])

    def test_plan_finds_the_largest_batch(self):
        def memory(model, batch):
            plan = json.loads(self.call("plan", "--model", model, "--batch", batch, "--json").stdout)
            return plan["memory_bytes"]["total"]
        limit = 64 * 2**20
        rows = json.loads(self.call("plan", "--model", "lenet5,resnet20", "--batch", "max", "--memory", "64MiB", "--json").stdout)
        for row in rows:
            with self.subTest(row["model"]):
                self.assertTrue(row["fits"])
                self.assertEqual(row["memory_limit_bytes"], limit)
                self.assertEqual(row["memory_bytes"]["total"], memory(row["model"], row["batch"]))
                self.assertLessEqual(memory(row["model"], row["batch"]), limit)
                self.assertGreater(memory(row["model"], row["batch"] + 1), limit)
        none = json.loads(self.call("plan", "resnet20", "--batch", "max", "--memory", "1 MB", "--json").stdout)
        self.assertEqual((none["fits"], none["batch"]), (False, 1))
        self.assertIn("not even batch 1", self.call("plan", "resnet20", "--batch", "max", "--memory", "1MB").stdout)
        self.assertIn("the largest batch within 64.0 MiB", self.call("plan", "mlp", "--batch", "max", "--memory", "64MiB").stdout)
        for arguments, part in [(["--batch", "8,max"], "max stands alone"), (["--batch", "8", "--memory", "1GiB"], "--batch max"),
                                (["--batch", "max", "--memory", "24"], "such as 24GiB"),
                                (["--batch", "max", "--memory", "0GiB"], "--memory")]:
            with self.subTest(arguments):
                self.assert_refused(self.call("plan", "mlp", *arguments), 2, part)

    def test_plan(self):
        plan = json.loads(self.call("plan", "--model", "mlp:width=64,depth=1", "--batch", "8", "--json").stdout)
        self.assertEqual(list(plan), ["model", "batch", "precision", "mode", "parameters", "forward_flops_per_sample",
                                      "train_flops_per_sample", "tokens_per_sample", "fingerprint", "optimizer",
                                      "options", "nominal_samples_per_epoch", "nominal_dataset", "memory_bytes", "devices"])
        self.assertEqual(plan["optimizer"], "adamw lr=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.01")
        self.assertEqual((plan["nominal_samples_per_epoch"], plan["nominal_dataset"]), (60000, "MNIST"))
        self.assertEqual(plan["model"], "mlp:depth=1,width=64")
        self.assertEqual(plan["parameters"], 784 * 64 + 64 + 64 * 10 + 10)
        self.assertEqual(plan["forward_flops_per_sample"], 2 * (784 * 64 + 64 * 10))
        memory = plan["memory_bytes"]
        self.assertEqual(memory["total"], sum(value for key, value in memory.items() if key != "total"))
        self.assertEqual(plan["devices"][0]["name"], "cpu")
        self.assertTrue(plan["devices"][0]["fits"])
        forward = json.loads(self.call("plan", "--model", "mlp:width=64,depth=1", "--batch", "8", "--mode", "forward",
                                       "--json").stdout)
        self.assertEqual((plan["mode"], forward["mode"]), ("train", "forward"))
        self.assertEqual(forward["fingerprint"], plan["fingerprint"])
        self.assertEqual(forward["memory_bytes"]["gradients"] + forward["memory_bytes"]["optimizer"], 0)
        self.assertLess(forward["memory_bytes"]["total"], memory["total"])
        large = json.loads(self.call("plan", "--model", "resnet20", "--batch", 2**20, "--json").stdout)
        self.assertEqual(large["devices"][0]["fits"], large["memory_bytes"]["total"] < large["devices"][0]["memory_bytes"])

    def test_plan_by_op(self):
        plan = json.loads(self.call("plan", "lenet5", "--batch", "8", "--by-op", "--json").stdout)
        ops = {op["op"]: op for op in plan["ops"]}
        self.assertEqual([op["bytes"] for op in plan["ops"]], sorted((op["bytes"] for op in plan["ops"]), reverse=True))
        self.assertEqual(sum(op["flops"] for op in plan["ops"]), 8 * plan["train_flops_per_sample"])
        # Weight, gradient and two moments are read, all but the gradient written; learning rate and step.
        self.assertEqual(ops["adamw"], {"op": "adamw", "nodes": 1, "launches": 1, "flops": 0, "bytes": 7 * 4 * 61706 + 8})
        self.assertEqual((ops["reshape"]["launches"], ops["reshape"]["bytes"]), (0, 0))
        forward = json.loads(self.call("plan", "lenet5", "--by-op", "--mode", "forward", "--json").stdout)
        self.assertNotIn("adamw", [op["op"] for op in forward["ops"]])
        lines = self.call("plan", "lenet5", "--batch", "8", "--by-op").stdout.splitlines()
        self.assertIn("launches", lines[-len(ops) - 3])
        self.assertTrue(lines[-1].startswith("all others"), lines)
        both = self.call("plan", "--model", "mlp,lenet5", "--by-op").stdout
        self.assertEqual([line.split()[1] for line in both.splitlines() if line.startswith("model")], ["mlp,", "lenet5,"])
        self.assertEqual(both.count("all others"), 2)

    def test_plan_in_parts_and_with_checkpoints(self):
        call = ["plan", "gpt2:layers=4,units=96,heads=3,sequence=64,vocabulary=300", "--batch", "8", "--by-op", "--json"]
        whole = json.loads(self.call(*call).stdout)
        parts = json.loads(self.call(*call, "--accumulate", "4").stdout)
        both = json.loads(self.call(*call, "--accumulate", "4", "--checkpoint", "blocks").stdout)
        for plan in (parts, both):
            self.assertEqual(plan["fingerprint"], whole["fingerprint"])
            self.assertEqual(plan["train_flops_per_sample"], whole["train_flops_per_sample"])
            self.assertLess(plan["memory_bytes"]["activations"], whole["memory_bytes"]["activations"])
        self.assertEqual((parts["accumulate"], both["checkpoint"]), (4, "blocks"))
        self.assertEqual(both["activations_bytes_without_checkpoint"], parts["memory_bytes"]["activations"])
        flops = [sum(op["flops"] for op in plan["ops"]) for plan in (whole, parts, both)]
        self.assertEqual(flops[0], flops[1])
        self.assertLess(flops[1], flops[2])  # what is recomputed
        self.assertEqual([op["nodes"] for op in parts["ops"] if op["op"] in ("adamw", "cross_entropy")], [1, 4])
        text = self.call("plan", "bert-tiny", "--batch", "8", "--accumulate", "2", "--checkpoint", "blocks").stdout
        self.assertIn("batch 8 in 2 parts", text)
        self.assertRegex(" ".join(text.split()), r"checkpoint blocks: further activations .* instead of .* less")
        largest = json.loads(self.call("plan", "lenet5", "--batch", "max", "--memory", "64MiB", "--accumulate", "8", "--json").stdout)
        self.assertEqual(largest["batch"] % 8, 0)

    def test_plan_without_a_part(self):
        complete, parts = json.loads(self.call("plan", "lenet5", "--by-op", "--without", "none,fusion", "--json").stdout)
        self.assertNotIn("without", complete)
        self.assertEqual(parts["without"], "fusion")
        self.assertEqual(complete["fingerprint"], parts["fingerprint"])
        with_parts = {op["op"] for op in parts["ops"]}
        self.assertTrue({"matmul", "bias_add", "relu"} <= with_parts and "linear" not in with_parts, with_parts)
        self.assertIn("linear", {op["op"] for op in complete["ops"]})
        for counted in ("launches", "bytes"):
            self.assertLess(*(sum(op[counted] for op in plan["ops"]) for plan in (complete, parts)))
        self.assertIn("without       fusion", self.call("plan", "lenet5", "--without", "fusion").stdout.splitlines())
        titles, *rows = self.call("plan", "lenet5", "--without", "none,fusion").stdout.splitlines()
        self.assertIn("  without  ", titles)
        self.assertEqual([row.split()[-2] for row in rows], ["none", "fusion"])  # before what fits
        workspace = [json.loads(self.call("plan", "resnet20", "--json", *more).stdout)["memory_bytes"]["workspace"]
                     for more in ((), ("--without", "winograd"))]
        self.assertGreater(*workspace)
        self.assert_refused(self.call("plan", "lenet5", "--without", "winograd"), 2, "winograd", "lenet5")
        for part in ("prefetch", "graph-capture", "library-attention"):
            self.assert_refused(self.call("plan", "lenet5", "--without", "fusion+" + part), 2, "--without " + part, "run")


if __name__ == "__main__":
    unittest.main()
