"""scripts/peers/take_turns without PyTorch: made-up workers on both sides report made-up times, epochbench plans and compares."""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import jsonschema

from in_folder import FolderTest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "peers"
BINARY = os.environ["EPOCHBENCH_BINARY"]
VALIDATOR = jsonschema.Draft7Validator(json.loads(pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).read_text()))

# A PyTorch worker. PLAY: a JSON object of `seconds` (of a step, by mode of compilation), `groups` (factors, by the number of
# the group), and `fault` (mode -> what goes wrong). It appends what it was asked to the file ASKED.
CASE = r"""
import json, os, sys, time
play, turn, case, me, fault = json.loads(os.environ["PLAY"]), 0, None, "?", ""
def log(what):
    with open(os.environ["ASKED"], "a") as file:
        print(json.dumps([me, what]), file=file)
for line in sys.stdin:
    command = json.loads(line)
    name = command["command"]
    if name == "prepare":
        case = command["case"]
        me = case["compile"]
        fault = play.get("fault", {}).get(me, "")
        log({key: value for key, value in os.environ.items() if key.startswith(("OMP", "GOMP", "KMP"))})
        known = {key: value for key, value in case.items() if fault != "seed" or key != "seed"}
        answer = {"event": "ready", "protocol": 1, "case": known, "compile_seconds": 0.5, "planned_bytes": None, "asynchronous": False,
                  "samples_per_epoch": case["samples_per_epoch"], "steps_per_epoch": 1, "evaluates": False, "metric": "loss",
                  "library_dropout_masks": False,
                  "parameters": case["parameters"] + (fault == "parameters"),
                  "device": {"backend": "pytorch", "name": "a CPU", "versions": {"torch": "0.0"}, "isa": None, "threads": case["threads"] + (fault == "threads")}}
    elif name in ("warm_up", "step"):
        turn += 1
        factor = play.get("groups", {}).get(str(case["repetition"]), 1.0)
        seconds = [play["seconds"][me] * factor] * command["steps"]
        answer = {"event": "steps", "seconds": seconds, "loss": [1.5] * len(seconds), "wall_seconds": sum(seconds),
                  "samples": len(seconds) * case["batch"], "page_faults": 0, "own_cpu_seconds": sum(seconds),
                  "data_wait_seconds": 0.0, "idle_seconds": 0.0, "harness_seconds": 0.0, "busy_cpu_seconds": 1.5 * sum(seconds)}
    elif name == "finish":
        answer = {"event": "result", "peak_bytes": 1000, "skipped_steps": None}
    else:
        answer = {"event": "epoch"}
    log(command)
    if fault == "crash" and turn == 5:
        os.abort()
    if fault == "hang" and turn == 5:
        time.sleep(60)
    if fault == "memory" and name == "prepare":
        answer = {"event": "error", "status": "out_of_memory", "message": "too large"}
    if fault == "nonsense" and name == "step":
        print("well", flush=True)
        continue
    if fault == "slow" and name == "step":
        time.sleep(0.2)
    print(json.dumps(answer), flush=True)
    if name == "finish":
        sys.exit(0)
"""
EVEN = {"eager": 0.5, "default": 0.3}
MODEL = "mlp:width=32,depth=1"
NAME = "mlp:depth=1,width=32/%s/fp32/b64%s/data=synthetic"
NAMES = {"ours": NAME % ("cpu", ""), "eager": NAME % ("pytorch", ""), "default": NAME % ("pytorch", "/compile=default")}


class TakeTurns(FolderTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(PEERS, self.folder / "peers")
        (self.folder / "peers" / "pytorch_case").write_text(CASE)
        self.out, self.asked = self.folder / "out.json", self.folder / "asked"

    def command(self, *arguments, binary=BINARY, model=MODEL):
        # An environment that is this Python's own needs no PyTorch.
        usual = {"--compile": "eager,default", "--drop": "0"}
        chosen = [word for option, value in usual.items() if option not in arguments for word in (option, value)]
        return [sys.executable, self.folder / "peers" / "take_turns", "--binary", binary, "--venv", sys.prefix, "--model", model,
                "--threads", "1", "--out", self.out, *chosen, *map(str, arguments)]

    def environment(self, seconds=EVEN, **play):
        return {**os.environ, "PLAY": json.dumps({"seconds": seconds, **play}), "ASKED": str(self.asked),
                "OMP_WAIT_POLICY": "ACTIVE", "KMP_AFFINITY": "disabled"}

    def call(self, *arguments, code=0, binary=BINARY, model=MODEL, **play):
        done = subprocess.run(self.command(*arguments, binary=binary, model=model), env=self.environment(**play),
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def runs(self, group=0):
        document = json.loads(self.out.read_text())
        VALIDATOR.validate(document)
        return {run["name"].replace("/threads=1", ""): run for run in document["runs"] if run["repetition"] == group}

    def rows(self, *arguments, **play):
        done = self.call("--json", *arguments, **play)
        return {row["contestant"]: row for row in json.loads(done.stdout)}

    def asked_for(self, who=None):
        lines = map(json.loads, self.asked.read_text().splitlines())
        return [(name, what) for name, what in lines if who in (None, name)]

    def test_each_round_has_a_turn_of_each_in_an_order_drawn_from_the_seed(self):
        orders = []
        for seed in (1, 1, 2):
            self.asked.unlink(missing_ok=True)
            self.call("--groups", 1, "--rounds", 6, "--order-seed", seed)
            taken = [name for name, what in self.asked_for() if what.get("command") == "step"]
            rounds = [tuple(taken[i:i + 2]) for i in range(0, len(taken), 2)]
            self.assertEqual(len(rounds), 6)
            for one in rounds:
                self.assertEqual(sorted(one), ["default", "eager"])
            self.assertEqual(len(set(rounds)), 2)
            orders.append(rounds)
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_the_unit_of_an_interval_is_a_group_of_processes(self):
        factors = {str(group): factor for group, factor in enumerate((1, 1.1, 1.2, 1.3, 1.4))}
        rows = self.rows("--groups", 4, "--rounds", 3, groups=factors)
        self.assertIsNone(rows["PyTorch eager"]["ratio_ci95"])
        self.assertIsNotNone(rows["PyTorch eager"]["ratio_range"])
        rows = self.rows("--groups", 5, "--rounds", 3, "--resume", groups=factors)
        eager, compiled = rows["PyTorch eager"], rows["PyTorch compile"]
        self.assertEqual((eager["repetitions"], eager["rounds"]), (5, 15))
        self.assertEqual(sum(1 for _, what in self.asked_for("eager") if what.get("command") == "prepare"), 5)
        # Each group's ratio is a median over its rounds; ours is measured, so both workers share its noise.
        self.assertAlmostEqual(eager["ratio"] / compiled["ratio"], 0.5 / 0.3)
        self.assertLess(eager["ratio_ci95"][0], eager["ratio"])
        self.assertGreater(eager["ratio_ci95"][1], eager["ratio"])
        self.assertIsNone(eager["ratio_range"])
        self.assertIsNone(rows["epochbench"]["ratio"])
        ours = [self.runs(group)[NAMES["ours"]] for group in range(5)]
        logs = []
        for group, run in enumerate(ours):
            steps, seconds = run["turns"]["steps"], run["timing"]["step_seconds"]
            turns = sorted(sum(seconds[i:i + steps]) / steps for i in range(0, len(seconds), steps))
            logs.append(math.log(0.5 * factors[str(group)] / turns[1]))
        mean = sum(logs) / 5
        self.assertAlmostEqual(eager["ratio"] / math.exp(mean), 1, 6)
        error = 2.7764 * math.sqrt(sum((x - mean) ** 2 for x in logs) / 4 / 5)
        self.assertAlmostEqual(eager["ratio_ci95"][1] / math.exp(mean + error), 1, 3)

    def test_first_rounds_are_dropped(self):
        self.rows("--groups", 1, "--rounds", 6, "--drop", 3)
        run = self.runs()[NAMES["eager"]]
        self.assertEqual(len(run["timing"]["step_seconds"]), 6)
        self.assertEqual((run["timing"]["warmup_steps"], len(run["quality"]["loss"])), (3 + 3, 3 + 3 + 6))

    def test_short_steps_fill_a_turn(self):
        self.rows("--groups", 1, "--rounds", 6, seconds={"eager": 0.004, "default": 1e-6})
        runs = self.runs()
        self.assertEqual({who: runs[NAMES[who]]["turns"]["steps"] for who in EVEN}, {"eager": 13, "default": 4096})
        self.assertEqual({what["steps"] for _, what in self.asked_for("eager") if what.get("command") == "step"}, {13})
        self.assertEqual(len(runs[NAMES["eager"]]["timing"]["step_seconds"]), 6 * 13)

    def test_rounds_fill_the_time_of_a_group(self):
        self.assertEqual(self.rows("--groups", 1, "--min-time", 0.1)["epochbench"]["rounds"], 6)
        self.out.unlink()
        rounds = self.rows("--groups", 1, "--min-time", 9)["PyTorch eager"]["rounds"]
        turns = sum(run["timing"]["steps_total_seconds"] for run in self.runs().values())
        self.assertTrue(6 < rounds <= 9 / 0.8, rounds)  # 0.8 s per round as made up, and ours as long as it takes
        self.assertGreaterEqual(turns, 8.9)
        self.assertLess(turns * (rounds - 1) / rounds, 9.5)
        self.assertEqual(self.runs()[NAMES["ours"]]["timing"]["stopped_by"], "time")

    def test_all_have_one_environment_and_sleep_while_they_wait(self):
        self.call("--groups", 1, "--rounds", 1)
        given = {who: self.asked_for(who)[0][1] for who in EVEN}
        self.assertEqual(given["eager"], given["default"])
        self.assertEqual({key: given["eager"][key] for key in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
                                                              "KMP_BLOCKTIME", "OMP_PROC_BIND", "OMP_DYNAMIC")},
                         {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0",
                          "OMP_PROC_BIND": "close", "OMP_DYNAMIC": "false"})
        self.assertNotIn("KMP_AFFINITY", given["eager"])
        self.asked.unlink()
        self.call("--groups", 1, "--rounds", 1, "--bind", "no", "--wait", "spin")
        given = self.asked_for("eager")[0][1]
        self.assertEqual(given["OMP_PROC_BIND"], "false")
        self.assertEqual(given["GOMP_SPINCOUNT"], "50000")
        self.assertNotIn("OMP_WAIT_POLICY", given)
        self.assertTrue(any("bind=no" in name and "wait=spin" in name for name in self.runs()), self.runs().keys())

    def test_the_result_is_epochbenchs_own(self):
        done = self.call("--groups", 1, "--rounds", 2, "--batch", 16)
        ours, known = self.folder / "ours.json", json.loads(self.out.read_text())
        peak = {"peak_flops_per_second": {"fp32": 1e12}, "memory_bandwidth_bytes_per_second": None}
        known["context"]["cpu"] |= {**peak, "peak_processes": 5 * [{"seconds": 0.0, **peak}]}  # which are not measured again
        ours.write_text(json.dumps({**known, "runs": []}))
        subprocess.run([BINARY, "run", "--model", MODEL, "--batch", "16", "--steps", "1", "--data", "synthetic", "--quiet",
                        "--resume", ours], check=True)
        for run in self.runs().values():
            self.assertEqual(run["workload"], json.loads(ours.read_text())["runs"][0]["workload"])
            self.assertIsNotNone(run["efficiency"]["peak_fraction"])
            self.assertEqual(len(run["turns"]["peak_bursts_flops_per_second"]), 2)
        self.assertAlmostEqual(self.runs()[NAMES["eager"].replace("b64", "b16")]["interference"]["foreign_cpu_cores"], 0.5)
        self.assertEqual({run["device"]["backend"] for run in self.runs().values()}, {"cpu", "pytorch"})
        self.assertEqual(self.runs()[NAMES["eager"].replace("b64", "b16")]["device"]["versions"], {"torch": "0.0"})
        self.assertIn("PyTorch eager", done.stdout)
        self.assertIn("in fp32 with 1 thread,", done.stdout)
        report = subprocess.run([BINARY, "report", self.out, "-o", self.folder / "page.html"], capture_output=True, text=True)
        self.assertEqual(report.returncode, 0, report.stderr)

    def test_a_worker_that_leaves_has_a_status_and_the_others_go_on(self):
        reported = {"crash": ("failed", "killed by SIGABRT"), "hang": ("failed", "neither answered"),
                    "memory": ("out_of_memory", "too large"), "nonsense": ("failed", "well"),
                    "parameters": ("failed", "not the same workload"), "threads": ("failed", "2 threads")}
        for faults in (("crash", "memory", "parameters"), ("nonsense", "threads", "hang")):
            self.out.unlink(missing_ok=True)
            modes = dict(zip(("eager", "reduce-overhead", "max-autotune"), faults))
            rows = self.rows("--groups", 1, "--rounds", 3, "--patience", 1, "--compile", ",".join(["default", *modes]), code=1,
                             seconds={mode: 0.5 for mode in ("default", *modes)}, fault=modes)
            runs = self.runs()
            for mode, fault in modes.items():
                status, text = reported[fault]
                run = runs[NAMES["eager"] if mode == "eager" else NAMES["default"].replace("default", mode)]
                self.assertEqual(run["status"], status)
                self.assertIn(text, run["message"])
                self.assertIn(text, rows[f"PyTorch {mode}"]["message"])
            self.assertEqual(runs[NAMES["default"]]["status"], "ok")
            self.assertEqual(rows["PyTorch compile"]["rounds"], 3)
            self.assertIsNotNone(rows["PyTorch compile"]["ratio"])

    def test_a_setting_that_a_worker_ignores_is_refused(self):
        self.call("--groups", 1, "--rounds", 1, fault={"eager": "seed"})
        self.out.unlink()
        self.call("--groups", 1, "--rounds", 1, "--seed", 7, code=1, fault={"eager": "seed"})
        run = next(run for run in json.loads(self.out.read_text())["runs"] if run["status"] == "failed")
        self.assertIn("does not know 'seed'", run["message"])

    def test_whole_rounds_survive_an_interruption(self):
        process = subprocess.Popen(self.command("--rounds", 1000), stderr=subprocess.PIPE, text=True,
                                   stdout=subprocess.PIPE, env=self.environment(fault={"eager": "slow"}))
        self.addCleanup(process.kill)
        while len([1 for _, what in self.asked_for("eager") if what.get("command") == "step"] if self.asked.exists() else []) < 4:
            self.assertIsNone(process.poll(), "ended before it was asked to")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        runs = self.runs()
        rounds = {len(run["timing"]["step_seconds"]) // run["turns"]["steps"] for run in runs.values()}
        self.assertEqual(len(rounds), 1)
        self.assertTrue(3 <= rounds.pop() < 100)
        self.assertIn("interrupted after", runs[NAMES["ours"]]["message"])
        self.assertIn("PyTorch eager", out)
        self.assertEqual(self.runs(group=1), {})

    def test_resume_keeps_whole_groups_and_measures_the_rest(self):
        self.call("--groups", 1, "--rounds", 1)
        other = MODEL.replace("32", "16")
        self.call("--groups", 1, "--rounds", 1, "--resume", code=1, model=other, fault={"eager": "memory"})
        self.asked.unlink()
        done = self.call("--groups", 1, "--rounds", 1, "--resume", model=f"{MODEL},{other}")
        prepared = [what["case"]["model"] for _, what in self.asked_for() if what.get("command") == "prepare"]
        self.assertEqual(prepared, ["mlp:depth=1,width=16"] * 2)
        self.assertEqual({run["status"] for run in self.runs().values()}, {"ok"})
        self.assertEqual(done.stdout.count("PyTorch"), 4)

    def test_every_batch_that_is_asked_for_is_measured(self):
        done = self.call("--batch", "8,16", "--rounds", 1, "--groups", 1, "--json")
        self.assertEqual([row["batch"] for row in json.loads(done.stdout)], [8] * 3 + [16] * 3)

    def test_wrong_calls(self):
        for arguments, text in ((["--precision", "fp8"], "fp8"), (["--compile", "fast"], "fast"), (["--rounds", "0"], "0"),
                                 (["--groups", "0"], "0"), (["--reps", "2"], "--reps")):
            done = self.call(*arguments, code=2)
            self.assertIn(text, done.stderr.splitlines()[-1])
        self.assertIn("vgg", self.call(code=2, model="vgg").stderr)
        self.call(code=2, binary=self.folder / "none")
        self.out.write_text("{")
        self.call("--resume", code=2)


if __name__ == "__main__":
    unittest.main()
