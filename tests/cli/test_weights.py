"""Weights and traces as files: what one run leaves, another begins with."""
import json
import struct
import unittest

from support import CliTest, known_peaks, load

CASE = ["--model", "lenet5", "--batch", "16"]
STEPS = ["--warmup", "1", "--steps", "4"]


def tensors(path):
    """Name -> (dtype, shape, bytes), by the format's public description."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


class Weights(CliTest):
    def run_case(self, *arguments, length=STEPS):
        self.succeed("run", "--quiet", *CASE, *length, *known_peaks(), "--out", self.out, "--overwrite", *arguments)
        return load(self.out.read_text())["runs"][0]

    def test_a_trace_holds_the_whole_run(self):
        run = self.run_case("--trace", "trace", "--save", "saved.safetensors")
        trace = json.loads((self.folder / "trace" / "trace.json").read_text())
        self.assertEqual(trace["steps"], 5)
        self.assertEqual(trace["learning_rate"], [0.003] * 5)
        for step, expected in enumerate(run["quality"]["loss"]):
            loss = tensors(self.folder / "trace" / f"step-{step:06d}.safetensors")["loss"]
            self.assertAlmostEqual(struct.unpack("<f", loss[2])[0], expected, delta=1e-6)
        initial = tensors(self.folder / "trace" / "initial.safetensors")
        final = tensors(self.folder / "trace" / "final.safetensors")
        self.assertEqual(initial["conv2.weight"][:2], ("F32", [16, 6, 5, 5]))
        self.assertEqual(initial.keys(), final.keys())
        self.assertNotEqual(initial["fc1.weight"], final["fc1.weight"])
        self.assertEqual(final, tensors(self.folder / "saved.safetensors"))
        self.assertEqual(sorted(path.name for path in self.folder.glob("*partial*")), [])

    def test_a_trace_holds_the_rates_of_a_schedule(self):
        run = self.run_case("--trace", "trace", "--lr-schedule", "step", "--lr-warmup", "1", length=["--warmup", "1", "--steps", "6"])
        trace = json.loads((self.folder / "trace" / "trace.json").read_text())
        self.assertEqual(trace["learning_rate"], [0.003] * 3 + [0.0003] * 2 + [0.00003] * 2)
        self.assertEqual((run["settings"]["lr_schedule"], run["settings"]["lr_warmup"]), ("step", 1))
        self.assertTrue(run["workload"]["optimizer"].endswith(" lr_schedule=step lr_warmup=1"))

    def test_a_trace_in_parts_holds_whole_batches(self):
        self.run_case("--trace", "whole")
        run = self.run_case("--trace", "parts", "--accumulate", "4")
        self.assertEqual(run["settings"]["accumulate"], 4)
        self.assertEqual(json.loads((self.folder / "parts" / "trace.json").read_text())["accumulate"], 4)
        whole, parts = (tensors(self.folder / name / "step-000000.safetensors") for name in ("whole", "parts"))
        for name in ("images", "labels"):
            self.assertEqual(parts[name], whole[name])
        losses = [struct.unpack("<f", trace["loss"][2])[0] for trace in (whole, parts)]
        self.assertAlmostEqual(losses[1] / losses[0], 1, delta=1e-5)

    def test_a_run_begins_with_the_weights_of_a_file(self):
        self.run_case("--save", "saved.safetensors")
        run = self.run_case("--init", "saved.safetensors", "--trace", "trace", "--seed", "5")
        self.assertIn("init=saved.safetensors", run["name"])
        self.assertEqual(tensors(self.folder / "trace" / "initial.safetensors"), tensors(self.folder / "saved.safetensors"))

    def test_a_forward_run_states_the_quality_of_the_weights_of_a_file(self):
        trained = self.run_case("--save", "saved.safetensors", length=["--epochs", "2"])["quality"]
        self.assertIsNone(self.run_case("--mode", "forward")["quality"]["eval_value"])
        for precision, delta in (("fp32", 1e-12), ("int8", 0.03)):
            run = self.run_case("--mode", "forward", "--precision", precision, "--init", "saved.safetensors", "--allow-skipped")
            if run["status"] == "skipped":
                continue  # a CPU without int8
            self.assertEqual(run["quality"]["eval_metric"], "accuracy")
            self.assertAlmostEqual(run["quality"]["eval_value"], trained["eval_value"], delta=delta, msg=precision)

    def test_weights_of_another_model_are_refused(self):
        self.run_case("--save", "saved.safetensors")
        self.assert_refused(self.call("run", "--model", "mlp", "--steps", "2", "--init", "saved.safetensors"), 2, "--init",
                            "saved.safetensors")


if __name__ == "__main__":
    unittest.main()
