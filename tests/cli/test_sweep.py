"""Sweeps: every point in a process of its own, the answers in the file, and what is refused."""
import math
import resource
import unittest

from support import CliTest, known_peaks, load

SWEEP = ["sweep", "--model", "mlp:width=32", "--steps", "5"]


class Sweep(CliTest):
    def sweep_ok(self, *arguments):
        call = self.succeed(*SWEEP, *known_peaks(), "--out", self.out, "--overwrite", *arguments)
        return call, self.result()

    def test_batches_in_another_order_each_repetition(self):
        call, result = self.sweep_ok("--over", "batch", "--values", "1,2,4,8,16", "--repetitions", "5", "--price", "cpu=0.36")
        runs, answers = result["runs"], result["answers"]
        self.assertEqual([run["repetition"] for run in runs], sorted([0, 1, 2, 3, 4] * 5))
        orders = [[run["workload"]["batch"] for run in runs if run["repetition"] == i] for i in range(5)]
        self.assertTrue(all(sorted(order) == [1, 2, 4, 8, 16] for order in orders))
        self.assertGreater(len({tuple(order) for order in orders}), 1)
        self.assertNotIn([1, 2, 4, 8, 16], orders[:1])
        self.assertEqual((answers["over"], answers["measure"]), ("batch", "samples_per_second"))
        best = answers["best"][0]
        self.assertEqual((best["curve"], best["device"], best["precision"]), ("mlp:width=32/cpu/fp32", "cpu", "fp32"))
        rates = {batch: [run["throughput"]["samples_per_second"] for run in runs if run["workload"]["batch"] == batch]
                 for batch in orders[0]}
        # Each half of the repetitions estimates the batch that the other half chose.
        chosen = [max(rates, key=lambda batch: math.prod(rates[batch][other::2])) for other in (1, 0)]
        estimating = [rate for half, batch in enumerate(chosen) for rate in rates[batch][half::2]]
        self.assertEqual(best["value"], max(chosen, key=lambda batch: math.prod(rates[batch])))
        self.assertAlmostEqual(best["rate"] / math.prod(estimating) ** 0.2, 1)
        self.assertEqual(bool(best["reason"]), chosen[0] != chosen[1])
        self.assertIsNotNone(best["indistinguishable"])
        self.assertIsNone(answers["crossover"])
        self.assertEqual(answers["scaling"], [])
        self.assertIn("best        cpu/fp32: batch", call.stdout)
        self.assertIn("over batch, logarithmic", call.stdout)

    def test_width_names_its_value_and_counts_flops(self):
        self.succeed("sweep", "--model", "mlp:depth=1", "--steps", "5", "--over", "width", "--values", "16,512",
                     *known_peaks(), "--out", self.out, "--overwrite")
        result = self.result()
        self.assertEqual(sorted(run["workload"]["options"]["width"] for run in result["runs"]), [16, 512])
        best = result["answers"]["best"][0]
        self.assertEqual(best["curve"], "mlp:depth=1/cpu/fp32/b64")
        self.assertEqual(best["rate"], max(run["efficiency"]["flops_per_second"] for run in result["runs"]))

    def test_samples_time_whole_epochs(self):
        self.succeed("sweep", "--model", "mlp:width=32", "--over", "samples", "--values", "64,640", *known_peaks(),
                     "--out", self.out, "--overwrite")
        result = self.result()
        for run in result["runs"]:
            self.assertEqual(run["timing"]["epoch_kind"], "measured")
            self.assertEqual(len(run["timing"]["step_seconds"]), run["workload"]["samples_per_epoch"] // 64)
        rates = [run["workload"]["samples_per_epoch"] / run["timing"]["wall_seconds"] for run in result["runs"]]
        self.assertAlmostEqual(result["answers"]["best"][0]["rate"] / max(rates), 1)
        self.assertEqual(result["answers"]["measure"], "samples_per_wall_second")

    def test_threads_ask_for_four_points(self):
        call, result = self.sweep_ok("--over", "threads", "--values", "1,2")
        self.assertEqual(result["answers"]["scaling"][0]["reason"], "too few points: 2, at least 4")
        self.assertIn("too few points: 2, at least 4", call.stdout)
        result = self.sweep_ok("--over", "threads", "--values", "1,2,3,4")[1]
        fits = result["answers"]["scaling"][0]["fits"]
        self.assertEqual([fit["law"] for fit in fits], ["amdahl", "usl"])
        self.assertIn("no GPU", result["answers"]["scaling"][0]["reason"])

    def test_json_is_the_file(self):
        call = self.succeed(*SWEEP, "--over", "batch", "--values", "1,2", *known_peaks(), "--out", self.out, "--overwrite", "--json")
        self.assertEqual(load(call.stdout), self.result())

    def test_devices_that_are_not_there_are_skipped(self):
        result = self.sweep_ok("--over", "batch", "--values", "4", "--device", "cpu,cuda:7", "--allow-skipped")[1]
        self.assertEqual(sorted(run["status"] for run in result["runs"]), ["ok", "skipped"])
        self.assertEqual(len(result["answers"]["best"]), 1)
        self.assertEqual(self.call(*SWEEP, "--over", "batch", "--values", "4", "--device", "cpu,cuda:7", *known_peaks(),
                                   "--out", self.folder / "other.json").returncode, 3)

    def test_resume_adds_what_is_missing(self):
        self.assertEqual(self.call(*SWEEP, "--over", "batch", "--values", "4", "--out", self.out).returncode, 0)
        before, first = self.result()["context"], self.result()["runs"][0]
        self.assertNotIn("earlier_calls", before)
        self.assertEqual(self.call(*SWEEP, "--over", "batch", "--values", "4,8", "--resume", self.out).returncode, 0)
        context, runs = self.result()["context"], self.result()["runs"]
        call = ("date", "epochbench_version", "git_sha", "git_dirty", "build_type", "compiler", "cpu_kernels", "gpu_code",
                "command_line")
        self.assertEqual(context["earlier_calls"], [{key: before[key] for key in call}])
        shares = [run["efficiency"].pop("peak_fraction") for run in (runs[0], first)]
        self.assertLessEqual(*shares, "another process may have reached more")
        self.assertEqual(runs[0], first)
        self.assertEqual([run["workload"]["batch"] for run in runs], [4, 8])
        self.assertIn(self.result()["answers"]["best"][0]["value"], (4, 8))

    def test_a_point_out_of_memory_is_a_point(self):
        limit = 2 << 30
        call = self.succeed("sweep", "--model", "resnet20", "--over", "batch", "--values", "2,4,4096", "--steps", "3",
                            *known_peaks(), "--out", self.out, "--overwrite",
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        result = self.result()
        status = {run["workload"]["batch"]: run["status"] for run in result["runs"]}
        self.assertEqual(status, {2: "ok", 4: "ok", 4096: "out_of_memory"})
        self.assertIn(result["answers"]["best"][0]["value"], (2, 4))
        self.assertRegex(call.stdout, r"4,096 +out of memory")

    def test_a_point_that_diverges_is_exit_1(self):
        call = self.call(*SWEEP, "--over", "batch", "--values", "4", "--learning-rate", "1e30", *known_peaks(),
                         "--out", self.out, "--overwrite")
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertEqual(self.result()["answers"]["best"][0]["reason"], "no point was measured")

    def test_refusals(self):
        self.out.write_text("an older result")
        for arguments, code, parts in [
            (SWEEP, 2, ["--over", "batch, width, samples, threads"]),
            ([*SWEEP, "--over", "depth"], 2, ["--over", "depth"]),
            ([*SWEEP, "--over", ""], 2, ["--over"]),
            (["sweep", "--over", "batch"], 2, ["--model"]),
            ([*SWEEP, "--over", "batch", "--batch", "4"], 2, ["--batch", "--values"]),
            ([*SWEEP, "--over", "batch", "--values", "4,4"], 2, ["--values", "twice"]),
            ([*SWEEP, "--over", "batch", "--values", "0"], 2, ["--values"]),
            ([*SWEEP, "--over", "batch", "--values", "1.5"], 2, ["--values"]),
            ([*SWEEP, "--over", "batch", "--values", "100000"], 2, ["1,438"]),
            ([*SWEEP, "--over", "batch", "--repetitions", "0"], 2, ["--repetitions"]),
            ([*SWEEP, "--over", "samples"], 2, ["--steps", "epochs"]),
            ([*SWEEP, "--over", "batch", "--device", "cuda:7"], 3, ["cuda:7"]),
        ]:
            with self.subTest(arguments):
                self.assert_refused(self.call(*arguments, "--out", self.out, "--overwrite"), code, *parts)
                self.assertEqual(self.out.read_text(), "an older result")


if __name__ == "__main__":
    unittest.main()
