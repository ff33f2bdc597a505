"""epochbench plan --on and list devices --catalog: what is predicted says so, in text and in JSON, and bad calls are refused."""
import json
import pathlib
import re
import statistics
import unittest

from support import CliTest, reject_constant

CARDS = "T4,a100-80gb,h100-sxm,RTX 3060"


RESULTS = pathlib.Path(__file__).parents[2] / "results"


class Elsewhere(CliTest):
    """A measured model beside devices that were not measured."""

    def answers(self, file, *arguments):
        call = self.call("plan", RESULTS / file, *arguments, "--json")
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        return {answer["model"]: answer for answer in json.loads(call.stdout, parse_constant=reject_constant)}

    def test_measured_then_published_then_predicted(self):
        answer = self.answers("zen4-2cores-hour.json", "--on", "h100-sxm,T4", "--price", "cpu=0.09")["resnet50"]
        rows = answer["rows"]
        tuned = "PyTorch or TensorFlow, tuned"
        self.assertEqual([(row["evidence"], row["device"], row["program"]) for row in rows],
                         [("measured", rows[0]["device"], "epochbench"), ("published", "NVIDIA H100 SXM 80GB", "PyTorch"),
                          ("predicted", "NVIDIA H100 SXM 80GB", "PyTorch"), ("predicted", "NVIDIA H100 SXM 80GB", tuned),
                          ("predicted", "NVIDIA T4", "PyTorch"), ("predicted", "NVIDIA T4", tuned)])
        self.assertEqual(rows[0]["ratio"]["value"], 1)
        for row in rows:
            rate, ratio, epoch = (row[key]["value"] for key in ("samples_per_second", "ratio", "epoch_seconds"))
            self.assertAlmostEqual(ratio, rate / rows[0]["samples_per_second"]["value"], places=9)
            self.assertAlmostEqual(epoch * rate / answer["samples_per_epoch"], 1, places=9)
            if row["evidence"] == "predicted":
                low, high = row["ratio"]["interval"]
                self.assertTrue(low < ratio < high)
        self.assertEqual(rows[0]["price_source"], "given with --price")
        self.assertEqual([change["setting"] for change in answer["changes"]], ["at the CPU's batch, 32", "in fp32"])

    def test_agrees_with_the_other_commands_to_the_last_digit(self):
        file = RESULTS / "h200-record.json"
        pairs = json.loads(self.call("speedup", file, "--json").stdout)["pairs"]
        best = {pair["workload"].split(",")[0]: pair for pair in pairs if pair["each_at_best"]}
        for model, answer in self.answers(file.name, "--on", "T4").items():
            measured = answer["rows"][1]
            self.assertEqual(measured["evidence"], "measured")
            self.assertEqual(measured["ratio"]["value"], best[model]["ratio"])
            self.assertEqual(measured["samples_per_second"]["value"], best[model]["contender_samples_per_second"])
        hour = RESULTS / "zen4-2cores-hour.json"
        costs = {run["name"]: run for run in json.loads(self.call("cost", hour, "--json").stdout)["runs"]}
        row = self.answers(hour.name, "--on", "T4")["resnet50"]["rows"][0]
        run = costs["resnet50/cpu/bf16/b32"]
        self.assertAlmostEqual(row["usd_per_epoch"]["value"] / run["cloud_usd_per_epoch"], 1, places=14)
        self.assertEqual(row["epoch_seconds"]["value"], run["epoch_seconds"])

    def test_conclusions_are_in_json_as_on_the_screen(self):
        for call in (("plan", RESULTS / "zen4-2cores-hour.json", "--on", "T4"),
                     ("plan", "--model", "resnet50", "--on", "T4,h100-sxm", "--epochs", "90"),
                     ("rent", "--model", "resnet50", "--epochs", "90")):
            with self.subTest(call=call):
                answers = json.loads(self.call(*call, "--json").stdout)
                text = " ".join(self.call(*call).stdout.split())
                conclusions = [line for answer in (answers if isinstance(answers, list) else [answers])
                               for line in answer["conclusions"]]
                self.assertTrue(conclusions)
                for line in conclusions:
                    self.assertIn(" ".join(line.split()), text)

    def test_a_name_of_several_gpus_is_the_usual_one(self):
        text = " ".join(self.call("plan", RESULTS / "zen4-2cores-hour.json", "--on", "a100").stdout.split())
        self.assertIn("'a100' is taken as a100-40gb, which most instances of the price list have; others: ", text)

    def test_batch_and_precision_are_those_of_the_call(self):
        answer = self.answers("zen4-2cores-hour.json", "--on", "T4", "--batch", "64", "--precision", "fp32")["resnet50"]
        predicted = answer["rows"][-1]
        self.assertEqual((predicted["batch"], predicted["precision"]), (64, "fp32"))
        self.assertEqual([change["setting"] for change in answer["changes"]], ["at the CPU's batch, 32"])

    def test_answers_and_report_have_the_same_table(self):
        file = RESULTS / "zen4-2cores-hour.json"
        answers = json.loads(self.call("answers", file, "--on", "T4", "--json").stdout)
        self.assertEqual(answers["elsewhere"], list(self.answers(file.name, "--on", "T4").values()))
        self.assertIn("with images from disk", " ".join(self.call("answers", file, "--on", "T4").stdout.split()))
        self.assertEqual(self.call("report", file, "--on", "T4", "-o", self.folder / "page.html").returncode, 0)
        page = (self.folder / "page.html").read_text()
        self.assertIn("resnet50 elsewhere: what was measured here (cpu: AMD EPYC), published by others and predicted", page)
        self.assertRegex(page, '"lead": ?"elsewhere"', "the first screen shows what was asked for")

    def test_a_disturbed_cpu_is_marked_and_gives_no_ratio(self):
        content = json.loads((RESULTS / "zen4-2cores-hour.json").read_text())
        trainings = [run for run in content["runs"]
                     if run["interference"] and (run["workload"]["model"], run["workload"]["mode"]) == ("resnet50", "train")]
        self.assertTrue(trainings)
        for cores, usable in ((0.4, True), (1.4, False)):
            for run in trainings:
                run["interference"]["foreign_cpu_cores"] = cores
            file = self.write("loaded.json", content)
            with self.subTest(cores):
                text = self.succeed("plan", file, "--on", "T4")
                resnet = text.stdout[text.stdout.index("resnet50; cpu: AMD EPYC"):].split("\n\n")[0]
                self.assertRegex(resnet, r"(?m)^cpu † +measured")
                ratio = r"T4 +predicted[^\n]* (\()?[0-9.]+x(\))?"
                self.assertEqual(bool(re.search(ratio, resnet).group(1)), not usable)
                answer = next(each for each in json.loads(self.call("plan", file, "--on", "T4", "--json").stdout)
                              if each["model"] == "resnet50")
                self.assertEqual(answer["unusable"] is None, usable)
                self.assertEqual("other processes took 1.4 CPU cores" in " ".join(answer["rows"][0]["notes"]), not usable)
                self.assertEqual(self.call("report", file, "--on", "T4", "-o", self.folder / f"{cores}.html").returncode, 0)

    def conclusions(self, *arguments):
        """The lines below the table of resnet50 that say what is cheapest and what is fastest."""
        text = self.call("plan", *arguments).stdout
        text = text[text.index("resnet50; cpu: "):].split("\n\n")[0]
        lines = re.split("at the CPU's batch, |in fp32: ", " ".join(text.split("\n")))[0]
        return re.search(r"(?:cheapest|fastest).*", lines)[0]

    def test_says_what_is_cheapest_and_what_is_fastest(self):
        file = RESULTS / "zen4-2cores-hour.json"
        call = ("--on", "T4,L4,h100-sxm", "--price", "cpu=0.09")
        rows = self.answers(file.name, *call)["resnet50"]["rows"]
        cpu, *others = [row for row in rows if row["program"] in ("epochbench", "PyTorch") and row["evidence"] != "published"]
        cheapest = min(others, key=lambda row: row["usd_per_epoch"]["value"])
        fastest = max(others, key=lambda row: row["samples_per_second"]["value"])
        self.assertEqual([cheapest["device"], fastest["device"]], ["NVIDIA T4", "NVIDIA H100 SXM 80GB"])
        text = self.conclusions(file, *call)
        sentence = (r"{} at \$[0-9.]+/h, predicted: ([0-9.]+)x \(([0-9.]+)x to ([0-9.]+)x\) as fast as cpu † "
                    r"and ([0-9.]+) of its cost \(([0-9.]+) to ([0-9.]+)\)")
        for title, row, named in (("cheapest epoch", cheapest, "T4"), ("fastest", fastest, "H100 SXM 80GB")):
            with self.subTest(title):
                found = re.search(title + ": " + sentence.format(named), text)
                self.assertIsNotNone(found, text)
                low, high = row["ratio"]["interval"]
                share = [row["usd_per_epoch"]["value"] / cpu["usd_per_epoch"]["value"],
                         row["usd_per_epoch"]["interval"][0] / cpu["usd_per_epoch"]["interval"][1],
                         row["usd_per_epoch"]["interval"][1] / cpu["usd_per_epoch"]["interval"][0]]
                for said, meant in zip(found.groups(), [row["ratio"]["value"], low, high] + share):
                    self.assertAlmostEqual(float(said) / meant, 1, delta=0.05)
        self.assertIn("; H100 SXM 80GB, L4 may be cheaper: the intervals overlap", text)
        self.assertNotIn("may be faster", text)
        self.assertNotIn("tuned", text)

    def test_what_cannot_carry_an_answer_is_not_concluded_from(self):
        content = json.loads((RESULTS / "zen4-2cores-hour.json").read_text())
        for run in content["runs"]:
            if run["interference"]:
                run["interference"]["foreign_cpu_cores"] = 1.4
        file = self.write("loaded.json", content)
        text = self.conclusions(file, "--on", "T4,h100-sxm", "--price", "cpu=0.09")
        self.assertRegex(text, r"cheapest epoch: T4 at \$[0-9.]+/h, predicted: [0-9,]+ samples/s \([0-9,]+ to [0-9,]+\) and "
                               r"\$[0-9.]+ \(\$[0-9.]+ to \$[0-9.]+\) per epoch; no ratio to cpu †: other processes took 1.4 CPU cores")
        self.assertNotIn("as fast as", text)

    def test_a_cpu_may_be_the_cheapest(self):
        beside = (r"A100 SXM 40GB at \$[0-9.]+/h, predicted: [0-9.]+x \([0-9.]+x to [0-9.]+x\) as fast as cpu † and "
                  r"[0-9]+ times its cost \([0-9.]+ to [0-9.]+\)")
        for batch, said in (((), r"cheapest epoch: cpu †, measured: an epoch in [0-9.]+ ms for \$[0-9.]+ fastest: " + beside),
                            (("--batch", "64"), r"cheapest epoch and fastest: cpu †, [^;]*; next: " + beside)):
            text = self.call("plan", RESULTS / "zen4-2cores-hour.json", "--on", "a100", "--price", "cpu=0.09", *batch).stdout
            self.assertRegex(" ".join(text[text.index("lenet5; cpu: "):].split("\n\n")[0].split("\n")), said)
        single = self.conclusions(RESULTS / "h200-record.json", "--on", "T4", "--price", "cpu=0.09,cuda=3")
        self.assertRegex(single, r"fastest: H200 at \$3.00/h, measured: [0-9.]+x \(no interval\) as fast as cpu ")

    def test_what_was_measured_stands_for_its_device(self):
        text = self.conclusions(RESULTS / "h200-record.json", "--on", "h200", "--price", "cpu=1.2,cuda=300")
        self.assertIn("H200 at $300/h, measured", text)
        self.assertNotIn("H200 SXM", text, "the catalog's name of the same card, predicted at about the CPU's cost")

    def test_a_share_that_nobody_can_rent_is_not_the_cheapest(self):
        text = self.conclusions(RESULTS / "h200-record.json", "--on", "T4")
        self.assertRegex(text, r"cheapest epoch: T4 at .* fastest: H200 at \$63\.3/h for the whole instance, measured")
        measured = self.answers("h200-record.json", "--on", "T4")["resnet50"]["rows"][1]
        self.assertAlmostEqual(measured["whole_usd_per_epoch"]["value"] / measured["usd_per_epoch"]["value"], 8)
        text = self.conclusions(RESULTS / "zen4-2cores-hour.json", "--on", "T4", "--price", "cpu=c7a.4xlarge", "--price-scaling",
                                "per-core")
        self.assertRegex(text, r"as fast as cpu † and [0-9.]+ of its hypothetical cost \(")

    def test_a_measurement_stands_for_predictions_of_its_precision(self):
        text = self.call("plan", RESULTS / "h200-record.json", "--on", "T4,h200").stdout
        bert = " ".join(text[text.index("bert-base; cpu: "):].split())
        self.assertRegex(bert, r"fastest: H200 SXM 141GB at \$[0-9.]+/h, predicted: 65\.0x")  # its 16-bit runs were interrupted

    def test_other_precisions_are_compared_with_the_same_one(self):
        runs = json.loads((RESULTS / "zen4-2cores-hour.json").read_text())["runs"]
        rates = [run["throughput"]["samples_per_second"] for run in runs
                 if (run["workload"]["model"], run["precision"], run["device"]["backend"]) == ("resnet50", "fp32", "cpu")]
        self.assertEqual(len(rates), 5)
        answer = self.answers("zen4-2cores-hour.json", "--on", "T4")["resnet50"]
        change = next(each for each in answer["changes"] if each["setting"] == "in fp32")["ratios"][0]
        gpu = self.answers("zen4-2cores-hour.json", "--on", "T4", "--precision", "fp32", "--batch", str(change["batch"]))
        rate = next(row for row in gpu["resnet50"]["rows"] if row["evidence"] == "predicted")["samples_per_second"]["value"]
        self.assertAlmostEqual(change["ratio"] / (rate / statistics.geometric_mean(rates)), 1, delta=1e-9)
        bert = self.answers("h200-record.json", "--on", "T4")["bert-base"]
        self.assertIn("in fp32, the CPU in bf16", [each["setting"] for each in bert["changes"]])

    def test_one_repetition_of_the_cpu_is_said(self):
        text = self.conclusions(RESULTS / "zen5-2cores-quick.json", "--on", "T4")
        self.assertRegex(text, r"predicted: [0-9.]+x \([0-9.]+x to [0-9.]+x, without the CPU's spread\) as fast as cpu")
        notes = self.answers("zen5-2cores-quick.json", "--on", "T4")["resnet50"]["rows"][0]["notes"]
        self.assertIn("one repetition: the intervals of predicted ratios", " ".join(notes))

    def test_the_input_must_keep_up_with_the_fastest_row(self):
        text = " ".join(self.call("plan", RESULTS / "h200-record.json", "--on", "h200").stdout.split())
        self.assertIn("must keep up with the 8,057 images/s of H200, or the input decides", text)

    def test_a_price_of_a_device_without_a_run_is_noted(self):
        call = self.call("plan", RESULTS / "zen4-2cores-hour.json", "--on", "T4", "--price", "cpu=0.09,cuda=0.2")
        self.assertIn("--price cuda=... is ignored: no run of ", call.stderr)
        self.assertEqual(call.returncode, 0)

    def test_what_waits_for_launches_has_no_rate(self):
        row = self.answers("zen4-2cores-hour.json", "--on", "h100-sxm")["lenet5"]["rows"][-1]
        self.assertIsNone(row["samples_per_second"]["value"])
        self.assertIn("waits for launches", " ".join(row["notes"]))

    def test_what_was_measured_stands_beside_its_prediction(self):
        rows = self.answers("zen4-2cores-hour.json", "--on", "h200")["resnet50"]["rows"]
        row = next(row for row in rows if row["evidence"] == "predicted")
        self.assertRegex(" ".join(row["notes"]), r"measured with epochbench, [0-9,]+ samples/s at batch 256 \(results/h200-record.json\)")

    def test_more_cores_than_were_measured_have_a_bound(self):
        row = self.answers("zen4-2cores-hour.json", "--on", "c7i.24xlarge")["resnet50"]["rows"][-1]
        self.assertIsNone(row["samples_per_second"]["value"])
        self.assertIn("CPUs were measured on at most 2 cores", " ".join(row["notes"]))
        self.assertRegex(" ".join(row["notes"]), r"at most [0-9,]+ samples/s by its roofline")

    def test_devices_have_prices_of_the_call(self):
        arguments = ("--on", "h100-sxm", "--price", "cpu=0.09,h100-sxm=2")
        row = self.answers("zen4-2cores-hour.json", *arguments)["resnet50"]["rows"][-1]
        self.assertEqual(row["price_source"], "given with --price")
        self.assertAlmostEqual(row["usd_per_epoch"]["value"], row["epoch_seconds"]["value"] * 2 / 3600)

    def test_bad_calls(self):
        file = RESULTS / "zen4-2cores-hour.json"
        for arguments, *parts in ([[], "--on is missing"], [["--on", "cpu"], "--on cpu"], [["--on", "T5"], "not in the catalog"],
                                  [["--on", "T4", "--epochs", "3"], "--epochs"], [["--on", "T4", "--batch", "max"], "--batch"],
                                  [["--on", "T4", "--batch", "8,16"], "--batch", "one value"],
                                  [["--on", "T4", "--precision", "bf16"], "T4", "bf16"],
                                  [["--on", "T4", "--device", "cuda:0"], "--device"]):
            with self.subTest(arguments):
                self.assert_refused(self.call("plan", file, *arguments), 2, *parts)
        self.assert_refused(self.call("plan", "resnet50", "--price", "cpu=1"), 2, "--price", "result")
        self.assert_refused(self.call("plan", "resnet50", "--price", "t4=1"), 2, "--price", "--on")


class Predictions(CliTest):
    def predictions(self, *arguments):
        call = self.call("plan", *arguments, "--json")
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        document = json.loads(call.stdout, parse_constant=reject_constant)
        self.assertEqual(document["evidence"], "predicted")
        for row in document["predictions"]:
            self.assertEqual(row["evidence"], "predicted")
        return document["predictions"]

    def test_of_cards(self):
        rows = self.predictions("resnet50", "--on", CARDS, "--batch", "64", "--precision", "fp32")
        self.assertEqual([row["device"] for row in rows], ["t4", "a100-80gb", "h100-sxm", "rtx-3060"])
        for row in rows:
            with self.subTest(row["device"]):
                self.assertTrue(row["fits"])
                self.assertGreater(row["largest_batch_at_most"], 64)
                self.assertGreater(row["step_seconds_at_least"], 0)
                self.assertAlmostEqual(row["samples_per_second_at_most"], 64 / row["step_seconds_at_least"])
                self.assertAlmostEqual(row["samples_per_second_expected"], 64 / row["step_seconds_expected"])
                self.assertEqual((row["program"], row["tuned_program"]), ("PyTorch", "PyTorch or TensorFlow, tuned"))
                self.assertGreaterEqual(row["step_seconds_tuned"], row["step_seconds_at_least"])
                times = [row[f"step_seconds_{key}"] for key in ("at_least", "low", "expected", "high")]
                self.assertEqual(times, sorted(times))
                self.assertIn(row["bound"], ("compute", "bandwidth", "launches"))
                self.assertTrue(0 < row["bound_share"] <= 1)
                self.assertGreater(row["error"]["pairs"], 30)
                self.assertIn("published", row["fitted_on"])
        seconds = {row["device"]: row["step_seconds_at_least"] for row in rows}
        self.assertGreater(seconds["t4"], seconds["a100-80gb"])
        self.assertGreater(seconds["a100-80gb"], seconds["h100-sxm"])

    def test_text_says_what_it_is(self):
        text = self.call("plan", "resnet50", "--on", CARDS, "--batch", "max").stdout
        self.assertTrue(text.startswith("Predicted, not measured; each device in its fastest precision (--precision sets one): "), text)
        self.assertRegex(" ".join(text.split()), r"median error [0-9.]+ % on [0-9]+ steps \(leave-one-device-out\)")
        titles = next(line for line in text.splitlines() if line.startswith("device"))
        for title in ("memory ≥", "largest batch ≤", "step ", "80 %", "tuned", "program", "error", "step ≥", "samples/s", "bound by"):
            self.assertIn(title, titles)
        self.assertTrue(any(line.startswith("A100 SXM 80GB ") for line in text.splitlines()), "without its maker")
        shared = self.call("plan", "resnet50", "--on", CARDS, "--batch", "32", "--precision", "fp32").stdout
        self.assertTrue(shared.startswith("Predicted, not measured: expected step time, its 80 % interval"), shared)
        self.assertIn("\nresnet50, fp32, batch 32\ndevice ", shared)
        self.assertRegex(shared, r"T4 +[0-9.]+ of 16.0 GiB ")
        priced = self.call("plan", "resnet50", "--on", CARDS, "--batch", "32", "--epochs", "90").stdout
        for part in ("Predicted, not measured", "hours ≥", "cost ≥", "p5.48xlarge", "whole price for 192 vCPUs and 8 GPUs",
                     "no price is known for NVIDIA GeForce RTX 3060 12GB"):
            self.assertIn(part, priced)

    def test_epochs_are_sorted_by_cost(self):
        rows = self.predictions("resnet50", "--on", "T4,h100-sxm,rtx-4090", "--epochs", "10", "--epoch-samples", "640",
                                "--batch", "64")
        costs = [row["usd_expected"] for row in rows]
        known = [cost for cost in costs if cost is not None]
        self.assertEqual(known, sorted(known))
        self.assertIsNone(costs[-1])
        self.assertIn("rtx", rows[-1]["device"])
        self.assertIn("no price is known", rows[-1]["usd_reason"])
        for row in rows:
            for key in ("at_least", "low", "expected", "high"):
                self.assertAlmostEqual(row[f"hours_{key}"], 10 * 10 * row[f"step_seconds_{key}"] / 3600)
                if row["usd_at_least"] is not None:
                    self.assertAlmostEqual(row[f"usd_{key}"], row[f"hours_{key}"] * row["usd_per_hour"])
            if row["usd_at_least"] is not None:
                self.assertRegex(row["price_source"], "^catalog: .* 20[0-9]{2}-")
        row, = self.predictions("resnet50", "--on", "c7i.24xlarge", "--epochs", "1", "--batch", "64")
        self.assertIsNone(row["usd_expected"])
        self.assertGreater(row["usd_at_least"], 0)
        self.assertIn("at most 2 cores", row["expected_reason"])

    def test_plan_and_rent_answer_alike(self):
        """Each device in its fastest precision, unless the call names one."""
        on = ("--on", "t4,l4,p5.4xlarge,c2d-highmem-4", "--epochs", "3")
        for model in ("resnet50", "mlp:width=4096"):
            by_precision = {precision: {row["instance"]: row for row in self.predictions(model, *on, "--precision", precision)}
                            for precision in ("fp32", "tf32", "bf16", "fp16")}
            for named in ((), ("--precision", "fp32")):
                planned = {row["instance"]: row for row in self.predictions(model, *on, *named)}
                rented = json.loads(self.call("rent", model, *on, *named, "--json").stdout)
                rows = rented["predictions"] + rented["bounded"]
                self.assertGreater(len(rows), 2)
                for row in rows:
                    with self.subTest(model, named=named, instance=row["instance"]):
                        plan = planned[row["instance"]]
                        for key in ("precision", "batch", "hours_expected", "usd_expected", "usd_at_least"):
                            self.assertEqual(plan[key], row[key], key)
                        rates = [each[row["instance"]]["samples_per_second_expected"] or 0 for each in by_precision.values()]
                        self.assertEqual(plan["samples_per_second_expected"] or 0, rates[0] if named else max(rates))
            for command in ("plan", "rent"):
                for named, said in (((), True), (("--precision", "fp32"), False)):
                    first = self.call(command, model, *on, *named).stdout.splitlines()[0]
                    self.assertEqual("each device in its fastest precision (--precision sets one)" in first, said, first)

    def test_rent_takes_the_fastest_of_the_precisions_that_are_named(self):
        rows = json.loads(self.call("rent", "bert-base", "--epochs", "1", "--on", "t4,l4", "--precision", "fp32,bf16",
                                    "--json").stdout)["predictions"]
        self.assertEqual({row["device"]: row["precision"] for row in rows if row["instance_gpus"] == 1}, {"t4": "fp32", "l4": "bf16"})

    def test_what_a_device_lacks_is_null_with_its_reason(self):
        rows = self.predictions("mlp", "--on", "T4,L4", "--precision", "bf16")
        self.assertIsNone(rows[0]["step_seconds_at_least"])
        self.assertIn("bf16", rows[0]["step_seconds_reason"])
        self.assertIsNotNone(rows[1]["step_seconds_at_least"])
        rows = self.predictions("lstm", "--on", "T4", "--batch", "8")
        self.assertIsNone(rows[0]["step_seconds_expected"])
        self.assertIn("recurrent", rows[0]["expected_reason"])
        rows = self.predictions("llama-7b", "--on", "T4", "--batch", "1")
        self.assertEqual((rows[0]["fits"], rows[0]["largest_batch_at_most"], rows[0]["step_seconds_at_least"]), (False, 0, None))
        self.assertIn("fit", rows[0]["step_seconds_reason"])
        self.assertIn("7.5", " ".join(self.predictions("mlp", "--on", "v100-pcie-16gb")[0]["notes"]))
        self.assertIn("Arm", " ".join(self.predictions("mlp", "--on", "c8g.4xlarge")[0]["notes"]))

    def test_bad_calls(self):
        for arguments, *parts in [
                (["--on", "4060"], "--on: '4060' may be any of", "rtx-4060-ti-8gb", "rtx-4060-ti-16gb"),
                (["--on", "T4,h100-sxn"], "did you mean h100-sxm?"),
                (["--on", "abacus"], "'abacus' is not in the catalog"),
                (["--on", ""], "--on"),
                (["--on", "T4,"], "--on"),
                (["--on", "T4", "--precision", "bf16"], "--precision bf16", "T4"),
                (["--on", "T4", "--mode", "forward", "--precision", "int8"], "--precision int8"),
                (["--on", "T4", "--device", "cpu"], "--device"),
                (["--on", "T4", "--batch", "max", "--memory", "1GiB"], "--memory"),
                (["--on", "T4", "--by-op"], "--by-op"),
                (["--on", "T4", "--without", "fusion"], "--without"),
                (["--on", "T4", "--batch", "8,max"], "max stands alone"),
                (["--on", "T4", "--epochs", "0"], "--epochs"),
                (["--on", "T4", "--epoch-samples", "10"], "--epoch-samples"),
                (["--on", "T4", "--tokens", "1e9"], "--tokens", "images"),
                (["--on", "T4", "--tokens", "0"], "--tokens"),
                (["--on", "T4", "--tokens", "10B"], "--tokens: '10B' must be", "write 10e9"),
                (["--on", "T4", "--tokens", "1e9", "--epochs", "1"], "--tokens"),
                (["--tokens", "1e9"], "--tokens", "--on"),
                (["--epochs", "90"], "--epochs", "--on"),
                (["--epoch-samples", "10"], "--epoch-samples", "--on")]:
            with self.subTest(arguments):
                self.assert_refused(self.call("plan", "mlp", *arguments), 2, *parts)

    def test_on_all_is_every_device_of_the_catalog(self):
        devices = json.loads(self.call("list", "devices", "--catalog", "--json").stdout)["devices"]
        rows = self.predictions("mlp", "--on", "all")
        self.assertEqual({row["device"] for row in rows}, {device["id"] for device in devices})

    def test_on_this_cpu_by_its_measured_peaks(self):
        row = self.predictions("mlp", "--on", "cpu,T4")[0]
        self.assertEqual((row["device"], row["name"]), ("cpu", "cpu"))
        if row["step_seconds_expected"] is None:
            self.assertIn("at most 2 cores", row["expected_reason"])
        else:
            self.assertGreater(row["step_seconds_expected"], row["step_seconds_at_least"])
        self.assertIn("measured for this answer", " ".join(row["notes"]))

    def test_tokens_are_samples_of_a_sequence(self):
        rows = self.predictions("gpt2", "--on", "rtx-4090", "--batch", "8", "--tokens", "1.024e6")
        self.assertEqual(rows[0]["tokens_per_sample"], 1024)
        self.assertAlmostEqual(rows[0]["hours_expected"], 1000 / 8 * rows[0]["step_seconds_expected"] / 3600)

    def test_rent_answers_for_each_model_with_its_own_epoch(self):
        models = {"resnet50": "ImageNet", "bert-base:sequence=384": "SQuAD"}
        call = ("rent", "--model", ",".join(models), "--batch", "256", "--epochs", "3", "--on", "p5.4xlarge")
        answers = json.loads(self.call(*call, "--json").stdout)["models"]
        for answer, model in zip(answers, models):
            alone = json.loads(self.call("rent", model, *call[3:], "--json").stdout)
            self.assertEqual(answer, alone)
            self.assertEqual(len(answer["predictions"]), 1)
        text = " ".join(self.call(*call).stdout.split())
        for model, data in models.items():
            self.assertRegex(text, f"{model.partition(':')[0]}[^;]*3 epochs of {data}")

    def test_a_device_without_a_step_in_the_fit_has_no_error(self):
        rows = {row["device"]: row for row in self.predictions("resnet50", "--on", "rtx3060,V100,T4")}
        text = self.call("plan", "resnet50", "--on", "T4").stdout
        self.assertIsNone(rows["t4"]["device_error"])
        self.assertIn("rtx-3060", rows)
        self.assertIn("the fit has no measured step on t4", " ".join(text.split()))
        self.assertRegex(text, r"T4 .* unknown +yes")

    def test_rent(self):
        call = ("rent", "--model", "bert-base", "--batch", "32", "--epochs", "3", "--samples", "1000", "--max-cost", "0.02")
        document = json.loads(self.call(*call, "--json").stdout, parse_constant=reject_constant)
        self.assertEqual((document["evidence"], document["epochs"], document["samples_per_epoch"]), ("predicted", 3, 1000))
        costs = [row["usd_expected"] for row in document["predictions"]]
        self.assertEqual(costs, sorted(costs))
        self.assertLessEqual(max(costs), 0.02)
        self.assertGreater(document["too_expensive"], 0)
        for row in document["predictions"]:
            self.assertEqual((row["evidence"], row["tokens_per_sample"]), ("predicted", 128))
            self.assertEqual(row["epoch"], "1,000 sequences of 128 tokens")
        text = self.call(*call).stdout
        for part in ("Predicted, not measured", "3 epochs of 1,000 sequences of 128 tokens", "expected to cost more"):
            self.assertIn(part, " ".join(text.split()))
        for row in document["predictions"]:
            line = next(line for line in text.splitlines() if line.startswith(row["instance"] + " "))
            self.assertIn("predicted", line)
            self.assertEqual("* " in line, "days old" in row["price_source"])
        self.assertRegex(text, r"(?m)^\* price [0-9]+ days old: ")
        none = self.call(*call[:-1], "1e-6")
        text = none.stdout
        self.assertEqual(none.returncode, 1)
        self.assertIn("no instance matches", text)
        self.assertIn("; the cheapest: " + document["predictions"][0]["instance"] + ", ", text)
        for arguments, *parts in [(["mlp"], "--epochs N"), (["mpl"], "did you mean mlp"), (["--epochs", "1"], "--model"),
                                  (["mlp", "--tokens", "9"], "images"),
                                  (["bert-tiny", "--tokens", "9", "--epochs", "1"], "--tokens"),
                                  (["mlp", "--epochs", "1", "--max-cost", "0"], "--max-cost"),
                                  (["mlp", "--epochs", "1", "--on", "4060"], "may be any of"),
                                  (["mlp", "--epochs", "1", "--on", "cpu"], "not for rent"),
                                  (["mlp", "--epochs", "1", "--on", "g5"], "may be any of g5.xlarge"),
                                  (["mine.json", "--epochs", "1"], "epochbench plan mine.json --on"),
                                  (["mlp", "--epochs", "1", "--samples", "0"], "--samples")]:
            with self.subTest(arguments):
                self.assert_refused(self.call("rent", *arguments), 2, *parts)

    def test_rent_says_what_is_cheapest_and_what_is_fastest(self):
        for command in ("rent", "plan"):
            call = (command, "resnet50", "--epochs", "90", "--on", "t4,l4,h100-sxm,a100-40gb")
            rows = json.loads(self.call(*call, "--json").stdout)["predictions"]
            text = " ".join(self.call(*call).stdout.split("\n"))
            fastest = min(rows, key=lambda row: (row["hours_expected"], row["usd_expected"]))
            for title, row in (("cheapest", rows[0]), ("fastest", fastest)):
                self.assertRegex(text, title + r": %s \(%s\), \$[0-9.]+ \(\$[0-9.,]+ to \$[0-9.,]+\) and [0-9.]+ hours \([0-9.]+ to [0-9.]+\)"
                                 % (row["instance"], row["device"]))
            rivals = [row["instance"] for row in rows[1:] if row["usd_low"] <= rows[0]["usd_high"] and row["usd_high"] >= rows[0]["usd_low"]]
            self.assertIn("p5.4xlarge", rivals)
            said = re.search(r"cheapest: .*?; (.*?) may be cheaper: the intervals overlap", text)[1]
            self.assertEqual(re.findall(r"(\S+) \(", said), rivals[:3])
            self.assertNotIn("may be faster", text)
        self.assertNotIn("cheapest: ", self.call("plan", "--model", "resnet50,mlp", "--on", "t4,l4", "--epochs", "1").stdout,
                         "epochs of several models are not compared")

    def test_rent_without_a_batch_takes_what_fits(self):
        rows = json.loads(self.call("rent", "bert-large", "--epochs", "1", "--on", "t4,h200", "--json").stdout)["predictions"]
        batches = {row["device"]: row["batch"] for row in rows}
        self.assertEqual(batches["h200"], 256)
        self.assertLess(batches["t4"], 256)
        self.assertTrue(all(row["fits"] for row in rows))

    def test_rent_by_a_price_file(self):
        prices = self.folder / "prices.csv"
        columns = "provider,instance,usd_per_hour,date,kind,region\n"
        prices.write_text(columns + "near,rtx-4090,0.01,2026-11-01,spot,eu\nfar,rtx-4090,0.02,2025-01-01,on-demand,eu\n")
        call = ("rent", "resnet50", "--epochs", "1", "--price-file", prices)
        rows = json.loads(self.call(*call, "--json").stdout)["predictions"]
        self.assertEqual([row["instance"] for row in rows[:2]], ["near/rtx-4090 spot", "far/rtx-4090"])
        self.assertGreater(len(rows), 2)
        lines = self.call(*call).stdout.splitlines()
        self.assertRegex(next(line for line in lines if line.startswith("far/rtx-4090 ")), r"\$[0-9.,]+\* ")
        self.assertNotIn("* ", next(line for line in lines if line.startswith("near/rtx-4090 spot ")))
        rows = json.loads(self.call(*call, "--on", "rtx-4090", "--price", "rtx-4090=3", "--json").stdout)["predictions"]
        self.assertEqual([row["usd_per_hour"] for row in rows], [3])
        for wrong, *parts in (("near,rtx-4090,0.3\n", "3 columns"), ("near,rtx-4090,-1,2026-11-01,spot,eu\n", "usd_per_hour"),
                              ("near,rtx-4090,1 EUR,2026-11-01,spot,eu\n", "usd_per_hour"),
                              ("near,rtx-4090,1,1.11.2026,spot,eu\n", "date")):
            with self.subTest(wrong):
                prices.write_text(columns + wrong)
                self.assert_refused(self.call(*call), 2, "prices.csv:2: ", *parts)
        self.assert_refused(self.call("rent", "resnet50", "--epochs", "1", "--price-file", self.folder / "none.csv"), 2, "none.csv")

    def test_catalog(self):
        devices = json.loads(self.call("list", "devices", "--catalog", "--json").stdout)["devices"]
        self.assertIn("t4", [device["id"] for device in devices])
        for device in devices:
            for key, fact in device["facts"].items():
                with self.subTest(device["id"], fact=key):
                    if fact["value"] is None:
                        self.assertTrue(fact["reason"])
                    else:
                        self.assertTrue(fact["source"]["title"] and fact["source"]["date"])
        text = self.call("list", "devices", "--catalog", "--match", "rtx").stdout
        self.assertIn("rtx-4090", text)
        self.assertNotIn("h100", text)
        self.assertNotIn("instances", text)
        self.assertIn("c8i.24xlarge", self.call("list", "devices", "--catalog", "--match", "granite").stdout)
        self.assertIn("cpu: ", self.call("list", "devices").stdout)
        self.assert_refused(self.call("list", "prices", "--catalog"), 2, "list devices --catalog")


if __name__ == "__main__":
    unittest.main()
