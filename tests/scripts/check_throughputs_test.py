"""scripts/check_throughputs: rows agree with their sources, where EPOCHBENCH_SOURCES names a copy of them; and what does not agree, or
is missing, is said."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_throughputs"
DOCUMENT = json.loads((ROOT / "bench/throughputs.json").read_text(encoding="utf-8"))
SOURCES = os.environ.get("EPOCHBENCH_SOURCES")


def script():
    loader = importlib.machinery.SourceFileLoader("check_throughputs", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Rows(unittest.TestCase):
    def test_have_a_source_each_and_are_not_repeated(self):
        seen = set()
        for row in DOCUMENT["rows"]:
            key = (row["device"], row["model"], row["batch"], row["precision"], row["setting"])
            self.assertNotIn(key, seen)
            seen.add(key)
            self.assertIn(row["setting"], DOCUMENT["settings"])
            self.assertTrue(row["from"] and set(row["from"]) <= set(DOCUMENT["files"]), key)
        for file in DOCUMENT["files"].values():
            self.assertRegex(file["commit"], "^[0-9a-f]{40}$")
            self.assertRegex(file["sha256"], "^[0-9a-f]{64}$")

    def test_have_none_of_mlperf(self):
        self.assertNotIn("mlcommons", json.dumps(DOCUMENT["files"]).lower())

    def test_what_a_source_does_not_say_is_found(self):
        problem_of = script().problem_of
        texts = {"table": "| 1 | 256 | 938 img/s |", "steps": "resnet50,vgg\n10,1\n20,1\n"}
        row = {"batch": 256, "samples_per_second": 938, "from": {"table": "| 256 | 938 img/s"}}
        self.assertEqual(problem_of(row, texts), "")
        self.assertIn("939", problem_of(row | {"samples_per_second": 939}, texts))
        self.assertIn("batch 128", problem_of(row | {"batch": 128}, texts))
        self.assertIn("has no", problem_of(row | {"from": {"table": "| 2 |"}}, texts))
        self.assertIn("not under files", problem_of(row | {"from": {"other": ""}}, texts))
        mean = {"batch": 12, "milliseconds": 15, "from": {"steps": "mean of resnet50"}}
        self.assertEqual(problem_of(mean, texts), "")
        self.assertIn("16", problem_of(mean | {"milliseconds": 16}, texts))

    def test_a_source_that_is_missing_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("copy the file there", done.stderr)


@unittest.skipUnless(SOURCES and all((pathlib.Path(SOURCES) / file["repository"] / file["path"]).is_file()
                                     for file in DOCUMENT["files"].values()),
                     "EPOCHBENCH_SOURCES names no copy of the sources in bench/throughputs.json")
class Set(unittest.TestCase):
    def test_agrees_with_its_sources(self):
        done = subprocess.run([sys.executable, SCRIPT, SOURCES], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


if __name__ == "__main__":
    unittest.main()
