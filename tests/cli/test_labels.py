"""Numbers that others published, or that are predicted, stand nowhere without the label of their class."""
import functools
import json
import math
import re
import subprocess
import unittest

from support import BINARY, SCHEMAS, CliTest, reject_constant

HOUR = SCHEMAS.parent / "zen4-2cores-hour.json"
CLASSES = ("published", "predicted")


def floats(value):
    """Every number of a document that is long enough to be recognized."""
    if isinstance(value, float) and math.isfinite(value) and len(f"{value:.9g}".replace(".", "").strip("0")) >= 6:
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from floats(part)


def keyed(numbers):
    return {f"{number:.9g}" for number in numbers}


def unlabeled(value, numbers, labeled=False):
    """The numbers that stand in an object without a class, and in none that is within one with a class or a key of its name."""
    if isinstance(value, dict):
        labeled = labeled or value.get("evidence") in CLASSES
        for key, part in value.items():
            yield from unlabeled(part, numbers, labeled or any(name in key for name in CLASSES))
    elif isinstance(value, list):
        for part in value:
            yield from unlabeled(part, numbers, labeled)
    elif isinstance(value, float) and not labeled and f"{value:.9g}" in numbers:
        yield value


class Labels(CliTest):
    def json_of(self, *arguments, code=0):
        call = self.call(*arguments)
        self.assertEqual(call.returncode, code, call.stderr)
        return json.loads(call.stdout, parse_constant=reject_constant)

    @staticmethod
    @functools.cache
    def all_numbers():
        predicted, published = (json.loads(subprocess.run([BINARY, *call.split(), "--json"], capture_output=True, check=True).stdout)
                                for call in ("plan resnet50 --on t4,c7i.24xlarge --batch 16", "list published"))
        return keyed(floats(published)) | keyed(floats(predicted))

    def numbers(self):
        return Labels.all_numbers()

    def test_in_json_of_every_command(self):
        numbers = self.numbers()
        self.assertGreater(len(numbers), 100)
        commands = [["list", "published"], ["plan", "resnet50", "--on", "t4,c7i.24xlarge", "--batch", "16"], ["claims"],
                    ["claims", HOUR], ["speedup", HOUR], ["speedup", HOUR, "--with", "published"], ["answers", HOUR],
                    ["list", "claims"], ["list", "prices"], ["cost", HOUR, "--purchase", "2000", "--lifetime", "3", "--power",
                     "300", "--electricity", "0.3", "--cloud", "1.5"], ["plan", "resnet50"]]
        shown = 0
        for command in commands:
            with self.subTest(" ".join(map(str, command))):
                document = self.json_of(*command, "--json")
                self.assertEqual(list(unlabeled(document, numbers)), [])
                shown += len(keyed(floats(document)) & numbers)
        self.assertGreater(shown, 100, "the labeled ones are there")
        stripped = json.loads(json.dumps(self.json_of("speedup", HOUR, "--with", "published", "--json"))
                              .replace("published", "other"))
        self.assertTrue(list(unlabeled(stripped, numbers)), "this test can fail")

    def test_in_no_export(self):
        numbers = self.numbers()
        known = self.call("export", HOUR, "--format", "none").stderr.split("choose from ")[1].split(";")[0]
        names = re.findall(r"[a-z][a-z0-9-]+", known)
        self.assertGreater(len(names), 3, known)
        for name in names:
            with self.subTest(name):
                out = self.folder / f"as-{name}"
                self.assertEqual(self.call("export", HOUR, "--format", name, "-o", out).returncode, 0)
                files = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
                text = "\n".join(path.read_text() for path in files)
                found = {number for number in re.findall(r"\d+\.\d+(?:e[-+]?\d+)?", text) if f"{float(number):.9g}" in numbers}
                self.assertEqual(found, set())
                self.assertNotRegex(text, "DAWNBench|MLPerf Training v")

    def test_on_the_page_about_the_articles(self):
        self.succeed("report", HOUR, "--articles", "-o", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S).group(1))
        rounded = {f"{float(number):.6g}" for number in self.numbers()}  # as the page has its numbers
        self.assertEqual([number for number in unlabeled(data["articles"], rounded)], [])
        self.assertEqual(len(data["articles"]["articles"]), 5)
        self.assertIn("published", json.dumps(data["articles"]))

    def test_in_the_text_of_claims(self):
        text = self.call("claims", "--id", "cnn-transformer-4-8x").stdout
        self.assertRegex(text, r"(?m)^cnn-transformer-4-8x: undecided \(published undecided, predicted undecided\)")
        self.assertRegex(text, r"published-cnn\s+undecided \(published\): ")
        self.assertIn("DAWNBench v1.0", text)
        scaling = self.call("claims", "--id", "multi-gpu-scaling").stdout.replace("\n      ", " ")
        self.assertIn("entry 3.0-2071", scaling)
        self.assertIn("Result not verified by MLCommons Association", scaling)

    def test_beside_published_entries(self):
        text = self.call("speedup", HOUR, "--with", "published").stdout
        for part in ("measured here", "published by others", "framework: epochbench, there", "input: synthetic, there ImageNet",
                     "batch: "):
            self.assertIn(part, text.replace("\n      ", " "))
        self.assertNotIn("MLPerf", text)
        self.assertRegex(text, r" 1/[0-9]{2,}x ", "a small ratio is shown by its inverse")
        small = self.folder / "small.json"
        small.write_text(HOUR.read_text().replace('"model": "resnet50"', '"model": "resnet18"'))
        self.assert_refused(self.call("speedup", small, "--with", "published"), 2, "resnet50 at 224x224")
        self.assert_refused(self.call("speedup", HOUR, "--with", "predicted"), 2, "--with", "published")
        self.assert_refused(self.call("speedup", HOUR, "--with", "published", "--best"), 2, "--best")


if __name__ == "__main__":
    unittest.main()
