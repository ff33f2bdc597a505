"""Completion and the man page: current, valid for each shell that is here, and installed where shells and man look."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts" / "completion"


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, **options)


def completed(*call):
    """What bash offers for the last part of this call."""
    script = (f"source {FOLDER / 'epochbench.bash'}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _epochbench; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = run("bash", "--norc", "-c", script, "bash", "epochbench", *call, cwd=ROOT / "cmake")
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


class Completion(unittest.TestCase):
    def test_is_what_the_program_says(self):
        done = run(ROOT / "scripts/make_completion", "--check", os.environ["EPOCHBENCH_BINARY"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_bash_completes_commands_options_models_and_suites(self):
        self.assertEqual(completed("sw"), ["sweep"])
        self.assertEqual(completed("help", "repo"), ["report"])
        self.assertEqual(completed("run", "--prec"), ["--precision"])
        self.assertIn("--price-scaling", completed("run", "resnet20", "--pri"))
        self.assertEqual(completed("run", "--model", "resnet1"), ["resnet18", "resnet101", "resnet152"])
        self.assertEqual(completed("run", "--model", "mlp,bert-l"), ["mlp,bert-large"])
        self.assertEqual(completed("run", "lene"), ["lenet5"])
        self.assertEqual(completed("run", "--suite", "sta"), ["standard"])
        self.assertEqual(completed("export", "--format", "m"), ["markdown", "mllog", "mlflow"])
        self.assertEqual(completed("sweep", "--over", ""), ["batch", "width", "samples", "threads", "ranks"])
        self.assertEqual(completed("sweep", "--scaling", ""), ["strong", "weak"])
        self.assertEqual(completed("report", "Epochbench.c"), [])
        self.assertEqual(completed("report", "EpochbenchIns"), ["EpochbenchInstall.cmake"])

    def test_shells_take_it(self):
        for shell, name in (("bash", "epochbench.bash"), ("zsh", "_epochbench"), ("fish", "epochbench.fish")):
            if shutil.which(shell):
                with self.subTest(shell):
                    done = run(shell, "-n", FOLDER / name)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_fish_completes_a_model(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        done = run("fish", "--no-config", "-c",
                   f"source {FOLDER / 'epochbench.fish'}; complete -C 'epochbench run --model resnet10'")
        self.assertEqual(done.stdout.split()[:1], ["resnet101"], done.stderr)

    def test_the_man_page_has_no_warning(self):
        for command in (["man", "--warnings", "-l"], ["mandoc", "-T", "lint", "-W", "warning"],
                        ["groff", "-man", "-ww", "-Tutf8", "-k"]):
            if shutil.which(command[0]):
                with self.subTest(command[0]):
                    done = run(*command, FOLDER / "epochbench.1", env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
                    warnings = done.stdout if command[0] == "mandoc" else done.stderr
                    self.assertEqual((done.returncode, warnings), (0, ""))

    def test_is_installed_where_it_is_looked_for(self):
        with tempfile.TemporaryDirectory() as prefix:
            build = pathlib.Path(os.environ["EPOCHBENCH_BINARY"]).parent
            done = run("cmake", "--install", build, "--prefix", prefix)
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in ("bin/epochbench", "share/bash-completion/completions/epochbench", "share/zsh/site-functions/_epochbench",
                         "share/fish/vendor_completions.d/epochbench.fish", "share/man/man1/epochbench.1"):
                self.assertTrue((pathlib.Path(prefix) / path).is_file(), path)


if __name__ == "__main__":
    unittest.main()
