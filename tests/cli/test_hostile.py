"""Result files that are damaged, of another kind or made to hurt: exit code 2, and one line with the file, the place and what
to do. The files are those that the readers are fuzzed with."""
import json
import pathlib
import resource
import unittest

from support import QUICK, CliTest

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "result"
MEASURED = pathlib.Path(__file__).resolve().parents[2] / "results" / "zen4-2cores-quick.json"

# Every command that reads results, RESULT being the file.
COMMANDS = {
    "speedup": ["RESULT"],
    "claims": ["RESULT"],
    "answers": ["RESULT"],
    "cost": ["RESULT", "--purchase", "900", "--lifetime", "5", "--electricity", "0.30", "--cloud", "0.34"],
    "compare": [MEASURED, "RESULT"],
    "export": ["RESULT", "--format", "csv"],
    "report": ["RESULT", "--out", "page.html"],
    "run": [*QUICK, "--resume", "RESULT"],
}

# File of the corpus -> what the line says: the place, and the remedy.
REFUSED = {
    "a-list.json": ["must be an object"],
    "beyond-double.json": ["line 1, column ", "number overflow"],
    "beyond-int64.json": ["runs[0].repetition: too large"],
    "cut-off.json": ["line 1, column ", "ends too early, so copy it again"],
    "empty.json": ["line 1, column 1", "ends too early, so copy it again"],
    "infinity.json": ["line 1, column ", "null, never NaN"],
    "key-twice-escaped.json": ["runs[0] has 'repetition' twice; keep one"],
    "key-twice.json": ["runs[0] has 'repetition' twice; keep one"],
    "many-members.json": ["more than 256 members", "name another"],
    "nan.json": ["line 1, column ", "null, never NaN"],
    "nested-deep-open.json": ["[0][0]", "nested deeper than 64 levels", "name another"],
    "nested-deep.json": ["context[0]", "nested deeper than 64 levels", "name another"],
    "newer-version.json": ["schema version 99 is newer", "update epochbench"],
    "not-utf8.json": ["line 1, column ", "save it as UTF-8"],
    "nul-bytes.json": ["line 1, column 1", "a zero byte", "copy it again"],
    "step-of-no-time.json": ["runs[0].timing.step_seconds[0]: must be above 0", "results/schema.json"],
    "utf16.json": ["line 1, column 1", "save it as UTF-8"],
    "version-zero.json": ["schema_version: must be at least 1"],
    "wrong-types.json": ["context: must be an object, not array", "results/schema.json"],
}


class Hostile(CliTest):
    def arguments(self, command, path):
        return [command, *(path if argument == "RESULT" else argument for argument in COMMANDS[command])]

    def test_each_is_refused_by_every_command(self):
        for name, parts in REFUSED.items():
            path = self.folder / name
            content = (CORPUS / name).read_bytes()
            path.write_bytes(content)
            for command in COMMANDS:
                with self.subTest(command, file=name):
                    self.assert_refused(self.call(*self.arguments(command, path)), 2, name, *parts)
                    self.assertEqual(path.read_bytes(), content)

    def test_folders_are_no_way_around(self):
        results = self.folder / "results"
        results.mkdir()
        for name in ("key-twice.json", "cut-off.json", "newer-version.json"):
            (results / "a.json").write_bytes((CORPUS / name).read_bytes())
            for command in ("speedup", "claims"):
                with self.subTest(command, file=name):
                    self.assert_refused(self.call(command, results), 2, "a.json", *REFUSED[name])

    def test_what_is_not_refused_is_a_result(self):
        for path in sorted(CORPUS.iterdir()):
            if path.name in REFUSED:
                continue
            with self.subTest(path.name):
                call = self.call("answers", path, "--json")
                others = [line for line in call.stderr.splitlines() if " contradicts itself: " not in line]  # few are consistent
                self.assertEqual((call.returncode, others), (0, []))
                json.loads(call.stdout)

    def test_a_gigabyte_is_refused_within_half_of_it(self):
        size, limit = 1 << 30, 1 << 29
        large = self.folder / "large.json"
        for content in (b"", b'{"schema_version": 1, "runs": ['):
            with open(large, "wb") as file:
                file.write(content)
                file.truncate(size)  # a hole, which takes no room on the disk
            for command in COMMANDS:
                with self.subTest(command):
                    bounded = lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
                    call = self.call(*self.arguments(command, large), preexec_fn=bounded)
                    self.assert_refused(call, 2, "large.json", "larger than 256 MiB", "name another file, or divide")

    def test_texts_of_a_file_do_nothing_to_a_terminal_or_a_log(self):
        attack = "\n::error::owned\n\x1b[2J\x9b31m\u202e\r"
        document = json.loads(MEASURED.read_text())
        document["context"]["cpu"]["model"] += attack
        document["context"]["host_name"] = attack
        for run in document["runs"]:
            run["name"] += attack
            run["message"] = attack
            run["workload"]["dataset"] += attack
            run["device"]["name"] += attack
        path = self.write("attack\x1b[2J.json", document)
        calls = [self.arguments(command, path) for command in COMMANDS if command != "run"]
        calls += [["export", path, "--format", form] for form in ("markdown", "openmetrics", "mllog", "google-benchmark", "bmf")]
        calls += [["compare", path, path], ["claims", path, "--json"], ["speedup", self.folder], ["answers", self.folder]]
        for call in calls:
            with self.subTest(call[0], arguments=call[1:]):
                done = self.call(*call)
                for text in (done.stdout, done.stderr):
                    self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")
                    self.assertNotRegex(text, r"(?m)^::error::")
        page = (self.folder / "page.html").read_text()
        self.assertNotIn("\x1b", page)
        self.assertNotIn("\x9b", page)

    def test_an_older_result_is_read(self):
        self.assertEqual(self.call("answers", MEASURED).returncode, 0)


if __name__ == "__main__":
    unittest.main()
