"""epochbench speedup over result files that were made up."""
import copy
import json
import pathlib
import re
import unittest

from consistent import consistent
from support import CliTest, known_peaks, reject_constant

CONTEXT = {
    "date": "2026-01-02T03:04:05Z", "host_name": "box", "epochbench_version": "0.1.0", "git_sha": "abc", "git_dirty": False,
    "build_type": "Release", "compiler": "gcc 12", "command_line": None, "load_average": [],
    "cpu": {"model": "Some CPU", "sockets": 1, "cores": 8, "threads_available": 16, "isa": ["fma", "avx2"],
            "cache_bytes": {"l1d": None, "l2": None, "l3": None}, "memory_bytes": None, "frequency_scaling": "unknown",
            "peak_flops_per_second": {"fp32": 1e12, "bf16": None}, "memory_bandwidth_bytes_per_second": None},
    "gpus": [],
}
GROUPS = ("timing", "throughput", "efficiency", "memory", "interference", "gpu", "quality", "energy", "cost", "profile")


def run(backend, rate, repetition, precision="fp32", batch=16, **groups):
    """A run with its throughput and the groups that are given; all other groups are null, as poor as a file may be."""
    gpu = backend == "cuda"
    return {
        "name": f"resnet50/{backend}/{precision}/b{batch}", "repetition": repetition, "status": "ok", "message": None,
        "workload": {"model": "resnet50", "mode": "train", "parameters": 25557032, "fingerprint": f"{batch:032x}",
                     "batch": batch, "dataset": "synthetic", "samples_per_epoch": 1281167,
                     "optimizer": f"sgd lr={0.1 * batch / 256} momentum=0.9", "seed": 0,
                     "train_flops_per_sample": 24299077632.0, "tokens_per_sample": None},
        "device": {"backend": backend, "name": "Some GPU" if gpu else "Some CPU", "threads": None if gpu else 8,
                   "isa": None if gpu else "avx2"},
        "precision": precision,
        **{group: None for group in GROUPS},
        "throughput": {"samples_per_second": rate, "tokens_per_second": None},
        **groups,
    }


def document(runs, **context):
    return consistent({"schema_version": 1, "context": {**CONTEXT, **context}, "runs": runs})


def both(repetitions=5, **groups):
    return document([run(backend, rate, repetition, **groups) for repetition in range(repetitions)
                     for backend, rate in (("cpu", 10.0), ("cuda", 80.0))])


def cost(per_epoch, **further):
    return {"usd_per_hour": 1.0, "usd_per_epoch": per_epoch, "usd_total": per_epoch, "price_source": "user", **further}


class Speedup(CliTest):
    def answer(self, *arguments):
        call = self.succeed("speedup", *arguments, "--json")
        return json.loads(call.stdout, parse_constant=reject_constant)

    def test_pair(self):
        path = self.write("both.json", both())
        answer = self.answer(path)
        self.assertEqual(answer["unpaired"], [])
        pair, = answer["pairs"]
        self.assertEqual(pair["baseline"], "resnet50/cpu/fp32/b16")
        self.assertEqual(pair["contender"], "resnet50/cuda/fp32/b16")
        self.assertEqual(pair["ratio"], 8)
        self.assertEqual(pair["ratio_ci95"], [8, 8])
        self.assertIsNone(pair["cost_ratio"])
        self.assertIn("not known", pair["cost_ratio_reason"])
        self.assertEqual([warning.split(":")[0] for warning in pair["warnings"]], ["parity_unverified"])
        text = self.call("speedup", path).stdout
        for part in ("8.00x", "8.00 to 8.00", "[1]", "parity_unverified"):
            self.assertIn(part, text)

    def test_few_repetitions_have_no_interval(self):
        path = self.write("both.json", both(repetitions=1))
        pair, = self.answer(path)["pairs"]
        self.assertEqual(pair["ratio"], 8)
        self.assertIsNone(pair["ratio_ci95"])
        self.assertIn("5 repetitions", pair["ratio_reason"])
        text = self.call("speedup", path).stdout
        self.assertIn("no interval", text)
        self.assertNotIn("The interval is over repetitions", " ".join(text.split()))
        self.assertIn("The interval is over repetitions", " ".join(self.call("speedup", self.write("5.json", both())).stdout.split()))

    def test_says_in_how_many_rows_a_ratio_is_missing(self):
        record = pathlib.Path(__file__).parents[2] / "results/h200-record.json"
        text, pairs = self.call("speedup", record, "--verbose").stdout, self.answer(record)["pairs"]
        missing = sum(pair["cost_ratio"] is None for pair in pairs)
        self.assertTrue(0 < missing < len(pairs))
        self.assertIn(f"no cost ratio in {missing} of {len(pairs)} rows: cost per epoch is not known of both sides", text)
        self.assertIn("no energy ratio: energy per epoch is not known of both sides", text)

    def test_files_and_folders(self):
        results = self.folder / "results"
        results.mkdir()
        runs = both()["runs"]
        self.write("results/cpu.json", document([r for r in runs if r["device"]["backend"] == "cpu"]))
        self.write("results/gpu.json", document([r for r in runs if r["device"]["backend"] == "cuda"], host_name="other"))
        (results / "schema.json").write_text('{"title": "no result"}')
        call = self.succeed("speedup", results, "--json")
        self.assertIn("schema.json", call.stderr)
        pair, = json.loads(call.stdout)["pairs"]
        self.assertTrue(pair["baseline_file"].endswith("cpu.json"))
        self.assertIn("host_differs: measured on different machines: box and other", pair["warnings"])
        twice = self.answer(results / "cpu.json", results / "gpu.json", results)
        self.assertEqual(twice["pairs"], [pair])

    def test_best_batch(self):
        runs = [run(backend, rate, 0, batch=batch)
                for backend, batch, rate in (("cpu", 16, 10.0), ("cpu", 64, 9.0), ("cuda", 64, 80.0), ("cuda", 256, 100.0))]
        path = self.write("sweep.json", document(runs))
        pair, = self.answer(path, "--best")["pairs"]
        self.assertEqual((pair["baseline"], pair["contender"]), ("resnet50/cpu/fp32/b16", "resnet50/cuda/fp32/b256"))
        self.assertEqual(pair["ratio"], 10)
        self.assertEqual(pair["batch"], "best")
        self.assertIn("own best batch", self.call("speedup", path, "--best").stdout)
        same = self.answer(path)
        self.assertEqual([(p["contender"], p["baseline"], p["each_at_best"]) for p in same["pairs"]],
                         [("resnet50/cuda/fp32/b256", "resnet50/cpu/fp32/b16", True),
                          ("resnet50/cuda/fp32/b64", "resnet50/cpu/fp32/b64", False)])
        self.assertEqual(same["unpaired"], [])

    def test_repeats_every_ratio_that_run_prints(self):
        call = self.succeed("run", "--model", "mlp:width=64,depth=1", "--batch", "16", "--steps", "10", "--warmup", "1",
                            "--threads", "1,2", "--kernels", "best,portable", "--without", "none,fusion", "--repetitions", "2",
                            "--meters", "off", *known_peaks(), "--out", self.out)
        lines = re.search(r"^ratios of samples/s:\n((?:  .*\n)+)", call.stdout, re.MULTILINE)[1].splitlines()
        answer = self.answer(self.out)
        self.assertEqual(answer["unpaired"], [])
        kinds = [pair["compares"] for pair in answer["pairs"]]
        self.assertEqual(kinds, ["parts"] * 6 + ["threads"] * 4)
        is_restricted = [any(warning.startswith("held_back: ") for warning in pair["warnings"]) for pair in answer["pairs"]]
        self.assertEqual(is_restricted, [False] * 6 + [False, True, True, True])
        printed = [pair for pair, restricted in zip(answer["pairs"], is_restricted) if not restricted]
        for line, pair in zip(lines, printed, strict=True):
            with self.subTest(line):
                ratio = re.search(r" (?:is|are) ([\d.]+)x ", line)
                self.assertEqual(ratio is None, pair["unusable"] is not None)
                if ratio:
                    self.assertAlmostEqual(float(ratio[1]) / pair["ratio"], 1, delta=0.006)
        table = self.call("speedup", self.out).stdout
        self.assertEqual(len(re.findall(r"^mlp:depth=1,width=64/cpu/fp32/b16", table, re.MULTILINE)), len(kinds))
        answers = json.loads(self.call("answers", self.out, "--json").stdout)["sections"]
        self.assertEqual([(each["question"], len(each["answers"])) for each in answers[6:]],
                         [("What is each part worth, and the kernels for this CPU?", 6), ("How much faster with more threads?", 4)])

    def test_the_record_of_a_gpu_has_no_ratio_over_its_own_slow_run(self):
        record = pathlib.Path(__file__).resolve().parents[2] / "results/h200-record.json"
        answers = " ".join(self.call("answers", record).stdout.split())
        self.assertRegex(answers, r"each at its best\? resnet50, cuda fp16 b256 over cpu bf16 b256: 77\.3x")
        self.assertIn("far_from_bound", answers)
        for pair in ("cuda fp32 over cpu fp32", "cuda, bf16 over fp32", "cuda, fp16 over fp32"):
            self.assertRegex(answers, rf"{pair}: no ratio: resnet50/cuda/fp32/b256: its steps take 1\d times their lower bound")
        claims = json.loads(self.call("claims", record, "--json").stdout)["claims"]
        (parts,) = [claim["parts"] for claim in claims if claim["id"] == "mixed-precision-2-3x"]
        (part,) = [part for part in parts if part["id"] == "bf16-over-fp32/resnet50"]
        self.assertEqual((part["verdict"], part["measured"]), ("not_testable", None))
        self.assertIn("times their lower bound", part["reason"])

    def test_jittered_copies_of_the_record_are_no_evidence(self):
        """Five repetitions of its fp32 run, which is as many times too slow in each, decide nothing on mixed precision."""
        record_path = pathlib.Path(__file__).resolve().parents[2] / "results/h200-record.json"
        record = json.loads(record_path.read_text())
        copies = []
        for repetition in range(5):
            for each in copy.deepcopy(record["runs"]):
                slower = 1 + 0.002 * ((repetition * 7 + len(copies)) % 5 - 2)
                each["repetition"] = repetition
                if each["status"] == "ok":
                    for key in ("step_seconds_median", "steps_total_seconds", "epoch_seconds", "wall_seconds"):
                        each["timing"][key] *= slower
                    for key in ("step_seconds", "step_seconds_ci95"):
                        each["timing"][key] = [seconds * slower for seconds in each["timing"][key]]
                    each["throughput"]["samples_per_second"] /= slower
                copies.append(each)
        path = self.write("jittered.json", {**record, "runs": copies})
        claims = json.loads(self.call("claims", path, "--json").stdout)["claims"]
        (parts,) = [claim["parts"] for claim in claims if claim["id"] == "mixed-precision-2-3x"]
        measured = [part for part in parts if not part["id"].startswith("published")]
        self.assertTrue(measured)
        self.assertEqual({part["verdict"] for part in measured}, {"not_testable"}, measured)
        self.assertIn("contradicts itself", self.call("answers", path).stderr)
        self.assertRegex(" ".join(self.call("answers", record_path).stdout.split()), "cuda, bf16 over fp32: no ratio")

    def test_nothing_to_pair(self):
        alone = self.write("cpu.json", document([run("cpu", 10.0, 0)]))
        self.assert_refused(self.call("speedup", alone), 2, "no two runs can be paired", "resnet50/cpu/fp32/b16", "another device")
        self.assert_refused(self.call("speedup", self.write("none.json", document([]))), 2, "no run")
        other_mode = both()
        for each in other_mode["runs"]:
            each["workload"]["mode"] = "forward" if each["device"]["backend"] == "cuda" else "train"
        self.assert_refused(self.call("speedup", self.write("modes.json", other_mode)), 2, "mode (forward)")

    def test_seeds_are_repetitions(self):
        seeded = both()
        for each in seeded["runs"]:
            each["workload"]["seed"] = each["repetition"]
            each["name"] += f"/seed={each['repetition']}" if each["repetition"] else ""
            each["repetition"] = 0
        pair, = self.answer(self.write("seeds.json", seeded))["pairs"]
        self.assertEqual(pair["baseline"], "resnet50/cpu/fp32/b16")
        self.assertEqual(pair["baseline_repetitions"], 5)
        self.assertIsNotNone(pair["ratio_ci95"])

    def test_wrong_arguments(self):
        self.assert_refused(self.call("speedup"), 2, "no RESULT", "--out")
        self.assert_refused(self.call("speedup", "nowhere.json"), 2, "nowhere.json", "cannot be read")
        empty = self.folder / "empty"
        empty.mkdir()
        self.assert_refused(self.call("speedup", empty), 2, "empty", "no result")
        for text, part in (("{", "not valid JSON"), ("{}", "schema_version"), ('{"schema_version": 99}', "newer"),
                           ("[" * 1000, "nested")):
            bad = self.folder / "bad.json"
            bad.write_text(text)
            self.assert_refused(self.call("speedup", bad), 2, "bad.json", part)

    def test_numbers_that_carry_no_ratio(self):
        def changed(change):
            content = both(cost=cost(0.5))
            for each in content["runs"]:
                change(each, each["device"]["backend"] == "cuda")
            return self.write("changed.json", content)

        pair, = self.answer(changed(lambda each, gpu: None))["pairs"]
        self.assertEqual(pair["cost_ratio"], 1)
        pair, = self.answer(changed(lambda each, gpu: each.update(cost=cost(0.0))))["pairs"]
        self.assertIsNone(pair["cost_ratio"])
        self.assertIn("is 0 or less", pair["cost_ratio_reason"])
        pair, = self.answer(changed(lambda each, gpu: gpu and each.update(cost=cost(0.5, currency="EUR"))))["pairs"]
        self.assertIsNone(pair["cost_ratio"])
        self.assertIn("EUR", pair["cost_ratio_reason"])
        self.assertTrue(any(warning.startswith("currency_differs: ") for warning in pair["warnings"]))
        pair, = self.answer(changed(lambda each, gpu: each.update(cost=cost(1e308 if gpu else 1e-308))))["pairs"]
        self.assertIsNone(pair["cost_ratio"])
        for rate in (0.0, 1e308, 5e-324):
            path = changed(lambda each, gpu: gpu and each["throughput"].update(samples_per_second=rate))
            call = self.call("speedup", path, "--json")
            self.assertIn(call.returncode, (0, 2), call.stderr)
            if call.returncode == 0:
                json.loads(call.stdout, parse_constant=reject_constant)
            for word in ("nan", "inf"):
                self.assertNotIn(word, self.call("speedup", path).stdout.lower().replace("inference", ""))


class Headline(CliTest):
    """The pair that leads in every output: each device at its best, whatever its precision and batch."""

    def setUp(self):
        super().setUp()
        rates = (("cpu", "fp32", 16, 10.0), ("cpu", "bf16", 16, 20.0), ("cuda", "fp32", 16, 100.0), ("cuda", "tf32", 16, 200.0),
                 ("cuda", "bf16", 16, 300.0), ("cuda", "fp16", 64, 500.0))
        self.path = self.folder / "all.json"
        self.path.write_text(json.dumps(document([run(backend, rate, repetition, precision, batch)
                                                  for repetition in range(5) for backend, precision, batch, rate in rates])))

    def said(self, *arguments):
        call = self.succeed(*arguments)
        return call.stdout

    def test_speedup(self):
        self.assertRegex(self.said("speedup", self.path).splitlines()[1], r"^resnet50/cpu/bf16/b16 +resnet50/cuda/fp16/b64 +25\.0x")
        first = json.loads(self.said("speedup", self.path, "--json"))["pairs"][0]
        self.assertEqual((first["baseline"], first["contender"], first["ratio"], first["each_at_best"]),
                         ("resnet50/cpu/bf16/b16", "resnet50/cuda/fp16/b64", 25, True))

    def test_answers(self):
        first, line = self.said("answers", self.path).split("1. ")[1].splitlines()[:2]
        self.assertEqual(first, "How much faster is the GPU, each at its best?")
        self.assertIn("resnet50, cuda fp16 b64 over cpu bf16 b16: 25.0x", line)

    def test_export(self):
        ratios = [line for line in self.said("export", self.path, "--format", "markdown").splitlines() if " is 2" in line or " is 1" in line]
        self.assertIn("resnet50, each at its best: cuda fp16 b64 is 25.0x cpu bf16 b16", ratios[0])

    def test_page(self):
        page = self.folder / "page.html"
        self.said("report", self.path, "-o", page)
        data = json.loads(page.read_text().split('id="data">', 1)[1].split("</script", 1)[0])
        card, = [card for card in data["head"]["cards"] if card["id"] == "speedup"]
        self.assertEqual((card["entries"][0]["subject"], card["entries"][0]["text"], data["head"]["lead"]),
                         ("ResNet-50, GPU fp16 over CPU bf16, each at its best, batch 64 over 16", "25.0x", "speedup"))
        pair = data["speedup"]["pairs"][0]
        self.assertEqual((pair["baseline"], pair["contender"]), ("resnet50/cpu/bf16/b16", "resnet50/cuda/fp16/b64"))


if __name__ == "__main__":
    unittest.main()
