"""The gate in continuous integration of docs/ci.md, run as it is written: the workflow's steps of a pull request, and the shell script.

Stand-ins for git, gh and scripts/run put binaries where the real ones would, so that nothing is built here. The binaries are
the real one, but for the size of the suite, the slowdown that counts and the number of pairs; or, to see each exit code arrive,
made up."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ["EPOCHBENCH_BINARY"]
PAGE = (ROOT / "docs/ci.md").read_text()
WORKFLOW, SCRIPT = "# .github/workflows/speed.yml", "#!/bin/sh\n# gate.sh"

SMALL_SUITE = {"cases": [{"model": "mlp:width=32,depth=1", "batch": 8, "threads": 1}]}
# Two turns of one binary never differ by half, whatever else the machine does.
SMALLER = r"""#!/bin/sh
set -- "$@" end
while [ "$1" != end ]; do
  case $1 in
    --suite) set -- "$@" --suite "$SMALL_SUITE" --threshold 75 --max-pairs 2; shift 2 ;;
    *) set -- "$@" "$1"; shift ;;
  esac
done
shift
exec "$REAL" "$@"
"""
MADE_UP = '#!/bin/sh\necho "$*" >> "$CALLS"\n[ "$1" != compare ] || exit "$CODE"\n'
SCRIPTS_RUN = 'echo "run $*" >> "$CALLS"\nmkdir -p build && cp "$STAND_IN" build/epochbench\n'
GIT = r"""
echo "git $*" >> "$CALLS"
case "$1 $2" in
  "worktree add") mkdir -p "$4" && cp -R scripts "$4" ;;
  "worktree remove") rm -r "$4" ;;
esac
"""
GH = r"""
echo "gh $*" >> "$CALLS"
case "$1 $2" in
  "run list") echo "$RUN_OF_MAIN" ;;
  "run download") mkdir -p "$7" && cp "$STAND_IN" "$7/epochbench" && chmod -x "$7/epochbench" ;;
esac
"""


def block(first_lines):
    """The fenced block of the page that begins so."""
    found = [text for text in re.findall(r"^```(?:sh|yaml)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
             if text.startswith(first_lines)]
    if not found:
        raise AssertionError(f"docs/ci.md has no block that begins with {first_lines.splitlines()[-1]}")
    return found[0]


def steps_of_a_pull_request(workflow):
    """(condition, script) of each step that runs something and is not for a push alone."""
    steps = []
    for step in re.split(r"^      - ", workflow, flags=re.MULTILINE)[1:]:
        lines = textwrap.dedent("        " + step)
        condition = re.search(r"^if: (.*)$", lines, re.MULTILINE)
        inline = re.search(r"^run: (?!\|)(.*)$", lines, re.MULTILINE)
        literal = re.search(r"^run: \|\n((?:  .*\n|\n)+)", lines, re.MULTILINE)
        if (inline or literal) and "== 'push'" not in (condition[1] if condition else ""):
            steps.append((condition[1] if condition else "", inline[1] if inline else textwrap.dedent(literal[1])))
    return steps


class Example(unittest.TestCase):
    def setUp(self):
        self.workflow, self.script = block(WORKFLOW), block(SCRIPT)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="epochbench-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.clone, self.bin = self.folder / "clone", self.folder / "bin"
        (self.clone / "scripts").mkdir(parents=True)
        self.bin.mkdir()
        self.calls, self.stand_in, self.suite = self.folder / "calls", self.folder / "stand-in", self.folder / "suite.json"
        self.program(self.clone / "scripts" / "run", SCRIPTS_RUN)
        self.program(self.bin / "git", GIT)
        self.program(self.bin / "gh", GH)
        self.suite.write_text(json.dumps(SMALL_SUITE))
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "CALLS": str(self.calls), "REAL": BINARY,
                            "STAND_IN": str(self.stand_in), "SMALL_SUITE": str(self.suite), "RUN_OF_MAIN": "17",
                            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}

    @staticmethod
    def program(path, text):
        path.write_text(text if text.startswith("#!") else "#!/bin/sh\nset -e\n" + text)
        path.chmod(0o755)

    def shell(self, script, **environment):
        return subprocess.run(["bash", "-e", "-c", script], cwd=self.clone, env={**self.environment, **environment},
                              capture_output=True, text=True, timeout=500)

    def pull_request(self, **environment):
        """The last step's process; those before it succeed."""
        call = None
        for condition, script in steps_of_a_pull_request(self.workflow):
            if call:
                self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
            if "hashFiles('baseline/epochbench')" in condition and not (self.clone / "baseline/epochbench").exists():
                continue
            call = self.shell(script, **environment)
        return call


class MadeUp(Example):
    """Binaries that answer with an exit code and nothing else."""

    def setUp(self):
        super().setUp()
        self.program(self.stand_in, MADE_UP)

    def test_exit_codes_of_the_shell_script(self):
        for code in (0, 1, 2, 4):
            with self.subTest(code=code):
                call = self.shell(self.script, CODE=str(code))
                self.assertEqual(call.returncode, code, call.stderr)
                self.assertFalse((self.clone / "baseline").exists())
        self.assertIn("compare --interleave baseline/build/epochbench build/epochbench", self.calls.read_text())

    def test_exit_codes_of_the_workflow(self):
        for code, expected in ((0, 0), (1, 1), (2, 2), (4, 0)):
            with self.subTest(code=code):
                self.assertEqual(self.pull_request(CODE=str(code)).returncode, expected)
        self.assertIn("gh run download 17 --name epochbench-main", self.calls.read_text())

    def test_a_main_without_a_binary_is_no_failure(self):
        call = self.pull_request(RUN_OF_MAIN="", CODE="1")
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn("::notice::", call.stdout)
        self.assertNotIn("compare", self.calls.read_text())


class Real(Example):
    """The program itself: two copies of one, which is neither slower nor faster than the other."""

    def setUp(self):
        super().setUp()
        self.program(self.stand_in, SMALLER)

    def test_workflow(self):
        call = self.pull_request()
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        self.assertTrue(json.loads((self.clone / "gate.json").read_text()))
        self.assertIn("mlp", (self.folder / "summary.md").read_text())

    def test_shell_script(self):
        call = self.shell(self.script)
        self.assertIn(call.returncode, (0, 4), call.stdout + call.stderr)
        self.assertIn("mlp", call.stdout)
        self.assertTrue(json.loads((self.clone / "gate.json").read_text()))


@unittest.skipUnless(importlib.util.find_spec("yaml"), "no PyYAML here")
class Yaml(unittest.TestCase):
    def test_steps_are_what_a_parser_reads(self):
        import yaml
        steps = yaml.safe_load(block(WORKFLOW))["jobs"]["gate"]["steps"]
        read = [step["run"].strip() for step in steps if "run" in step and "'push'" not in step.get("if", "")]
        self.assertEqual([script.strip() for _, script in steps_of_a_pull_request(block(WORKFLOW))], read)


if __name__ == "__main__":
    unittest.main()
