"""Runs of several processes: the same training as one, refusals, and ranks that die, hang or outlive their launcher.

The tests are registered where epochbench-mpi was built."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from support import BINARY, CliTest, children, known_peaks, wait_until

ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# On a machine with one core, two ranks are too many otherwise.
TWO = ["--ranks", "2", "--threads", "1", "--oversubscribe"]
FEW_STEPS = ["--warmup", "0", "--steps", "3"]
ENDLESS = ["--model", "resnet20", "--batch", "16", "--min-time", "600", *TWO]


class RanksTest(CliTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, **ALLOWED}

    def run_model(self, *arguments, code=0):
        call = self.call("run", *arguments, *known_peaks(), "--out", self.out, "--overwrite", env=self.environment)
        self.assertEqual(call.returncode, code, call.stderr)
        return self.result()["runs"][0]

    def begin(self, *arguments):
        """A call, its launcher and its ranks, once they train."""
        process = self.start("run", *arguments, *known_peaks(), "--out", self.out, env=self.environment)
        return process, *self.training(process)

    @staticmethod
    def training(process):
        """The launcher that the call has started, and its two ranks, once they train."""
        def found():
            for launcher in children(process.pid, only_cases=False):
                ranks = [pid for pid in children(launcher, only_cases=False)
                         if b"epochbench-mpi" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]]
                if len(ranks) == 2:
                    return launcher, sorted(ranks)
            return None

        processes = wait_until(found, "two ranks")
        time.sleep(1)
        return processes

    def script(self, body):
        path = self.folder / "launch"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def end_of(self, process, processes, seconds=10):
        """Standard error of a call that ends within that time and leaves no process behind."""
        _, errors = process.communicate(timeout=seconds)
        wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in processes), "the end of all ranks", 5)
        return errors


class Ranks(RanksTest):
    def test_two_ranks_train_to_the_bit_as_two_parts_of_a_batch(self):
        weights = [self.folder / f"{name}.safetensors" for name in ("ranks", "parts")]
        model = ["--model", "lenet5", "--batch", "64", *FEW_STEPS]
        ranks = self.run_model(*model, *TWO, "--save", weights[0])
        parts = self.run_model(*model, "--accumulate", "2", "--threads", "1", "--save", weights[1])
        self.assertEqual(ranks["quality"]["loss"], parts["quality"]["loss"])
        self.assertEqual(weights[0].read_bytes(), weights[1].read_bytes())
        self.assertEqual(ranks["workload"]["fingerprint"], parts["workload"]["fingerprint"])
        self.assertEqual((ranks["settings"]["ranks"], ranks["ranks"]["count"]), (2, 2))
        self.assertNotIn("ranks", parts)
        steps = ranks["timing"]["step_seconds"]
        self.assertAlmostEqual(ranks["throughput"]["samples_per_second"], 64 * len(steps) / sum(steps), places=3)
        for step, communication in zip(ranks["ranks"]["step_seconds"], ranks["ranks"]["communication_seconds"], strict=True):
            self.assertLess(0, communication)
            self.assertLess(communication, step)

    def test_four_ranks_train_as_four_parts(self):
        model = ["--model", "resnet20", "--batch", "8", *FEW_STEPS]
        ranks = self.run_model(*model, "--ranks", "4", "--threads", "1", "--oversubscribe")
        parts = self.run_model(*model, "--accumulate", "4", "--threads", "1")
        for loss, expected in zip(ranks["quality"]["loss"], parts["quality"]["loss"], strict=True):
            self.assertAlmostEqual(loss / expected, 1, delta=1e-6)

    def test_shards_train_to_the_bit_as_ranks_that_divide_nothing(self):
        """A tensor of more than a million elements is exchanged by itself, small ones together."""
        for model, batch, ranks in (("lenet5", "64", "2"), ("mlp:width=1200", "16", "2"), ("resnet20", "8", "4")):
            weights = [self.folder / f"{name}.safetensors" for name in ("shards", "whole")]
            runs = [self.run_model("--model", model, "--batch", batch, *FEW_STEPS, "--ranks", ranks, "--threads", "1", "--oversubscribe",
                                   "--shard", what, "--save", file) for what, file in zip(("optimizer", "none"), weights)]
            self.assertEqual(*(run["quality"]["loss"] for run in runs))
            self.assertEqual(weights[0].read_bytes(), weights[1].read_bytes(), model)
            self.assertEqual([run["settings"].get("shard") for run in runs], ["optimizer", None])
            self.assertLess(*(run["memory"]["planned_bytes"] for run in runs))
            self.assertTrue(all(seconds > 0 for seconds in runs[0]["ranks"]["communication_seconds"]))

    def test_a_sweep_says_what_scaling_costs(self):
        """On this machine as it is; how right it is where the truth is known is a test of the analysis."""
        call = ["sweep", "--model", "lenet5", "--over", "ranks", "--values", "1,2", "--threads", "1", "--oversubscribe",
                *FEW_STEPS, *known_peaks()]
        for scaling, batches in (("strong", [64, 64]), ("weak", [64, 128])):
            done = self.succeed(*call, "--scaling", scaling, "--out", self.out, "--overwrite", env=self.environment)
            answers = self.result()["answers"]
            self.assertEqual(answers["over"], {"strong": "ranks", "weak": "ranks_weak"}[scaling])
            one, two = answers["rank_scaling"][0]["points"]
            self.assertEqual([one["batch"], two["batch"]], batches)
            self.assertAlmostEqual(two["efficiency"], two["samples_per_second"] / one["samples_per_second"] / 2)
            self.assertLess(0, two["exposed_seconds"])
            self.assertLess(two["exposed_seconds"], two["step_seconds"])
            self.assertGreaterEqual(two["slowest_over_fastest"], 1)
            run = next(run for run in self.result()["runs"] if "ranks" in run)
            gradients = 4 * run["workload"]["parameters"]
            self.assertAlmostEqual(run["ranks"]["bus_bytes"] / gradients, 1, delta=0.01)
            self.assertEqual(run["ranks"]["rounds"], 2)
            self.assertGreater(run["ranks"]["bus_bytes_per_second_alone"], 0)
            self.assertRegex(done.stdout, r"ranks +cpu/fp32.*: 2 ranks .* samples/s, efficiency .* %; exposed .* of a step, "
                                          r"bus .*B/s \(sums alone .*B/s\)")
            self.assertIn("predicted, not measured, ", done.stdout)
            page = self.call("answers", self.out).stdout
            self.assertIn("What does it cost that several processes share a batch?", page)
        self.assert_refused(self.call("sweep", "--model", "lenet5", "--over", "batch", "--scaling", "weak"), 2, "--scaling", "--over ranks")
        self.assert_refused(self.call(*call, "--scaling", "some"), 2, "--scaling")

    def test_buckets_change_nothing_but_how_often_ranks_exchange(self):
        weights = [self.folder / f"{bucket}.safetensors" for bucket in ("0.1", "4")]
        small, usual = (self.run_model("--model", "lenet5", "--batch", "64", *FEW_STEPS, *TWO, "--bucket", file.stem, "--save", file)
                        for file in weights)
        self.assertEqual(weights[0].read_bytes(), weights[1].read_bytes())
        self.assertGreater(small["ranks"]["rounds"], usual["ranks"]["rounds"])
        self.assertEqual((small["settings"]["bucket"], usual["settings"].get("bucket")), (0.1, None))

    def test_a_thread_that_exchanges_changes_no_weight(self):
        weights = [self.folder / f"{threads}.safetensors" for threads in ("0", "1")]
        usual, threaded = (self.run_model("--model", "lenet5", "--batch", "64", *FEW_STEPS, *TWO, "--communication-threads", file.stem,
                                          "--save", file) for file in weights)
        self.assertEqual(weights[0].read_bytes(), weights[1].read_bytes())
        self.assertEqual(usual["quality"]["loss"], threaded["quality"]["loss"])
        for key in ("rounds", "bus_bytes"):
            self.assertEqual(usual["ranks"][key], threaded["ranks"][key])
        for step, exposed in zip(threaded["ranks"]["step_seconds"], threaded["ranks"]["communication_seconds"], strict=True):
            self.assertLess(0, exposed)
            self.assertLess(exposed, step)
        self.assertEqual([run["settings"].get("communication_threads") for run in (usual, threaded)], [None, 1])

    def test_plan_shows_what_shards_save(self):
        plans = json.loads(self.call("plan", "bert-tiny", "--batch", "8", "--ranks", "1,4", "--shard", "optimizer", "--json").stdout)
        self.assertEqual([plan.get("ranks") for plan in plans], [None, 4])
        self.assertNotIn("shard", plans[0])
        whole, shard = plans[1]["optimizer_bytes_without_shard"], plans[1]["memory_bytes"]["optimizer"]
        self.assertAlmostEqual(whole / plans[0]["memory_bytes"]["optimizer"], 1, delta=1e-5)  # as with --accumulate, 64 bytes more
        self.assertAlmostEqual(shard / whole, 0.25, delta=0.001)
        text = self.call("plan", "bert-tiny", "--batch", "8", "--ranks", "4", "--shard", "optimizer").stdout
        self.assertRegex(text, r"(?m)^memory .* per rank of 4: parameters")
        self.assertRegex(text, r"(?m)^shard +optimizer: its state .* per rank instead of ")
        for arguments, parts in {("--shard", "optimizer"): ("--shard", "--ranks", "leave it out"),
                                 ("--ranks", "2", "--on", "T4"): ("--ranks, --shard", "--on")}.items():
            self.assert_refused(self.call("plan", "bert-tiny", "--batch", "8", *arguments), 2, *parts)

    def test_rank_0_evaluates_the_whole_test_split(self):
        model = ["--model", "lenet5", "--batch", "64", "--epochs", "1"]
        ranks = self.run_model(*model, *TWO)
        parts = self.run_model(*model, "--accumulate", "2", "--threads", "1")
        self.assertEqual(ranks["quality"]["eval_history"], parts["quality"]["eval_history"])

    def test_the_program_itself_links_no_mpi(self):
        needed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("libc.so", needed)
        self.assertNotIn("mpi", needed)

    def test_refusals_are_one_line(self):
        lenet = ["run", "--model", "lenet5", "--batch", "64", "--ranks", "2"]
        for arguments, parts in {
            ("--batch", "63"): ("--ranks 2 does not divide batch 63",),
            ("--accumulate", "64"): ("--ranks 2 times --accumulate 64 does not divide batch 64", "multiple of 128"),
            ("--mode", "forward"): ("--ranks needs training",),
            ("--device", "reference"): ("reference does not exchange gradients",),
            ("--trace", "trace"): ("--trace",),
            ("--profile",): ("--profile",),
            ("--launcher", "srun -n 2"): ("--launcher", "{ranks}"),
            ("--launcher", "no-such-launcher -n {ranks}"): ("no-such-launcher was not found",),
            ("--launcher", "'no such launcher' -n {ranks}"): ("no such launcher was not found",),
            ("--launcher", "srun -n {ranks} --comment='x"): ("--launcher", "a quote that is not closed"),
            ("--launcher", "'' -n {ranks}"): ("--launcher", "empty word"),
            ("--ranks", "1024", "--batch", "1024"): ("--ranks 1024: more than the", "--oversubscribe"),
            ("--threads", "999"): ("--ranks 2 of --threads 999: more than the", "--oversubscribe"),
            ("--ranks", "1", "--oversubscribe"): ("--launcher, --oversubscribe", "leave them out"),
            ("--ranks", "1", "--shard", "optimizer"): ("--shard", "leave it out"),
            ("--threads", "999", "--communication-threads", "1"):
                ("--ranks 2 of --threads 999, with --communication-threads 1: more than the", "--oversubscribe"),
            ("--communication-threads", "2"): ("--communication-threads",),
            ("--ranks", "1", "--communication-threads", "1"): ("--communication-threads", "leave it out"),
            ("--ranks", "1", "--bucket", "8"): ("--bucket", "leave it out"),
        }.items():
            kept = [each for each in zip(lenet[1::2], lenet[2::2]) if each[0] not in arguments]
            call = self.call("run", *[word for pair in kept for word in pair], *arguments, env=self.environment)
            with self.subTest(arguments):
                self.assert_refused(call, 2, *parts)

    def test_a_number_of_ranks_that_cannot_run_is_the_error_of_a_call_that_names_it(self):
        run = self.run_model("--model", "lenet5", "--batch", "1024", "--ranks", "1,1024", "--threads", "1", *FEW_STEPS, code=2)
        self.assertEqual(run["status"], "ok")

    def test_only_the_cases_of_one_process_are_profiled(self):
        self.run_model("--model", "lenet5", "--batch", "64", "--ranks", "1,2", "--threads", "1", "--oversubscribe", *FEW_STEPS, "--profile")
        self.assertEqual([bool(run.get("profile")) for run in self.result()["runs"]], [True, False])
        call = self.call("run", "--model", "lenet5", "--batch", "64", *TWO, "--profile", env=self.environment)
        self.assert_refused(call, 2, "--profile", "leave out --ranks")

    def test_says_what_is_missing(self):
        lenet = ["run", "--model", "lenet5", "--batch", "64", *TWO]
        nothing = {**self.environment, "PATH": str(self.folder)}
        self.assert_refused(self.call(*lenet, env=nothing), 2, "the launcher mpirun was not found", "openmpi-bin")
        version = subprocess.run(["mpirun", "--version"], env=self.environment, capture_output=True, text=True, check=True).stdout
        if os.geteuid() == 0 and "Open MPI" in version:
            user = {key: value for key, value in os.environ.items() if key not in ALLOWED}
            self.assert_refused(self.call(*lenet, env=user), 2, *ALLOWED)
        alone = self.folder / "epochbench"
        shutil.copy(BINARY, alone)
        call = self.call(*lenet, env=self.environment, executable=alone)
        self.assert_refused(call, 2, "epochbench-mpi was not found next to epochbench", "libopenmpi-dev")

    def test_a_launcher_of_another_mpi_is_refused(self):
        version = subprocess.run(["mpirun", "--version"], env=self.environment, capture_output=True, text=True, check=True).stdout
        other, name = ("mpiexec.hydra", "MPICH") if "Open MPI" in version else ("orterun", "Open MPI")
        (self.folder / other).write_text("#!/bin/sh\n")
        (self.folder / other).chmod(0o755)
        call = self.call("run", "--model", "lenet5", "--batch", "64", *TWO, "--launcher", f"{self.folder / other} -n {{ranks}}",
                         env=self.environment)
        self.assert_refused(call, 2, f"belongs to {name}, but epochbench-mpi was built with", "--launcher")

    def test_slurm_says_which_ranks_share_a_machine(self):
        """A rank that is alone on its machine gets the cores that one process gets."""
        def places(pid):
            return sorted(re.findall(rb"OMP_(?:PLACES|PROC_BIND)=[^\0]*", pathlib.Path(f"/proc/{pid}/environ").read_bytes()))

        launcher = self.script('ranks=$1\nshift\nexec mpirun --bind-to none --oversubscribe -n "$ranks" sh -c '
                               '\'unset OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE; '
                               'SLURM_LOCALID=0 SLURM_GTIDS=$OMPI_COMM_WORLD_RANK exec "$@"\' sh "$@"')
        training = ["--model", "resnet20", "--batch", "16", "--min-time", "600", "--threads", str(len(os.sched_getaffinity(0)))]
        alone = self.start("run", *training, *known_peaks(), "--out", self.folder / "alone.json")
        expected = wait_until(lambda: places(self.case_of(alone)), "a case with its environment")
        self.end(alone)
        process, _, ranks = self.begin(*training, "--ranks", "2", "--oversubscribe", "--launcher", f"{launcher} {{ranks}}")
        self.assertEqual([places(rank) for rank in ranks], [expected, expected])
        self.end(process)

    def test_what_a_launcher_says_itself_is_no_answer(self):
        launcher = self.script('printf "\\n=== a launcher speaks ===\\n"\nranks=$1\nshift\n'
                               'exec mpirun --bind-to none --oversubscribe -n "$ranks" "$@"')
        run = self.run_model("--model", "lenet5", "--batch", "64", *TWO, *FEW_STEPS, "--launcher", f"{launcher} {{ranks}}")
        self.assertEqual(run["status"], "ok")

    def test_ranks_of_one_each_are_those_of_another_mpi(self):
        launcher = self.script('shift\nexec "$@"')
        run = self.run_model("--model", "lenet5", "--batch", "64", *TWO, "--launcher", f"{launcher} {{ranks}}", code=1)
        self.assertEqual(run["status"], "failed")
        self.assertIn("the launcher started ranks of 1", run["message"])


class RankFaults(RanksTest):
    def failed_run(self):
        runs = self.result()["runs"]
        self.assertEqual([run["status"] for run in runs], ["failed"])
        return runs[0]["message"]

    def test_a_killed_rank_is_a_result_and_what_was_finished_is_kept(self):
        suite = self.write("suite.json", {"defaults": {"ranks": 2, "threads": 1, "oversubscribe": "on"}, "cases": [
            {"model": "lenet5", "batch": 16, "steps": 3}, {"model": "resnet20", "batch": 16, "min_time": 600}]})
        process = self.start("run", "--suite", suite, *known_peaks(), "--out", self.out, env=self.environment)
        wait_until(self.out.exists, "the first case")
        launcher, ranks = self.training(process)
        os.kill(ranks[1], signal.SIGKILL)
        errors = self.end_of(process, [launcher, *ranks])
        self.assertEqual(process.returncode, 1, errors)
        self.assertEqual([run["status"] for run in self.result()["runs"]], ["ok", "failed"])
        self.assertRegex(self.result()["runs"][1]["message"], "launcher of the ranks ended with exit code 137.*SIGKILL")

    def test_a_launcher_that_fails_is_not_a_rank_that_was_killed(self):
        """As mpirun does where hosts do not answer."""
        process = self.start("run", *ENDLESS, "--launcher", f"{self.script('exit 255')} {{ranks}}", *known_peaks(), "--out", self.out,
                             env=self.environment)
        errors = self.end_of(process, [])
        self.assertEqual(process.returncode, 1, errors)
        self.assertEqual(self.failed_run(), "the launcher of the ranks ended with exit code 255")

    def test_ranks_end_with_rank_0(self):
        process, launcher, ranks = self.begin(*ENDLESS)
        os.kill(ranks[0], signal.SIGKILL)
        errors = self.end_of(process, [launcher, *ranks])
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("SIGKILL", self.failed_run())

    def test_ranks_end_with_their_launcher(self):
        process, launcher, ranks = self.begin(*ENDLESS)
        os.kill(launcher, signal.SIGKILL)
        self.end_of(process, [launcher, *ranks])
        self.assertRegex(self.failed_run(), "launcher of the ranks was killed by SIGKILL")

    def test_ranks_end_with_the_call(self):
        process, launcher, ranks = self.begin(*ENDLESS)
        process.kill()
        self.end_of(process, [launcher, *ranks])

    def test_an_interrupt_ends_all(self):
        process, launcher, ranks = self.begin(*ENDLESS)
        os.killpg(process.pid, signal.SIGINT)
        errors = self.end_of(process, [launcher, *ranks])
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual([run["status"] for run in self.result()["runs"]], ["interrupted"])

    def test_a_rank_that_hangs_is_given_up(self):
        # With 2 seconds of patience instead of the usual.
        launcher = self.script('exec mpirun --oversubscribe --bind-to none -n "$1" "$2" "$3" "$4" "$5" 2')
        process, launcher, ranks = self.begin(*ENDLESS, "--launcher", f"{launcher} {{ranks}}")
        os.kill(ranks[1], signal.SIGSTOP)
        self.end_of(process, [launcher, *ranks])
        self.assertIn("hung: another rank did not take part for 2 s", self.failed_run())
