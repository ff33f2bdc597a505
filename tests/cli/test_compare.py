"""epochbench compare over result files that were made up: every verdict, every reason for none, and what GitHub reads."""
import copy
import json
import os
import unittest

from support import CliTest, reject_constant
from test_speedup import document, run

CASE = "resnet50/cpu/fp32/b16"


def timing(step, compile_seconds=1.0):
    return {"warmup_steps": 3, "step_seconds": [step] * 20, "step_seconds_median": step, "step_seconds_ci95": None,
            "steps_total_seconds": 20 * step, "epoch_seconds": 100 * step, "epoch_kind": "projected",
            "compile_seconds": compile_seconds, "wall_seconds": 30 * step, "stopped_by": "noise"}


def measured(step=0.16, repetitions=15, spread=0.01, precision="fp32", foreign=0.01, peak=100 << 20, **groups):
    """Repetitions of one case, whose medians spread evenly by so much, relative."""
    runs = []
    for i in range(repetitions):
        offset = (i * 7 % repetitions / max(1, repetitions - 1) - 0.5) * spread if repetitions > 1 else 0
        seconds = step * (1 + offset)
        runs.append(run("cpu", 16 / seconds, i, precision=precision, **{
            "timing": timing(seconds), "interference": {"foreign_cpu_cores": foreign},
            "memory": {"planned_bytes": None, "peak_bytes": peak, "page_faults_per_step": 0},
            "quality": {"loss": [7.0, 6.9, 6.8], "final_loss": 6.8, "eval_metric": None, "eval_value": None,
                        "parity_with": None, "parity_max_relative_difference": None}, **groups}))
    return runs


class CompareCalls(CliTest):
    def sides(self, baseline, new, **new_context):
        return self.write("main.json", document(baseline)), self.write("new.json", document(new, **new_context))

    def answer(self, code, *arguments, **options):
        call = self.call("compare", *arguments, "--json", **options)
        self.assertEqual(call.returncode, code, call.stderr + call.stdout)
        return json.loads(call.stdout, parse_constant=reject_constant)


class Compare(CompareCalls):
    def test_verdicts(self):
        for step, code, verdict in ((0.16, 0, "no_change"), (0.16 * 1.04, 1, "regression"), (0.16 / 1.04, 0, "improvement")):
            paths = self.sides(measured(), measured(step))
            answer = self.answer(code, *paths)
            self.assertEqual(answer["verdict"], verdict)
            case, = answer["cases"]
            self.assertEqual((case["name"], case["verdict"]), (CASE, verdict))
            self.assertAlmostEqual(case["ratio"], step / 0.16, 3)
            low, high = case["ratio_ci95"]
            self.assertTrue(low <= case["ratio"] <= high)
            self.assertTrue(0 <= case["p_value"] <= 1)
            self.assertEqual(case["new_repetitions"], 15)
            self.assertEqual([answer[key] for key in ("missing", "added", "changed")], [[], [], []])
            self.assertIsNone(answer["next"])
            text = self.call("compare", *paths).stdout
            for part in (CASE, verdict.replace("_", " "), "main.json", "abc", "gcc 12"):
                self.assertIn(part, text)

    def test_threshold(self):
        paths = self.sides(measured(), measured(0.16 * 1.04))
        self.assertEqual(self.answer(0, *paths, "--threshold", "10")["verdict"], "no_change")
        self.assertEqual(self.answer(1, *paths, "--threshold", "5")["threshold"], 0.05)
        self.assertEqual(self.answer(1, *paths, "--threshold", "5%")["threshold"], 0.05)

    def test_one_repetition_is_not_compared(self):
        for few, sides in ((1, (measured(), measured(0.2, repetitions=1))), (0, (measured(repetitions=1), measured(0.2)))):
            paths = self.sides(*sides)
            answer = self.answer(2, *paths)
            case, = answer["cases"]
            self.assertEqual((answer["verdict"], case["verdict"]), ("not_compared", "not_compared"))
            self.assertAlmostEqual(case["ratio"], 1.25, 3)
            self.assertIn("has 1 repetition", case["note"])
            self.assertIsNone(answer["next"])  # of no suite
            text = self.call("compare", *paths).stdout
            self.assertIn("on a quiet machine, with --repetitions 15", text)
            self.assertIn("verdict: not compared: 1 of 1 case was not compared\n", text)
            self.assertIn(f"measure the {'new side' if few else 'baseline'} again", text)

    def test_one_loaded_repetition_is_left_out_and_named(self):
        disturbed = measured(0.48)
        disturbed[4]["interference"]["foreign_cpu_cores"] = 1.2
        case, = self.answer(1, *self.sides(measured(), disturbed))["cases"]
        self.assertAlmostEqual(case["ratio"], 3, 2)
        self.assertIn("repetition 5 of 15 of the new side is left out: other jobs took 1.20 cores", case["note"])
        disturbed[5]["interference"]["foreign_cpu_cores"] = 1.2
        self.answer(4, *self.sides(measured(), disturbed))
        self.answer(2, *self.sides(disturbed, measured()))

    def test_a_copy_is_no_repetition(self):
        baseline, new = self.folder / "baseline", self.folder / "new"
        for folder, step in ((baseline, 0.16), (new, 0.2)):
            folder.mkdir()
            (folder / "a.json").write_text(json.dumps(document(measured(step, repetitions=4))))
        few = self.answer(2, baseline, new)["cases"][0]
        (new / "latest.json").write_bytes((new / "a.json").read_bytes())
        further, = measured(0.161, repetitions=1)
        further["repetition"] = 4
        resumed = document(measured(0.16, repetitions=4) + [further], date="2026-02-03T04:05:06Z")
        (baseline / "b.json").write_text(json.dumps(resumed))
        call = self.call("compare", baseline, new, "--json")
        self.assertEqual(call.returncode, 2, call.stderr)
        case, = json.loads(call.stdout)["cases"]
        self.assertEqual((few["baseline_repetitions"], few["new_repetitions"]), (4, 4))
        self.assertEqual((case["baseline_repetitions"], case["new_repetitions"]), (5, 4))
        self.assertIn("left out: 4 runs of ", call.stderr)
        self.assertRegex(call.stderr, "left out: .*latest.json has the measurements of .*a.json\n")
        self.assertEqual(self.call("compare", new, baseline).stderr.count("left out"), 2)

    def test_a_folder_with_a_link_that_leads_to_itself(self):
        paths = self.sides(measured(), measured())
        folder = self.folder / "results"
        folder.mkdir()
        (folder / "loop.json").symlink_to(folder / "loop.json")
        self.assert_refused(self.call("compare", paths[0], folder), 2, "loop.json")

    def test_conditions_that_leave_it_open(self):
        for code, contender, context, part in (
                (4, measured(0.2, foreign=0.5), {}, "0.50 cores"),
                (2, measured(0.2, foreign=None), {}, "not known"),
                (2, measured(0.2), {"host_name": "other"}, "box and other"),
                (2, measured(0.2), {"host_name": None}, "host_name"),
                (2, measured(0.2), {"compiler": "clang 14"}, "clang 14"),
                (2, measured(0.2), {"build_type": "RelWithDebInfo"}, "RelWithDebInfo")):
            case, = self.answer(code, *self.sides(measured(), contender, **context))["cases"]
            self.assertIn(part, case["note"])
            self.assertAlmostEqual(case["ratio"], 1.25, 3)

    def test_sides_without_a_case_in_common_are_not_compared(self):
        paths = self.sides(measured(precision="bf16"), measured())
        for extra in ([], ["--json"], ["--github"], ["--allow", "resnet50/cpu/bf16/b16"]):
            with self.subTest(extra):
                self.assert_refused(self.call("compare", *paths, *extra), 2, "no case of", "nothing to compare",
                                    "resnet50/cpu/bf16/b16", "resnet50/cpu/fp32/b16", "epochbench speedup")

    def test_cases_of_one_side(self):
        both, one = measured() + measured(precision="bf16"), measured()
        paths = self.sides(both, one)
        lost = "resnet50/cpu/bf16/b16"
        self.assertEqual(self.answer(1, *paths)["missing"], [lost])
        self.assertIn(f"missing: {lost}", self.call("compare", *paths).stdout)
        self.assertEqual(self.answer(0, *paths, "--allow", lost)["missing"], [lost])
        self.assertEqual(self.answer(0, *paths, "--allow", "resnet50/cpu/bf16")["missing"], [lost])
        self.assert_refused(self.call("compare", *paths, "--allow", "resnet50"), 2, "--allow", "several cases", lost, "whole name")
        self.assert_refused(self.call("compare", *paths, "--allow", "resnet50/cpu/bf16/b1"), 2, "--allow", lost)
        self.assertEqual(self.answer(0, *reversed(paths))["added"], [lost])

    def test_changed_workload(self):
        other = measured(precision="bf16")
        for each in other:
            each["workload"]["fingerprint"] = "f" * 32
        paths = self.sides(measured() + measured(precision="bf16"), measured() + other)
        answer = self.answer(2, *paths)
        changed = "resnet50/cpu/bf16/b16"
        self.assertEqual(answer["changed"], [changed])
        self.assertIn("ffffffffffff", answer["reasons"][changed])
        self.assertEqual([case["name"] for case in answer["cases"]], [CASE])
        self.assertIn("verdict: not compared: 1 of 2 cases was not compared", self.call("compare", *paths).stdout)
        self.answer(0, *paths, "--allow", changed)

    def test_not_ok(self):
        failed = measured()
        for each in failed:
            each.update(status="out_of_memory", message="needs 5 GB", timing=None)
        answer = self.answer(1, *self.sides(measured(), failed))
        case, = answer["cases"]
        self.assertIsNone(case["ratio"])
        self.assertEqual(case["concerns"][0]["code"], "not_ok")
        self.assertIn("needs 5 GB", self.call("compare", "main.json", "new.json").stdout)
        self.assert_refused(self.call("compare", "new.json", "new.json"), 2, "measure the baseline again")
        good, bad = measured(precision="bf16"), measured()
        for each in bad:
            each.update(status="failed", message="killed", timing=None)
        self.answer(0, *self.sides(measured() + good, bad + good), "--allow", CASE)
        for old, new in ((bad + good, measured() + good), (bad + good, bad + good)):  # else green for ever
            answer = self.answer(2, *self.sides(old, new))
            self.assertEqual(answer["baseline_not_ok"] + answer["not_measured"], [CASE])
            self.answer(0, *self.sides(old, new), "--allow", CASE)

    def test_beside_time(self):
        heavier = self.answer(1, *self.sides(measured(), measured(peak=132 << 20)))
        self.assertEqual(heavier["verdict"], "regression")
        self.assertEqual(heavier["cases"][0]["verdict"], "no_change")
        self.assertEqual([c["code"] for c in heavier["cases"][0]["concerns"]], ["peak_memory"])
        odd = measured()
        for each in odd:
            each["quality"]["loss"][-1] = each["quality"]["final_loss"] = 6.5
            each["timing"]["compile_seconds"] = 2.0
        answer = self.answer(0, *self.sides(measured(), odd))
        self.assertEqual([c["code"] for c in answer["cases"][0]["concerns"]], ["final_loss", "compile_time"])

    def test_debug_builds(self):
        paths = self.sides(measured(), measured(), build_type="Debug")
        self.assert_refused(self.call("compare", *paths), 2, "new.json", "Debug", "--force")
        self.assertEqual(self.call("compare", *paths, "--force").returncode, 2, "another build type")
        debug = self.write("debug.json", document(measured(), build_type="Debug"))
        self.assertEqual(self.call("compare", debug, debug, "--force").returncode, 0)

    def test_folders(self):
        runs = measured(), measured(0.16 * 1.05)
        for folder, side in zip(("old", "new"), runs):
            (self.folder / folder).mkdir()
            self.write(f"{folder}/1.json", document(side[:8]))
            self.write(f"{folder}/2.json", document([{**each, "repetition": number} for number, each in enumerate(side[8:])]))
        answer = self.answer(1, "old", "new")
        self.assertEqual(answer["cases"][0]["baseline_repetitions"], 15)
        self.assertEqual(answer["new"]["label"], "new")

    def test_wrong_calls(self):
        paths = self.sides(measured(), measured())
        for arguments, parts in (([], ["BASELINE", "NEW"]), ([paths[0]], ["no NEW"]),
                                 ([*paths, paths[0]], ["main.json"]),
                                 ([*paths, "--threshold", "0"], ["--threshold"]), ([*paths, "--threshold", "x"], ["--threshold"]),
                                 ([*paths, "--threshold", ""], ["--threshold"]), (["nowhere.json", paths[1]], ["nowhere.json"]),
                                 ([*paths, "--history", "."], ["--history"])):
            self.assert_refused(self.call("compare", *arguments), 2, *parts)

    def test_github(self):
        slower = measured(0.16 * 1.04) + measured(0.2, precision="bf16", foreign=0.5)
        paths = self.sides(measured() + measured(precision="bf16"), slower)
        summary = self.folder / "summary.md"
        summary.write_text("before\n")
        environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary)}
        call = self.call("compare", *paths, "--github", env=environment)
        self.assertEqual(call.returncode, 1)
        commands = [line for line in call.stdout.splitlines() if line.startswith("::")]
        self.assertEqual([line.split(" ")[0] for line in commands], ["::error", "::warning"])
        self.assertIn(CASE, commands[0])
        self.assertIn("%25 slower", commands[0])
        written = summary.read_text()
        self.assertTrue(written.startswith("before\n## epochbench: regression\n"), written)
        self.assertIn("| resnet50/cpu/fp32/b16 |", written)
        quiet = self.call("compare", *paths, "--github", "--json", env={**os.environ, "GITHUB_STEP_SUMMARY": ""})
        json.loads(quiet.stdout)
        self.assertIn("::error ", quiet.stderr)
        broken = self.call("compare", *paths, "--github", env={**os.environ, "GITHUB_STEP_SUMMARY": "no/such/folder"})
        self.assertEqual(broken.returncode, 1, "the verdict stands")
        self.assertIn("no/such/folder", broken.stderr)

    def test_names_cannot_command(self):
        hostile = measured(0.2, foreign=0.5)
        for each in hostile:
            each["name"] = "m/cpu/fp32/b1\n::error::owned\x1b[2J|<script>"
        paths = self.sides(copy.deepcopy(hostile), hostile)
        call = self.call("compare", *paths, "--github")
        self.assertNotIn("\n::error::owned", call.stdout)
        self.assertNotIn("\x1b", call.stdout)


class History(CompareCalls):
    def nights(self, count, step_of):
        (self.folder / "nightly").mkdir()
        for i in range(count):
            content = document(measured(step_of(i) * (1 + 0.004 * ((i * 7) % 11 / 5 - 1) + i * 1e-9), repetitions=1), git_sha=f"{i:040x}",
                               date=f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}T02:00:00Z")
            self.write(f"nightly/{i}.json", content)

    def test_finds_the_commit(self):
        self.nights(40, lambda i: 0.16 if i < 22 else 0.168)
        answer = self.answer(0, "--history", "nightly")
        series, = answer["series"]
        self.assertEqual((series["name"], len(series["points"]), series["of"]), (CASE, 40, "step_seconds"))
        change, = series["changes"]
        self.assertEqual(change["begin"]["git_sha"], f"{22:040x}")
        self.assertEqual(change["last_before"]["git_sha"], f"{21:040x}")
        self.assertAlmostEqual(change["ratio"], 1.05, 2)
        text = self.call("compare", "--history", "nightly")
        self.assertEqual(text.returncode, 0)
        self.assertIn("a step at 0000000 of 2026-01-23", text.stdout)

    def test_three_points(self):
        self.nights(3, lambda i: 0.16)
        series, = self.answer(0, "--history", "nightly")["series"]
        self.assertEqual(series["changes"], [])
        self.assertIn("3 points", series["reason"])

    def test_a_damaged_file_is_left_out(self):
        self.nights(7, lambda i: 0.16)
        whole = (self.folder / "nightly/3.json").read_text()
        for damage, part in ((whole[:-200], "ends too early"), ("nothing", "line 1, column"), ("[]", "is neither a result nor"),
                             ('{"schema_version": 99}', "newer"), ('{"schema_version": 1, "context": []}', "must be an object")):
            with self.subTest(damage[-40:]):
                (self.folder / "nightly/3.json").write_text(damage)
                call = self.succeed("compare", "--history", "nightly", "--json")
                series, = json.loads(call.stdout)["series"]
                self.assertEqual(len(series["points"]), 6)
                self.assertRegex(call.stderr, r"\Aepochbench: left out: nightly/3\.json\b.*\n\Z")
                self.assertIn(part, call.stderr)
                page = self.call("report", "nightly", "-o", "page.html")
                self.assertEqual((page.returncode, page.stderr), (0, call.stderr))
        (self.folder / "nightly/3.json").write_text(whole[:-200])
        self.assert_refused(self.call("report", "nightly/3.json", "-o", "page.html"), 2, "nightly/3.json", "ends too early")
        for i in range(7):
            (self.folder / f"nightly/{i}.json").write_text(whole[:-200])
        self.assert_refused(self.call("compare", "--history", "nightly"), 2, "none of its 7 results", "nightly/0.json",
                            "ends too early")

    def test_wrong_calls(self):
        self.nights(3, lambda i: 0.16)
        (self.folder / "empty").mkdir()
        for arguments, parts in ((["--history", "nowhere"], ["nowhere"]), (["--history", "empty"], ["empty"]),
                                 (["--history", "nightly", "--github"], ["--history", "--github"]),
                                 (["--history", "nightly", "--interleave", "a", "b"], ["--history", "--interleave"]),
                                 (["--history", "nightly", "--suite", "quick"], ["--suite", "--interleave"]),
                                 (["--history", "nightly/0.json"], ["nightly/0.json"])):
            self.assert_refused(self.call("compare", *arguments), 2, *parts)
        self.write("nightly/notes.json", {"title": "no result"})
        call = self.call("compare", "--history", "nightly")
        self.assertEqual(call.returncode, 0)
        self.assertIn("notes.json", call.stderr)


if __name__ == "__main__":
    unittest.main()
