"""epochbench import: documents of published results, and files that are refused in one line."""
import json
import os
import pathlib
import unittest

import jsonschema

from support import SCHEMAS, CliTest, closed, reject_constant

VALIDATOR = jsonschema.Draft7Validator(closed(json.loads(SCHEMAS.with_name("published.schema.json").read_text())))
PUBLISHED = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).parent / "published"
ENTRY = {"version": "v1.0", "author": "A Lab", "framework": "Tool 1.2", "model": "ResNet 8", "hardware": "60 GB / 16 CPU (A Cloud)",
         "costPerHour": 0.5, "timestamp": "2017-10-11", "misc": {}}
EPOCHS = "epoch\thours\ttop1Accuracy\n1\t0.5\t90\n2\t1.0\t94.5\n"


def published(text):
    document = json.loads(text, parse_constant=reject_constant)
    VALIDATOR.validate(document)
    return document


class Entries(CliTest):
    def entry(self, epochs=EPOCHS, **changes):
        (self.folder / "a.json").write_text(json.dumps({**ENTRY, **changes}))
        (self.folder / "a.tsv").write_text(epochs)
        return "a.json"


class Import(Entries):
    def test_the_table_beside_an_entry_is_read(self):
        call = self.call("import", "dawnbench", self.entry())
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        document = published(call.stdout)
        self.assertEqual(document["evidence"], "published")
        self.assertEqual(document["entries"][0]["files"], ["a.json", "a.tsv"])
        self.assertEqual(document["entries"][0]["seconds_per_epoch"], 1800)
        self.assertIsNone(document["origin"]["commit"])

    def test_out_has_the_origin_of_the_call(self):
        call = self.call("import", "dawnbench", self.entry(), "--repository", "a/b", "--commit", "c0ffee", "--license", "MIT",
                         "--retrieved", "2026-01-19", "--out", self.out)
        self.assertEqual((call.returncode, call.stdout, call.stderr), (0, "", ""))
        document = published(self.out.read_text())
        self.assertEqual(document["origin"], {"repository": "a/b", "commit": "c0ffee", "license": "MIT", "retrieved": "2026-01-19"})
        self.assertEqual(document["entries"][0]["link"], "https://github.com/a/b/blob/c0ffee/a.json")

    def test_the_published_set_is_valid(self):
        documents = [path for path in sorted(PUBLISHED.glob("*.json")) if path.name != "sources.json"]
        self.assertGreater(len(documents), 1)
        for path in documents:
            with self.subTest(path.name):
                published(path.read_text())

    def test_no_command_takes_it_for_a_measurement(self):
        self.call("import", "dawnbench", self.entry(), "--out", self.out)
        for command in (["speedup"], ["claims"], ["answers"], ["export", "--format", "csv"], ["cost"], ["report", "-o", "page.html"]):
            with self.subTest(command[0]):
                arguments = ["--purchase", "100"] if command[0] == "cost" else []
                call = self.call(command[0], self.out, *command[1:], *arguments)
                self.assert_refused(call, 2, "results that others published")

    def test_list_shows_the_class_and_the_citations(self):
        call = self.succeed("list", "published")
        self.assertIn("published by others, not measured here", call.stdout)
        self.assertIn("Result not verified by MLCommons Association", call.stdout)
        rows = json.loads(self.call("list", "published", "--json").stdout)["published"]
        self.assertEqual({row["evidence"] for row in rows}, {"published"})
        for row in rows:
            if row["source"] == "mlperf":
                self.assertIn(row["citation"], call.stdout)
        only = self.call("list", "published", "--match", "1p100-dawn_pytorch").stdout
        self.assertNotIn("MLPerf", only)
        self.assertIn("P100", only)


class Refusals(Entries):
    def refuse(self, *arguments, parts):
        self.assert_refused(self.call("import", *arguments), 2, *parts)

    def test_what_is_missing(self):
        self.refuse(parts=["import: SOURCE is missing, dawnbench or mlperf"])
        self.refuse("dawnbench", parts=["import: FILE... is missing, entries"])

    def test_files(self):
        self.refuse("dawnbench", "none.json", parts=["none.json"])
        self.refuse("dawnbench", self.folder, parts=[str(self.folder)])
        self.refuse("dawnbench", self.entry(version="v7"), parts=["a.json.version: 'v7' is not known"])
        (self.folder / "other.json").write_text(json.dumps({"schema_version": 1}))
        self.refuse("dawnbench", "other.json", parts=["no entry of DAWNBench", "seems to be a result of epochbench"])
        (self.folder / "other.json").write_text(json.dumps({"a": 1, "b": 2, "c": 3, "d": 4}))
        self.refuse("dawnbench", "other.json", parts=["has the keys a, b, c, …"])
        self.refuse("mlperf", self.entry(), parts=["a.json: neither a system's description", "seems to be an entry of DAWNBench"])
        self.refuse("dawnbench", self.entry(epochs=EPOCHS[:-5]), parts=["a.tsv:3", "cut off"])
        self.refuse("dawnbench", self.entry(epochs="\x1b[2J\n"), parts=["a.tsv:1: no column epoch"])
        (self.folder / "b.json").write_text(json.dumps(ENTRY))
        self.refuse("dawnbench", "b.json", parts=["b.json", "b.tsv"])
        (self.folder / "b.json").write_bytes(b"{\"version\": \"\xff\"}")
        self.refuse("dawnbench", "b.json", parts=["b.json"])
        (self.folder / "b.json").write_text("[" * 100_000)
        self.refuse("dawnbench", "b.json", parts=["b.json"])
        (self.folder / "log.txt").write_text("no log\n")
        self.refuse("mlperf", "log.txt", parts=["log.txt: no submission_benchmark"])
        (self.folder / "log.txt").write_text(":::MLLOG {\"key\": \"run_start\", \"time_ms\"\n")
        self.refuse("mlperf", "log.txt", parts=["log.txt:1"])
        (self.folder / "log.txt").write_text(":::MLPv0.5.0 resnet 1541636037.7 (f.py:1) run_start\n")
        self.refuse("mlperf", "log.txt", parts=["v0.5 or v0.6"])

    def test_calls(self):
        entry = self.entry()
        self.refuse("dawnbenhc", entry, parts=["'dawnbenhc'", "dawnbench, mlperf"])
        self.refuse("dawnbench", entry, "--retrieved", "today", parts=["--retrieved: 'today' is not a day"])
        self.refuse("dawnbench", entry, "--result-id", "3.0-1", parts=["--result-id"])
        self.refuse("dawnbench", entry, "--out", entry, parts=["a.json"])
        self.refuse("mlperf", parts=["file"])


if __name__ == "__main__":
    unittest.main()
