"""Places of results and inputs that are not plain files of this user: nothing measured is lost, and nothing lands where nobody looks."""
import io
import json
import os
import resource
import subprocess
import unittest
import zipfile

from support import BINARY, SCHEMAS, TIMEOUT_SECONDS, CliTest, known_peaks, load
from surroundings import SHORT, can_mount, mounted

STORED = SCHEMAS.with_name("zen4-2cores-quick.json")
ENTRY = {"version": "v1.0", "author": "A", "authorEmail": "a@b.c", "framework": "TensorFlow", "codeURL": "https://x.org", "model": "ResNet50",
         "hardware": "c5.18xlarge", "costPerHour": 3.06, "timestamp": "2018-04-20", "misc": {}}


class Places(CliTest):
    def run_short(self, *arguments, before=(), **options):
        return subprocess.run([*before, BINARY, "run", *SHORT, *known_peaks(), *arguments], capture_output=True, text=True,
                              errors="replace", cwd=self.folder, timeout=TIMEOUT_SECONDS, **options)

    def test_a_replaced_file_keeps_its_mode_and_owner(self):
        self.out.write_text("old")
        self.out.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(self.out, 12345, 54321)
        before = self.out.stat()
        done = self.run_short("--overwrite", "-o", self.out, umask=0o077)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.out.stat()
        self.assertNotEqual(after.st_size, before.st_size)
        self.assertEqual((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid))

    def test_an_empty_file_is_free(self):
        self.out.touch()  # as mktemp makes it
        self.assertEqual(self.run_short("-o", self.out).returncode, 0)
        self.assertEqual(self.result()["runs"][0]["status"], "ok")

    @unittest.skipUnless(can_mount(), "needs mount namespaces")
    def test_a_mounted_file_is_written(self):
        outside, inside = self.folder / "outside.json", self.folder / "inside.json"
        for commands in (f'mount --bind "{outside}" "{inside}"',
                         f'mount --bind "{outside}" "{inside}" && mount -o remount,bind,ro "{self.folder}" "{self.folder}"'):
            outside.write_text("{}" * 100_000)  # longer than a result
            inside.touch()
            commands = f'mount --bind "{self.folder}" "{self.folder}" && cd "{self.folder}" && ' + commands
            with self.subTest(commands):
                done = self.run_short("--overwrite", "-o", inside, before=mounted(commands))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(load(outside.read_text())["runs"][0]["status"], "ok")

    @unittest.skipUnless(can_mount(), "needs mount namespaces")
    def test_a_folder_that_takes_nothing_is_refused_before_anything_is_measured(self):
        done = self.run_short("-o", "/mnt/r.json", before=mounted("mount -t tmpfs -o ro none /mnt"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("Read-only file system; choose another place with --out", done.stderr)
        self.assertNotIn("expected to take", done.stderr)

    def test_a_dash_is_stdout_or_refused(self):
        entry = self.folder / "entry.json"
        entry.write_text(json.dumps({**ENTRY, "latency": 10.5, "top5Accuracy": 93.1}))
        for call in (["export", STORED, "--format", "csv"], ["export", STORED, "--format", "mlflow"], ["report", STORED],
                     ["import", "dawnbench", entry], ["run", *SHORT, *known_peaks()]):
            with self.subTest(call[0]):
                done = self.call(*call, "-o", "-")
                self.assertFalse((self.folder / "-").exists())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(len(done.stdout), 200)
        self.assert_refused(self.call("report", STORED, "-o", "-", "--open"), 2, "--open", "-o FILE.html")
        refused = self.call("compare", "--interleave", BINARY, BINARY, "--suite", "gate", "-o", "-")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("give a name such as ./-", refused.stderr)

    def test_a_result_for_stdout_needs_no_folder(self):
        for folder in (str(self.folder / "missing"), "/proc"):
            with self.subTest(folder):
                done = self.succeed("run", *SHORT, "--json", env={**os.environ, "TMPDIR": folder})
                self.assertEqual(load(done.stdout)["runs"][0]["status"], "ok")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_inputs_come_through_pipes(self):
        suite = self.folder / "suite.json"
        suite.write_text('{"cases": [{"model": "mlp", "batch": 16, "steps": 2}]}')
        for line in ('"$0" export <(cat "$1") --format csv', 'cat "$1" | "$0" answers /dev/stdin', '"$0" answers <(cat "$1") --json',
                     '"$0" answers /dev/stdin < "$1"', '"$0" run --suite <(cat "$2") --dry-run',
                     'mkfifo f; (sleep 0.2; cat "$1" > f) & "$0" answers f', 'cat "$1" | "$0" answers -',
                     '"$0" export "$1" --format csv -o /dev/stdout', '"$0" export "$1" --format csv -o >(cat) | cat'):
            with self.subTest(line):
                done = subprocess.run(["bash", "-c", line, BINARY, STORED, suite], capture_output=True, text=True, timeout=60, cwd=self.folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout)
        empty = subprocess.run(["bash", "-c", ': | "$0" answers /dev/stdin', BINARY], capture_output=True, text=True, timeout=60)
        self.assertEqual(empty.returncode, 2)
        self.assertIn("ends too early", empty.stderr)

    def test_results_that_are_not_one_json_document_say_what_they_are(self):
        result = STORED.read_text().rstrip()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("r.json", result)
        for name, content, part in (("two", result + "\n" + result, "a second document begins there"),
                                    ("lines", '{"a": 1}\n{"a": 2}\n', "a second document begins there"),
                                    ("comma", result[:-1] + ",}", "remove the comma before it"),
                                    ("list", '{"runs": [1, ]}', "remove the comma before it"),
                                    ("comment", "// mine\n" + result, "remove the comment"),
                                    ("hash", result[:-1] + "# mine\n}", "remove the comment"),
                                    ("zip", packed.getvalue(), "a zip archive, not JSON"),
                                    ("page", "<!DOCTYPE html><html>404</html>", "an HTML page, not JSON"),
                                    ("pointer", "version https://git-lfs.github.com/spec/v1\n", "git lfs pull fetches the file")):
            with self.subTest(name):
                path = self.folder / f"{name}.json"
                path.write_bytes(content.encode() if isinstance(content, str) else content)
                self.assert_refused(self.call("answers", path), 2, part)

    def test_names_that_are_not_utf8(self):
        name = os.fsencode(self.folder) + b"/r\xe9sultat.json"
        done = self.run_short("-o", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(name, "rb") as file:
            self.assertEqual(load(file.read().decode())["runs"][0]["status"], "ok")

    def train(self, place, **options):
        return subprocess.run([*options.pop("before", ()), BINARY, "run", "--model", "mlp", "--batch", "64", "--epochs", "1", "--data", "digits",
                               "--meters", "off", *known_peaks(), "-o", self.out, "--save", place],
                              capture_output=True, text=True, cwd=self.folder, timeout=TIMEOUT_SECONDS, **options)

    def test_a_result_that_no_file_takes_is_printed(self):
        for limit in (512, 4096):  # ulimit -f: of any file's size
            with self.subTest(limit):
                done = self.run_short("-o", self.out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("File too large (raise the limit: ulimit -f unlimited)", done.stderr)
                self.assertIn("the whole result follows on stdout", done.stderr)
                text = done.stdout[done.stdout.index('{\n'):]
                run, = load(json.dumps(json.JSONDecoder().raw_decode(text)[0]))["runs"]
                self.assertEqual((run["status"], len(run["timing"]["step_seconds"])), ("ok", 5))
                self.assertFalse(self.out.exists() and self.out.stat().st_size)

    @unittest.skipUnless(can_mount(), "needs mount namespaces")
    def test_weights_that_do_not_fit_are_refused_before_the_training(self):
        done = self.train("/mnt/w.safetensors", before=mounted("mount -t tmpfs -o size=1m none /mnt"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--save /mnt/w.safetensors: the weights take", done.stderr)
        self.assertFalse(self.out.exists())

    def test_what_was_measured_is_kept_where_the_weights_cannot_be_written(self):
        limit = 300_000  # of the size of a file: more than the result, less than the weights
        done = self.train(self.folder / "w.safetensors", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(done.returncode, 1, done.stderr)
        run = self.result()["runs"][0]
        self.assertEqual((run["status"], len(run["timing"]["step_seconds"]) > 1, len(run["quality"]["loss"]) > 1), ("ok", True, True))
        for text in (run["message"], done.stderr):
            self.assertRegex(text, "not written: file .*w.safetensors' cannot be written .File too large")


if __name__ == "__main__":
    unittest.main()
