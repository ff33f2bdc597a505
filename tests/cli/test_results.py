"""Runs that succeed: the file, its form, and what is the same from run to run."""
import json
import os
import unittest

from support import CliTest, QUICK, known_peaks, load


class Results(CliTest):
    def run_ok(self, *arguments):
        call = self.succeed("run", *known_peaks(), "--out", self.out, "--overwrite", *arguments)
        return call, self.result()

    def test_fields_hang_together(self):
        call = self.succeed("run", "--out", self.out, *QUICK, "--price", "cpu=0.36")
        result = self.result()
        run = result["runs"][0]
        self.assertEqual(run["name"], "lenet5/cpu/fp32/b16")
        self.assertEqual(run["status"], "ok")
        timing, workload = run["timing"], run["workload"]
        self.assertEqual(len(timing["step_seconds"]), 12)
        self.assertEqual(timing["stopped_by"], "steps")
        self.assertAlmostEqual(timing["steps_total_seconds"], sum(timing["step_seconds"]))
        rate = 12 * 16 / timing["steps_total_seconds"]
        self.assertAlmostEqual(run["throughput"]["samples_per_second"] / rate, 1)
        flops = workload["train_flops_per_sample"] * rate
        self.assertAlmostEqual(run["efficiency"]["flops_per_second"] / flops, 1)
        peak = result["context"]["cpu"]["peak_flops_per_second"]["fp32"]
        self.assertAlmostEqual(run["efficiency"]["peak_fraction"] / (flops / peak), 1)
        self.assertEqual(len(run["quality"]["loss"]), 12 + timing["warmup_steps"])
        self.assertAlmostEqual(run["cost"]["usd_per_epoch"], 0.36 * timing["epoch_seconds"] / 3600)
        self.assertAlmostEqual(run["cost"]["usd_total"], 0.36 * timing["wall_seconds"] / 3600)
        self.assertEqual(run["cost"]["price_source"], "user")
        self.assertGreater(timing["wall_seconds"], timing["steps_total_seconds"])
        self.assertIn("lenet5/cpu/fp32/b16", call.stdout)
        self.assertIn("projected", call.stdout)
        self.assertIn("\nepoch: digits, 1,424 images\n", call.stdout)

    def test_how_samples_reach_the_steps_changes_what_they_wait_for_and_nothing_else(self):
        call, result = self.run_ok(*QUICK, "--decode-cost", "0.0005", "--loader-threads", "0,2", "--cache", "none,decoded")
        runs = {(run["input"]["loader_threads"], run["input"]["cache"]): run for run in result["runs"]}
        self.assertEqual(len(runs), 4)
        for run in runs.values():
            self.assertEqual(run["input"]["decode_cost_seconds"], 0.0005)
            self.assertEqual(run["input"]["prefetch"], run["input"]["loader_threads"] > 0)
            self.assertEqual(run["quality"]["loss"], runs[0, "none"]["quality"]["loss"])
        waits = {key: run["efficiency"]["data_wait_fraction"] * run["timing"]["steps_total_seconds"]
                 for key, run in runs.items()}
        # The samples of 12 steps cost 96 ms where the steps' own thread decodes them; half of it is for a faster clock.
        self.assertGreater(waits[0, "none"], 0.048)
        self.assertGreater(waits[0, "none"], waits[0, "decoded"])
        self.assertIn("needs a faster input first", call.stdout)
        call, result = self.run_ok(*QUICK, "--data", "synthetic")
        self.assertIsNone(result["runs"][0]["input"])
        self.assertEqual(result["runs"][0]["workload"]["nominal_dataset"], "MNIST")
        self.assertIn("\nepoch: MNIST, 60,000 images\n", call.stdout)

    def test_without_a_price_the_cost_is_null(self):
        self.assertIsNone(self.run_ok(*QUICK)[1]["runs"][0]["cost"])

    def test_price_of_another_machine_is_marked(self):
        source = self.run_ok(*QUICK, "--price", "cpu=c7i.4xlarge", "--price-scaling", "whole")[1]["runs"][0]["cost"]["price_source"]
        self.assertIn("catalog: aws c7i.4xlarge us-east-1 20", source)
        self.assertIn("not the machine that was measured", source)

    def test_profile_says_where_a_step_goes_and_changes_nothing_else(self):
        weights = [self.folder / name for name in ("with.safetensors", "without.safetensors")]
        call, result = self.run_ok(*QUICK, "--profile", "--save", weights[0])
        run = result["runs"][0]
        profile, cpu = run["profile"], result["context"]["cpu"]
        nodes, classes = profile["nodes"], profile["classes"]
        self.assertAlmostEqual(profile["seconds"], sum(node["seconds"] for node in nodes))
        self.assertAlmostEqual(sum(group["share"] for group in classes), 1)
        self.assertEqual(sum(group["nodes"] for group in classes), len(nodes))
        self.assertEqual([group["seconds"] for group in classes], sorted((g["seconds"] for g in classes), reverse=True))
        self.assertTrue({"conv2d_bias", "conv2d_grad_weight", "adamw"} <= {group["op"] for group in classes})
        # A step's FLOPs are those of its nodes.
        flops = run["workload"]["batch"] * run["workload"]["train_flops_per_sample"]
        self.assertAlmostEqual(sum(node["flops"] for node in nodes) / flops, 1)
        for node in nodes:
            limits = {"compute": node["flops"] / cpu["peak_flops_per_second"]["fp32"],
                      "memory": node["bytes"] / cpu["memory_bandwidth_bytes_per_second"]}
            self.assertAlmostEqual(node["limit_seconds"] / max(limits.values()), 1)
            self.assertEqual(limits[node["limit"]], max(limits.values()))
        limit = sum(node["limit_seconds"] for node in nodes)
        self.assertAlmostEqual(profile["limit_seconds"] / limit, 1)
        self.assertGreaterEqual(profile["passes"], 3)
        self.assertIn("the timed steps' median is", " ".join(call.stdout.split()))
        lost = [group["seconds"] - group["limit_seconds"] for group in classes]
        most = classes[lost.index(max(lost))]["op"]
        self.assertRegex(call.stdout, rf"\nop +nodes .*\n{most} ")
        without = self.run_ok(*QUICK, "--save", weights[1])[1]["runs"][0]
        self.assertIsNone(without["profile"])
        self.assertEqual(without["quality"]["loss"], run["quality"]["loss"])
        self.assertEqual(weights[0].read_bytes(), weights[1].read_bytes())

    def test_pinning_is_in_the_name_and_in_the_result(self):
        _, result = self.run_ok(*QUICK, "--threads", "1", "--pin", "cores,none")
        self.assertEqual([(run["name"], run["device"]["pinned"]) for run in result["runs"]],
                         [("lenet5/cpu/fp32/b16/pin=cores/threads=1", True), ("lenet5/cpu/fp32/b16/pin=none/threads=1", False)])
        for run in result["runs"]:
            self.assertGreaterEqual(run["memory"]["huge_page_bytes"] or 0, 0)

    def test_names_devices_and_precisions_of_a_list(self):
        call, result = self.run_ok(*QUICK, "--device", "cpu,cuda:0", "--precision", "fp32,tf32", "--allow-skipped")
        status = {run["name"]: run["status"] for run in result["runs"]}
        self.assertEqual(status, {"lenet5/cpu/fp32/b16": "ok", "lenet5/cpu/tf32/b16": "skipped",
                                  "lenet5/cuda/fp32/b16": "skipped", "lenet5/cuda/tf32/b16": "skipped"})
        self.assertEqual(sum("cuda" in line and "skipped: " in line and line.startswith("epochbench: ")
                             for line in call.stderr.splitlines()), 1)
        finished = [line for line in call.stderr.splitlines() if line.startswith("[")]
        self.assertRegex("\n".join(finished), r"\A\[1/1\] lenet5/cpu/fp32/b16: ", "what does not run is not counted")

    def test_a_named_value_that_no_case_can_have_is_not_done(self):
        for options, code in ((["--device", "cpu,cuda:77"], 3), (["--precision", "fp32,tf32"], 2),
                              (["--data", "synthetic", "--cache", "none,decoded"], 2),
                              (["--device", "cpu,cuda:77", "--precision", "fp32,tf32"], 3)):
            self.out.unlink(missing_ok=True)
            call = self.call("run", *QUICK, *options, *known_peaks(), "--out", self.out)
            self.assertEqual(call.returncode, code, call.stderr)
            self.assertIn("skipped: ", call.stderr)
            self.assertIn("ok", [run["status"] for run in self.result()["runs"]], "the other part is kept")
            self.succeed("run", *QUICK, *options, "--resume", self.out, "--allow-skipped")

    def test_devices_that_only_a_suite_lists_are_skipped(self):
        suite = self.folder / "suite.json"
        case = {"model": "lenet5", "batch": 16, "steps": 3}
        suite.write_text(json.dumps({"name": "both", "cases": [case, {**case, "device": "cuda:77"}]}))
        self.assertEqual(self.call("run", "--suite", suite, *known_peaks(), "--out", self.out).returncode, 0)
        self.out.unlink()
        self.assertEqual(self.call("run", "--suite", suite, "--device", "cpu,cuda:77", *known_peaks(), "--out",
                                   self.out).returncode, 3)

    def test_a_dry_run_writes_nothing(self):
        call = self.call("run", "--model", "mlp:width=64,lenet5", "--steps", "9", "--repetitions", "3", "--dry-run", "--out",
                         self.out)
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        self.assertRegex(call.stdout, r"(?m)^lenet5/\S+ +3 +[\d.]+ [KM]iB +about ")
        self.assertIn("6 runs, expected to take about ", call.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])
        swept = self.call("sweep", "--model", "lenet5", "--over", "batch", "--values", "4,8", "--steps", "3", "--dry-run")
        self.assertEqual((swept.returncode, swept.stderr), (0, ""))
        self.assertIn("2 runs, expected", swept.stdout)
        self.assertEqual(self.call("run", "--model", "lenet5", "--device", "cpu,cuda:77", "--dry-run").returncode, 3)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_planned_memory_of_a_dry_run_is_that_of_the_run(self):
        _, result = self.run_ok(*QUICK)
        planned = result["runs"][0]["memory"]["planned_bytes"]
        call = self.call("run", *QUICK, "--dry-run")
        self.assertIn(f"{float(f'{planned / 2 ** 20:.3g}'):g} MiB", call.stdout)

    def test_progress_in_a_log_is_lines_without_escape_sequences(self):
        call = self.succeed("run", "--model", "lenet5", "--batch", "16", "--threads", "1", "--min-time", "10.5", *known_peaks(),
                            "--out", self.out)
        self.assertNotIn("\x1b", call.stderr)
        self.assertNotIn("\r", call.stderr)
        self.assertRegex(call.stderr, r"(?m)^1 run, expected to take about ")
        lines = [line for line in call.stderr.splitlines() if " left (total " in line]
        self.assertEqual(len(lines), 1, call.stderr)
        self.assertRegex(lines[0], r"^\[1/1\] lenet5/cpu/fp32/b16/threads=1  measure  step .* about 5 s left \(total 5 s\)$")

    def test_repetitions_run_all_cases_and_then_all_again(self):
        _, result = self.run_ok("--model", "lenet5,mlp:width=32", "--batch", "16", "--steps", "2", "--repetitions", "2")
        self.assertEqual([(run["workload"]["model"], run["repetition"]) for run in result["runs"]],
                         [("lenet5", 0), ("mlp:width=32", 0), ("lenet5", 1), ("mlp:width=32", 1)])
        self.assertEqual(result["runs"][0]["quality"]["loss"], result["runs"][2]["quality"]["loss"])

    def test_same_seed_and_threads_give_equal_losses_and_other_threads_close_ones(self):
        arguments = ["--model", "lenet5,resnet20", "--batch", "4", "--steps", "7", "--seed", "5", "--threads", "1,2"]
        first = self.run_ok(*arguments)[1]["runs"]
        second = self.run_ok(*arguments)[1]["runs"]
        self.assertEqual([run["quality"]["loss"] for run in first], [run["quality"]["loss"] for run in second])
        for one, two in ((first[0], first[1]), (first[2], first[3])):
            for a, b in zip(one["quality"]["loss"], two["quality"]["loss"]):
                self.assertAlmostEqual(a / b, 1, delta=1e-3)
            compared = next(run for run in (one, two) if run["quality"]["parity_with"])
            self.assertLess(compared["quality"]["parity_max_relative_difference"], 1e-3)
        other = self.run_ok(*arguments[:-4], "--seed", "6", "--threads", "1")[1]["runs"]
        self.assertNotEqual(other[0]["quality"]["loss"], first[0]["quality"]["loss"])

    def test_until_trains_whole_measured_epochs(self):
        run = self.run_ok("--model", "mlp:width=64", "--until", "accuracy=0.8", "--epochs", "20")[1]["runs"][0]
        self.assertEqual(run["timing"]["epoch_kind"], "measured")
        self.assertEqual(run["timing"]["stopped_by"], "until")
        self.assertEqual(run["quality"]["eval_metric"], "accuracy")
        self.assertGreaterEqual(run["quality"]["eval_value"], 0.8)
        self.assertEqual(run["quality"]["eval_history"][-1], run["quality"]["eval_value"])
        self.assertEqual(len(run["timing"]["step_seconds"]),
                         len(run["quality"]["eval_history"]) * (run["workload"]["samples_per_epoch"] // 64))

    def test_forward_mode_has_no_loss_and_counts_forward_flops(self):
        run = self.run_ok(*QUICK, "--mode", "forward")[1]["runs"][0]
        self.assertEqual(run["name"], "lenet5/cpu/fp32/b16/mode=forward")
        ratio = run["efficiency"]["flops_per_second"] / run["throughput"]["samples_per_second"]
        self.assertAlmostEqual(ratio / run["workload"]["forward_flops_per_sample"], 1)
        self.assertLess(ratio, run["workload"]["train_flops_per_sample"] / 2)
        self.assertEqual((run["quality"]["loss"], run["quality"]["final_loss"]), ([], None))
        self.assertEqual(run["latency"]["samples"], 12)
        self.assertEqual(run["latency"]["worst_seconds"], max(run["latency"]["step_seconds"]))
        self.assertIsNotNone(run["latency"]["p90_seconds"])
        self.assertIsNone(run["latency"]["p99_seconds"])

    def test_latency_of_one_sample_has_its_quantiles(self):
        call, result = self.run_ok("--model", "mlp:width=32", "--mode", "forward", "--batch", "1", "--min-time", "0.1")
        latency = result["runs"][0]["latency"]
        self.assertEqual(latency["samples"], 1000)
        quantiles = [latency[f"{key}_seconds"] for key in ("p50", "p90", "p99", "worst")]
        self.assertEqual(quantiles, sorted(quantiles))
        self.assertIn("latency p50", call.stdout)

    def test_images_of_any_size_go_forward(self):
        _, result = self.run_ok("--model", "resnet18:height=64,width=96", "--mode", "forward", "--batch", "1", "--steps", "2")
        self.assertEqual(result["runs"][0]["name"], "resnet18:height=64,width=96/cpu/fp32/b1/mode=forward")

    def test_what_is_left_out_is_named_and_trains_the_same(self):
        _, result = self.run_ok("--model", "resnet20", "--batch", "2", "--steps", "2", "--without",
                                "none,fusion,winograd,fusion+winograd,graph-capture", "--gemm", "best,portable", "--allow-skipped")
        runs = {run["name"].removeprefix("resnet20/cpu/fp32/b2"): run for run in result["runs"]}
        self.assertEqual([name for name, run in runs.items() if run["status"] == "skipped"],
                         ["/without=graph-capture", "/gemm=portable/without=graph-capture"])
        for name, run in runs.items():
            if run["status"] == "skipped":
                continue
            device = run["device"]
            self.assertEqual(device["without"], name.partition("/without=")[2] or None)
            self.assertEqual(device["isa"] == "portable", "portable" in name)
            self.assertEqual(device["algorithms"], None if "winograd" in name else "winograd")
            self.assertEqual(run["workload"]["fingerprint"], runs[""]["workload"]["fingerprint"])
            for loss, whole in zip(run["quality"]["loss"], runs[""]["quality"]["loss"], strict=True):
                self.assertAlmostEqual(loss / whole, 1, delta=1e-4)
        self.assertEqual(runs["/without=fusion"]["quality"]["parity_with"], "resnet20/cpu/fp32/b2")
        digits = self.run_ok(*QUICK, "--without", "none,prefetch")[1]["runs"]
        self.assertEqual(digits[0]["quality"]["loss"], digits[1]["quality"]["loss"])
        self.assertGreater(digits[1]["efficiency"]["data_wait_fraction"], 0)

    def test_a_diverging_run_is_a_result_and_exit_1(self):
        call = self.call("run", *known_peaks(), "--out", self.out, "--model", "lenet5", "--batch", "16", "--learning-rate",
                         "1e30", "--steps", "30")
        self.assertEqual(call.returncode, 1, call.stderr)
        run = self.result()["runs"][0]
        self.assertEqual(run["status"], "diverged")
        self.assertIsNone(run["timing"])
        self.assertIn("diverged", call.stderr)

    def test_anonymous_leaves_out_who_and_where(self):
        self.run_ok(*QUICK, "--anonymous")
        text = self.out.read_text()
        context = load(text)["context"]
        self.assertIsNone(context["host_name"])
        self.assertIsNone(context["command_line"])
        self.assertNotIn(str(self.folder), text)
        self.assertNotIn(f'"{os.uname().nodename}"', text)
        self.assertIsNone(context["suite"])

    def test_the_programs_own_suite_is_named_without_the_call(self):
        self.run_ok("--suite", "gate", "--steps", 1, "--warmup", 0, "--repetitions", 1, "--anonymous")
        self.assertEqual(self.result()["context"]["suite"], "gate")

    def test_quiet_says_nothing_but_errors(self):
        call, _ = self.run_ok(*QUICK, "--quiet")
        self.assertEqual((call.stdout, call.stderr), ("", ""))
        call = self.call("run", "--quiet", "--model", "lenet5", "--learning-rate", "1e30", "--steps", "30", *known_peaks(),
                         "--out", self.out, "--overwrite")
        self.assert_refused(call, 1, "diverged")

    def test_default_name_lies_in_the_current_folder(self):
        self.assertEqual(self.call("run", *QUICK, "--quiet").returncode, 0)
        self.assertRegex(os.listdir(self.folder)[0], r"^epochbench-\d{8}-\d{6}\.json$")


if __name__ == "__main__":
    unittest.main()
