"""epochbench cost and answers: answers with every assumption, and files whose fields are missing, zero, huge or of no use."""
import copy
import json
import os
import pathlib
import subprocess
import unittest

from support import BINARY, QUICK, CliTest, known_peaks, load, reject_constant

MEASURED = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).parent / "zen4-2cores-quick.json"
GIVEN = ["--purchase", "876", "--lifetime", "2", "--power", "500", "--idle", "100", "--electricity", "0.2"]


class Cost(CliTest):
    def answer(self, *arguments):
        call = self.succeed("cost", *arguments, "--json")
        self.assertEqual(call.stderr, "")
        return json.loads(call.stdout, parse_constant=reject_constant)

    def changed(self, change):
        """A copy of a measured result, changed run by run."""
        document = copy.deepcopy(load(MEASURED.read_text()))
        for run in document["runs"]:
            change(run)
        self.out.write_text(json.dumps(document))
        return self.out

    def test_hours_alone(self):
        answer = self.answer(*GIVEN, "--cloud", "0.5")
        self.assertAlmostEqual(answer["break_even_hours_per_month"], (36.5 + 14.6) / (0.5 - 0.08))
        self.assertEqual(answer["runs"], [])
        self.assertEqual(answer["assumptions"]["hours_per_month"], 730)
        text = self.call("cost", *GIVEN, "--cloud", "0.5").stdout
        for part in ("break-even", "$876.00 over 2.00 years", "500 W at work (given)", "renting is cheaper; with more, owning is"):
            self.assertIn(part, text)

    def test_epochs_of_a_result(self):
        answer = self.answer(MEASURED, *GIVEN, "--cloud", "c7i.2xlarge", "--cloud-speed", "2", "--utilisation", "0.5",
                             "--price-scaling", "whole")
        names = [run["name"] for run in answer["runs"]]
        self.assertIn("resnet50/cpu/fp32/b16", names)
        hour = (36.5 + 0.1 * 365 + 0.02 * 365) / 365
        for run in answer["runs"]:
            self.assertAlmostEqual(run["local_usd_per_epoch"], hour * run["epoch_seconds"] / 3600)
            self.assertAlmostEqual(run["cloud_usd_per_epoch"], 0.357 / 2 * run["epoch_seconds"] / 3600)
            self.assertEqual(run["power_source"], "given")
            self.assertIn("c7i.2xlarge", run["cloud_source"])
        self.assertEqual(answer["runs"][names.index("resnet50/cpu/fp32/b16")]["epoch"], "ImageNet, 1,281,167 images")
        learned = answer["runs"][names.index("lenet5/cpu/fp32/b64")]["quality"]
        self.assertEqual(learned["metric"], "accuracy")
        self.assertAlmostEqual(learned["local_usd"], hour * learned["seconds"] / 3600)
        self.assertIn("reached accuracy 97.2 % after 263 ms", self.call("cost", MEASURED, *GIVEN, "--cloud", "0.5").stdout)

    def test_what_is_missing_is_named(self):
        answer = self.answer(MEASURED, "--cloud", "0.5")
        for run in answer["runs"]:
            self.assertIsNone(run["local_usd_per_epoch"])
            self.assertIn("--power", run["local_usd_per_epoch_reason"])
            self.assertGreater(run["cloud_usd_per_epoch"], 0)
            self.assertIsNone(run["break_even_hours_per_month"])
        self.assertIn("--purchase", self.call("cost").stdout)

    def test_what_is_missing_of_some_runs_names_how_many(self):
        record = pathlib.Path(__file__).parents[2] / "results/h200-record.json"
        text = " ".join(self.call("cost", record, "--purchase", "300000", "--lifetime", "4", "--electricity", "0.3").stdout.split())
        self.assertIn("measured on Intel(R) Xeon(R) Processor, NVIDIA H200, ", text)
        self.assertIn("local/epoch, break-even of 4 of 7 runs: not known: power draw (no meter of the whole machine; --power)", text)
        self.assertIn("cloud/epoch of 3 of 7 runs: not known: price of the cloud machine (--cloud)", text)
        self.assertIn("(assumed, where owning costs least per epoch; set with --utilization)", text)

    def test_no_break_even(self):
        self.assertIn("always cheaper", self.answer(*GIVEN, "--cloud", "0.05")["break_even_hours_per_month_reason"])
        paid_for = ["--purchase", "0", "--lifetime", "2", "--power", "500", "--electricity", "0.2"]
        self.assertIn("local is cheaper", self.answer(*paid_for, "--cloud", "0.5")["break_even_hours_per_month_reason"])

    def test_odd_results(self):
        def energy(**values):
            return {"source": "rapl", "joules_per_epoch": None, "parts": {"cpu": None, "gpu": None},
                    "average_watts": None, "idle_watts": None, **values}
        for name, change in {
            "no optional groups": lambda run: run.update(energy=None, cost=None, quality=None, memory=None),
            "a power of 0": lambda run: run.update(energy=energy(average_watts=0)),
            "a huge power": lambda run: run.update(energy=energy(average_watts=1e308)),
            "a price of 0": lambda run: run.update(cost={"usd_per_hour": 0, "usd_per_epoch": 0, "usd_total": 0,
                                                         "price_source": "user"}),
        }.items():
            with self.subTest(name):
                answer = self.answer(self.changed(change), "--purchase", "876", "--lifetime", "2", "--electricity", "0.2")
                for run in answer["runs"]:
                    for key in ("local_usd_per_epoch", "cloud_usd_per_epoch", "break_even_hours_per_month"):
                        self.assertNotEqual(run[key], 0)
                        self.assertEqual(run[key] is None, run[key + "_reason"] is not None)
                self.assertEqual(self.call("cost", self.out).returncode, 0)
        for seconds in (1e308, 0):  # which contradicts the steps
            changed = self.changed(lambda run: run["timing"].update(epoch_seconds=seconds, wall_seconds=seconds))
            call = self.call("cost", changed)
            self.assertEqual(call.returncode, 2)
            self.assertIn("none of its runs is ok", call.stderr)

    def test_wrong_calls(self):
        for arguments, parts in [
            (["--purchase", "-1"], ["--purchase", "'-1'"]),
            (["--lifetime", "0"], ["--lifetime"]),
            (["--power", "nan"], ["--power"]),
            (["--idle", "1e99"], ["--idle"]),
            (["--electricity", ""], ["--electricity", "empty"]),
            (["--utilization", "0"], ["--utilization"]),
            (["--utilisation", "2"], ["--utilization"]),
            (["--cloud", "cheap"], ["--cloud", "list prices"]),
            (["--cloud", "0"], ["--cloud"]),
            (["--cloud-speed", "0"], ["--cloud-speed"]),
            (["nowhere.json"], ["nowhere.json"]),
            (["a.json", "b.json"], ["b.json"]),
        ]:
            with self.subTest(arguments):
                self.assert_refused(self.call("cost", *arguments), 2, *parts)
        nothing_ran = self.folder / "none.json"
        document = load(MEASURED.read_text())
        document["runs"] = []
        nothing_ran.write_text(json.dumps(document))
        self.assert_refused(self.call("cost", nothing_ran), 2, "none.json", "ok")


class PriceOfAMachine(CliTest):
    """The price of an instance holds for a machine of its size; for another one the call says what counts."""
    # One of these has another number of vCPUs than the machine of the test.
    INSTANCE, VCPUS = ("c7i.2xlarge", 8) if len(os.sched_getaffinity(0)) != 8 else ("c7i.4xlarge", 16)

    def finished(self, **cost):
        """A result of 2 CPUs with a list price."""
        document = load(MEASURED.read_text())
        for run in document["runs"]:
            price, timing = cost.get("usd_per_hour", 0.357), run["timing"]
            run["cost"] = {"usd_per_hour": price, "usd_per_epoch": price * timing["epoch_seconds"] / 3600,
                           "usd_total": price * timing["wall_seconds"] / 3600, "currency": "USD",
                           "price_source": "catalog: aws c7i.2xlarge us-east-1 2026-01-19", **cost}
        self.out.write_text(json.dumps(document))
        return self.out

    def test_run_and_sweep_check_it_before_the_first_case(self):
        for command in (["run", *QUICK], ["run", *QUICK, "--dry-run"],
                        ["sweep", "--model", "mlp", "--over", "batch", "--values", "1,2", "--steps", "2"]):
            with self.subTest(command):
                call = self.call(*command, "--price", f"cpu={self.INSTANCE}")
                self.assert_refused(call, 2, f"{self.VCPUS} vCPUs", "--price-scaling per-core")
                self.assertEqual(list(self.folder.iterdir()), [], "nothing ran")

    def test_the_cost_of_a_run_states_the_share(self):
        call = self.succeed("run", *QUICK, "--price", f"cpu={self.INSTANCE}", "--price-scaling", "per-core", *known_peaks(), "-o",
                            self.out)
        cores = self.VCPUS // 2  # its vCPUs share cores
        used = min(self.result()["context"]["cpu"]["cores"], len(os.sched_getaffinity(0)))
        share = f"hypothetical price for {cores} cores, {used} used"
        self.assertIn(share, " ".join(call.stdout.split()))
        cost = self.result()["runs"][0]["cost"]
        self.assertIn(share, cost["price_source"])
        self.assertEqual(cost["price_scaling"], "per-core")
        self.assertAlmostEqual(cost["usd_per_hour"] * cores / used, 0.357 * self.VCPUS / 8)
        self.assertIn(f"rented only whole, for ${0.357 * self.VCPUS / 8:.3f} per hour", " ".join(call.stdout.split()))

    def test_a_plain_number_is_the_price_of_the_machine(self):
        call = self.succeed("run", *QUICK, "--price", "cpu=0.357", *known_peaks(), "-o", self.out)
        self.assertEqual(self.result()["runs"][0]["cost"]["price_source"], "user")
        self.assertIn("\nprice: given with --price\n", call.stdout)
        self.assertIn("\ncloud: $0.357 per hour (of the result: given with --price)", self.call("cost", self.out).stdout)

    def test_a_finished_result_is_held_to_it(self):
        page = self.folder / "page.html"
        page.write_text("as it was")
        for source in (["--price", "cpu=c7i.2xlarge"], []):
            before = self.finished().read_bytes() if not source else MEASURED.read_bytes()
            path = MEASURED if source else self.out
            cost = ["--cloud", "c7i.2xlarge"] if source else []
            for command in (["answers", path, *source], ["report", path, "-o", page, *source], ["cost", path, *GIVEN, *cost]):
                with self.subTest(command):
                    self.assert_refused(self.call(*command), 2, path.name,
                                        "8 vCPUs on 4 cores, and 2 vCPUs on 2 cores are used", "--price-scaling per-core")
                    self.assertEqual(page.read_text(), "as it was")
                    self.assertEqual(path.read_bytes(), before)
                    self.assertEqual(self.call(*command, "--price-scaling", "per-gpu").returncode, 2)
                    self.assert_refused(self.call(*command, "--price-scaling", "per-vcpu"), 2, "another part of a core")
                    done = self.succeed(*command, "--price-scaling", "per-core")
                    text = page.read_text() if command[0] == "report" else " ".join(done.stdout.split())
                    self.assertIn("hypothetical price for 4 cores, 2 used", text)
                    self.assertIn("rented only whole, for $0.357 per hour", text)
                    self.assertEqual(path.read_bytes(), before)
                    page.write_text("as it was")

    def test_a_stored_share_needs_no_word(self):
        stated = self.finished(price_scaling="per-vcpu", usd_per_hour=0.08925, price_source=
                               "catalog: aws c7i.2xlarge us-east-1 2026-01-19, price for 8 vCPUs, 2 used")
        self.assertEqual(self.call("answers", stated).returncode, 0)
        call = self.call("cost", stated, *GIVEN, "--json", "--price-scaling", "whole")
        self.assertAlmostEqual(json.loads(call.stdout)["runs"][0]["cloud_usd_per_hour"], 0.357)

    def test_recorded_costs_are_those_of_the_script(self):
        recorded = MEASURED.with_name("zen4-2cores-hour.json")
        self.out.write_bytes(recorded.read_bytes())
        script = [MEASURED.parents[1] / "scripts/experiments/reprice", self.out, "--binary", BINARY]
        subprocess.run([*script, "cpu=1"], check=True)
        self.assertNotEqual(self.out.read_bytes(), recorded.read_bytes())
        load(self.out.read_text())
        subprocess.run([*script, "cpu=c7a.4xlarge", "--price-scaling", "per-core"], check=True)
        self.assertEqual(self.out.read_bytes(), recorded.read_bytes())
        refused = subprocess.run([*script, "cpu=c7a.4xlarge"], capture_output=True, text=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--price-scaling", refused.stderr)
        self.assertEqual(self.out.read_bytes(), recorded.read_bytes())


class Answers(CliTest):
    def test_a_page_of_any_result(self):
        call = self.succeed("answers", MEASURED)
        self.assertLessEqual(len(call.stdout.splitlines()), 60)
        answers = json.loads(self.call("answers", MEASURED, "--json").stdout, parse_constant=reject_constant)
        self.assertEqual(call.stdout.count("   note: "), sum(section["answered"] for section in answers["sections"]))
        self.assertEqual(len(answers["sections"]), 6)
        for section in answers["sections"]:
            self.assertTrue(section["answers"] and section["read"], section["question"])
        self.assertIn("resnet50/cpu/fp32/b16", " ".join(answers["sections"][0]["answers"]))

    def test_wrong_calls(self):
        self.assert_refused(self.call("answers"), 2, "answers: RESULT is missing, result file")
        self.assert_refused(self.call("answers", "nowhere.json"), 2, "nowhere.json")


if __name__ == "__main__":
    unittest.main()
