"""The gates of docs/ci.md, run as they are written: the steps of action.yml, .ci/gitlab.yml, and the page's shell script.

Stand-ins for git, gh, curl and scripts/run put binaries where the real ones would, so that nothing is built here, and keep what is
sent as a comment. The binaries are the real one, but for the size of the suite, the slowdown that counts and the number of pairs;
or, to see each exit code arrive, made up."""
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
BINARY, DELAYED = os.environ["EPOCHBENCH_BINARY"], os.environ["EPOCHBENCH_DELAYED"]
PAGE = (ROOT / "docs/ci.md").read_text()
ACTION, GITLAB = (ROOT / "action.yml").read_text(), (ROOT / ".ci/gitlab.yml").read_text()
SCRIPT = "#!/bin/sh\n# gate.sh"
MARK = "<!-- epochbench: gate -->"

# The most steps that a turn may have take half of the 50 ms that it would fill.
SMALL_SUITE = {"cases": [{"model": "mlp:width=1,depth=1", "batch": 1, "data": "synthetic", "threads": 1}]}
# Two turns of one binary never differ by half, whatever else the machine does. Six pairs can show that nothing changed, and seven
# that steps take longer, at 99 %.
UNCHANGED = {"SMALL_THRESHOLD": "75", "FEW_PAIRS": "6"}
SLOWER = {"SMALL_THRESHOLD": "20", "FEW_PAIRS": "7", "EPOCHBENCH_TEST_DELAY": "0.5"}
SMALLER = r"""#!/bin/sh
set -- "$@" end
while [ "$1" != end ]; do
  case $1 in
    --suite) set -- "$@" --suite "$SMALL_SUITE" --threshold "$SMALL_THRESHOLD" --max-pairs "$FEW_PAIRS"; shift 2 ;;
    --threshold) shift 2 ;;
    *) set -- "$@" "$1"; shift ;;
  esac
done
shift
exec "$REAL" "$@"
"""
MADE_UP = """#!/bin/sh
echo "$*" >> "$CALLS"
[ "$1" = compare ] || exit 0
[ "$CODE" = 2 ] || echo "| case | table |" >> "$GITHUB_STEP_SUMMARY"
exit "$CODE"
"""
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
  "run download") mkdir -p "$7" && cp "$BASELINE_STAND_IN" "$7/epochbench" && chmod -x "$7/epochbench" ;;
  "api --paginate") echo "$OLD_COMMENT" ;;
  "api --method") [ -z "$READ_ONLY" ] || { echo "HTTP 403" >&2; exit 1; }
      cp "${6#body=@}" "$COMMENT" ;;
esac
"""
CURL = r"""
echo "curl $*" >> "$CALLS"
case "$*" in
  *--write-out*) cp "$BASELINE_STAND_IN" gate/epochbench; printf %s "$HTTP_CODE" ;;
  *) cp gate/table.md "$COMMENT" ;;
esac
"""


def block(first_lines):
    """The fenced block of the page that begins so."""
    found = [text for text in re.findall(r"^```(?:sh|yaml)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
             if text.startswith(first_lines)]
    if not found:
        raise AssertionError(f"docs/ci.md has no block that begins with {first_lines.splitlines()[-1]}")
    return found[0]


def steps_of_a_pull_request():
    """name, if, env and run of each step of the action that runs something."""
    steps = []
    for step in re.split(r"^    - ", ACTION, flags=re.MULTILINE)[1:]:
        lines = textwrap.dedent("      " + step)
        read = dict(re.findall(r"^(name|if|run): (?!\|)(.*)$", lines, re.MULTILINE))
        literal = re.search(r"^run: \|\n((?:  .*\n|\n)+)", lines, re.MULTILINE)
        if literal:
            read["run"] = textwrap.dedent(literal[1])
        read["env"] = dict(re.findall(r"^  (\w+): (\$\{\{.*)$", lines, re.MULTILINE)) if "\nenv:" in lines else {}
        if "run" in read:
            steps.append(read)
    return steps


def script_of_gitlab():
    return textwrap.dedent(re.search(r"^epochbench-gate:.*?^    - \|\n((?:      [^\n]*\n)+)", GITLAB, re.DOTALL | re.MULTILINE)[1])


def variables_of_gitlab():
    return {name: value.strip('"') for name, value in re.findall(r"^  (EPOCHBENCH_\w+): (.*)$", GITLAB, re.MULTILINE)}


class Example(unittest.TestCase):
    def setUp(self):
        self.script = block(SCRIPT)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="epochbench-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.clone, self.bin, self.temporary = self.folder / "clone", self.folder / "bin", self.folder / "temporary"
        (self.clone / "scripts").mkdir(parents=True)
        self.bin.mkdir()
        self.calls, self.stand_in, self.suite = self.folder / "calls", self.folder / "stand-in", self.folder / "suite.json"
        self.comment, self.summary = self.folder / "comment.md", self.folder / "summary.md"
        self.program(self.clone / "scripts" / "run", SCRIPTS_RUN)
        for name, text in (("git", GIT), ("gh", GH), ("curl", CURL)):
            self.program(self.bin / name, text)
        self.suite.write_text(json.dumps(SMALL_SUITE))
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "CALLS": str(self.calls), "REAL": BINARY,
                            "STAND_IN": str(self.stand_in), "BASELINE_STAND_IN": str(self.stand_in),
                            "SMALL_SUITE": str(self.suite), "COMMENT": str(self.comment), "OLD_COMMENT": "", "READ_ONLY": "",
                            "RUN_OF_MAIN": "17", "RUNNER_TEMP": str(self.temporary), "GITHUB_STEP_SUMMARY": str(self.summary),
                            "GITHUB_REPOSITORY": "somebody/epochbench",
                            "GITHUB_WORKFLOW_REF": "somebody/epochbench/.github/workflows/speed.yml@refs/pull/5/merge"}

    @staticmethod
    def program(path, text):
        path.write_text(text if text.startswith("#!") else "#!/bin/sh\nset -e\n" + text)
        path.chmod(0o755)

    def shell(self, script, **environment):
        return subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=self.clone, env={**self.environment, **environment},
                              capture_output=True, text=True, timeout=500)

    def pull_request(self, inputs=None, **environment):
        """The process of the action's last step, with what all said; those before it succeed."""
        defaults = re.findall(r"^  (\w+):\n(?:    .*\n)*?    default: \"?([^\"\n]*)", ACTION.split("\nruns:")[0], re.MULTILINE)
        values = {f"inputs.{name}": value for name, value in defaults + list((inputs or {}).items())}
        values |= {"github.token": "a-token", "github.event.repository.default_branch": "main",
                   "github.event.pull_request.number": "5"}
        call, said = None, ""
        for step in steps_of_a_pull_request():
            if call:
                self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
            given = {name: values[expression[3:-2].strip()] for name, expression in step["env"].items()}
            call = self.shell(step["run"], **given, **environment)
            said = call.stdout = said + call.stdout
        return call

    def merge_request(self, **environment):
        return self.shell(script_of_gitlab(), **{
            **variables_of_gitlab(), "CI_API_V4_URL": "https://gitlab.invalid/api/v4", "CI_PROJECT_ID": "7", "CI_DEFAULT_BRANCH": "main", "CI_JOB_TOKEN": "a",
            "CI_MERGE_REQUEST_IID": "5", "HTTP_CODE": "200", "EPOCHBENCH_TOKEN": "b", **environment})


class MadeUp(Example):
    """Binaries that answer with an exit code and one line of a table."""

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

    def test_git_bisect_gets_the_codes_that_it_knows(self):
        for code, mapped in ((0, 0), (1, 1), (2, 128), (3, 128), (4, 125), (130, 128)):
            with self.subTest(code=code):
                self.assertEqual(self.shell(block("#!/bin/sh\n# test.sh"), CODE=str(code)).returncode, mapped)
        self.program(self.clone / "scripts" / "run", "exit 2")
        self.assertEqual(self.shell(block("#!/bin/sh\n# test.sh"), CODE="0").returncode, 125)

    def test_exit_codes_are_unchanged(self):
        for code in (0, 1, 2, 4):
            with self.subTest(code=code):
                self.assertEqual(self.pull_request(CODE=str(code)).returncode, code)
                self.assertEqual(self.merge_request(CODE=str(code)).returncode, code)
        calls = self.calls.read_text()
        self.assertIn("run list --workflow speed.yml --branch main --event push", calls)
        self.assertIn("run download 17 --name epochbench-baseline", calls)
        self.assertEqual(calls.count("--suite gate --threshold 3 --github"), 8)

    def test_a_comment_is_made_once_and_then_replaced(self):
        self.pull_request(CODE="1")
        self.assertEqual(self.comment.read_text(), MARK + "\n| case | table |\n")
        self.assertIn("api --method POST repos/somebody/epochbench/issues/5/comments", self.calls.read_text())
        self.pull_request(CODE="0", OLD_COMMENT="99")
        self.assertIn("api --method PATCH repos/somebody/epochbench/issues/comments/99", self.calls.read_text())

    def test_without_permission_the_summary_has_the_table(self):
        call = self.pull_request(CODE="1", READ_ONLY="yes")
        self.assertEqual(call.returncode, 1)
        self.assertIn("pull-requests: write", call.stdout)
        self.assertEqual(self.summary.read_text(), "| case | table |\n")
        self.merge_request(CODE="0", EPOCHBENCH_TOKEN="")
        self.assertFalse(self.comment.exists())

    def test_inputs_and_a_commit_as_baseline(self):
        inputs = {"suite": "hour $(false)", "threshold": "5", "baseline": "v1"}
        self.assertEqual(self.pull_request(inputs, CODE="0").returncode, 0)
        self.assertEqual(self.merge_request(EPOCHBENCH_BASELINE="v1", CODE="0").returncode, 0)
        calls = self.calls.read_text()
        self.assertIn("--suite hour $(false) --threshold 5", calls)
        self.assertEqual(calls.count("git fetch --depth 1 origin v1"), 2)
        self.assertNotIn("gh run", calls)

    def test_a_main_without_a_binary_is_no_failure(self):
        for call in (self.pull_request(RUN_OF_MAIN="", CODE="1"), self.merge_request(HTTP_CODE="404", CODE="1")):
            self.assertEqual(call.returncode, 0, call.stderr)
            self.assertIn("main has kept no binary yet", call.stdout)
        self.assertNotIn("compare", self.calls.read_text())
        self.assertEqual(self.merge_request(HTTP_CODE="500", CODE="0").returncode, 2)


class Unchanged(Example):
    """The program itself beside a copy, which is neither slower nor faster."""

    def test_action(self):
        self.program(self.stand_in, SMALLER)
        call = self.pull_request(**UNCHANGED)
        self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        self.assertTrue(json.loads((self.temporary / "epochbench/gate.json").read_text()))
        self.assertIn("## epochbench: no change", self.comment.read_text())
        self.assertIn("mlp", self.summary.read_text())


class Slower(Example):
    """The program itself beside one whose steps are made longer."""

    def test_action(self):
        baseline = self.folder / "baseline-stand-in"
        self.program(baseline, SMALLER)
        self.program(self.stand_in, SMALLER.replace('exec "$REAL"', '[ "$1" = compare ] || exec "$DELAYED" "$@"\nexec "$REAL"'))
        call = self.pull_request(BASELINE_STAND_IN=str(baseline), DELAYED=DELAYED, **SLOWER)
        self.assertEqual(call.returncode, 1, call.stdout + call.stderr)
        self.assertIn("mlp:depth=1,width=1/cpu/fp32/b1", call.stdout)
        self.assertIn("pairs: 7 of 7", call.stderr)
        self.assertRegex(self.comment.read_text(), rf"^{MARK}\n## epochbench: regression\n(?s:.*)\| mlp\S* .* \| regression \|")


@unittest.skipUnless(importlib.util.find_spec("yaml"), "no PyYAML here")
class Yaml(unittest.TestCase):
    def test_steps_are_what_a_parser_reads(self):
        import yaml
        steps = [step for step in yaml.safe_load(ACTION)["runs"]["steps"] if "run" in step]
        read = [(step["name"], step.get("env", {}), step["run"].strip()) for step in steps]
        self.assertEqual([(step["name"], step["env"], step["run"].strip()) for step in steps_of_a_pull_request()], read)
        self.assertTrue(all(step.get("if", "") in ("", "github.event_name == 'pull_request'") for step in steps))
        gitlab = yaml.safe_load(GITLAB)
        self.assertEqual(gitlab["epochbench-gate"]["script"], [script_of_gitlab()])
        self.assertEqual(gitlab["variables"], variables_of_gitlab())

    def test_the_workflow_of_the_page_uses_the_action(self):
        import yaml
        workflow = yaml.safe_load(block("# .github/workflows/speed.yml"))
        self.assertEqual(workflow["jobs"]["gate"]["steps"], [{"uses": "actions/checkout@v4"}, {"uses": "./"}])
        self.assertEqual(workflow["permissions"], {"actions": "read", "contents": "read", "pull-requests": "write"})


if __name__ == "__main__":
    unittest.main()
