"""epochbench plan --on and list devices --catalog: what is predicted says so, in text and in JSON, and bad calls are refused."""
import json
import unittest

from support import CliTest, reject_constant

CARDS = "T4,a100-80gb,h100-sxm,RTX 3060"


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
        rows = self.predictions("resnet50", "--on", CARDS, "--batch", "32", "--precision", "fp32")
        self.assertEqual([row["device"] for row in rows], ["t4", "a100-80gb", "h100-sxm", "rtx-3060"])
        for row in rows:
            with self.subTest(row["device"]):
                self.assertTrue(row["fits"])
                self.assertGreater(row["largest_batch_at_most"], 32)
                self.assertGreater(row["step_seconds_at_least"], 0)
                self.assertAlmostEqual(row["samples_per_second_at_most"], 32 / row["step_seconds_at_least"])
                self.assertIn(row["bound"], ("compute", "bandwidth"))
                self.assertTrue(0.5 <= row["bound_share"] <= 1)
        seconds = {row["device"]: row["step_seconds_at_least"] for row in rows}
        self.assertGreater(seconds["t4"], seconds["a100-80gb"])
        self.assertGreater(seconds["a100-80gb"], seconds["h100-sxm"])

    def test_text_says_what_it_is(self):
        text = self.call("plan", "resnet50", "--on", CARDS, "--batch", "max").stdout
        self.assertTrue(text.startswith("predicted, nothing was measured: no less than (≥)"), text)
        titles = next(line for line in text.splitlines() if line.startswith("device"))
        for title in ("needs ≥", "largest batch ≤", "step ≥", "samples/s ≤", "bound by"):
            self.assertIn(title, titles)
        priced = self.call("plan", "resnet50", "--on", CARDS, "--batch", "32", "--epochs", "90").stdout
        for part in ("predicted, nothing was measured", "hours ≥", "cost ≥", "p5.48xlarge", "price for 8 GPUs, 1 used",
                     "no price is known for NVIDIA GeForce RTX 3060 12GB"):
            self.assertIn(part, priced)

    def test_epochs_are_sorted_by_cost(self):
        rows = self.predictions("resnet20", "--on", "T4,h100-sxm,c7i.24xlarge,rtx-4090", "--epochs", "10", "--epoch-samples", "1280",
                                "--batch", "128")
        costs = [row["usd_at_least"] for row in rows]
        known = [cost for cost in costs if cost is not None]
        self.assertEqual(known, sorted(known))
        self.assertIsNone(costs[-1])
        self.assertIn("rtx", rows[-1]["device"])
        self.assertIn("no price is known", rows[-1]["usd_reason"])
        for row in rows:
            self.assertAlmostEqual(row["hours_at_least"], 10 * 10 * row["step_seconds_at_least"] / 3600)
            if row["usd_at_least"] is not None:
                self.assertAlmostEqual(row["usd_at_least"], row["hours_at_least"] * row["usd_per_hour"])
                self.assertRegex(row["price_source"], "^catalog: .* 20[0-9]{2}-")

    def test_what_a_device_lacks_is_null_with_its_reason(self):
        rows = self.predictions("mlp", "--on", "T4,L4", "--precision", "bf16")
        self.assertIsNone(rows[0]["step_seconds_at_least"])
        self.assertIn("bf16", rows[0]["step_seconds_reason"])
        self.assertIsNotNone(rows[1]["step_seconds_at_least"])
        rows = self.predictions("llama-7b", "--on", "T4", "--batch", "1")
        self.assertEqual((rows[0]["fits"], rows[0]["largest_batch_at_most"], rows[0]["step_seconds_at_least"]), (False, 0, None))
        self.assertIn("fit", rows[0]["step_seconds_reason"])
        self.assertIn("7.5", " ".join(self.predictions("mlp", "--on", "v100-pcie-16gb")[0]["notes"]))
        self.assertIn("Arm", " ".join(self.predictions("mlp", "--on", "c8g.4xlarge")[0]["notes"]))

    def test_bad_calls(self):
        for arguments, *parts in [
                (["--on", "A100"], "--on: 'A100' may be any of", "a100-40gb", "a100-pcie-80gb"),
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
                (["--epochs", "90"], "--epochs", "--on"),
                (["--epoch-samples", "10"], "--epoch-samples", "--on")]:
            with self.subTest(arguments):
                self.assert_refused(self.call("plan", "mlp", *arguments), 2, *parts)

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
