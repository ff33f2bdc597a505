"""scripts/peers/take_turns without PyTorch: made-up processes on both sides tell made-up times, epochbench plans."""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

PEERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "peers"
sys.path.insert(0, str(PEERS))
import turns  # noqa: E402

BINARY = os.environ["EPOCHBENCH_BINARY"]
VALIDATOR = jsonschema.Draft7Validator(json.loads(pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).read_text()))

# A contestant. PLAY: a JSON object of `seconds` (of a step, by contestant), `rounds` (factors of all, turn by turn), and
# `fault` (contestant -> what goes wrong). Tells in the file ASKED what it was asked.
CASE = r"""
import json, os, sys, time
me = "ours" if sys.argv[1] == "case" else sys.argv[2]
play, turn, case = json.loads(os.environ["PLAY"]), 0, None
fault = play.get("fault", {}).get(me, "")
def tell(what):
    with open(os.environ["ASKED"], "a") as file:
        print(json.dumps([me, what]), file=file)
tell({key: value for key, value in os.environ.items() if key.startswith(("OMP", "GOMP", "KMP"))})
for line in sys.stdin:
    command = json.loads(line)
    name = command["command"]
    tell(command)
    if name == "prepare":
        case = command["case"]
        answer = {"event": "ready", "compile_seconds": 0.5, "planned_bytes": None, "samples_per_epoch": 0,
                  "asynchronous": False, "library_dropout_masks": False,
                  "device": {"backend": "cpu", "name": "a CPU", "isa": "avx2",
                             "threads": case["threads"] + (fault == "threads")}}
        if me != "ours":
            answer |= {"parameters": case["parameters"] + (fault == "parameters"), "versions": {"torch": "0.0"}}
    elif name == "burst":
        turn += 1
        answer = {"event": "burst", "flops_per_second": 1e9 - 1e6 * turn}
    elif name in ("warm_up", "step"):
        factor, turn = play.get("rounds", {}).get(str(turn - 2), 1.0), turn + 1  # two warm-ups come first
        seconds = [play["seconds"][me] * factor] * command["steps"]
        answer = {"event": "steps", "seconds": seconds, "loss": [1.5] * len(seconds), "wall_seconds": sum(seconds),
                  "samples": len(seconds) * case["batch"], "page_faults": 0, "own_cpu_seconds": sum(seconds),
                  "busy_cpu_seconds": 1.5 * sum(seconds)}
    elif name == "finish":
        answer = {"event": "result", "peak_bytes": 1000, "skipped_steps": None}
    else:
        answer = {"event": "epoch"}
    if fault == "no peak" and name == "burst" and turn == 5:
        sys.exit(3)
    if fault == "crash" and case and turn == 5:
        os.abort()
    if fault == "hang" and case and turn == 5:
        time.sleep(60)
    if fault == "memory" and name == "prepare":
        answer = {"event": "error", "status": "out_of_memory", "message": "too large"}
    if fault == "nonsense" and name == "step":
        print("well", flush=True)
        continue
    if fault == "slow" and name == "step":
        time.sleep(0.2)
    print(json.dumps(answer), flush=True)
"""
# Its `case` is made up; what it plans is epochbench's.
BINARY_SCRIPT = r"""#!/bin/sh
if [ "$1" = case ]; then exec "{python}" "{case}" case; fi
if [ "$1" = plan ] && [ -n "$REFUSES" ]; then case "$*" in *bf16*) echo "epochbench: no bf16 here" >&2; exit 2; esac; fi
exec "{binary}" "$@"
"""
INFO = {"cpu": {"model": "a CPU", "sockets": 1, "cores": 2, "threads_available": 4, "isa": [], "cache_bytes":
                {"l1d": None, "l2": None, "l3": None}, "memory_bytes": None, "frequency_scaling": "unknown",
                "peak_flops_per_second": {"fp32": 5e9, "bf16": None}, "memory_bandwidth_bytes_per_second": None}, "gpus": []}
EVEN = {"ours": 0.25, "eager": 0.5, "default": 0.3}
NAMES = {"ours": "lenet5/cpu/fp32/b64/data=synthetic", "eager": "lenet5/pytorch/fp32/b64/data=synthetic",
         "default": "lenet5/pytorch/fp32/b64/compile=default/data=synthetic"}


class TakeTurns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        shutil.copytree(PEERS, self.folder / "peers")
        case = self.folder / "peers" / "pytorch_case"
        case.write_text(CASE)
        self.binary = self.folder / "epochbench"
        self.binary.write_text(BINARY_SCRIPT.format(python=sys.executable, case=case, binary=BINARY))
        self.binary.chmod(0o755)
        (self.folder / "info.json").write_text(json.dumps(INFO))
        self.out, self.asked = self.folder / "out.json", self.folder / "asked"

    def command(self, *arguments, binary=None):
        # An environment that is this Python's own needs no PyTorch.
        return [sys.executable, self.folder / "peers" / "take_turns", "--binary", binary or self.binary, "--venv", sys.prefix,
                "--info", self.folder / "info.json", "--out", self.out, *map(str, arguments)]

    def environment(self, seconds=EVEN, refuses="", **play):
        return {**os.environ, "PLAY": json.dumps({"seconds": seconds, **play}), "ASKED": str(self.asked), "REFUSES": refuses,
                "OMP_WAIT_POLICY": "ACTIVE", "KMP_AFFINITY": "disabled"}

    def call(self, *arguments, code=0, binary=None, **play):
        done = subprocess.run(self.command(*arguments, binary=binary), env=self.environment(**play), capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def runs(self):
        document = json.loads(self.out.read_text())
        VALIDATOR.validate(document)
        return {run["name"]: run for run in document["runs"]}

    def rows(self, *arguments, model="lenet5", **play):
        done = self.call("--model", model, "--json", *arguments, **play)
        return {row["contestant"]: row for row in json.loads(done.stdout)}

    def asked_for(self, who=None):
        lines = map(json.loads, self.asked.read_text().splitlines())
        return [(name, what) for name, what in lines if who in (None, name)]

    def order(self):
        """Who had the turn, once all are warm; the peak's process is epochbench's too."""
        told = [("peak" if what["command"] == "burst" else name, what["command"]) for name, what in self.asked_for()
                if "command" in what]
        first = next(i for i, (name, _) in enumerate(told) if name == "peak")
        begin = max(i for i, (_, command) in enumerate(told[:first + 4]) if command == "begin_epoch") + 3
        return [name for name, command in told[begin:] if command in ("warm_up", "step", "burst")]

    def test_every_round_has_a_turn_of_each_in_an_order_drawn_at_random(self):
        orders = []
        for seed in (1, 1, 2):
            self.asked.unlink(missing_ok=True)
            self.call("--model", "lenet5", "--rounds", 12, "--seed", seed)
            taken = self.order()
            rounds = [tuple(taken[i:i + 4]) for i in range(0, len(taken), 4)]
            self.assertEqual(len(rounds), 14)
            for one in rounds:
                self.assertEqual(sorted(one), ["default", "eager", "ours", "peak"])
            self.assertGreater(len(set(rounds)), 5)
            orders.append(rounds)
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_ratios_are_of_the_same_round(self):
        # The machine is up to ten times slower from round to round, for all alike.
        rows = self.rows("--rounds", 9, "--drop", 0, rounds={str(turn): 1 + turn for turn in range(9)})
        self.assertAlmostEqual(rows["PyTorch eager"]["ratio"], 2)
        self.assertAlmostEqual(rows["PyTorch compile"]["ratio"], 1.2)
        self.assertAlmostEqual(rows["PyTorch eager"]["ratio_spread"], 0)
        self.assertAlmostEqual(rows["PyTorch eager"]["ratio_ci95"][0], 2)
        self.assertIsNone(rows["epochbench"]["ratio"])
        self.assertAlmostEqual(rows["PyTorch eager"]["samples_per_second"], 9 * 64 / (0.5 * 45))
        # Each burst is a million lower than the one before.
        peak = rows["epochbench"]["peak_flops_per_second"]
        self.assertEqual(peak, 1e9 - 1e6)
        run = self.runs()[NAMES["ours"]]
        self.assertEqual(len(run["turns"]["peak_bursts_flops_per_second"]), 9)
        flops = run["workload"]["train_flops_per_sample"] * rows["epochbench"]["samples_per_second"]
        self.assertAlmostEqual(rows["epochbench"]["peak_fraction"], flops / peak)
        self.assertAlmostEqual(run["efficiency"]["peak_fraction"], flops / peak)
        self.assertAlmostEqual(rows["epochbench"]["peak_fraction_of_median_step"],
                               run["workload"]["train_flops_per_sample"] * 64 / (0.25 * 5) / peak)

    def test_first_rounds_are_dropped(self):
        rows = self.rows("--rounds", 6, "--drop", 3, rounds={"0": 100, "1": 50, "2": 25, "3": 7})
        self.assertAlmostEqual(rows["epochbench"]["samples_per_second"], 64 * 6 / (0.25 * 12))
        run = self.runs()[NAMES["ours"]]
        self.assertEqual(len(run["timing"]["step_seconds"]), 6)
        self.assertEqual((run["timing"]["warmup_steps"], len(run["quality"]["loss"])), (3 + 1 + 3, 3 + 1 + 3 + 6))

    def test_short_steps_fill_a_turn(self):
        seconds = {"ours": 0.001, "eager": 0.004, "default": 1e-6}
        rows = self.rows("--rounds", 6, seconds=seconds)
        runs = self.runs()
        self.assertEqual({who: runs[NAMES[who]]["turns"]["steps"] for who in NAMES}, {"ours": 50, "eager": 13, "default": 4096})
        self.assertEqual({what["steps"] for _, what in self.asked_for("eager") if what.get("command") == "step"}, {13})
        self.assertEqual(len(runs[NAMES["eager"]]["timing"]["step_seconds"]), 6 * 13)
        self.assertAlmostEqual(rows["PyTorch eager"]["ratio"], 4)
        self.assertEqual(rows["PyTorch eager"]["rounds"], 6)

    def test_rounds_fill_the_time_and_suffice_for_an_interval(self):
        self.assertEqual(self.rows("--min-time", 0.1)["epochbench"]["rounds"], 6)
        self.assertEqual(self.rows("--min-time", 10.0)["epochbench"]["rounds"], 10)  # of 1.05 s
        self.assertEqual(self.runs()[NAMES["ours"]]["timing"]["stopped_by"], "time")

    def test_all_are_told_the_same_and_to_sleep_while_they_wait(self):
        self.call("--model", "lenet5", "--rounds", 1)
        told = {who: max((what for _, what in self.asked_for(who) if "command" not in what), key=len) for who in EVEN}
        self.assertEqual(told["ours"], {"OMP_NUM_THREADS": "2", "OMP_DYNAMIC": "false", "OMP_WAIT_POLICY": "PASSIVE",
                                        "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0", "OMP_PROC_BIND": "close",
                                        "OMP_PLACES": "cores"})
        self.assertEqual(told["ours"], told["eager"])
        self.assertEqual(told["ours"], told["default"])
        cases = {who: next(what["case"] for _, what in self.asked_for(who) if what.get("command") == "prepare") for who in EVEN}
        for case in cases.values():
            del case["name"]
        self.assertEqual(cases["ours"], cases["eager"])
        self.assertEqual(cases["ours"]["threads"], 2)
        self.asked.unlink()
        self.call("--model", "lenet5", "--rounds", 1, "--threads", 1, "--unbound", "--spin")
        told = [what for _, what in self.asked_for("eager") if "command" not in what][0]
        self.assertEqual(told, {"OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "false", "GOMP_SPINCOUNT": "50000", "KMP_BLOCKTIME": "3",
                                "OMP_PROC_BIND": "false"})
        self.assertIn("lenet5/pytorch/fp32/b64/bind=no/data=synthetic/threads=1/wait=spin", self.runs())

    def test_the_result_is_epochbenchs_own(self):
        done = self.call("--model", "resnet20", "--batch", 16, "--rounds", 6)
        ours = self.folder / "ours.json"
        subprocess.run([BINARY, "run", "--model", "resnet20", "--batch", "16", "--steps", "1", "--quiet", "--out", ours],
                       check=True)
        for run in self.runs().values():
            self.assertEqual(run["workload"], json.loads(ours.read_text())["runs"][0]["workload"])
            self.assertAlmostEqual(run["interference"]["foreign_cpu_cores"], 0.5)
        self.assertEqual({run["device"]["backend"] for run in self.runs().values()}, {"cpu", "pytorch"})
        self.assertEqual(json.loads(self.out.read_text())["context"]["peers"], {"torch": "0.0"})
        self.assertIn("resnet20     16  fp32       PyTorch eager", done.stdout)
        self.assertIn("2.000 to 2.000", done.stdout)
        self.assertIn("in fp32 with 2 threads", done.stdout)

    def test_who_leaves_is_a_status_and_the_others_go_on(self):
        for fault, status, words in (("crash", "failed", "killed by SIGABRT"), ("hang", "failed", "did not answer"),
                                     ("memory", "out_of_memory", "too large"), ("nonsense", "failed", "well"),
                                     ("parameters", "failed", "not the same workload"), ("threads", "failed", "3 threads")):
            for who in ("eager", "ours") if fault in ("crash", "threads") else ("eager",):
                patience = ["--patience", 4] if fault == "hang" else []
                rows = self.rows("--rounds", 8, *patience, code=1, fault={who: fault})
                runs = self.runs()
                self.assertEqual(runs[NAMES[who]]["status"], status)
                self.assertIn(words, runs[NAMES[who]]["message"])
                self.assertEqual(runs[NAMES["default"]]["status"], "ok")
                self.assertEqual(rows["PyTorch compile"]["rounds"], 8)
                if who == "eager":
                    self.assertAlmostEqual(rows["PyTorch compile"]["ratio"], 1.2)
                else:
                    self.assertIsNone(rows["PyTorch compile"]["ratio"])

    def test_without_a_peak_the_turns_go_on(self):
        rows = self.rows("--rounds", 8, fault={"ours": "no peak"})
        self.assertAlmostEqual(rows["PyTorch eager"]["ratio"], 2)
        self.assertEqual(rows["PyTorch eager"]["peak_flops_per_second"], 1e9 - 3e6)  # two bursts were dropped, two were told

    def test_what_ours_lacks_is_skipped_with_the_reason(self):
        done = self.call("--model", "lenet5", "--precision", "fp32,bf16", "--rounds", 6, refuses="yes")
        run = self.runs()[NAMES["ours"].replace("fp32", "bf16")]
        self.assertEqual((run["status"], run["message"]), ("skipped", "no bf16 here"))
        self.assertEqual(self.runs()[NAMES["eager"].replace("fp32", "bf16")]["status"], "ok")
        self.assertIn("no bf16 here", done.stdout.splitlines()[-1])

    def test_whole_rounds_survive_an_interruption(self):
        process = subprocess.Popen(self.command("--model", "lenet5", "--rounds", 1000), stderr=subprocess.PIPE, text=True,
                                   stdout=subprocess.PIPE, env=self.environment(fault={"eager": "slow"}))
        self.addCleanup(process.kill)
        while len([1 for _, what in self.asked_for("eager") if what.get("command") == "step"] if self.asked.exists() else []) < 4:
            self.assertIsNone(process.poll(), "ended before it was told to")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        runs = self.runs()
        rounds = {len(run["timing"]["step_seconds"]) for run in runs.values()}
        self.assertEqual(len(rounds), 1)
        self.assertTrue(3 <= rounds.pop() < 100)
        self.assertIn("interrupted after", runs[NAMES["ours"]]["message"])
        self.assertIn("PyTorch eager", out)

    def test_resume_keeps_whole_cases_and_takes_the_rest(self):
        self.call("--model", "lenet5", "--rounds", 6)
        self.call("--model", "resnet20", "--rounds", 6, "--resume", code=1, fault={"eager": "memory"})
        self.asked.unlink()
        done = self.call("--model", "lenet5", "--model", "resnet20", "--rounds", 6, "--resume")
        self.assertEqual([what["case"]["model"] for _, what in self.asked_for() if what.get("command") == "prepare"],
                         ["resnet20"] * 3)
        self.assertEqual({run["status"] for run in self.runs().values()}, {"ok"})
        self.assertEqual(len(done.stdout.splitlines()), 1 + 6 + 3)

    def test_repetitions_are_taken_together(self):
        rows = self.rows("--rounds", 5, "--repetitions", 2)
        self.assertEqual((rows["PyTorch eager"]["rounds"], rows["PyTorch eager"]["repetitions"]), (10, 2))
        self.assertEqual(sum(1 for _, what in self.asked_for("eager") if what.get("command") == "prepare"), 2)

    def test_every_batch_that_is_asked_for_is_measured(self):
        done = self.call("--model", "lenet5", "--batch", "8,16", "--batch", 32, "--rounds", 1, "--json")
        self.assertEqual([row["batch"] for row in json.loads(done.stdout)], [8] * 3 + [16] * 3 + [32] * 3)

    def test_epochbenchs_own_process_takes_part(self):
        rows = self.rows("--batch", 8, "--rounds", 6, model="mlp:width=32,depth=1", binary=BINARY)
        self.assertGreater(rows["epochbench"]["samples_per_second"], 0)
        self.assertGreater(rows["epochbench"]["peak_flops_per_second"], 1e8)
        self.assertGreater(rows["PyTorch eager"]["ratio"], 1)

    def test_wrong_calls(self):
        for arguments, words in ((["--model", "vgg"], "vgg"), (["--model", "lenet5", "--precision", "tf32"], "tf32"),
                                 (["--model", "lenet5", "--compile", "fast"], "fast"),
                                 (["--model", "lenet5", "--rounds", "0"], "0")):
            done = self.call(*arguments, code=2)
            self.assertIn(words, done.stderr.splitlines()[-1])
        self.call("--model", "lenet5", code=2, binary=self.folder / "none")
        self.out.write_text("{")
        self.call("--model", "lenet5", "--resume", code=2)


class Numbers(unittest.TestCase):
    def test_ratio_is_the_median_of_the_logarithms(self):
        told = turns.ratio([(4, 1), (1, 1), (1, 4), (2, 1), (8, 1), (16, 1)])
        self.assertAlmostEqual(told["ratio"], math.sqrt(2 * 4))
        self.assertAlmostEqual(told["ci95"][0], 0.25)
        self.assertAlmostEqual(told["ci95"][1], 16)
        logs = [math.log(4), 0, -math.log(4), math.log(2), math.log(8), math.log(16)]
        mean = sum(logs) / 6
        self.assertAlmostEqual(told["spread"], math.sqrt(sum((x - mean) ** 2 for x in logs) / 5))

    def test_few_rounds_have_no_interval(self):
        self.assertEqual(turns.ratio([(3, 1)]), {"ratio": 3.0000000000000004, "ci95": None, "spread": None})
        self.assertIsNone(turns.ratio([(3, 1)] * 5)["ci95"])

    def test_seconds_of_a_turn_are_those_of_one_of_its_steps(self):
        run = {"turns": {"steps": 2}, "timing": {"step_seconds": [1, 3, 5, 7]}}
        self.assertEqual(turns.seconds_of_turns(run), [2, 6])


if __name__ == "__main__":
    unittest.main()
