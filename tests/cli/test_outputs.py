"""Where results go: --out -, --json and --also of run and sweep, and export of several files."""
import csv
import io
import json
import os
import pathlib
import unittest

from support import QUICK, CliTest, known_peaks, load

RECORDED = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).parent


class Outputs(CliTest):
    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_stdout_has_the_result_and_stderr_the_rest(self):
        kept = self.folder / "kept"
        kept.mkdir()
        environment = {**os.environ, "TMPDIR": str(kept)}
        for arguments in ([*known_peaks(), "--out", "-"], ["--json"]):
            with self.subTest(arguments):
                call = self.succeed("run", *QUICK, *arguments, env=environment)
                result = load(call.stdout)
                self.assertEqual([run["status"] for run in result["runs"]], ["ok"])
                self.assertIn("samples/s", call.stderr)
                short = result["runs"][0]["interference"]["foreign_cpu_cores"] is None  # no count of other processes in so little time
                self.assertEqual("interference: not known of 1 run, too short" in call.stderr, short)
                self.assertNotIn("result: ", call.stderr)
                self.assertEqual(self.files(), ["kept"])
                self.assertEqual(list(kept.iterdir()), [], "nothing is left of it")
        swept = self.call("sweep", "--model", "mlp", "--over", "batch", "--values", "1,2", "--steps", "2", *known_peaks(),
                          "-o", "-", env=environment)
        self.assertEqual(len(load(swept.stdout)["runs"]), 2)
        self.assertEqual(self.files(), ["kept"])

    def test_quiet_has_the_result_alone(self):
        call = self.call("run", *QUICK, "--json", "--quiet")
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        load(call.stdout)

    def test_json_beside_a_file_is_the_same(self):
        call = self.succeed("run", *QUICK, "--json", *known_peaks(), "--out", self.out)
        self.assertEqual(load(call.stdout), self.result())

    def test_also_by_suffix(self):
        table, text = self.folder / "runs.csv", self.folder / "runs.md"
        call = self.succeed("run", *QUICK, *known_peaks(), "--out", self.out, "--also", table, "--also", text)
        self.assertEqual(table.read_text(), self.call("export", self.out, "--format", "csv").stdout)
        self.assertEqual(text.read_text(), self.call("export", self.out, "--format", "markdown").stdout)
        before = table.read_bytes()
        self.assert_refused(self.call("run", *QUICK, "--out", self.folder / "b.json", "--also", table), 2, "runs.csv", "--overwrite")
        self.assertEqual(table.read_bytes(), before)
        self.assertFalse((self.folder / "b.json").exists(), "nothing ran")
        self.succeed("run", *QUICK, *known_peaks(), "--out", self.out, "--also", table, "--overwrite")
        self.assertNotEqual(table.read_bytes(), before)

    def test_wrong_names(self):
        self.assert_refused(self.call("run", *QUICK, "--out", "runs.csv"), 2, "runs.csv", "--also")
        self.assert_refused(self.call("run", *QUICK, "--also", "runs.pdf"), 2, "--also", "runs.pdf", "FILE.csv")
        self.assert_refused(self.call("run", *QUICK, "--also", "nowhere/runs.csv"), 2, "nowhere")
        self.assertEqual(self.files(), [])


class ExportOfSeveral(CliTest):
    QUICKS = RECORDED / "zen4-2cores-quick.json", RECORDED / "zen5-2cores-quick.json"

    def test_the_suffix_names_the_format(self):
        for name, form in (("a.csv", "csv"), ("a.md", "markdown"), ("a.prom", "openmetrics")):
            call = self.succeed("export", self.QUICKS[0], "-o", name)
            self.assertEqual((self.folder / name).read_text(), self.call("export", self.QUICKS[0], "--format", form).stdout)
        self.assert_refused(self.call("export", self.QUICKS[0]), 2, "--format is missing")
        self.assert_refused(self.call("export", self.QUICKS[0], "-o", "a.txt"), 2, "--format is missing", ".csv")

    def test_rows_of_all_files_name_theirs_where_names_are_the_same(self):
        call = self.succeed("export", *self.QUICKS, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(call.stdout), strict=True))
        documents = [json.loads(path.read_text()) for path in self.QUICKS]
        self.assertEqual(len(rows), sum(len(document["runs"]) for document in documents))
        names = [{(run["name"], run["repetition"]) for run in document["runs"]} for document in documents]
        at = iter(rows)
        for path, document in zip(self.QUICKS, documents):
            for run in document["runs"]:
                row = next(at)
                twice = (run["name"], run["repetition"]) in names[0] & names[1]
                self.assertEqual(row["name"], f"{path.name}: {run['name']}" if twice else run["name"])
                self.assertEqual(row["context_git_sha"], document["context"]["git_sha"], "of its own file")
        text = self.call("export", *self.QUICKS, "--format", "markdown").stdout
        alone = [self.call("export", path, "--format", "markdown").stdout for path in self.QUICKS]
        self.assertEqual(text, "\n".join(f"### `{path.name}`\n\n{table}" for path, table in zip(self.QUICKS, alone)))

    def test_of_one_machine_in_every_format(self):
        both = [self.QUICKS[0], RECORDED / "zen4-2cores-hour.json"]
        for form in ("openmetrics", "bmf", "github-benchmark"):
            call = self.succeed("export", *both, "--format", form)
            self.assertIn("zen4" if "zen4" in call.stdout else "lenet5", call.stdout)
        other = json.loads(self.QUICKS[0].read_text())
        other["context"]["cpu"]["model"] = "another"
        for run in other["runs"]:
            run["timing"]["wall_seconds"] += 1  # a measurement of its own
        self.out.write_text(json.dumps(other))
        self.assert_refused(self.call("export", self.QUICKS[0], self.out, "--format", "bmf"), 2, "bmf", "several", "csv")


if __name__ == "__main__":
    unittest.main()
