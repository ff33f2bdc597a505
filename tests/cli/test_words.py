"""The words of a call: hints at what was meant, help in groups, and output that fits the terminal."""
import fcntl
import itertools
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
import unittest

from support import BINARY, SCHEMAS, TIMEOUT_SECONDS, CliTest, known_peaks, measured_claims

COMMANDS = ["run", "sweep", "compare", "speedup", "answers", "claims", "cost", "plan", "list", "info", "system", "report", "export",
            "completion", "man"]
RESULTS = sorted(path for path in SCHEMAS.parent.glob("*.json") if not path.name.endswith("schema.json"))
LARGEST = max(RESULTS, key=lambda path: path.stat().st_size)
GRAY = re.compile("\x1b\\[90m([^\x1b]*)\x1b\\[0m")


def in_terminal(columns, *arguments, colors=False, errors=False, folder=None, **variables):
    """What the program prints on a terminal that wide, with its colors or without; `errors`: what it says beside its output."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "TERM")} | variables
    process = subprocess.Popen([BINARY, *map(str, arguments)], env=environment, cwd=folder,
                               **({"stdout": subprocess.DEVNULL, "stderr": child} if errors else
                                  {"stdout": child, "stderr": subprocess.DEVNULL}))
    os.close(child)
    text = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the terminal has gone with the program
            break
        if not part:
            break
        text += part
    os.close(parent)
    process.wait(TIMEOUT_SECONDS)
    text = text.decode().replace("\r\n", "\n")
    return text if colors else re.sub("\x1b\\[[0-9;]*m", "", text)


class Hints(CliTest):
    def test_names_that_are_near(self):
        for arguments, hint in [
            (["runn"], "did you mean run?"),
            (["exprot"], "did you mean export?"),
            (["help", "swep"], "did you mean sweep?"),
            (["run", "--bacth", "3"], "did you mean --batch?"),
            (["run", "--bacth=3"], "did you mean --batch?"),
            (["run", "-model", "mlp"], "did you mean --model?"),
            (["run", "--model", "resnet-50"], "unknown model 'resnet-50'; did you mean resnet50? (all: epochbench list models)"),
            (["run", "lenet5", "mlp", "resnet20"], "'mlp'; for several models give --model lenet5,mlp,resnet20"),
            (["run", "lenet5", "64"], "unexpected argument '64'; leave it out"),
            (["sweep", "--budget", "40"], "sweep has no --budget (run, reproduce do); leave it out"),
            (["run", "--model", "Bert"], "did you mean bert-tiny, bert-base or bert-large?"),
            (["run", "--model", "lenet"], "did you mean lenet5?"),
            (["run", "--model", "mlp", "--device", "cpus"], "choose from cpu, "),
            (["run", "--model", "mlp", "--device", "cpus"], "did you mean cpu?"),
            (["run", "--model", "mlp", "--precision", "FP32"], "did you mean fp32?"),
            (["run", "--model", "mlp", "--precision", "float32"], "did you mean fp32?"),
            (["plan", "mlp", "--on", "T4", "--precision", "float16"], "did you mean fp16?"),
            (["plan", "mlp", "--on", "V1000"], "did you mean v100?"),
            (["run", "--model", "resnet50", "--data", "~/imagenet"], "no shell has replaced the ~ in '~/imagenet'"),
            (["run", "--model", "mlp", "--quiet", "--verbose"], "--quiet, --verbose"),
            (["run", "--suite", "qiuck"], "did you mean quick?"),
            (["run", "--model", "mlp", "--price", "cpu=g5.xlareg"], "did you mean g5.xlarge?"),
            (["list", "model"], "did you mean models?"),
            (["export", RESULTS[0], "--format", "markdwn"], "did you mean markdown?"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.call(*arguments), 2, hint)

    def test_nothing_is_near(self):
        for arguments in (["frobnicate"], ["run", "--zzz"], ["run", "--model", "vgg16"], ["run", "--suite", "x"]):
            with self.subTest(arguments=arguments):
                self.assertNotIn("did you mean", self.call(*arguments).stderr)

    def test_a_model_that_is_not_built_in_has_a_nearest_one(self):
        for name, nearest in (("convnext-tiny", "resnet50"), ("openai/whisper-small", "bert-base:sequence=512"), ("YOLOv8n",
                              "resnet50:height=640,width=640"), ("Qwen2.5-7B", "llama-7b"), ("timm/swin_tiny", "vit-b-16")):
            with self.subTest(name=name):
                call = self.call("run", "--model", name)
                self.assert_refused(call, 2, f"the nearest built-in model is {nearest}, and scripts/peers/profile_module ")
                self.assertEqual(self.call("plan", "--model", nearest).returncode, 0)

    def test_the_first_wrong_argument_is_named(self):
        call = self.call("run", "--foo", "1", "--bar", "2")
        self.assert_refused(call, 2, "--foo")
        self.assertNotIn("--bar", call.stderr)


    def test_options_with_too_few_or_too_many_values(self):
        for arguments, message in [
            (["rent", "mlp", "--batch", "256", "--batch", "max"], "--batch: given twice; give it once, with commas between several values"),
            (["run", "--suite", "quick", "--suite", "gate"], "--suite: given twice; give it once"),
            (["run", "--batch"], "--batch: a value is missing; give --batch N,..."),
            (["compare", "--interleave", "x"], "--interleave: a value is missing; give --interleave BINARY BINARY"),
            (["run", "mlp", "--dry-run=maybe"], "--dry-run: takes no value; leave out '=maybe'"),
            (["run", "-qv=3"], "run: cannot read '-=3'; leave it out"),
        ]:
            with self.subTest(arguments=arguments):
                call = self.call(*arguments)
                self.assert_refused(call, 2)
                self.assertEqual(call.stderr, f"epochbench: {message} (see epochbench {arguments[0]} --help)\n")


class Colors(CliTest):
    def loaded(self):
        """A result of two cases, with another load beside the first one."""
        document = json.loads(next(path for path in RESULTS if "quick" in path.name).read_text())
        names = list(dict.fromkeys(run["name"] for run in document["runs"] if run["status"] == "ok"))[:2]
        document["runs"] = [run for run in document["runs"] if run["name"] in names]
        for run in document["runs"]:
            run["interference"] = {"foreign_cpu_cores": 1.8 if run["name"] == names[0] else 0.01}
            run["cost"] = None
        self.out.write_text(json.dumps(document))
        return names

    def test_epoch_and_cost_beside_other_load_are_gray(self):
        names = self.loaded()
        call = ["cost", self.out, "--cloud", "0.5"]
        text = in_terminal(200, *call, colors=True, TERM="xterm")
        rows = [line for line in text.splitlines() if line.startswith(tuple(names)) and "reached" not in line]
        gray = [GRAY.findall(line) for line in rows]
        self.assertEqual(len(rows), 2, text)
        self.assertRegex(gray[0][0], r"s$")  # the time of an epoch
        self.assertRegex(gray[0][-1], r"\$\d")
        self.assertEqual(gray[1], [], text)
        plain = in_terminal(200, *call, TERM="xterm")
        self.assertEqual(plain, in_terminal(200, *call, colors=True, TERM="xterm", NO_COLOR="1"))
        self.assertEqual(plain, in_terminal(200, *call, colors=True, TERM="dumb"))
        self.assertNotIn("\x1b", self.call(*call).stdout)


class Words(CliTest):
    def test_model_without_its_option(self):
        self.assertEqual(self.call("plan", "lenet5").stdout, self.call("plan", "--model", "lenet5").stdout)
        self.assert_refused(self.call("plan", "lenet5", "--model", "mlp"), 2, "MODEL and --model exclude each other")
        self.assert_refused(self.call("plan", "--model", "mlp", "--batc", "2"), 2, "--batc", "did you mean --batch")
        self.assert_refused(self.call("run", "lenet5", "mlp"), 2, "'mlp'")
        call = self.call("run", "lenet5", "--batch", "16", "--steps", "12", "-q", *known_peaks(), "--out", self.out)
        self.assertEqual((call.returncode, call.stdout), (0, ""), call.stderr)

    def test_a_terminal_gets_the_first_questions(self):
        text = in_terminal(80)
        commands = re.findall(r"(?m)^  epochbench (\w+)", text)
        self.assertEqual(commands, ["run", "plan", "speedup", "compare"], text)
        self.assertEqual(text.count("?\n"), 5, text)
        self.assert_refused(self.call(), 2, "no command")

    def test_help_and_version(self):
        self.assertEqual(self.call("help").stdout, self.call("--help").stdout)
        for command in COMMANDS:
            self.assertEqual(self.call("help", command).stdout, self.call(command, "--help").stdout)
        self.assertEqual(self.call("-V").stdout, self.call("--version").stdout)
        self.assert_refused(self.call("help", "run", "sweep"), 2, "sweep")

    def test_every_command_is_in_the_help(self):
        text = self.call("--help").stdout
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")
        for title in ("Measure", "Understand", "Share", "Install"):
            self.assertIn(f"\n{title}:\n", text)

    def test_groups_of_options(self):
        for command in ("run", "sweep"):
            text = self.call(command, "--help").stdout
            for title in ("What to run", "How long", "Data and training", "Experiments", "Price", "Output"):
                self.assertIn(f"\n{title}:\n", text)

    def test_help_fits(self):
        for command in [[], *([each] for each in COMMANDS)]:
            with self.subTest(command=command):
                self.assertLessEqual(max(map(len, self.call(*command, "--help").stdout.splitlines())), 100)
                brief = in_terminal(80, *command, "-h").splitlines()
                self.assertLessEqual(len(brief), 40)
                self.assertLessEqual(max(map(len, brief)), 80)
                if command:
                    self.assertIn("--help", brief[-1])
                    self.assertLessEqual(sum("  epochbench" in line for line in brief), 3)


def distinct_words(text):
    """Paths and names of runs may be broken after a slash; "3 more" counts what a narrow list leaves out."""
    return {word for word in text.replace("/", "/ ").split() if not word.isdigit()}


class Widths(CliTest):
    def test_no_line_is_wider_than_the_terminal(self):
        kinds = ("models", "suites", "datasets", "claims", "prices")
        calls = [["list"], *(["list", kind] for kind in kinds), ["plan", "lenet5"], ["claims"], ["claims", *RESULTS],
                 ["claims", "--verbose", *RESULTS], ["rent", "bert-base", "--epochs", "3"],
                 ["compare", RESULTS[-2], RESULTS[-1]], ["compare", "--history", RESULTS[0].parent]]
        calls += [[command, path] for path in RESULTS if path != LARGEST for command in ("speedup", "answers")]
        calls += [["cost", RESULTS[0], "--purchase", "900", "--power", "60", "--electricity", "0.3", "--cloud", "g5.xlarge",
                   "--price-scaling", "whole"]]
        calls += [["system"], ["plan", "resnet50,bert-base", "--precision", "fp32,bf16", "--batch", "8,16"],
                  ["claims", RESULTS[0], "--claim", "bf16/fp32 of resnet50 > 1.5"]]
        calls += [["run", "--help"], ["sweep", "-h"], ["--help"]]
        quick = []  # the same without what takes a second: every renderer has all widths
        for arguments in calls:
            if arguments[0] == "claims":
                quick.append([*(each for each in arguments if each != LARGEST), "--catalog", measured_claims(self.folder)])
            elif "--history" not in arguments:
                quick.append(arguments)
        quick.append(["compare", "--history", self.folder / "nights"])
        (self.folder / "nights").mkdir()
        for path in RESULTS:
            if path != LARGEST:
                (self.folder / "nights" / path.name).symlink_to(path)
        for some, widths in ((calls, [60]), (quick, [80, 120, 200])):
            for arguments, columns in itertools.product(some, widths):
                with self.subTest(arguments=arguments, columns=columns):
                    lines = in_terminal(columns, *arguments).splitlines()
                    self.assertLessEqual(max(map(len, lines), default=0), columns)

    def test_info_fits_80_columns(self):
        lines = in_terminal(80, "info").splitlines()
        self.assertTrue(any(line.startswith("fp32 peak ") and " in 5 bursts), " in line for line in lines), lines)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_no_word_is_cut(self):
        (self.folder / "a.json").symlink_to(RESULTS[0])  # answers name their file
        for arguments in (["list", "claims"], ["claims", RESULTS[0], "--id", "days-to-hours", "--id", "azure-186-804"],
                          ["answers", self.folder / "a.json"], ["run", "--help"], ["--help"], ["run", "--suite", "hour", "--dry-run"],
                          ["plan", "resnet50"]):
            wide = distinct_words(in_terminal(200, *arguments))
            for columns in (60, 80, 120):
                with self.subTest(arguments=arguments, columns=columns):
                    self.assertEqual(distinct_words(in_terminal(columns, *arguments)) - wide, set())

    def test_tables_keep_what_names_a_row_and_what_answers(self):
        hour = SCHEMAS.parent / "zen4-2cores-hour.json"
        for arguments, titles, row in [
            (["rent", "resnet50", "--epochs", 1], ["instance", "device", "precision", "hours", "cost", "cost, 80 %"],
             ["g4dn.xlarge", "v100-sxm2-16gb"]),
            (["plan", "resnet50", "--on", "T4,a100"], ["device", "precision", "step", "samples/s"], ["A100 SXM", "fp16", "bf16"]),
            (["plan", hour, "--on", "T4"], ["device", "evidence", "samples/s", "ratio", "epoch", "cost/epoch", "notes"], ["T4", "predicted"]),
            (["cost", hour], ["run", "local/epoch", "cloud/epoch"], ["resnet20/cpu/fp32/b32/data=digits, 5 repetitions"]),
            (["speedup", hour], ["baseline", "contender", "speedup"], ["resnet50/cpu/"]),
        ]:
            for columns in (60, 80, 120):
                with self.subTest(arguments=arguments, columns=columns):
                    text = in_terminal(columns, *arguments)
                    table = text[text.index(titles[0]):].split("hidden to fit")[0]
                    for each in titles + row:
                        for part in re.findall("[^/]+/?", each) if each in titles else [each]:  # titles may break after a slash
                            self.assertIn(part, table)

    def test_four_notes_below_a_table(self):
        record = SCHEMAS.parent / "h200-record.json"
        brief, whole = in_terminal(80, "speedup", record), in_terminal(80, "speedup", record, "--verbose")
        more = re.search(r"\n  and ([0-9]+) more notes: add --verbose\n$", brief)
        self.assertIsNotNone(more, brief)
        self.assertEqual(len(re.findall(r"(?m)^  \[[0-9]+\] ", brief)), 4)
        self.assertEqual(len(re.findall(r"(?m)^(?:  \[[0-9]+\]|no .* ratio[^:]*:|not paired:) ", whole)), 4 + int(more[1]))
        self.assertNotIn("--verbose", self.call("speedup", record).stdout, "a file gets all of them")
        for arguments in (["rent", "resnet50", "--epochs", 1], ["plan", "resnet50", "--on", "all"], ["plan", record, "--on", "T4,a100"],
                          ["answers", record, "--on", "T4,a100"]):
            with self.subTest(arguments):
                self.assertIn(" more note", in_terminal(80, *arguments))
                self.assertNotIn(" more note", in_terminal(80, *arguments, "--verbose"))

    def test_errors_and_progress_wrap_at_words(self):
        for columns in (60, 80):
            for arguments in (["plan", "--suite", "hour"], ["run", "--model", "mlp", "--device", "cuda:7"],
                              ["run", "mlp", "--steps", 2, "--warmup", 1, "--out", self.out, "--overwrite"]):
                with self.subTest(arguments=arguments, columns=columns):
                    lines = re.split(r"\r(?:\x1b\[K)?|\n", in_terminal(columns, *arguments, errors=True, TERM="xterm"))
                    self.assertLessEqual(max(map(len, lines)), columns)
        text = in_terminal(60, "plan", "--suite", "hour", errors=True, TERM="dumb")
        self.assertEqual(text, "epochbench: plan has no --suite (run, compare, bisect do);\n  leave it out (see epochbench plan --help)\n")

    def test_answers_name_what_they_do_not_answer_in_one_line(self):
        quick = SCHEMAS.parent / "zen4-2cores-quick.json"
        text = in_terminal(200, "answers", quick)
        self.assertNotIn("no answer: ", text)
        self.assertRegex(text, r"\n3\. What does an epoch cost")
        self.assertIn("\nNot answered: What does mixed precision bring", text)
        self.assertIn(f"epochbench answers {quick} --json", " ".join(text.split()))
        sections = json.loads(self.call("answers", quick, "--json").stdout)["sections"]
        self.assertEqual([section["answered"] for section in sections], [True, True, False, True, False, False])

    def test_output_that_is_not_a_terminal_keeps_all_columns(self):
        lines = self.call("list", "prices").stdout.splitlines()
        self.assertIn("region", lines[0])
        rows = [re.match(r"\w+ +\S+ +\S+ +[0-9]+(\.)[0-9]+ ", line) for line in lines[1:]]
        self.assertEqual(len({row.start(1) for row in rows if row}), 1, "the decimal points are below each other")
        self.assertNotIn("region", in_terminal(60, "list", "prices").splitlines()[0])
        self.assertRegex(in_terminal(60, "list", "prices"), r"(?m)^price [0-9]+ days old: ")


class Lists(CliTest):
    def test_index(self):
        text = self.call("list").stdout
        self.assertLess(len(text.splitlines()), 40)
        for what, rows in json.loads(self.call("list", "--json").stdout).items():
            self.assertRegex(text, rf"(?m)^{what} +{len(rows)} ")

    def test_match(self):
        rows = json.loads(self.call("list", "models", "--match", "BERT", "--json").stdout)["models"]
        self.assertEqual([row["name"] for row in rows], ["bert-tiny", "bert-base", "bert-large"])
        text = self.call("list", "models", "--match", "bert").stdout
        self.assertIn("bert-tiny", text)
        self.assertNotIn("resnet20", text)
        self.assert_refused(self.call("list", "models", "--match", "zzz"), 2, "zzz")

    def test_models_have_what_papers_and_memory_say_within_80_columns(self):
        rows = {row["name"]: row for row in json.loads(self.call("list", "models", "--json").stdout)["models"]}
        self.assertAlmostEqual(rows["resnet50"]["forward_multiply_adds"] / 4.09e9, 1, delta=0.01)  # torchvision's count
        self.assertGreater(rows["llama-7b"]["memory_bytes"], 16 * rows["llama-7b"]["parameters"])  # with AdamW's two states
        text = in_terminal(80, "list", "models")
        for column in ("multiply-adds", "training FLOPs", "parameters", "memory", "batch"):
            self.assertIn(column, text.splitlines()[0])
        self.assertRegex(text, r"(?m)^resnet50 +4\.09 G +24\.3 G +25\.6 M +1\.5\d GiB +16")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


class Times(CliTest):
    def test_a_list_plans_each_model_once(self):
        """The document has what the table shows, so the table takes no longer; the index plans none."""
        def seconds(*arguments):
            def one():
                pid = os.posix_spawn(BINARY, [BINARY, *arguments], os.environ,
                                     file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
                return os.wait4(pid, 0)[2].ru_utime
            return min(one() for _ in range(5))
        document = seconds("list", "models", "--json")
        self.assertLess(seconds("list", "models"), 1.5 * document)
        self.assertLess(seconds("list"), 0.8 * document)


class Examples(CliTest):
    """Examples in documents whose commands read stored results."""

    def test_are_what_the_commands_print(self):
        """Each of their lines but '…', in their order, at 100 columns."""
        root, checked = SCHEMAS.parent.parent, 0
        for document in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            for block in re.findall(r"```\w*\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL):
                for example in re.split(r"(?m)^\$ ", block)[1:]:
                    command, _, lines = example.partition("\n")
                    if not re.match(r"epochbench (answers|claims|cost|plan|speedup) results/[^|]*$", command):
                        continue
                    printed = in_terminal(100, *shlex.split(command)[1:], folder=root).split("\n")
                    for line in lines.rstrip("\n").split("\n"):
                        if line.strip() == "…":
                            continue
                        with self.subTest(document=document.name, command=command):
                            self.assertIn(line, printed)
                        printed = printed[printed.index(line) + 1:] if line in printed else printed
                    checked += 1
        self.assertGreaterEqual(checked, 5)


if __name__ == "__main__":
    unittest.main()
