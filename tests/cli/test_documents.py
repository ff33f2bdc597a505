"""The commands of README.md and docs/tutorial.md, typed in order on a CPU with AVX2 or NEON and no more, without a GPU: none is
refused.

The program is epochbench on such a CPU (tests/support/lesser_cpu.cpp). A call of `run` that names no file gets --dry-run, which
ends with the same exit code and measures nothing; --steps is 2, and everything else runs as it stands there. A command that needs
a GPU, another machine or a network says so in its comment or in the heading above it, and is left out.
"""
import os
import pathlib
import re
import shlex
import subprocess
import unittest

from support import BINARY, TIMEOUT_SECONDS, CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELSEWHERE = re.compile(r"\b(needs|with) (a GPU|another machine|a network)\b", re.IGNORECASE)
HERE = {"--device": {"cpu", "reference"}, "--precision": {"fp32"}}  # what this CPU has
FIRST_RATIO = re.compile(r"^  \S+: (?:best kernels are ([\d.]+x) portable ones \(95 % interval [\d.]+ to [\d.]+\)"
                         r"|no ratio of best kernels to portable ones: )", re.MULTILINE)


def commands(path):
    """(command, comment, heading) of each line to type in a fenced block."""
    heading, language = "", None
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            language = line[3:] if language is None else None
        elif language is None:
            heading = line if line.startswith("#") else heading
        elif language == "sh" or line.startswith("$ "):
            command, _, comment = line.removeprefix("$ ").partition("   #")
            if command.strip() and not command.startswith("#"):
                yield command.strip(), comment, heading


class Documents(CliTest):
    def type_in_order(self, document):
        """What each command prints, by the command."""
        (self.folder / "results").symlink_to(ROOT / "results")
        printed = {}
        for command, comment, heading in commands(ROOT / document):
            with self.subTest(command):
                if ELSEWHERE.search(comment) or ELSEWHERE.search(heading) or command.startswith("alias "):
                    continue
                program, *arguments = shlex.split(command)
                self.assertEqual(program, "epochbench", "needs what a machine may lack, and does not say so")
                if arguments[0] == "run" and not {"--out", "-o"}.intersection(arguments):
                    arguments.append("--dry-run")
                if "--steps" in arguments:
                    arguments[arguments.index("--steps") + 1] = "2"
                no_browser = {**os.environ, "PATH": ""} if "--open" in arguments else None
                done = subprocess.run([BINARY, *arguments], cwd=self.folder, capture_output=True, text=True,
                                      timeout=TIMEOUT_SECONDS, env=no_browser)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_names_what_is_here(done.stdout + done.stderr)
                printed[command] = done.stdout
        return printed

    def assert_names_what_is_here(self, text):
        for option, values in re.findall(r"(--device|--precision) ([\w:,]+)", text):
            self.assertEqual(set(values.split(",")) - HERE[option], set(), text)

    def assert_answers_first(self, printed):
        """The first command prints a ratio below its table, or why there is none, and the second one repeats it."""
        answered, repeated = list(printed.values())[:2]
        ratio = FIRST_RATIO.search(answered)
        self.assertIsNotNone(ratio, answered)
        self.assertIn(ratio[1] or "unusable: ", repeated)

    def test_readme(self):
        printed = self.type_in_order("README.md")
        self.assertGreater(len(printed), 8)
        self.assert_answers_first(printed)

    def test_tutorial(self):
        printed = self.type_in_order("docs/tutorial.md")
        self.assertGreater(len(printed), 5)
        self.assert_answers_first(printed)

    def test_the_program_has_no_more_than_that_cpu(self):
        self.assertRegex(self.call("list", "devices").stdout, r"(?m)^cpu: .* threads, (avx2|neon|portable), ")
        lenet5 = ["run", "lenet5", "--dry-run", "--precision"]
        self.assertEqual(self.call(*lenet5, "bf16").returncode, 0)
        self.assert_refused(self.call(*lenet5, "fp16"), 2, "use bf16")
        self.assert_refused(self.call(*lenet5, "fp8"), 2, "choose from fp32")
        peaks = self.call("info", "--json").stdout
        self.assertRegex(peaks, r'"bf16": null')


if __name__ == "__main__":
    unittest.main()
