"""The parts of scripts/check_gpu: its plan on a made-up machine with a made-up clock, where each command may fail, hang or take
its call down, also while the state is being saved; and the verdicts."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

from in_folder import FolderTest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

import gpu_plan  # noqa: E402
import gpu_results  # noqa: E402
import gpu_state  # noqa: E402
from commands import Runner, Stamps  # noqa: E402
from killed import Killed, killed_at, parts_of  # noqa: E402

BUDGET = 540
PROGRAM = random.Random(0).randbytes(80 * 2 ** 10)  # does not compress: two parts

MANY_OF_A_KIND = r"sanitizer-.*_gpu$"


class Machine:
    """A bare machine: a folder for records, the programs that were built on it, and a clock. Its plan lacks the commands whose
    names match left_out."""

    def __init__(self, folder, left_out=MANY_OF_A_KIND):
        self.left_out = left_out
        self.records, self.build = folder / "records", folder / "build"
        self.now, self.alive, self.finished = 0.0, True, []
        self.torn = None  # the command whose save was the end of the call
        self.build.mkdir(parents=True)

    def plan(self):
        commands = list(gpu_plan.Plan(REPOSITORY, self.build, self.records, "9.0", 80 * 2 ** 30, None, [], None, "", "sources",
                                      None).commands())
        commands = [command for command in commands if not re.match(self.left_out, command.name)]
        for command in commands:
            command.judge = None  # of numbers, which nobody measures here
            if command.here:
                command.here = lambda name=command.name: name in self.built()
        return commands

    def built(self):
        return {path.name for path in self.build.iterdir()} | ({"configure", "build"} if (self.build / "epochbench").exists() else set())


class MadeUpRunner(Runner):
    """faults: name -> what happens to its next attempts: fail, hang, interrupt (Control-C), kill (the whole call), or a number: it
    passes, and the call is killed at that operation on files of the save after it."""

    def __init__(self, machine, state, faults):
        self.machine, self.faults, self.order = machine, faults, []
        super().__init__(machine.records, BUDGET, {}, lambda *texts: None, self.save_state, lambda: machine.now)
        self.state, self.torn = state, None

    def save_state(self):
        if not self.machine.alive:
            return
        torn, self.torn = self.torn, None
        try:
            with killed_at(torn):
                self.state.save(self.machine.records, self.machine.build / "epochbench")
        except Killed:
            self.machine.alive, self.machine.torn = False, self.current.name
            raise

    def attempt(self, command):
        self.current = command
        return super().attempt(command)

    def execute(self, argv, log, out, seconds):
        command = self.current
        self.order.append(command.name)
        fault = self.faults[command.name].pop(0) if self.faults.get(command.name) else None
        if isinstance(fault, int):
            self.torn, fault = fault, None
        if fault == "hang" or command.expected > seconds:
            self.machine.now += seconds
            return None
        self.machine.now += 0.3 * command.expected if fault else command.expected
        if fault == "kill":
            self.machine.alive = False
            raise Killed
        if fault == "interrupt":
            raise KeyboardInterrupt
        if fault == "fail":
            return 1
        self.machine.finished.append(command.name)
        if command.here:
            (self.machine.build / command.name).touch()
        if command.name == "build":
            (self.machine.build / "epochbench").write_bytes(PROGRAM)
        return 0


class AnyOrderOfFaults(FolderTest):
    left_out = rf"{MANY_OF_A_KIND}|parity-([2-9]|\d\d)"

    def setUp(self):
        super().setUp()
        self.archive = self.folder / "state"
        self.calls, self.attempts_before, self.said = 0, {}, []
        parts_of(self, gpu_state, 2 ** 16)

    def plan(self):
        return Machine(self.folder / "plan", self.left_out).plan()

    def call(self, faults):
        """One call on a bare machine, which has only the archived state."""
        self.calls += 1
        machine = Machine(self.folder / f"machine-{self.calls}", self.left_out)
        state = gpu_state.State(self.archive, 0, self.said.append, gpu_plan.SUITES)
        state.load(machine.records, machine.build / "epochbench")
        runner = MadeUpRunner(machine, state, faults)
        commands = machine.plan()
        picked = [command for command in commands if not command.here]
        try:
            runner.run(picked, commands)
        except (KeyboardInterrupt, Killed):
            pass
        self.assertLessEqual(machine.now, BUDGET)
        return machine, runner, picked

    def stamps(self):
        folder = self.folder / f"look-{self.calls}"
        gpu_state.State(self.archive, 0, self.said.append, gpu_plan.SUITES).load(folder, folder / "epochbench")
        return Stamps(folder / "stamps")

    def until_done(self, faults, max_calls):
        finished, names = [], []
        for _ in range(max_calls):
            machine, runner, picked = self.call(faults)
            stamps, names = self.stamps(), [command.name for command in picked]
            unsaved = machine.torn and stamps.status(machine.torn) != "passed"  # it ended, and the save after it did not
            finished += [name for name in machine.finished if name in names and not (unsaved and name == machine.torn)]
            for name in runner.order:
                self.assertIsNotNone(stamps.read(name), f"{name} ran and left no stamp")
            self.assert_retried_last(runner, picked)
            if all(stamps.status(name) == "passed" for name in names):
                break
        else:
            self.fail(f"not done after {max_calls} calls")
        self.assertEqual(sorted(finished), sorted(names), "each runs to its end once")

    def assert_retried_last(self, runner, picked):
        measured = [name for name in runner.order if name in {command.name for command in picked}]
        again = [name for name in measured if self.attempts_before.get(name) or measured.count(name) > 1]
        if again:
            first = min(max(i for i, each in enumerate(measured) if each == name) for name in again)
            self.assertLessEqual(set(measured[first:]), set(again), f"{measured} tries {again} again too early")
        for name in measured:
            self.attempts_before[name] = self.attempts_before.get(name, 0) + 1

    def test_without_faults_the_core_fits_into_two_calls(self):
        self.call({})
        machine, _, picked = self.call({})
        stamps = self.stamps()
        self.assertEqual([c.name for c in machine.plan() if c.core and stamps.status(c.name) != "passed"], [])
        self.assertNotIn("build", machine.finished)  # the program came with the state

    def test_everything_passes_once_without_faults(self):
        self.until_done({}, 40)

    def test_every_command_fails_once(self):
        self.until_done({command.name: ["fail"] for command in self.plan()}, 60)

    def test_a_build_that_fails_once_holds_nothing_up_for_long(self):
        machine, runner, _ = self.call({"build": ["fail"], "build-tests": ["hang"]})
        self.assertEqual(runner.order[:4], ["configure", "build", "build", "info"])
        self.assertIn("cpu-bert-base", machine.finished)

    def test_faults_in_any_order(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.setUp()
                draw = random.Random(seed)
                names = [command.name for command in self.plan()]
                faults = {name: draw.choices(["fail", "hang", "interrupt", "kill", draw.randrange(3)], k=draw.randint(1, 2))
                          for name in draw.sample(names, 10)}
                self.until_done(faults, 200)

    def test_a_call_may_end_at_any_point_of_a_save(self):
        self.left_out = r"(?!configure|build$|info|smoke|record)"
        for operation in range(8):
            with self.subTest(operation=operation):
                self.setUp()
                self.until_done({"build": [operation], "info": [operation % 3], "record-resnet50-bf16": ["kill", operation % 3]}, 40)
        self.assertLessEqual(set(self.said), {f"the program in {self.archive} lacks a part: it is left out, and built again"})

    def test_a_command_that_never_works_does_not_stop_the_others(self):
        for _ in range(12):
            machine, _, picked = self.call({"smoke-lenet5": ["hang"] * 9, "eager-bert-base-bf16": ["fail"] * 9})
        stamps = self.stamps()
        self.assertEqual({command.name for command in picked if stamps.status(command.name) != "passed"},
                         {"smoke-lenet5", "eager-bert-base-bf16"})


@unittest.skipUnless("EPOCHBENCH_PARSE_CALL" in os.environ, "EPOCHBENCH_PARSE_CALL names no program")
class Calls(unittest.TestCase):
    def call_of_epochbench(self, argv):
        """The arguments of epochbench in a command; None if it calls something else."""
        if argv[1].endswith("train_pytorch"):  # which adds these, and takes --binary away
            at = argv.index("--binary")
            return ["run", "--framework", "pytorch", *argv[2:at], *argv[at + 2:], "--worker", "python3", "pytorch_case"]
        at = [index for index, part in enumerate(argv) if part.endswith("/epochbench")]
        return argv[at[0] + 1:] if at else None

    def test_the_program_takes_every_call(self):
        with tempfile.TemporaryDirectory() as folder:
            commands = [command for command in Machine(pathlib.Path(folder)).plan() if not command.here]
        calls = list(filter(None, (self.call_of_epochbench(command.arguments(BUDGET)) for command in commands)))
        self.assertGreater(len(calls), 40)
        for call in calls:
            done = subprocess.run([os.environ["EPOCHBENCH_PARSE_CALL"], *call], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{' '.join(call)}: {done.stderr}")


class Times(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            self.commands = Machine(pathlib.Path(folder)).plan()

    def test_the_smoke_test_takes_a_minute(self):
        self.assertLessEqual(sum(c.expected for c in self.commands if c.name == "info" or c.name.startswith("smoke-")), 60)

    def test_what_measures_no_speed_tunes_nothing(self):
        compared = [c.arguments(BUDGET) for c in self.commands if c.name.startswith(("smoke-", "parity-")) or c.name.endswith("-models")]
        self.assertGreater(len(compared), 20)
        for argv in compared:
            self.assertLessEqual(int(argv[argv.index("--steps") + 1]), 10)  # as Tuning.IsForRunsThatMeasureSpeed
            self.assertEqual(argv[argv.index("--warmup") + 1], "0")


@unittest.skipUnless("EPOCHBENCH_BINARY" in os.environ, "EPOCHBENCH_BINARY names no program")
class Models(unittest.TestCase):
    def test_each_model_of_the_program_has_parity_or_a_reason_why_not(self):
        done = subprocess.run([os.environ["EPOCHBENCH_BINARY"], "list", "models", "--json"], capture_output=True, text=True, check=True)
        known = [model["name"] for model in json.loads(done.stdout)["models"]]
        compared = {model.split(":")[0] for models, *_ in gpu_plan.PARITY for model in models.split(",")}
        self.assertEqual(sorted(compared | set(gpu_plan.NO_PARITY)), sorted(known), "entries of PARITY or NO_PARITY in gpu_plan.py")
        self.assertEqual(compared & set(gpu_plan.NO_PARITY), set())


class Prices(unittest.TestCase):
    def test_a_card_is_priced_by_the_name_that_nvidia_smi_has_for_it(self):
        for name, instance in (("NVIDIA H200", "p5en.48xlarge"), ("NVIDIA A100-SXM4-80GB", "p4de.24xlarge"),
                               ("NVIDIA A100-SXM4-40GB", "p4d.24xlarge"), ("Tesla T4", "g4dn.xlarge"), ("NVIDIA L4", "g6.xlarge"),
                               ("NVIDIA H100 NVL", "Standard_NC40ads_H100_v5"), ("NVIDIA A100-PCIE-40GB", None)):
            expected = ["--price", f"cuda={instance}", "--price-scaling", "per-gpu"] if instance else []
            self.assertEqual(gpu_plan.price_options(REPOSITORY, name, None), expected)


class Verdicts(unittest.TestCase):
    def judge(self, ours, precision="fp32", skipped=0):
        run = {"name": "run", "precision": precision, "quality": {"loss": ours}, "gpu": {"skipped_steps": skipped}}
        return gpu_results.losses_apart(run, {"quality": {"loss": [2.0] * 10}})

    def test_parity_bounds_the_first_loss_and_all_ten(self):
        self.assertEqual(self.judge([2.0 * (1 + 9e-6)] + [2.0 * (1 + 9e-5)] * 9), [])
        self.assertEqual(len(self.judge([2.0 * (1 + 2e-5)] + [2.0] * 9)), 1)
        self.assertEqual(len(self.judge([2.0] * 9 + [2.0 * (1 + 2e-4)])), 1)
        self.assertEqual(len(self.judge([2.0] * 9 + [None])), 1)
        self.assertEqual(len(self.judge([None] + [2.0] * 9)), 2)
        self.assertEqual(len(self.judge([2.0] * 9 + [float("nan")])), 1)
        self.assertEqual(len(self.judge([2.0] * 9)), 1)

    def test_sixteen_bits_may_differ_by_their_roundoff(self):
        self.assertEqual(self.judge([2.0] + [2.0 * (1 + 3.9 / 256)] * 9, "bf16"), [])
        self.assertEqual(len(self.judge([2.0 * (1 + 1.1 / 256)] + [2.0] * 9, "bf16")), 1)
        self.assertEqual(len(self.judge([2.0] + [2.0 * (1 + 4.1 / 256)] * 9, "bf16")), 1)
        self.assertEqual(len(self.judge([2.0] + [2.0 * (1 + 3.9 / 256)] * 9, "fp16")), 1)

    def test_skipped_steps_excuse_later_losses_alone(self):
        later = [2.0] + [2.5] * 9
        self.assertEqual(self.judge(later, "fp16", skipped=1), [])
        self.assertEqual(len(self.judge([2.5] * 10, "fp16", skipped=1)), 1)
        self.assertEqual(len(self.judge([2.0] * 10, "fp16", skipped=5)), 1)

    def test_a_step_and_its_attention_are_held_against_their_bounds(self):
        def complaints(step=0.04, bound=0.01, seconds=9e-4, limit=None, **others):
            node = {"name": "n", "op": "joint_attention_grad", "implementation": "i", "seconds": seconds, "limit_seconds": limit}
            run = {"name": "r", "status": "ok", "message": None, "timing": {"step_seconds_median": step},
                   "profile": {"limit_seconds": bound, "nodes": [node, {**node, "op": "linear", "seconds": 1}]}, **others}
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "smoke.json"
                file.write_text(json.dumps({"runs": [run]}))
                return gpu_results.near_bounds(file)
        self.assertEqual(complaints(), [])
        self.assertEqual(complaints(step=0.051), ["r: a step takes 51.00 ms, 5.1 times its bound"])
        self.assertEqual(complaints(bound=None), ["r: a step takes 40.00 ms, and its bound is not known"])
        self.assertEqual(complaints(seconds=1.1e-3), ["r: n takes 1.10 ms by i"])
        self.assertEqual(complaints(seconds=1.1e-3, limit=1e-4), [])
        self.assertEqual(complaints(status="failed", message="hung"), ["r: failed (hung)"])
        self.assertEqual(gpu_results.near_bounds(pathlib.Path("missing.json")), ["no run"])

    def test_a_suite_that_its_budget_ended_is_a_part(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "hour.json"
            for message, ends in (("the budget of 240 s was over before this case began", "1 of 2 runs are left, b first"), ("no AMX", None)):
                file.write_text('{"runs": [{"name": "a", "status": "ok", "message": null}, '
                                f'{{"name": "b", "status": "skipped", "message": "{message}"}}]}}')
                if ends:
                    with self.assertRaisesRegex(gpu_plan.Partial, ends):
                        gpu_plan.judge_suite(file)
                else:
                    self.assertEqual(gpu_plan.judge_suite(file), [])


SANITIZED = {  # what a log says below its first line -> complaints
    "ERROR SUMMARY: 0 errors": 0,
    "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)": 0,
    "killed": 2,  # no summary, and a line that no kernel explains
    "Uninitialized __global__ memory read of size 4 bytes\n=========     at void epochbench::cuda::sum<float>(float*)+0x70\n"
    "=========     by thread (1,0,0) in block (0,0,0)\n========= ERROR SUMMARY: 1 error": 1,
    "Uninitialized __global__ memory read of size 4 bytes\n=========     at void cutlass::Kernel<x>(int)+0x70\n"
    "=========     by thread (1,0,0) in block (0,0,0)\n========= ERROR SUMMARY: 1 error": 0,
    "Error: Race reported between Write access at epochbench::sum+0x10 and Read access\n"
    "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)": 1,
    "ERROR SUMMARY: 3 errors": 1,  # reports that are not shown
}


class Sanitizer(unittest.TestCase):
    def test_reports_on_our_kernels_count_and_each_process_must_end_with_a_summary(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            self.assertEqual(len(gpu_results.sanitizer([])), 1)
            for text, complaints in SANITIZED.items():
                log.write_text(f"========= COMPUTE-SANITIZER\n========= {text}\n")
                self.assertEqual(len(gpu_results.sanitizer([log])), complaints, text)

    def test_the_programs_are_those_that_the_builds_name(self):
        programs = gpu_plan.gpu_test_programs(REPOSITORY)
        self.assertIn("cuda_attention_test_gpu", programs)
        self.assertIn("cublas_product_test_gpu", programs)
        self.assertIn("cuda_pool_test_gpu", programs)
        self.assertNotIn("cuda_race_test_gpu", programs)


if __name__ == "__main__":
    unittest.main()
