"""Driving the epochbench binary: what the command-line tests share.

EPOCHBENCH_BINARY and EPOCHBENCH_SCHEMA name the program and results/schema.json."""
import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import jsonschema

BINARY = os.environ["EPOCHBENCH_BINARY"]
SCHEMAS = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"])
SCHEMA = json.loads(SCHEMAS.read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
TURNS_VALIDATOR = jsonschema.Draft7Validator(json.loads(SCHEMAS.with_name("turns.schema.json").read_text()))


def closed(schema):
    """The schema, but its objects may hold only what it names: what this program writes is all documented."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    conditions = ("if", "then", "else")  # they name some of the members
    copy = {key: each if key in conditions else closed(each) for key, each in schema.items()}
    if isinstance(copy.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


RESULT_BEGINS = re.compile(r'\{\s*"schema_version"')
CLOSED_VALIDATOR = jsonschema.Draft7Validator(closed(SCHEMA))

# A case that ends within a second, and one that runs until it is stopped.
QUICK = ["--model", "lenet5", "--batch", "16", "--steps", "12"]
ENDLESS = ["--model", "resnet20", "--batch", "16", "--min-time", "600"]
TIMEOUT_SECONDS = 240


def reject_constant(text):
    raise ValueError(f"{text} is not JSON")


def shortened(value):
    """Of a long list of fractions the first ones, the least and the greatest: a schema asks the same of each. It takes long over
    thousands of them."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > 8 and all(type(each) is float for each in value):
        return [*value[:4], min(value), max(value)]
    return [shortened(each) for each in value]


def load(text):
    """Strict JSON (no NaN, no Infinity) that is valid against the schema, without a key that it does not name."""
    document = json.loads(text, parse_constant=reject_constant)
    CLOSED_VALIDATOR.validate(shortened(document))
    return document


def load_turns(text):
    """Strict JSON that is valid against the schema of `compare --interleave -o`."""
    document = json.loads(text, parse_constant=reject_constant)
    TURNS_VALIDATOR.validate(shortened(document))
    return document


PEAKS_LAST_SECONDS = 3600  # longer than all tests take


@functools.cache
def known_peaks():
    """Arguments with which a call with an --out of its own takes over this machine's peaks; measuring them takes over a second.
    All five processes of a result are there, so that no other follows the first case. Test programs that run within an hour share
    them where EPOCHBENCH_PEAKS names a folder."""
    folder = os.environ.get("EPOCHBENCH_PEAKS")
    if not folder:
        folder = tempfile.mkdtemp(prefix="epochbench-peaks-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pathlib.Path(BINARY).name}-{len(os.sched_getaffinity(0))}.json"
    oldest = max(os.stat(BINARY).st_mtime, time.time() - PEAKS_LAST_SECONDS)
    if not path.exists() or path.stat().st_mtime < oldest:
        measured = folder / f"{os.getpid()}.json"
        subprocess.run([BINARY, "run", "--model", "mlp:width=16", "--batch", "1", "--steps", "1", "--meters", "off", "-q",
                        "--overwrite", "-o", measured], check=True, timeout=TIMEOUT_SECONDS)
        document = json.loads(measured.read_text())
        document["runs"] = []
        document["context"]["cpu"]["peak_processes"] *= 5
        measured.write_text(json.dumps(document))
        measured.replace(path)
    return ["--resume", path]


def measured_claims(folder):
    """A catalog of claims without what plans and predictions answer: the same for every result, and a second to work out."""
    catalog = json.loads((SCHEMAS.parents[1] / "bench" / "claims.json").read_text())
    for claim in catalog["claims"]:
        claim["quantities"] = [each for each in claim["quantities"] if each["kind"] not in ("plan", "expected", "predicted")]
    catalog["claims"] = [claim for claim in catalog["claims"] if any(each.get("counts", True) for each in claim["quantities"])]
    kept = {claim["id"] for claim in catalog["claims"]}
    catalog["conflicts"] = [conflict for conflict in catalog["conflicts"] if kept.issuperset(conflict["claims"])]
    path = folder / "catalog.json"
    path.write_text(json.dumps(catalog))
    return path


def children(pid, only_cases=True):
    """Process ids of the cases that the program runs now, or of all its children."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid and (b"case" in arguments or not only_cases):
            found.append(int(entry.name))
    return found


def wait_until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {seconds} s")


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="epochbench-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "result.json"

    def write(self, name, content):
        """A JSON file in the folder."""
        path = self.folder / name
        path.write_text(json.dumps(content))
        return path

    def call(self, *arguments, **options):
        before = self.json_files()
        done = subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS, **options)
        for path, state in self.json_files().items():
            if before.get(path) != state and RESULT_BEGINS.match(path.read_text()):
                load(path.read_text())  # every result that is written
        return done

    def succeed(self, *arguments, **options):
        """A call that ends with exit code 0."""
        done = self.call(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def json_files(self):
        """The JSON files of the test's folder, and what changes when one is written."""
        files = {path: path.stat() for path in self.folder.rglob("*.json") if path.is_file()}
        return {path: (state.st_ino, state.st_size, state.st_mtime_ns) for path, state in files.items()}

    def start(self, *arguments, **options):
        """A running program, killed at the end of the test if need be."""
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True, **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def case_of(self, process):
        """The id of the process's case, once it runs."""
        return wait_until(lambda: children(process.pid), "a case")[0]

    def result(self, path=None):
        return load((path or self.out).read_text())

    def assert_refused(self, call, code, *parts):
        """The exit code, and one short line that names all of `parts`."""
        self.assertEqual(call.returncode, code, call.stderr)
        lines = call.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, call.stderr)
        self.assertLess(len(call.stderr), 800)
        self.assertTrue(lines[0].startswith("epochbench: "), lines[0])
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertEqual(call.stdout, "")
