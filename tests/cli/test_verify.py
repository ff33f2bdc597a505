"""Results that contradict themselves: `epochbench verify` names every run, and no other command answers from them. The edits of
stored results are those that once changed an answer without a word."""
import copy
import functools
import json
import random
import sys
import unittest

from support import BINARY, SCHEMAS, CliTest, measured_claims

sys.path.insert(0, str(SCHEMAS.parents[1] / "scripts" / "lib"))
from result_edits import edit, found_by_verify  # noqa: E402

RESULTS = SCHEMAS.parent
STORED = sorted(path for path in RESULTS.glob("*.json") if "schema_version" in path.read_text(encoding="utf-8")[:200])


@functools.cache
def stored(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def runs_of(document, name):
    found = [run for run in document["runs"] if run["name"] == name and run["status"] == "ok"]
    assert found, name
    return found


CPU = ("zen4-2cores-hour.json", "resnet50/cpu/bf16/b32")
GPU = ("h200-record.json", "resnet50/cuda/bf16/b256")


def scale(run, factor):
    """All times, consistently."""
    timing = run["timing"]
    timing["step_seconds"] = [factor * step for step in timing["step_seconds"]]
    if timing["step_seconds_ci95"]:
        timing["step_seconds_ci95"] = [factor * end for end in timing["step_seconds_ci95"]]
    for key in ("step_seconds_median", "steps_total_seconds", "epoch_seconds", "wall_seconds"):
        timing[key] *= factor
    for group, key in (("throughput", "samples_per_second"), ("throughput", "tokens_per_second"),
                       ("efficiency", "flops_per_second"), ("efficiency", "peak_fraction")):
        if run[group][key] is not None:
            run[group][key] /= factor
    for group, keys in (("cost", ("usd_per_epoch", "usd_total")), ("energy", ("joules_per_epoch",))):
        for key in keys:
            if run[group] and run[group].get(key) is not None:
                run[group][key] *= factor


def set_in(group, key, change):
    def edit(runs, _):
        for run in runs:
            run[group][key] = change(run[group][key])
    return edit


def faster_times(runs, _):
    for run in runs:
        scale(run, 0.1)


def one_copied(runs, _):
    for run in runs[1:]:
        run["timing"], run["throughput"] = copy.deepcopy(runs[0]["timing"]), copy.deepcopy(runs[0]["throughput"])
        run["efficiency"] = copy.deepcopy(runs[0]["efficiency"])


def one_copied_with_jitter(runs, _):
    one_copied(runs, _)
    for i, run in enumerate(runs):
        scale(run, 1 + 0.001 * i)


def slow_ones_deleted(runs, document):
    slowest = max(runs[:-1], key=lambda run: run["timing"]["steps_total_seconds"])
    document["runs"] = [run for run in document["runs"] if run is not slowest]


def another_card(runs, document):
    for run in runs:
        run["device"]["name"] = "Tesla T4"
    document["context"]["gpus"][0]["name"] = "Tesla T4"


def no_card(runs, document):
    for run in runs:
        run["device"].update(backend="cuda", name="NVIDIA B200")


def other_precision(runs, _):
    for run in runs:
        run["precision"] = "fp32"
        run["name"] = run["name"].replace("bf16", "fp32")
        run.get("settings", {}).pop("precision", None)


def smaller_model(runs, _):
    for run in runs:
        run["workload"]["parameters"] //= 10


# What is edited, in which result and runs, and the figure that the message names.
EDITS = {
    "samples per second": (CPU, set_in("throughput", "samples_per_second", lambda x: 10 * x), "samples_per_second"),
    "all times": (CPU, faster_times, "of the peak that was measured"),
    "copies of the fastest": (CPU, one_copied, "its steps are those of repetition 0"),
    "copies with jitter": (CPU, one_copied_with_jitter, "its steps are those of repetition 0"),
    "the slowest is deleted": (CPU, slow_ones_deleted, "is missing"),
    "bf16 becomes fp32": (GPU, other_precision, "of the peak that was measured"),
    "another card": (GPU, another_card, "Tesla T4 cannot compute in bf16"),
    "a card that is not there": (CPU, no_card, "not among the GPUs of the file"),
    "share of the peak": (CPU, set_in("efficiency", "peak_fraction", lambda x: 0.9), "peak_fraction"),
    "a shorter epoch": (CPU, set_in("timing", "epoch_seconds", lambda x: x / 25), "epoch_seconds"),
    "a measured epoch": (CPU, set_in("timing", "epoch_kind", lambda x: "measured"), "epoch_kind"),
    "the batch": (CPU, set_in("workload", "batch", lambda x: 10 * x), "batch"),
    "little memory": (CPU, set_in("memory", "peak_bytes", lambda x: 1000), "peak_bytes"),
    "no steps": (CPU, set_in("timing", "step_seconds", lambda x: []), "step_seconds is empty"),
    "the total": (CPU, set_in("timing", "steps_total_seconds", lambda x: 1.0), "steps_total_seconds"),
    "the median": (CPU, set_in("timing", "step_seconds_median", lambda x: x / 2), "step_seconds_median"),
    "the price": (GPU, set_in("cost", "usd_per_hour", lambda x: 0.001), "usd_per_epoch"),
    "the cost of an epoch": (GPU, set_in("cost", "usd_per_epoch", lambda x: x / 100), "usd_per_epoch"),
    "no source of a price": (GPU, set_in("cost", "price_source", lambda x: None), "price_source"),
    "the model": (CPU, smaller_model, "parameters"),
    "the joules": (GPU, set_in("energy", "parts", lambda parts: {**parts, "gpu": parts["gpu"] / 2}), "joules"),
}


def another_model(runs, _):
    """A model with a fiftieth of the work, under the name and the fingerprint of the larger one."""
    for run in runs:
        run["workload"]["train_flops_per_sample"] /= 50
        run["efficiency"]["flops_per_second"] /= 50
        run["efficiency"]["peak_fraction"] /= 50


def higher_peaks(_, document):
    def raise_all(value):
        for key, each in value.items():
            if key.startswith("peak_") and isinstance(each, dict):
                value[key] = {precision: [10 * burst for burst in peak] if isinstance(peak, list) else peak and 10 * peak
                              for precision, peak in each.items()}
    cpu = document["context"]["cpu"]
    for group in (cpu, *cpu.get("peak_processes", [])):
        raise_all(group)


EDITS.update({
    "another model": (CPU, another_model, "per sample"),
    "higher peaks": (CPU, higher_peaks, "peak_fraction"),
})

READING = (("answers",), ("speedup",), ("cost", "--purchase", "900", "--lifetime", "5", "--power", "120"),
           ("report", "-o", "page.html"), ("export", "--format", "csv"))


class Edited(CliTest):
    def edited(self, source, edit, whole=False):
        """The result with the edit; only the runs of its model, which are read in no time, unless `whole`."""
        document, model = dict(stored(source[0])), source[1].split("/")[0]
        document["runs"] = [run for run in document["runs"] if whole or run["workload"]["model"] == model]
        document = copy.deepcopy(document)
        edit(runs_of(document, source[1]), document)
        path = self.write("edited.json", document)
        return str(path)

    def statuses(self, path, name):
        """Of the repetitions of a run, in a row each."""
        rows = self.call("export", "--format", "csv", path).stdout.splitlines()
        return [row.split(",")[2] for row in rows if row.startswith(name + ",")]


class Answers(Edited):
    """No command answers from a case that contradicts itself."""
    def test_every_command_names_it(self):
        claims = ("claims", "--catalog", measured_claims(self.folder))
        for what, (source, edit, _) in EDITS.items():
            path = self.edited(source, edit)
            file, = json.loads(self.call("verify", path, "--json").stdout)["files"]
            texts = [found["text"] for found in file["contradictions"]]
            for command in (*READING, claims):
                with self.subTest(what, command=command[0]):
                    call = self.call(command[0], path, *command[1:])
                    line, = [each for each in call.stderr.splitlines() if each.startswith("epochbench: left out: ")]
                    self.assertTrue(any(text in line for text in texts), line)
                    self.assertIn("epochbench verify", line)

    def test_outputs_show_it_as_left_out(self):
        path = self.edited(*EDITS["samples per second"][:2], whole=True)
        self.assertEqual(self.statuses(path, CPU[1]), ["contradicts_itself"] * 5)
        answer = json.loads(self.call("speedup", path, "--json").stdout)
        self.assertNotIn(CPU[1], json.dumps(answer["pairs"]))
        self.assertIn("contradicts itself", json.dumps(answer["unpaired"]))

    def test_one_bad_repetition_takes_its_case_out(self):
        """Leaving it out alone would be what its deletion is."""
        def edit(runs, _):
            max(runs, key=lambda run: run["timing"]["steps_total_seconds"])["timing"]["steps_total_seconds"] *= 1.1
        self.assertEqual(self.statuses(self.edited(CPU, edit), CPU[1]), ["contradicts_itself"] * 5)

    def test_compare_gives_no_verdict(self):
        edited = self.edited(CPU, slow_ones_deleted, whole=True)
        whole = self.write("whole.json", stored(CPU[0]))
        for sides in ((whole, edited), (edited, whole)):
            call = self.call("compare", *sides, "--json", "--force")
            self.assertEqual(call.returncode, 2, call.stderr)
            self.assertIn("contradicts itself", json.loads(call.stdout)["reasons"][CPU[1]])


class Turns(CliTest):
    STORED = sorted((RESULTS / "history").glob("*.json"))

    def edited(self, edit):
        document = json.loads(self.STORED[0].read_text(encoding="utf-8"))
        edit(document["cases"][-1]["pairs"])  # short enough to have its steps
        return self.write("edited.json", document)

    def test_stored_documents_agree_with_themselves(self):
        call = self.call("verify", *self.STORED)
        self.assertEqual(call.returncode, 0, call.stdout)

    def test_edits_are_named(self):
        def ratios(pairs):
            for pair in pairs:
                pair["log_ratio"] = -0.5

        def turn(pairs):
            pairs[0]["new"]["turn_seconds"][3] *= 1.01

        def steps(pairs):
            pairs[0]["new"]["step_seconds"][3] *= 1.01

        def middle(pairs):
            pairs[1]["new"]["step_seconds_median"] *= 0.99

        def copied(pairs):
            pairs[2].update({key: pairs[1][key] for key in ("baseline", "new", "log_ratio")})
        for edit, named in ((ratios, "log_ratio"), (turn, "turn_seconds"), (steps, "turn_seconds"),
                            (middle, "step_seconds_median"), (copied, "those of pair 1")):
            with self.subTest(edit.__name__):
                path = self.edited(edit)
                call = self.call("verify", path)
                self.assertEqual(call.returncode, 1, call.stdout)
                self.assertIn(named, call.stdout)
                for command in (["report", path, "-o", "page.html"], ["compare", "--history", self.folder]):
                    self.assertIn(named, self.call(*command).stderr)


class RandomEdits(CliTest):
    def test_nearly_all_are_found(self):
        """One of twenty may pass, such as a repetition whose number was the last; scripts/experiments/edit_trials tries thousands."""
        chosen = random.Random(1)
        documents = [stored(name) for name in ("zen4-2cores-hour.json", "h200-record.json", "xeon-amx-2cores-quick.json")]
        edits = [edit(chosen.choice(documents), chosen) for _ in range(100)]
        folder = self.folder / "edits"
        folder.mkdir()
        found = found_by_verify(BINARY, folder, [document for document, _ in edits])
        self.assertEqual(len(found), 100)
        self.assertGreaterEqual(sum(found), 95, [figure for (_, figure), is_found in zip(edits, found) if not is_found])


class Verify(Edited):

    def test_stored_results_agree_with_themselves(self):
        call = self.call("verify", *map(str, STORED))
        self.assertEqual(call.returncode, 0, call.stdout)
        self.assertEqual(call.stdout.count("with themselves"), len(STORED))
        self.assertIn("a file is not signed", call.stdout)

    def test_numbers_of_seven_digits_agree(self):
        """As other programs write them; and one whose steps take all the time."""
        def rounded(value):
            if isinstance(value, dict):
                return {key: rounded(each) for key, each in value.items()}
            if isinstance(value, list):
                return [rounded(each) for each in value]
            return float(f"{value:.7g}") if isinstance(value, float) else value

        def edit(_, document):
            for run in document["runs"]:
                run.update(rounded(run))
                if run["timing"]:
                    run["timing"]["wall_seconds"] = run["timing"]["steps_total_seconds"] * (1 - 1e-15)
                    run["cost"] = None
        for source in (CPU, GPU):
            call = self.call("verify", self.edited(source, edit))
            self.assertEqual(call.returncode, 0, call.stdout)

    def test_edits_are_named(self):
        for what, (source, edit, named) in EDITS.items():
            with self.subTest(what):
                path = self.edited(source, edit)
                call = self.call("verify", path)
                self.assertEqual(call.returncode, 1, call.stdout)
                self.assertIn(named, " ".join(call.stdout.split()))
                self.assertIn(source[1].split("/")[0], call.stdout)
                found = json.loads(self.call("verify", path, "--json").stdout)
                self.assertTrue(found["files"][0]["contradictions"])

    def test_each_contradiction_is_named_with_its_run_and_identity(self):
        path = self.edited(CPU, EDITS["samples per second"][1])
        file, = json.loads(self.call("verify", path, "--json").stdout)["files"]
        self.assertGreater(file["runs"], 5)
        found = [(each["run"], each["repetition"]) for each in file["contradictions"] if each["identity"] == "samples_per_second"]
        self.assertEqual(found, [(CPU[1], repetition) for repetition in range(5)])

    def test_bad_input(self):
        self.assert_refused(self.call("verify"), 2, "verify: no RESULT")
        self.assert_refused(self.call("verify", "missing.json"), 2, "missing.json")

    def test_a_consistently_slowed_side_passes(self):
        """What arithmetic cannot find, as the documents say."""
        def slow(runs, _):
            for run in runs:
                scale(run, 1.5)
        call = self.call("verify", self.edited(CPU, slow))
        self.assertEqual(call.returncode, 0, call.stdout)


if __name__ == "__main__":
    unittest.main()
