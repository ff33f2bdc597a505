"""The gates of docs/ci.md, run as they are written: the steps of action.yml, .github/workflows/nightly.yml and .ci/gitlab.yml, and
the page's scripts and nightly job. Each runs several times in one folder, as on a runner that keeps its folders.

Stand-ins for gh, curl and scripts/run put binaries where the real ones would, so that nothing is built here, and keep what is
sent as a comment; like the real ones they replace no file. The binaries are the real one, but for the size of the suite, the
slowdown that counts and the number of pairs; or, to see each exit code arrive, made up."""
import copy
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/cli"))
from support import known_peaks  # noqa: E402
from test_compare import measured  # noqa: E402
from test_speedup import document  # noqa: E402

BINARY, DELAYED = os.environ["EPOCHBENCH_BINARY"], os.environ["EPOCHBENCH_DELAYED"]
PAGE = (ROOT / "docs/ci.md").read_text()
ACTION, GITLAB = (ROOT / "action.yml").read_text(), (ROOT / ".ci/gitlab.yml").read_text()
NIGHTLY = (ROOT / ".github/workflows/nightly.yml").read_text()
SCRIPT = "#!/bin/sh\n# gate.sh"
MARK = "<!-- epochbench: gate -->"

# The most steps that a turn may have take half of the 50 ms that it would fill.
SMALL_SUITE = {"cases": [{"model": "mlp:width=1,depth=1", "batch": 1, "data": "synthetic", "threads": 1, "steps": 1}]}
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
# Refuses to replace a file without --overwrite.
MADE_UP = """#!/bin/sh
echo "$*" >> "$CALLS"
[ "$1" = compare ] || [ "$1" = run ] || exit 0
last= out= overwrite=
for word; do
  case $last in -o | --out) out=$word ;; esac
  case $word in --overwrite) overwrite=yes ;; esac
  last=$word
done
if [ -n "$out" ]; then
  if [ -e "$out" ] && [ -z "$overwrite" ]; then echo "$out exists" >&2; exit 2; fi
  echo "{}" > "$out"
fi
[ "$1" = compare ] || exit 0
[ "$CODE" = 2 ] || echo "| case | table |" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
exit "$CODE"
"""
# The real program, except that $MEASURED is what `run` measures. With $REALLY, a result with known peaks, the real one measures a
# step before.
NIGHT = r"""#!/bin/sh
[ "$1" = run ] || exec "$REAL" "$@"
if [ -n "$REALLY" ]; then
  set -- "$@" end
  while [ "$1" != end ]; do
    case $1 in
      --suite) set -- "$@" --suite "$SMALL_SUITE"; shift 2 ;;
      --repetitions) set -- "$@" --repetitions 1; shift 2 ;;
      *) set -- "$@" "$1"; shift ;;
    esac
  done
  shift
  "$REAL" "$@" --resume "$REALLY" || exit
fi
while [ "$1" != --out ]; do shift; done
cp "$MEASURED" "$2"
exit "${RUN_CODE:-0}"
"""
SCRIPTS_RUN = 'echo "run $*" >> "$CALLS"\nmkdir -p build && rm -f build/epochbench && cp "$STAND_IN" build/epochbench\n'
RECORD_HISTORY = 'echo "record_history $*" >> "$CALLS"\nls "$2"\necho "{}" > "$2/$NIGHT.json"\n'
GIT = 'echo "git $*" >> "$CALLS"\nexec "$REAL_GIT" "$@"\n'
# KEPT: whether the run still has its artifact: yes, expired or never.
GH = r"""
echo "gh $*" >> "$CALLS"
case "$1 $2" in
  "run list") echo "$RUN_OF_MAIN" ;;
  "run download")
      [ "$KEPT" = yes ] || { echo "no artifact matches any of the names or patterns provided" >&2; exit 1; }
      case $5 in history) file=old.json ;; *) file=epochbench ;; esac
      [ ! -e "$7/$file" ] || { echo "error extracting zip archive: $7/$file: file exists" >&2; exit 1; }
      mkdir -p "$7" && cp "$BASELINE_STAND_IN" "$7/$file" && chmod -x "$7/$file" ;;
  "api repos/"*/artifacts\?name=*)
      case "$KEPT $4" in
        never*total_count*) echo 0 ;;
        *total_count*) echo 1 ;;
        never*) echo ;;
        expired*) echo true ;;
        *) echo false ;;
      esac ;;
  "api --paginate") echo "$OLD_COMMENT" ;;
  "api --method") [ -z "$READ_ONLY" ] || { echo "HTTP 403" >&2; exit 1; }
      cp "${6#body=@}" "$COMMENT" ;;
esac
"""
CURL = r"""
echo "curl $*" >> "$CALLS"
case "$*" in
  *--write-out*) [ "$HTTP_CODE" != none ] || exit 1
      cp "$BASELINE_STAND_IN" gate/epochbench; printf %s "$HTTP_CODE" ;;
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


def steps_of(text):
    """The steps of an action or of a job, as dictionaries; the class Yaml compares them with what a parser reads."""
    steps = []
    for indent, body in re.findall(r"^( *)- ((?:name|uses|run): .*\n(?:(?:\1  .*)?\n)*)", text, re.MULTILINE):
        lines = textwrap.dedent(f"{indent}  {body}")
        step = dict(re.findall(r"^(\w+): (?!\|)(.+)$", lines, re.MULTILINE))
        literal = re.search(r"^run: \|\n((?:  .*\n|\n)+)", lines, re.MULTILINE)
        if literal:
            step["run"] = textwrap.dedent(literal[1])
        for group in ("env", "with"):
            members = re.search(rf"^{group}:\n((?:  .*\n)+)", lines, re.MULTILINE)
            if members:
                step[group] = dict(re.findall(r"^  ([\w-]+): (.*)$", members[1], re.MULTILINE))
        steps.append(step)
    return steps


def script_of_gitlab():
    return textwrap.dedent(re.search(r"^epochbench-gate:.*?^    - \|\n((?:      [^\n]*\n)+)", GITLAB, re.DOTALL | re.MULTILINE)[1])


def variables_of_gitlab():
    return {name: value.strip('"') for name, value in re.findall(r"^  (EPOCHBENCH_\w+): (.*)$", GITLAB, re.MULTILINE)}


class Job:
    """What a service keeps of one job: artifacts by name, as upload-artifact@v4 does."""

    def __init__(self):
        self.artifacts = {}

    def upload(self, what, said):
        """Whether the step succeeds."""
        path = pathlib.Path(what["path"])
        if not path.exists():
            return what["if-no-files-found"] == "ignore"
        if re.search(r'["<>|*?\r\n\\/:]', what["name"]):
            said.append(f"The artifact name is not valid: {what['name']}")
            return False
        if what["name"] in self.artifacts and what.get("overwrite") != "true":
            said.append("Conflict: an artifact with this name already exists on the workflow run")
            return False
        self.artifacts[what["name"]] = sorted(each.name for each in path.iterdir()) if path.is_dir() else path.read_text()
        return True


class Example(unittest.TestCase):
    def setUp(self):
        self.script = block(SCRIPT)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="epochbench-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.clone, self.bin, self.temporary = self.folder / "clone", self.folder / "bin", self.folder / "temporary"
        self.bin.mkdir()
        self.calls, self.stand_in, self.suite = self.folder / "calls", self.folder / "stand-in", self.folder / "suite.json"
        self.comment, self.summary = self.folder / "comment.md", self.folder / "summary.md"
        for name, text in (("git", GIT), ("gh", GH), ("curl", CURL)):
            self.program(self.bin / name, text)
        self.suite.write_text(json.dumps(SMALL_SUITE))
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "CALLS": str(self.calls), "REAL": BINARY,
                            "REAL_GIT": shutil.which("git"), "STAND_IN": str(self.stand_in), "KEPT": "yes",
                            "BASELINE_STAND_IN": str(self.stand_in), "NIGHT": "0",
                            "SMALL_SUITE": str(self.suite), "COMMENT": str(self.comment), "OLD_COMMENT": "", "READ_ONLY": "",
                            "RUN_OF_MAIN": "17", "RUNNER_TEMP": str(self.temporary), "GITHUB_STEP_SUMMARY": str(self.summary),
                            "GITHUB_REPOSITORY": "somebody/epochbench", "GITHUB_REF_NAME": "main",
                            "GITHUB_WORKFLOW_REF": "somebody/epochbench/.github/workflows/speed.yml@refs/pull/5/merge"}
        self.make_clone()

    def make_clone(self):
        """A clone of a repository whose scripts are stand-ins, with the tag v1 and the branch main."""
        origin = self.folder / "origin"
        (origin / "scripts").mkdir(parents=True)
        self.program(origin / "scripts/run", SCRIPTS_RUN)
        self.program(origin / "scripts/record_history", RECORD_HISTORY)
        (origin / ".gitignore").write_text("/build/\n")
        who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        for call in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], [*who, "commit", "--quiet", "-m", "All"],
                     ["tag", "v1"], ["clone", "--quiet", f"file://{origin}", self.clone]):
            subprocess.run([self.environment["REAL_GIT"], *call], cwd=origin, check=True, capture_output=True)

    @staticmethod
    def program(path, text):
        path.write_text(text if text.startswith("#!") else "#!/bin/sh\nset -e\n" + text)
        path.chmod(0o755)

    def shell(self, script, folder=None, **environment):
        return subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder or self.clone, capture_output=True, text=True,
                              env={**self.environment, **environment}, timeout=500)

    def run_steps(self, steps, values, job, **environment):
        """The first step that fails or the last that runs something, with what all said."""
        failed = last = None
        out, errors = [], []
        values = {"runner.temp": str(self.temporary), "github.token": "a-token", **values}

        def text(expression):
            return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], expression)

        for step in steps:
            condition = step.get("if", "True").replace("always()", "True").replace("&&", "and").replace("||", "or")
            condition = condition.replace("github.event_name", repr(values.get("github.event_name")))
            if (failed and "always()" not in step.get("if", "")) or not eval(condition):
                continue
            if "run" in step:
                outputs = self.folder / "outputs"
                outputs.write_text("")
                given = {name: text(value) for name, value in step.get("env", {}).items()}
                last = self.shell(step["run"], **{**given, "GITHUB_OUTPUT": str(outputs), **environment})
                values |= {f"steps.{step.get('id')}.outputs.{line.split('=')[0]}": line.split("=", 1)[1]
                           for line in outputs.read_text().splitlines()}
                out.append(last.stdout)
                errors.append(last.stderr)
                if last.returncode:
                    failed = failed or last
            elif step["uses"].startswith("actions/upload-artifact@v4"):
                what = {name: text(value) for name, value in step["with"].items()}
                what["path"] = self.clone / what["path"]
                if not job.upload(what, errors):
                    failed = failed or subprocess.CompletedProcess(step, 1)
        call = failed or last
        call.stdout, call.stderr = "".join(out), "".join(errors)
        return call

    def use_action(self, event, inputs=None, job=None, **environment):
        defaults = re.findall(r"^  (\w+):\n(?:    .*\n)*?    default: \"?([^\"\n]*)", ACTION.split("\nruns:")[0], re.MULTILINE)
        values = {f"inputs.{name}": value for name, value in defaults + list((inputs or {}).items())}
        values |= {"github.event_name": event, "github.event.repository.default_branch": "main",
                   "github.event.pull_request.number": "5"}
        return self.run_steps(steps_of(ACTION), values, job or Job(), **environment)

    def pull_request(self, inputs=None, job=None, **environment):
        return self.use_action("pull_request", inputs, job, **environment)

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

    def test_the_shell_script_after_one_that_was_ended(self):
        (self.clone / "gate.json").write_text("of an earlier call")
        self.shell("git worktree add --quiet --detach baseline origin/main")
        self.assertEqual(self.shell(self.script, CODE="0").returncode, 0)

    def test_the_first_block_of_the_page_runs_twice(self):
        self.program(self.bin / "epochbench", MADE_UP)
        script = block("epochbench compare --interleave")
        for _ in range(2):
            call = self.shell(script, CODE="0")
            self.assertEqual(call.returncode, 0, call.stderr)
        self.assertTrue((self.clone / "turns.json").exists())

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
        self.assertIn("run list --workflow speed.yml --branch main --status success", calls)
        self.assertIn("run download 17 --name epochbench-baseline-gate", calls)
        self.assertEqual(calls.count("--suite gate --threshold 3 --github"), 8)

    def test_a_comment_is_made_once_and_then_replaced(self):
        self.pull_request(CODE="1")
        self.assertEqual(self.comment.read_text(), MARK + "\n| case | table |\n")
        self.assertIn("api --method POST repos/somebody/epochbench/issues/5/comments", self.calls.read_text())
        self.pull_request(CODE="0", OLD_COMMENT="99")
        self.assertEqual(self.comment.read_text(), MARK + "\n| case | table |\n", "the table of this call alone")
        self.assertIn("api --method PATCH repos/somebody/epochbench/issues/comments/99", self.calls.read_text())

    def test_a_job_may_use_the_action_for_several_suites(self):
        for event in ("push", "workflow_dispatch", "pull_request"):
            with self.subTest(event):
                job = Job()
                for suite in ("gate", "bench/my suite.json", "gate"):  # the last one as when a job is run again
                    call = self.use_action(event, {"suite": suite}, job, CODE="0")
                    self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
                kept = "epochbench-" if event == "pull_request" else "epochbench-baseline-"
                self.assertEqual(list(job.artifacts), [kept + "gate", kept + "bench-my-suite.json"])
        self.assertEqual(self.comment.read_text(), MARK + "\n| case | table |\n")
        for commit in range(2):
            for suite in ("gate", "hour"):
                call = self.pull_request({"suite": suite, "baseline": "v1"}, CODE="0")
                self.assertEqual(call.returncode, 0, call.stdout + call.stderr)

    def test_pairs_of_an_earlier_suite_are_not_kept_under_another_name(self):
        job = Job()
        self.pull_request({"suite": "gate"}, job, CODE="0")
        self.assertNotEqual(self.pull_request({"suite": "hour", "build": "false"}, job, CODE="0").returncode, 0)
        self.assertEqual(list(job.artifacts), ["epochbench-gate"])

    def test_without_permission_the_summary_has_the_table(self):
        call = self.pull_request(CODE="1", READ_ONLY="yes")
        self.assertEqual(call.returncode, 1)
        self.assertIn("pull-requests: write", call.stdout)
        self.assertEqual(self.summary.read_text(), "| case | table |\n")
        self.merge_request(CODE="0", EPOCHBENCH_TOKEN="")
        self.assertFalse(self.comment.exists())

    def test_inputs_and_a_commit_as_baseline(self):
        inputs = {"suite": "hour $(false)", "threshold": "5", "baseline": "v1"}
        for _ in range(2):
            for call in (self.pull_request(inputs, CODE="0"), self.merge_request(EPOCHBENCH_BASELINE="v1", CODE="0")):
                self.assertEqual(call.returncode, 0, call.stdout + call.stderr)
        calls = self.calls.read_text()
        self.assertIn("--suite hour $(false) --threshold 5", calls)
        self.assertEqual(calls.count("git fetch --depth 1 origin v1"), 4)
        self.assertNotIn("gh run", calls)
        self.assertEqual(self.pull_request({"baseline": "nowhere"}, CODE="0").returncode, 2)
        self.assertEqual(self.merge_request(EPOCHBENCH_BASELINE="nowhere", CODE="0").returncode, 2)

    def test_a_main_without_a_binary_is_no_failure(self):
        for call in (self.pull_request(RUN_OF_MAIN="", CODE="1"), self.pull_request(KEPT="never", CODE="1"),
                     self.merge_request(HTTP_CODE="404", CODE="1")):
            self.assertEqual(call.returncode, 0, call.stderr)
            self.assertIn("main has kept no binary", call.stdout)
        self.assertIn("or it has expired (90 days)", call.stdout)
        self.assertNotIn("compare", self.calls.read_text())

    def test_a_binary_that_cannot_be_fetched_is_not_slower(self):
        call = self.pull_request(KEPT="expired", CODE="0")
        self.assertEqual(call.returncode, 2)
        said, = call.stdout.splitlines()
        for part in ("::error::", "run 17 of main", "90 days", "gh workflow run speed.yml --ref main", "gh run rerun 17"):
            self.assertIn(part, said)
        self.program(self.bin / "gh", "exit 1")
        self.assertEqual(self.pull_request(CODE="0").returncode, 2)
        for code in ("500", "none"):
            self.assertEqual(self.merge_request(HTTP_CODE=code, CODE="0").returncode, 2)
        self.assertNotIn("compare", self.calls.read_text())


class History(Example):
    """The workflow of the nights, whose pairs are an artifact that the next night goes on with."""

    def setUp(self):
        super().setUp()
        self.stand_in.write_text("{}")

    def night(self, number, **environment):
        job = Job()
        call = self.run_steps(steps_of(NIGHTLY), {}, job, NIGHT=str(number), **environment)
        return call, job.artifacts.get("history")

    def test_each_night_adds_to_the_artifact_of_the_last(self):
        call, history = self.night(0, RUN_OF_MAIN="")
        self.assertEqual((call.returncode, history), (0, ["0.json"]), call.stderr)
        for number in (1, 2):
            call, history = self.night(number)
            self.assertEqual((call.returncode, history), (0, [f"{number}.json", "old.json"]), call.stderr)

    def test_an_expired_history_begins_anew_with_a_notice(self):
        self.night(0)
        call, history = self.night(1, KEPT="expired")
        self.assertEqual((call.returncode, history), (0, ["1.json"]), call.stderr)
        self.assertRegex(call.stdout, "::notice::.* run 17 has expired .*a new one begins")

    def test_a_history_that_is_there_is_not_given_up(self):
        gh = self.bin / "gh"
        gh.write_text(gh.read_text().replace('"run download")', '"run download") echo "HTTP 502" >&2; exit 1'))
        call, history = self.night(0)
        self.assertEqual((call.returncode, history), (2, None))
        self.assertIn("::error::the history of run 17 could not be fetched", call.stdout)


class Nights(Example):
    """The nightly job of the page, in a folder that keeps its files."""

    def setUp(self):
        super().setUp()
        self.nights, self.measured = self.folder / "nights", self.folder / "measured.json"
        self.nights.mkdir()
        self.environment |= {"MEASURED": str(self.measured)}

    def night(self, **environment):
        for step in steps_of(block("- run: |\n    if [ ! -e baseline.json ]")):
            call = self.shell(step["run"], self.nights, **environment)
            if call.returncode:
                break
        return call

    def write(self, path, runs, **context):
        path.write_text(json.dumps(document(runs, **context)))

    def sides(self, baseline, new, **context_of_baseline):
        self.write(self.nights / "baseline.json", baseline, **context_of_baseline)
        self.write(self.measured, new)

    def assert_ends(self, code, *parts, **environment):
        call = self.night(**environment)
        said = call.stdout + call.stderr
        self.assertEqual(call.returncode, code, said)
        for part in parts:
            self.assertIn(part, said)

    def test_each_exit_code(self):
        self.program(self.bin / "epochbench", MADE_UP)
        (self.nights / "baseline.json").write_text("{}")
        for code in (0, 1, 2, 4, 0):
            for _ in range(2):
                self.assertEqual(self.night(CODE=str(code)).returncode, 0 if code == 4 else code)

    def test_undecided_nights_do_not_pass_for_ever(self):
        self.program(self.bin / "epochbench", MADE_UP)
        (self.nights / "baseline.json").write_text("{}")
        codes = [self.night(CODE="4").returncode for _ in range(8)]
        self.assertEqual(codes, [0, 0, 0, 0, 0, 0, 4, 4])
        self.assertEqual(self.night(CODE="0").returncode, 0)
        self.assertEqual(self.night(CODE="4").returncode, 0, "they are counted in a row")

    def test_the_first_nights(self):
        self.program(self.bin / "epochbench", NIGHT)
        self.write(self.measured, measured())
        call = self.night()
        self.assertEqual((call.returncode, call.stderr, len(call.stdout.splitlines())), (2, "", 1), call.stdout)
        command = call.stdout.strip().split("quiet day: ")[1]
        self.assertRegex(command, "^epochbench run .*--repetitions 15 --out baseline.json$")
        self.assertEqual(list(self.nights.iterdir()), [])
        made = self.shell(command, self.nights, REALLY=str(known_peaks()[1]))
        self.assertEqual(made.returncode, 0, made.stderr)
        for really in ("", str(known_peaks()[1])):  # the second night replaces the file of the first
            self.assert_ends(0, "no change", REALLY=really)

    def test_what_another_night_cannot_decide(self):
        self.program(self.bin / "epochbench", NIGHT)
        failed = measured()
        for each in failed:
            each.update(status="failed", message="killed by signal 9", timing=None)
        self.sides(measured(), measured(), host_name="another")
        self.assert_ends(2, "baseline")
        self.sides(failed, measured())
        self.assert_ends(2, "baseline")
        self.sides(failed, copy.deepcopy(failed))
        self.assert_ends(2, RUN_CODE="1")

    def test_what_is_wrong_on_the_new_side(self):
        self.program(self.bin / "epochbench", NIGHT)
        self.sides(measured() + measured(precision="bf16"), measured())
        self.assert_ends(1, "resnet50/cpu/bf16/b16")
        failed = measured()
        for each in failed:
            each.update(status="failed", message="killed by signal 9", timing=None)
        self.sides(measured(), failed)
        self.assert_ends(1, "killed by signal 9", RUN_CODE="1")
        slow = measured(3 * 0.16)
        slow[4]["interference"]["foreign_cpu_cores"] = 0.5
        self.sides(measured(), slow)
        self.assert_ends(1, "resnet50/cpu/fp32/b16")

    def test_a_run_that_cannot_begin_ends_the_night(self):
        self.program(self.bin / "epochbench", NIGHT)
        self.sides(measured(), measured())
        for code in (2, 3, 130):
            self.assert_ends(code, RUN_CODE=str(code))


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

        def texts(value):
            """Without what YAML makes of a word or a number, and without comments behind a value."""
            if isinstance(value, dict):
                return {key: texts(each) for key, each in value.items()}
            return str(value).lower().strip() if isinstance(value, (bool, int)) else value.strip()

        for text, steps in ((ACTION, lambda read: read["runs"]["steps"]), (NIGHTLY, lambda read: read["jobs"]["history"]["steps"]),
                            (block("- run: |\n    if [ ! -e baseline.json ]"), lambda read: read)):
            read = [texts(step) for step in steps(yaml.safe_load(text))]
            self.assertEqual([texts(step) for step in steps_of(text)], read)
        gitlab = yaml.safe_load(GITLAB)
        self.assertEqual(gitlab["epochbench-gate"]["script"], [script_of_gitlab()])
        self.assertEqual(gitlab["variables"], variables_of_gitlab())

    def test_the_workflow_of_the_page_uses_the_action(self):
        import yaml
        workflow = yaml.safe_load(block("# .github/workflows/speed.yml"))
        self.assertEqual(workflow["jobs"]["gate"]["steps"], [{"uses": "actions/checkout@v4"}, {"uses": "./"}])
        self.assertEqual(workflow["permissions"], {"actions": "read", "contents": "read", "pull-requests": "write"})
        ours = yaml.safe_load((ROOT / ".github/workflows/speed.yml").read_text())
        for read in (workflow, ours):  # YAML reads the key "on" as true
            self.assertEqual(set(read[True]), {"push", "pull_request", "workflow_dispatch"}, "the last one keeps a binary again")


if __name__ == "__main__":
    unittest.main()
