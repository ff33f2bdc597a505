"""`epochbench verify`, which names the runs of a result that contradict themselves: edits of stored results that once
changed an answer without a word."""
import copy
import functools
import json
import pathlib
import re
import unittest

from support import SCHEMAS, CliTest

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


class Verify(CliTest):
    def edited(self, source, edit):
        document = copy.deepcopy(stored(source[0]))
        edit(runs_of(document, source[1]), document)
        path = self.folder / "edited.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    def test_stored_results_agree_with_themselves(self):
        call = self.call("verify", *map(str, STORED))
        self.assertEqual(call.returncode, 0, call.stdout)
        self.assertEqual(call.stdout.count("with themselves"), len(STORED))
        self.assertIn("a file is not signed", call.stdout)

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
        self.assertEqual(file["runs"], len(stored(CPU[0])["runs"]))
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
