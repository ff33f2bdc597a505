"""epochbench export: the formats by their descriptions, and by the parsers of the tools that read them, where installed.

The tools are the Python packages prometheus-client, mlperf-logging and mlflow, cmark-gfm, and Google Benchmark's compare.py,
which needs scipy; EPOCHBENCH_COMPARE_PY names it where it lies elsewhere than Debian has it.
"""
import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from html import unescape

import jsonschema

from support import CliTest, reject_constant
from test_speedup import cost, document, run

MEASURED = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).with_name("zen4-2cores-quick.json")
FORMATS = ["csv", "markdown", "mllog", "github-benchmark", "google-benchmark", "bmf", "openmetrics", "mlflow"]
HOSTILE = 'mlp/cpu/fp32/b16/data=idx:a,"b"|c\\d\n:::MLLOG é<script>'
FAILED = "resnet50/cuda/fp32/b16"
SHOWN = HOSTILE.replace("\n", "\\n")  # what a file says stays on its line
EXPERIMENT = "516150308020514030"

# Both tools publish theirs: github-action-benchmark in its README, Bencher at bencher.dev/bmf.json.
GITHUB_BENCHMARK = {
    "type": "array",
    "items": {"type": "object", "required": ["name", "unit", "value"], "additionalProperties": False,
              "properties": {"name": {"type": "string"}, "unit": {"type": "string"}, "value": {"type": "number"},
                             "range": {"type": "string"}, "extra": {"type": "string"}}}}
BMF = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object", "required": ["value"], "additionalProperties": False,
            "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")}}}}


def timing(step_seconds, steps=8, **further):
    return {"warmup_steps": 1, "step_seconds": [step_seconds] * steps, "step_seconds_median": step_seconds,
            "step_seconds_ci95": [step_seconds * 0.99, step_seconds * 1.01], "steps_total_seconds": step_seconds * steps,
            "epoch_seconds": step_seconds * 2, "epoch_kind": "measured", "compile_seconds": 0.5,
            "wall_seconds": 1 + step_seconds * steps, "stopped_by": "epochs", **further}


def quality(steps=9):
    return {"loss": [2.0 - 0.1 * step for step in range(steps)], "final_loss": 1.2, "eval_metric": "accuracy",
            "eval_value": 0.75, "eval_history": [0.25, 0.5, 0.625, 0.75], "parity_with": None,
            "parity_max_relative_difference": None}


def measured_run(repetition, name=None, factor=1.0):
    content = run("cpu", 100.0 / factor, repetition, timing=timing(0.125 * factor), quality=quality(), cost=cost(0.5))
    content["workload"].update(samples_per_epoch=32, dataset="idx:digits")
    content["workload"]["optimizer"] = "sgd lr=0.00625 momentum=0.9 weight_decay=0.0001"
    return {**content, "name": name or content["name"]}


def failed_run(status="failed"):
    return {**run("cuda", 1.0, 0), "throughput": None, "status": status, "message": 'no, "really" not'}


def leaves(value, path=""):
    """Every scalar of a JSON value, under its path."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{path}_{key}" if path else key)
    elif not isinstance(value, list):
        yield path, value


class ExportTest(CliTest):
    def write(self, runs, name="result.json", **context):
        return super().write(name, document(runs, **context))

    def made(self, factor=1.0, name="result.json"):
        """Five repetitions, one run whose name is all that a format must escape, and one that failed."""
        return self.write([measured_run(repetition, factor=factor) for repetition in range(5)] +
                          [measured_run(0, HOSTILE, factor), failed_run()], name)

    def export(self, path, name, *arguments):
        return self.succeed("export", path, "--format", name, *arguments)

    def text(self, path, name, *arguments):
        return self.export(path, name, *arguments).stdout

    def json(self, path, name):
        return json.loads(self.text(path, name), parse_constant=reject_constant)


class Export(ExportTest):
    def test_csv_holds_every_scalar_of_the_file(self):
        for path in (self.made(), MEASURED):
            source = json.loads(path.read_text())
            rows = list(csv.DictReader(io.StringIO(self.text(path, "csv")), strict=True))
            self.assertEqual(len(rows), len(source["runs"]))
            for row, content in zip(rows, source["runs"]):
                self.assertNotIn(None, row)
                for column, value in (*leaves(content), *leaves(source["context"], "context")):
                    column = column.replace("energy_parts_", "energy_joules_per_epoch_")
                    if column not in row:  # a group that is null
                        self.assertIsNone(value, column)
                    elif isinstance(value, (int, float)) and not isinstance(value, bool):
                        self.assertEqual(float(row[column]), value, column)
                    else:
                        shown = {None: "", True: "true", False: "false"}.get(value, value)
                        self.assertEqual(row[column], shown.replace("\n", "\\n"), column)

    def test_csv_raw_has_every_step(self):
        call = self.export(self.made(), "csv", "--raw")
        self.assertIn("left out of csv: resnet50/cuda/fp32/b16: failed", call.stderr)
        rows = list(csv.DictReader(io.StringIO(call.stdout), strict=True))
        self.assertEqual(len(rows), 6 * 9)
        self.assertEqual({row["name"] for row in rows}, {"resnet50/cpu/fp32/b16", SHOWN})
        self.assertEqual([row["phase"] for row in rows[:9]], ["warm-up"] + ["timed"] * 8)
        self.assertEqual([float(row["loss"]) for row in rows[:9]], quality()["loss"])
        self.assertEqual({row["step_seconds"] and f"{float(row['step_seconds']):.3f}" for row in rows}, {"", "0.125"})

    def test_what_alerts_gets_one_number_a_series(self):
        path = self.made()
        entries = self.json(path, "github-benchmark")
        jsonschema.validate(entries, GITHUB_BENCHMARK)
        step = next(entry for entry in entries if entry["name"] == "resnet50/cpu/fp32/b16: step time, median")
        self.assertEqual((step["value"], step["unit"]), (125, "ms"))
        self.assertEqual(len({entry["name"] for entry in entries}), len(entries))
        failed = {entry["name"]: (entry["value"], entry["extra"]) for entry in entries if entry["unit"] == "runs"}
        self.assertEqual(failed, {"resnet50/cpu/fp32/b16: failed runs": (0, "of 5 repetitions"),
                                  f"{SHOWN}: failed runs": (0, "of 1 repetition"),
                                  f"{FAILED}: failed runs": (1, 'of 1 repetition\nfailed: no, "really" not')})
        benchmarks = self.json(path, "bmf")
        jsonschema.validate(benchmarks, BMF)
        self.assertEqual(set(benchmarks), {"resnet50/cpu/fp32/b16", SHOWN, FAILED})
        self.assertEqual(benchmarks[FAILED], {"failed-runs": {"value": 1}})
        self.assertEqual(set(benchmarks[SHOWN]["latency"]), {"value"}, "a run alone has no bounds")
        for key in ("value", "lower_value", "upper_value"):
            self.assertAlmostEqual(benchmarks["resnet50/cpu/fp32/b16"]["latency"][key] / 125e6, 1)

    def test_markdown_keeps_its_columns(self):
        lines = self.text(self.made(), "markdown").splitlines()
        table = [line for line in lines if line.startswith("|")]
        self.assertEqual(len(table), 4)
        self.assertEqual(len({line.count("|") for line in table}), 1, table)
        self.assertNotIn("<script>", "\n".join(table))
        self.assertTrue(any(line.startswith("- `resnet50/cuda/fp32/b16`: failed: ") for line in lines), lines)

    def test_every_format_takes_a_measured_result(self):
        for name in FORMATS:
            with self.subTest(name):
                call = self.export(MEASURED, name)
                self.assertEqual(call.stderr, "")
                self.assertIn("lenet5/cpu/fp32/b64", call.stdout)
                self.assertNotRegex(call.stdout, r"(?i)\b(nan|inf|infinity)\b")
                self.export(MEASURED, name, "-o", "written.json")
                self.assertEqual((self.folder / "written.json").read_text(), call.stdout)

    def test_runs_without_a_place_are_named_with_the_reason(self):
        for status in ("failed", "out_of_memory", "diverged", "skipped", "interrupted"):
            path = self.write([measured_run(0), failed_run(status)])
            for name in ("mllog", "github-benchmark", "google-benchmark", "bmf"):
                with self.subTest(name, status=status):
                    left_out = f"epochbench: left out of {name}: {FAILED}: {status}\n"
                    self.assertEqual(self.export(path, name).stderr, left_out if status in ("skipped", "interrupted") else "")
        skipped = self.write([measured_run(0), failed_run("skipped"), failed_run("skipped")])
        self.assertIn("and 1 more: skipped", self.export(skipped, "mlflow").stderr)
        alone = self.write([failed_run("skipped")])
        self.assert_refused(self.call("export", alone, "--format", "bmf"), 2, "no place for any", "skipped", "--format csv")
        self.assertIn("skipped", self.text(alone, "csv"))

    def test_folders(self):
        path = self.made()
        self.export(path, "mllog", "-o", "logs/")
        self.assertEqual(sorted(file.name for file in (self.folder / "logs").iterdir()), [f"result_{i}.txt" for i in range(7)])
        fewer = self.write([measured_run(0)], "fewer.json")
        self.assert_refused(self.call("export", fewer, "--format", "mllog", "-o", "logs/"), 2, "logs/result_", "remove", "--out")
        for number in range(1, 7):
            (self.folder / "logs" / f"result_{number}.txt").unlink()
        (self.folder / "logs" / "result_of_mine.txt").write_text("no log of a run")
        self.export(fewer, "mllog", "-o", "logs/")
        (self.folder / "both").mkdir()
        self.export(path, "github-benchmark", "-o", "both")
        for name in ("customSmallerIsBetter.json", "customBiggerIsBetter.json"):
            jsonschema.validate(json.loads((self.folder / "both" / name).read_text()), GITHUB_BENCHMARK)
        for _ in range(2):  # a second export changes nothing
            self.export(path, "mlflow", "-o", "mlruns")
            runs = [entry for entry in (self.folder / "mlruns" / EXPERIMENT).iterdir() if entry.is_dir()]
            self.assertEqual(len(runs), 7)
        self.export(path, "mlflow", "-o", "runs.jsonl")
        self.assertEqual((self.folder / "runs.jsonl").read_text(), self.text(path, "mlflow"))

    def test_wrong_calls(self):
        path = self.made()
        self.assert_refused(self.call("export", path), 2, "--format", "--help")
        self.assert_refused(self.call("export", "--format", "csv"), 2, "result")
        self.assert_refused(self.call("export", path, "--format", "xml"), 2, "'xml'", *FORMATS)
        self.assert_refused(self.call("export", path, "--format", "bmf", "--raw"), 2, "--raw", "csv")
        self.assert_refused(self.call("export", "nowhere.json", "--format", "csv"), 2, "nowhere.json")
        self.assert_refused(self.call("export", path, "--format", "csv", "-o", ""), 2, "--out", "empty")
        self.assert_refused(self.call("export", path, "--format", "csv", "-o", self.folder), 2, "it is a folder")
        (self.folder / "file").write_text("")
        self.assert_refused(self.call("export", path, "--format", "mlflow", "-o", "file/store"), 2, "file", "--out")
        undated = self.write([measured_run(0)], "undated.json", date="yesterday")
        self.assert_refused(self.call("export", undated, "--format", "mllog"), 2, "undated.json", "context.date", "RFC 3339")
        twins = self.write([failed_run(), failed_run()], "twins.json")
        self.assert_refused(self.call("export", twins, "--format", "openmetrics"), 2, "twins.json", "repetition 0")

    def test_help_tells_of_every_format(self):
        text = self.call("export", "--help").stdout
        for name in FORMATS:
            self.assertRegex(text, rf"\n  {name} +\w")


@unittest.skipUnless(shutil.which("cmark-gfm"), "no cmark-gfm, GitHub's Markdown parser")
class GithubMarkdown(ExportTest):
    def test_table_is_parsed_and_no_name_comes_to_life(self):
        name = "mlp/*a*_b_<script>[c](d)|`e`\\|\n# f @g"
        runs = [measured_run(0, name), measured_run(0, "<b>x</b>"), {**failed_run(), "message": "<i>`|`</i>"}]
        html = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink"],
                              input=self.text(self.write(runs), "markdown"), capture_output=True, text=True, check=True).stdout
        rows = [[cell for cell, _ in re.findall(r"<t[hd][^>]*>((.|\n)*?)</t[hd]>", row)] for row in html.split("<tr>")[1:]]
        self.assertEqual([len(row) for row in rows], [len(rows[0])] * 3)
        self.assertEqual([unescape(re.sub("</?code>", "", row[0])) for row in rows[1:]], [name.replace("\n", "\\n"), "<b>x</b>"])
        self.assertEqual(set(re.findall(r"<(\w+)", html)), {"table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li", "p"})


@unittest.skipUnless(importlib.util.find_spec("prometheus_client"), "no Python package prometheus-client")
class Prometheus(ExportTest):
    def test_openmetrics_is_parsed(self):
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
        for path in (self.made(), MEASURED):
            families = {family.name: family for family in text_string_to_metric_families(self.text(path, "openmetrics"))}
            self.assertEqual(families["epochbench_step_seconds"].unit, "seconds")
            self.assertEqual({family.type for family in families.values()}, {"gauge"})
        families = {family.name: family for family in text_string_to_metric_families(self.text(self.made(), "openmetrics"))}
        steps = {(sample.labels["run"], sample.labels["repetition"]): sample.value
                 for sample in families["epochbench_step_seconds"].samples}
        self.assertEqual(len(steps), 6)
        self.assertAlmostEqual(steps[SHOWN, "0"], 0.125)
        states = {(sample.labels["run"], sample.labels["epochbench_run_status"])
                  for sample in families["epochbench_run_status"].samples if sample.value == 1}
        self.assertEqual(states, {("resnet50/cpu/fp32/b16", "ok"), (SHOWN, "ok"), ("resnet50/cuda/fp32/b16", "failed")})

    def test_a_reader_of_the_older_format_finds_the_same(self):
        """node_exporter's textfile collector knows these types alone, and fails on a whole file with another."""
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as newer
        from prometheus_client.parser import text_string_to_metric_families as older
        for path in (self.made(), MEASURED):
            text = self.text(path, "openmetrics")
            types = set(re.findall(r"^# TYPE \S+ (\S+)$", text, re.MULTILINE))
            self.assertLessEqual(types, {"counter", "gauge", "histogram", "summary", "untyped"})
            samples = [{(sample.name, *sorted(sample.labels.items())): sample.value for family in parser(text)
                        for sample in family.samples} for parser in (newer, older)]
            self.assertGreater(len(samples[0]), 20)
            self.assertEqual(*samples)


@unittest.skipUnless(importlib.util.find_spec("mlperf_logging"), "no Python package mlperf-logging")
class MlperfLogging(ExportTest):
    OWN_KEYS = {"eval_loss", "samples_per_second"}  # what MLPerf has no key for

    def test_mllog_is_parsed_and_its_keys_are_known(self):
        from mlperf_logging.compliance_checker import mlp_parser
        from mlperf_logging.mllog import constants
        known = {value for name, value in vars(constants).items() if name.isupper()} | self.OWN_KEYS
        for path, runs in ((self.made(), 7), (MEASURED, len(json.loads(MEASURED.read_text())["runs"]))):
            file = self.folder / "log.txt"
            self.export(path, "mllog", "-o", file)
            lines, errors = mlp_parser.parse_file(str(file), ruleset="3.1.0")
            self.assertEqual(errors, [])
            self.assertEqual(len(lines), len(file.read_text().splitlines()))
            keys = [line.key for line in lines]
            self.assertEqual(keys.count("run_start"), runs)
            self.assertEqual(keys.count("run_stop"), runs)
            self.assertEqual(set(keys) - known, set())
        self.export(self.made(), "mllog", "-o", "logs/")
        lines, errors = mlp_parser.parse_file(str(self.folder / "logs" / "result_5.txt"), ruleset="3.1.0")
        self.assertEqual(errors, [])
        accuracies = [line.value["value"] for line in lines if line.key == "eval_accuracy"]
        self.assertEqual(accuracies, quality()["eval_history"])
        self.assertEqual([line.timestamp for line in lines], sorted(line.timestamp for line in lines))
        start, stop = (next(line for line in lines if line.key == key).timestamp for key in ("run_start", "run_stop"))
        self.assertEqual(stop - start, 1500, "the wall time without the compilation, in milliseconds")
        lines, errors = mlp_parser.parse_file(str(self.folder / "logs" / "result_6.txt"), ruleset="3.1.0")
        self.assertEqual((errors, lines[-1].key, lines[-1].value["metadata"]["status"]), ([], "run_stop", "aborted"))


def compare_py():
    given = os.environ.get("EPOCHBENCH_COMPARE_PY") or shutil.which("google-benchmark-compare")
    here = [given] if given else ["/usr/share/benchmark/compare.py", "/usr/share/googlebenchmark/tools/compare.py"]
    found = [path for path in here if pathlib.Path(path).is_file()]
    return found[0] if found and importlib.util.find_spec("scipy") else None


@unittest.skipUnless(compare_py(), "no compare.py of Google Benchmark, or no scipy, which it needs")
class GoogleBenchmark(ExportTest):
    def test_compare_py_reads_two_results(self):
        for name, factor in (("old", 1.0), ("new", 1.5)):
            document = json.loads(self.made(factor).read_text())
            document["runs"].append({**failed_run("out_of_memory"), "name": "resnet50/cpu/fp32/b16", "repetition": 5})
            self.export(self.write(document["runs"]), "google-benchmark", "-o", f"{name}.json")
        call = subprocess.run([sys.executable, compare_py(), "--no-color", "-d", "out.json", "benchmarks", "old.json", "new.json"],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(call.returncode, 0, call.stderr)
        by_name = {entry["name"]: entry for entry in json.loads((self.folder / "out.json").read_text())}
        entry = by_name["resnet50/cpu/fp32/b16"]
        self.assertEqual(len(entry["measurements"]), 5)
        for measurement in entry["measurements"]:
            self.assertAlmostEqual(measurement["time"], 0.5)
        self.assertEqual(entry["time_unit"], "us")
        self.assertIn(SHOWN, by_name)
        self.assertNotIn(FAILED, by_name)
        geomean, = by_name["OVERALL_GEOMEAN"]["measurements"]
        self.assertAlmostEqual(geomean["time"], 0.5, msg="failed runs have no time")


@unittest.skipUnless(importlib.util.find_spec("mlflow"), "no Python package mlflow")
class Mlflow(ExportTest):
    def client(self):
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        from mlflow.tracking import MlflowClient
        return MlflowClient(tracking_uri=f"file://{self.folder}/mlruns")

    def test_a_store_is_opened(self):
        self.export(self.made(), "mlflow", "-o", "mlruns")
        client = self.client()
        experiment = client.get_experiment_by_name("epochbench")
        self.assertEqual(experiment.experiment_id, EXPERIMENT)
        runs = {found.info.run_name: found for found in client.search_runs([EXPERIMENT])}
        self.assertEqual(len(runs), 7)
        found = runs["resnet50/cpu/fp32/b16 #3"]
        self.assertEqual(found.info.status, "FINISHED")
        self.assertEqual(found.data.params["model"], "resnet50")
        self.assertAlmostEqual(found.data.metrics["step_seconds_median"], 0.125)
        self.assertEqual(found.info.end_time - found.info.start_time, 2000)
        loss = client.get_metric_history(found.info.run_id, "loss")
        self.assertEqual([(metric.step, metric.value) for metric in loss], list(enumerate(quality()["loss"])))
        failed = runs["resnet50/cuda/fp32/b16"]
        self.assertEqual((failed.info.status, failed.info.end_time), ("FAILED", None))
        self.assertEqual(failed.data.tags["epochbench.message"], 'no, "really" not')
        self.assertIn(SHOWN, runs)

    def test_requests_are_taken(self):
        from mlflow.entities import Metric, Param, RunTag
        lines = self.text(self.made(), "mlflow").splitlines()
        self.assertEqual(len(lines), 7)
        client = self.client()
        for line in lines:
            request = json.loads(line, parse_constant=reject_constant)
            run_id = client.create_run("0").info.run_id
            client.log_batch(run_id, metrics=[Metric(**metric) for metric in request["metrics"]],
                             params=[Param(**param) for param in request["params"]],
                             tags=[RunTag(**tag) for tag in request["tags"]])
            found = client.get_run(run_id)
            self.assertEqual(len(found.data.params), len(request["params"]))
            self.assertEqual(set(found.data.metrics), {metric["key"] for metric in request["metrics"]})


def mlflow_has(path):
    mlflow = importlib.util.find_spec("mlflow")
    return bool(mlflow) and (pathlib.Path(mlflow.origin).parent / path).exists()


@unittest.skipUnless(mlflow_has("store/fs2db"), "no Python package mlflow of 3.10 or later")
class MlflowMigration(ExportTest):
    def test_a_store_migrates_into_a_database(self):
        from mlflow.tracking import MlflowClient
        self.export(self.made(), "mlflow", "-o", "mlruns")
        database = f"sqlite:///{self.folder}/mlflow.db"
        call = subprocess.run([sys.executable, "-m", "mlflow", "migrate-filestore", "--source", self.folder / "mlruns", "--target",
                               database], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        client = MlflowClient(tracking_uri=database)
        runs = {found.info.run_name: found for found in client.search_runs([EXPERIMENT])}
        self.assertEqual(len(runs), 7)
        self.assertEqual(runs["resnet50/cuda/fp32/b16"].info.status, "FAILED")
        found = runs["resnet50/cpu/fp32/b16"]
        self.assertEqual(len(client.get_metric_history(found.info.run_id, "step_seconds")), 8)
