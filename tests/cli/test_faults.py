"""Faults while a suite runs: a reader sees valid JSON at any moment, and what was finished is kept."""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import unittest

from support import QUICK, CliTest, known_peaks, load, wait_until

THREE = {"defaults": {"steps": 12, "batch": 16},
         "cases": [{"model": "lenet5"}, {"model": "resnet20"}, {"model": "mlp:width=64"}]}
# The case in the middle runs until it is stopped.
THREE_WITH_ENDLESS = {"cases": [{"model": "lenet5", "batch": 16, "steps": 12},
                                {"model": "resnet20", "batch": 16, "min_time": 600, "threads": 1},
                                {"model": "mlp:width=64", "batch": 16, "steps": 12}]}


class Faults(CliTest):
    def suite(self, content):
        path = self.write("suite.json", content)
        return ["run", "--suite", path, *known_peaks(), "--out", self.out]

    def statuses(self):
        return {run["workload"]["model"]: run["status"] for run in self.result()["runs"]}

    def wait_for_second_case(self, process):
        wait_until(self.out.exists, "the first case")
        return self.case_of(process)

    def test_a_killed_case_is_a_result_and_the_others_go_on(self):
        process = self.start(*self.suite(THREE_WITH_ENDLESS))
        os.kill(self.wait_for_second_case(process), signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, errors)
        self.assertEqual(self.statuses(), {"lenet5": "ok", "resnet20": "failed", "mlp:width=64": "ok"})
        message = next(run["message"] for run in self.result()["runs"] if run["status"] == "failed")
        self.assertRegex(message.lower(), "kill|signal 9")

    def test_a_killed_program_takes_its_case_along_and_resume_completes(self):
        process = self.start(*self.suite(THREE_WITH_ENDLESS))
        case = self.wait_for_second_case(process)
        process.kill()
        process.wait()
        wait_until(lambda: not pathlib.Path(f"/proc/{case}").exists(), "the end of the case")
        kept = self.result()["runs"]
        self.assertEqual([run["status"] for run in kept], ["ok"])
        (self.folder / "suite.json").write_text(json.dumps(THREE))
        call = self.succeed("run", "--suite", self.folder / "suite.json", "--resume", self.out)
        runs = self.result()["runs"]
        self.assertEqual([run["status"] for run in runs], ["ok"] * 3)
        self.assertEqual(runs[0], kept[0])
        before = self.out.read_text()
        call = self.succeed("run", "--suite", self.folder / "suite.json", "--resume", self.out)
        self.assertIn("nothing is left to run", call.stderr)
        self.assertEqual(load(before), self.result(), "a call that measures nothing leaves no trace")

    def test_interrupts_end_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                self.out.unlink(missing_ok=True)
                process = self.start(*self.suite(THREE_WITH_ENDLESS))
                case = self.wait_for_second_case(process)
                process.send_signal(number)
                os.killpg(process.pid, number)  # as the terminal does, and `timeout` besides
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, errors)
                self.assertEqual(self.statuses(), {"lenet5": "ok", "resnet20": "interrupted"})
                command = errors.splitlines()[-1].strip()
                self.assertTrue(command.endswith(f" --resume {self.out}"), errors)
                self.assertNotIn("--out", command)
                self.assertFalse(pathlib.Path(f"/proc/{case}").exists())

    def test_goes_on_without_a_terminal_where_nohup_asks_for_it(self):
        process = self.start("run", "--model", "mlp:width=64", "--min-time", "600", *known_peaks(), "--out", self.out,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.case_of(process)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        ignored = int(re.search(r"^SigIgn:\s*(\w+)$", status, re.MULTILINE)[1], 16)
        self.assertTrue(ignored >> (signal.SIGHUP - 1) & 1, status)
        os.killpg(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)

    def test_a_budget_ends_the_case_that_runs_and_skips_the_rest(self):
        self.succeed(*self.suite({"budget_seconds": 4, **THREE_WITH_ENDLESS}))
        runs = {run["workload"]["model"]: run for run in self.result()["runs"]}
        for model, end in (("resnet20", ""), ("mlp:width=64", "began")):
            self.assertEqual(runs[model]["status"], "skipped")
            self.assertRegex(runs[model]["message"], f"^the budget of 4.00 s was over before this case .*{end}$")

    def test_a_stopped_group_goes_on_where_it_was(self):
        process = self.start("run", "--model", "resnet20", "--batch", "16", "--threads", "1", "--steps", "40",
                             *known_peaks(), "--out", self.out)
        case = self.case_of(process)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(1)
        state = pathlib.Path(f"/proc/{case}/stat").read_text().rsplit(")", 1)[1].split()[0]
        self.assertEqual(state, "T", "the case is in the group of its parent")
        os.killpg(process.pid, signal.SIGCONT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.statuses(), {"resnet20": "ok"})

    def test_a_reader_sees_valid_json_at_any_moment(self):
        process = self.start(*self.suite(THREE), "--repetitions", "2")
        seen, reads = set(), 0
        while process.poll() is None:
            if self.out.exists():
                text = self.out.read_text()
                reads += 1
                seen.add(text)
        self.assertEqual(process.returncode, 0)
        for text in seen:
            load(text)
        self.assertEqual(len(self.result()["runs"]), 6)
        self.assertGreaterEqual(len(seen), 3)
        self.assertGreater(reads, len(seen))
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])

    def test_a_reader_that_goes_away_does_not_end_a_run(self):
        process = self.start("run", *QUICK, *known_peaks(), "--out", self.out)
        process.stdout.close()
        process.stderr.close()
        process.wait(timeout=120)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.statuses(), {"lenet5": "ok"})
        process.stdout = process.stderr = None


class MemoryLimit(CliTest):
    def test_a_case_beyond_the_memory_limit_is_out_of_memory(self):
        limit = 1500 << 20
        call = self.call("run", "--model", "mlp:width=8192,depth=4,lenet5", "--batch", "16", "--steps", "12", "--out", self.out,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertEqual({run["workload"]["model"]: run["status"] for run in self.result()["runs"]},
                         {"mlp:depth=4,width=8192": "out_of_memory", "lenet5": "ok"})


class FullDisk(CliTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", self.disk], capture_output=True, text=True)
        if mount.returncode != 0:
            self.skipTest("mounting a small tmpfs is not permitted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False)
        self.rescue = self.folder / "rescue"
        self.rescue.mkdir()
        self.on_disk = self.disk / "result.json"
        self.filler = self.disk / "filler"

    def fill(self):
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def run_on_disk(self, *arguments):
        return self.call("run", *QUICK, *known_peaks(), "--out", self.on_disk, "--overwrite", *arguments,
                         env={**os.environ, "TMPDIR": str(self.rescue)})

    def test_the_old_result_stays_and_the_new_one_is_rescued(self):
        self.assertEqual(self.run_on_disk().returncode, 0)
        old = self.on_disk.read_text()
        self.fill()
        call = self.run_on_disk("--repetitions", "2", "--quiet")
        self.assertEqual(call.returncode, 2, call.stderr)
        self.assertEqual(self.on_disk.read_text(), old)
        self.assertEqual(sorted(os.listdir(self.disk)), ["filler", "result.json"])
        lines = call.stderr.splitlines()
        self.assertEqual(len(lines), 2, call.stderr)
        self.assertIn("No space left", lines[0])
        rescued = next(self.rescue.glob("epochbench-*.json"))
        self.assertIn(str(rescued), lines[1])
        self.assertEqual([run["status"] for run in self.result(rescued)["runs"]], ["ok", "ok"])

    def test_an_export_is_whole_once_there_is_room(self):
        measured = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).with_name("zen4-2cores-quick.json")
        store = self.disk / "mlruns"
        export = ["export", measured, "--format", "mlflow", "-o", store]
        (store / "0").mkdir(parents=True)
        self.fill()
        self.assert_refused(self.call(*export), 2, "No space left")
        self.assertEqual([path for path in store.rglob("*") if path.is_file()], [], "what is there is not written again")
        self.filler.unlink()
        self.call(*export)  # the disk is too small for all of it
        self.assertIn("lifecycle_stage: active", (store / "0" / "meta.yaml").read_text())

    def test_room_that_comes_back_is_used(self):
        self.fill()
        process = self.start("run", "--model", "resnet20", "--batch", "16", "--steps", "20", "--repetitions", "3", *known_peaks(),
                             "--out", self.on_disk, env={**os.environ, "TMPDIR": str(self.rescue)})
        wait_until(lambda: "No space left" in process.stderr.readline(), "the warning")
        self.filler.unlink()
        self.assertEqual(process.wait(timeout=120), 0)
        self.assertEqual(len(self.result(self.on_disk)["runs"]), 3)
        self.assertEqual(os.listdir(self.rescue), [])


if __name__ == "__main__":
    unittest.main()
