"""Completion and the man page, which the program prints: valid for each shell that is here, and installed where shells and man look."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, **options)


def printed(*arguments):
    done = run(os.environ["EPOCHBENCH_BINARY"], *arguments)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def completed(*call):
    """What bash offers for the last part of this call."""
    script = (printed("completion", "bash") + "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _epochbench; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = run("bash", "--norc", "-c", script, "bash", "epochbench", *call, cwd=ROOT / "cmake")
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


class Completion(unittest.TestCase):
    def file_with(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".1")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return file.name

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
        self.assertEqual(completed("completion", "z"), ["zsh"])
        self.assertEqual(completed("report", "Epochbench.c"), [])
        self.assertEqual(completed("report", "EpochbenchIns"), ["EpochbenchInstall.cmake"])

    def test_shells_take_it(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                with self.subTest(shell):
                    done = run(shell, "-n", self.file_with(printed("completion", shell)))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_zsh_explains_options_and_offers_values(self):
        script = printed("completion", "zsh")
        for line in ("'*--mode=[train or forward (default train)]:MODE:(train forward)'", "'*--raw[csv\\: one row per step]'",
                     "'*:result:_files'", "idx\\:DIR cifar10\\:DIR"):
            self.assertIn(line, script)

    def test_fish_completes_a_model(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        done = run("fish", "--no-config", "-c", printed("completion", "fish") + "complete -C 'epochbench run --model resnet10'")
        self.assertEqual(done.stdout.split()[:1], ["resnet101"], done.stderr)

    def test_another_shell_is_refused(self):
        done = run(os.environ["EPOCHBENCH_BINARY"], "completion", "ksh")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "epochbench: completion: 'ksh' is unknown; choose from bash, zsh, fish; did you mean zsh?\n")

    def test_the_man_page_has_no_warning(self):
        page = self.file_with(printed("man"))
        for command in (["man", "--warnings", "-l"], ["mandoc", "-T", "lint", "-W", "warning"],
                        ["groff", "-man", "-ww", "-Tutf8", "-k"]):
            if shutil.which(command[0]):
                with self.subTest(command[0]):
                    done = run(*command, page, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
                    warnings = done.stdout if command[0] == "mandoc" else done.stderr
                    self.assertEqual((done.returncode, warnings), (0, ""))

    def test_is_installed_where_it_is_looked_for(self):
        with tempfile.TemporaryDirectory() as prefix:
            build = pathlib.Path(os.environ["EPOCHBENCH_BINARY"]).parent
            done = run("cmake", "--install", build, "--prefix", prefix)
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in ("bin/epochbench", "share/bash-completion/completions/epochbench", "share/zsh/site-functions/_epochbench",
                         "share/fish/vendor_completions.d/epochbench.fish", "share/man/man1/epochbench.1"):
                self.assertGreater((pathlib.Path(prefix) / path).stat().st_size, 0, path)
            # Modules of libraries are loaded from the prefix only: the installed program has no path of the build.
            version = run(pathlib.Path(prefix) / "bin/epochbench", "--version")
            self.assertEqual((version.returncode, version.stdout), (0, printed("--version")))


if __name__ == "__main__":
    unittest.main()
