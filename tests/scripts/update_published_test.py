"""scripts/update_published: the published set is made of its sources, where EPOCHBENCH_SOURCES names a copy of them; and sources
that are missing or changed are refused."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "update_published"
BINARY = os.environ["EPOCHBENCH_BINARY"]
SOURCES = os.environ.get("EPOCHBENCH_SOURCES")


def update(*arguments):
    return subprocess.run([sys.executable, SCRIPT, "--check", "--binary", BINARY, *map(str, arguments)], capture_output=True, text=True)


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        document = json.loads((ROOT / "results/published/sources.json").read_text())["documents"][0]
        self.first = pathlib.Path(self.folder.name) / document["repository"] / document["files"][0]["path"]

    def test_a_source_that_is_missing(self):
        done = update(self.folder.name)
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(self.first), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_source_that_is_another(self):
        self.first.parent.mkdir(parents=True)
        self.first.write_text("{}")
        done = update(self.folder.name)
        self.assertEqual(done.returncode, 2)
        self.assertIn("SHA-256", done.stderr)


@unittest.skipUnless(SOURCES, "EPOCHBENCH_SOURCES names no copy of the sources in results/published/sources.json")
class Set(unittest.TestCase):
    def test_is_made_of_its_sources_byte_for_byte(self):
        done = update(SOURCES)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


if __name__ == "__main__":
    unittest.main()
