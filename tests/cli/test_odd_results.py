"""Every command that answers out of results, over results whose fields are missing, zero, huge, in another currency or of no
use: an answer or a refusal of one line, never a crash, a number that is none, or a 0 that nobody measured."""
import copy
import json
import math
import re
import unittest

from consistent import consistent
from support import VALIDATOR, CliTest, known_peaks, measured_claims, reject_constant
from test_speedup import cost, document, run

COMMANDS = [("speedup",), ("speedup", "--best"), ("cost",), ("claims",), ("answers",),
            ("cost", "--purchase", "900", "--lifetime", "5", "--power", "120", "--electricity", "0.3", "--cloud", "0.34")]
# Numbers that were changed one by one contradict each other, so their runs are left out; what is left is answered.
LEFT_OUT = re.compile("^epochbench: left out: .* contradicts itself: .*\n", re.MULTILINE)
# Keys of the answers in JSON that are never 0, and null only with a reason.
FIGURES = ("ratio", "cost_ratio", "energy_ratio", "epoch_seconds", "local_usd_per_epoch", "cloud_usd_per_epoch",
           "break_even_hours_per_month", "measured")
NO_NUMBER = re.compile(r"(?<![a-z])(nan|inf|infinity)(?![a-z])", re.IGNORECASE)


def complete_run(backend, precision, batch, rate, repetition):
    """A run that has all groups, of a sweep over the batch."""
    step = batch / rate
    gpu = backend == "cuda"
    return run(
        backend, rate, repetition, precision, batch,
        timing={"warmup_steps": 3, "step_seconds": [step] * 10, "step_seconds_median": step, "step_seconds_ci95": [step, step],
                "steps_total_seconds": 10 * step, "epoch_seconds": 1281167 / rate, "epoch_kind": "projected",
                "compile_seconds": 0.1, "wall_seconds": 20 * step + repetition, "stopped_by": "noise",
                "harness_seconds_per_step": None},
        efficiency={"flops_per_second": 24e9 * rate, "peak_fraction": 0.6, "data_wait_fraction": 0.0,
                    "gpu_busy_fraction": 0.9 if gpu else None},
        memory={"planned_bytes": 10**9, "peak_bytes": 10**9, "page_faults_per_step": 0.0},
        interference={"foreign_cpu_cores": 0.0},
        gpu={"utilization": 0.9, "sm_clock_hertz": 1.7e9, "temperature_celsius": 60.0, "throttled_steps": 0,
             "throttle_reasons": [], "skipped_steps": 0} if gpu else None,
        quality={"loss": [7.0 - 0.01 * i for i in range(13)], "final_loss": 6.88, "eval_metric": None, "eval_value": None,
                 "eval_history": [], "parity_with": None, "parity_max_relative_difference": 1e-6},
        energy={"source": "rapl+nvml" if gpu else "rapl", "joules_per_epoch": 1e6, "parts": {"cpu": 5e5, "gpu": 5e5},
                "average_watts": 300.0, "idle_watts": 50.0},
        cost=cost(0.5, usd_per_hour=1.0))


def complete_result():
    return document([complete_run(backend, precision, batch, rate * (1 + 0.1 * batch / 64) * (1 + 0.001 * repetition), repetition)
                     for repetition in range(5) for batch in (16, 32, 64)
                     for backend, precision, rate in (("cpu", "fp32", 10.0), ("cuda", "fp32", 80.0), ("cuda", "bf16", 200.0))])


def numbers_of(value, path=()):
    """(path, number) of every number in a JSON value; a path is the keys that lead there."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from numbers_of(member, path + (key,))
    elif isinstance(value, list):
        for member in value:
            yield from numbers_of(member, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def replace_numbers(value, replacement):
    """Every number that is not a whole one, in place."""
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(member, float):
            value[key] = replacement
        elif isinstance(member, (dict, list)):
            replace_numbers(member, replacement)


def without_nulls(value):
    """What a writer leaves out that does not write what it does not know."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value


def each_run(change):
    def change_all(result):
        for each in result["runs"]:
            change(each)
    return change_all


def of_gpu(change):
    return each_run(lambda each: each["device"]["backend"] == "cuda" and change(each))


def no_optional_group(each):
    for group in ("timing", "efficiency", "memory", "interference", "gpu", "quality", "energy", "cost"):
        each[group] = None


def zero_samples(each):
    each["timing"].update(step_seconds=[], step_seconds_median=0.0, step_seconds_ci95=None, steps_total_seconds=0.0,
                          epoch_seconds=0.0, wall_seconds=0.0)
    each["throughput"]["samples_per_second"] = 0.0
    each["workload"]["samples_per_epoch"] = 0


def one_sample(result):
    for each in result["runs"]:
        each["timing"].update(step_seconds=each["timing"]["step_seconds"][:1], step_seconds_ci95=None)
    consistent(result)


def one_repetition(result):
    result["runs"] = [each for each in result["runs"] if each["repetition"] == 0]


def nothing_known_of_the_machine(result):
    result["context"].update(host_name=None, git_sha=None, gpus=[])
    result["context"]["cpu"].update(model="", sockets=None, cores=None, isa=[], peak_flops_per_second={})


def whole_numbers(value):
    def change(each):
        each["workload"].update(parameters=value, batch=value, samples_per_epoch=value)
        each["memory"].update(planned_bytes=value, peak_bytes=value)
        if each["gpu"]:
            each["gpu"].update(throttled_steps=value, skipped_steps=value)
    return each_run(change)


CHANGES = {
    "nothing": lambda result: None,
    "no optional groups": each_run(no_optional_group),
    "zero samples": each_run(zero_samples),
    "zero samples on the GPU": of_gpu(zero_samples),
    "one sample": one_sample,
    "one repetition": one_repetition,
    "a price of 0": each_run(lambda each: each.update(cost=cost(0.0, usd_per_hour=0.0))),
    "another currency": each_run(lambda each: each["cost"] and each["cost"].update(currency="EUR")),
    "two currencies": of_gpu(lambda each: each["cost"].update(currency="EUR")),
    "zeros": each_run(lambda each: replace_numbers(each, 0.0)),
    "negative": each_run(lambda each: replace_numbers(each, -1.0)),
    "huge": each_run(lambda each: replace_numbers(each, 1e308)),
    "huge on the GPU": of_gpu(lambda each: replace_numbers(each, 1e308)),
    "tiny": each_run(lambda each: replace_numbers(each, 5e-324)),
    "tiny on the GPU": of_gpu(lambda each: replace_numbers(each, 5e-324)),
    "whole numbers of 0": whole_numbers(0),
    "whole numbers below 0": whole_numbers(-1),
    "huge whole numbers": whole_numbers(2**63 - 1),
    "nothing known of the machine": nothing_known_of_the_machine,
    "all failed": each_run(lambda each: each.update(status="failed", message="killed by signal 9")),
    "no runs": lambda result: result.update(runs=[]),
}


def sweep_answers(**changes):
    curve = {"curve": "resnet50/cpu/fp32", "device": "cpu", "precision": "fp32"}
    crossing = {"baseline": "a", "contender": "b", "in": "time", "value": 20.0, "between": [16, 32], "ci95": [17.0, 25.0],
                "better_above": "b", "reason": None}
    crossing.update(changes.pop("crossing", {}))
    answers = {"over": "batch", "measure": "samples_per_second",
               "best": [{**curve, "value": 64, "rate": 11.0, "indistinguishable": [], "reason": None}],
               "flattens_at": [{**curve, "value": 16, "range": [16, 32], "reason": None}],
               "crossover": [crossing], "no_crossover": [], "scaling": []}
    answers["best"][0].update(changes.pop("best", {}))
    answers["flattens_at"][0].update(changes.pop("flattens_at", {}))
    return {**answers, **changes}


class OddResults(CliTest):
    def commands(self, change):
        """All, with the whole catalog of claims after one change only."""
        if change == "huge":
            return COMMANDS
        catalog = measured_claims(self.folder)
        return [(*command, "--catalog", catalog) if command == ("claims",) else command for command in COMMANDS]

    def check_figures(self, value):
        """No figure of an answer is 0, and one that is null has a reason beside it, or parts that have."""
        for member in value if isinstance(value, list) else value.values():
            if isinstance(member, (dict, list)):
                self.check_figures(member)
        if isinstance(value, list):
            return
        for key in FIGURES:
            if key not in value:
                continue
            self.assertNotEqual(value[key], 0, (key, value))
            if value[key] is None:
                self.assertTrue(value.get(f"{key}_reason") or value.get("reason") or value.get("parts"), (key, value))

    def check_text(self, call):
        self.assertNotRegex(call.stdout, NO_NUMBER)
        self.assertNotIn("9223372036854775808", call.stdout.replace(",", ""))

    def call(self, *arguments, **options):
        call = super().call(*arguments, **options)
        call.stderr = LEFT_OUT.sub("", call.stderr)
        return call

    def check(self, path, command):
        call = self.call(command[0], path, *command[1:])
        if call.returncode == 2:
            self.assert_refused(call, 2)
            return
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        self.check_text(call)
        call = self.call(command[0], path, *command[1:], "--json")
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        answer = json.loads(call.stdout, parse_constant=reject_constant)
        for place, number in numbers_of(answer):
            self.assertTrue(math.isfinite(number), place)
        self.check_figures(answer)

    def test_answers_out_of_odd_results(self):
        whole = complete_result()
        VALIDATOR.validate(whole)
        for name, change in CHANGES.items():
            result = copy.deepcopy(whole)
            change(result)
            self.out.write_text(json.dumps(result))
            for command in self.commands(name):
                with self.subTest(name, command=command):
                    self.check(self.out, command)

    def test_what_is_not_known_may_be_left_out(self):
        for name in ("nothing", "no optional groups", "one sample", "nothing known of the machine"):
            result = complete_result()
            CHANGES[name](result)
            self.out.write_text(json.dumps(without_nulls(result)))
            for command in self.commands(name):
                with self.subTest(name, command=command):
                    self.check(self.out, command)

    def test_a_whole_result_is_answered_by_all(self):
        self.out.write_text(json.dumps(complete_result()))
        for command in COMMANDS:
            self.assertEqual(self.call(command[0], self.out, *command[1:]).returncode, 0, command)
        pair = json.loads(self.call("speedup", self.out, "--json").stdout)["pairs"][0]
        self.assertGreater(pair["ratio_ci95"][0], 7)

    def test_answers_of_a_sweep_are_read_or_refused(self):
        for name, answers, part in [
            ("good", sweep_answers(), None),
            ("nothing known", sweep_answers(best={"value": None, "rate": None, "indistinguishable": None, "reason": "none"},
                                            flattens_at={"value": None, "range": None}, crossover=None), None),
            ("a huge rate", sweep_answers(best={"rate": 1e308}), None),
            ("a huge value", sweep_answers(best={"value": 1e308}), "value"),
            ("a huge end", sweep_answers(flattens_at={"range": [16, 1e308]}), "range"),
            ("half a sample", sweep_answers(crossing={"between": [16.5, 32]}), "between"),
            ("huge values", sweep_answers(best={"indistinguishable": [1e300]}), "indistinguishable"),
            ("one end", sweep_answers(flattens_at={"range": [16]}), "range"),
            ("text", sweep_answers(best={"indistinguishable": ["16"]}), "indistinguishable"),
            ("a list", [], "answers"),
        ]:
            with self.subTest(name):
                self.out.write_text(json.dumps({**complete_result(), "answers": answers}))
                call = self.call("speedup", self.out)
                if part is None:
                    self.assertEqual((call.returncode, call.stderr), (0, ""))
                else:
                    self.assert_refused(call, 2, "result.json", part)

    def test_a_sweep_goes_on_from_an_odd_result(self):
        sweep = ["sweep", "--model", "mlp:width=16", "--over", "batch", "--values", "8,16,32", "--steps", "2", "--warmup", "0"]
        self.assertEqual(self.call(*sweep, *known_peaks(), "--out", self.out, "--overwrite").returncode, 0)
        measured = self.result()
        # Those that the schema allows, since what is kept is written again.
        for name in ("nothing", "zero samples", "one sample", "zeros", "negative", "tiny", "another currency"):
            with self.subTest(name):
                result = copy.deepcopy(measured)
                CHANGES[name](result)
                odd = self.write("odd.json", result)
                call = self.call(*sweep, "--resume", odd, "--out", self.folder / "more.json", "--overwrite")
                self.assertIn(call.returncode, (0, 2), call.stderr)
                self.check_text(call)
                if call.returncode == 0:
                    json.loads((self.folder / "more.json").read_text(), parse_constant=reject_constant)


if __name__ == "__main__":
    unittest.main()
