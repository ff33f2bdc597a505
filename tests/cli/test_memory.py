"""Memory: what `plan` says of it against what a run really takes, and that timed steps find all of it there."""
import json
import os
import unittest

from support import CliTest, known_peaks

# From almost nothing to a variable of 67 MB, a graph with many activations and one with little else than gradients.
CASES = [("lenet5", 64), ("mlp:width=4096", 64), ("resnet20", 128), ("resnet18", 2), ("bert-tiny", 16), ("vit-s-16", 2),
         ("llama-15m", 1), ("mobilenet-v2", 4), ("efficientnet-b0", 4), ("nasnet-mobile", 2), ("lstm", 32)]
LARGE = ["resnet50", "resnet152", "bert-base", "bert-large", "llama-110m:sequence=256",
         "vit-b-16", "efficientnet-b2",
         "lstm-lm"]  # up to 5.4 GB at batch 4
LARGEST_BYTES = 7e9


def free_bytes():
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class MemoryTest(CliTest):
    def planned(self, model, precision, *arguments):
        plan = self.call("plan", "--model", model, "--precision", precision, *arguments, "--json")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        return json.loads(plan.stdout)["memory_bytes"]["total"]

    def assert_peaks_are_as_planned(self, *arguments):
        """Of the runs, which it returns; one precision may be skipped where the CPU lacks it."""
        call = self.call("run", *arguments, "--precision", "fp32,bf16", *known_peaks(), "--out", self.out, "--overwrite")
        self.assertEqual(call.returncode, 0, call.stderr)
        runs = [run for run in self.result()["runs"] if run["status"] != "skipped"]
        self.assertIn("fp32", [run["precision"] for run in runs])
        for run in runs:
            with self.subTest(run=run["name"]):
                memory = run["memory"]
                self.assertLess(abs(memory["peak_bytes"] - memory["planned_bytes"]), 0.1 * memory["planned_bytes"] + 32e6)
        return runs


class Memory(MemoryTest):
    def test_peak_is_what_was_planned(self):
        for model, batch in CASES:
            for run in self.assert_peaks_are_as_planned("--model", model, "--batch", batch, "--steps", 2, "--warmup", 1):
                planned = self.planned(model, run["precision"], "--batch", batch)
                self.assertEqual(run["memory"]["planned_bytes"], planned, run["name"])

    def test_peak_of_parts_and_of_recomputed_activations_is_what_was_planned(self):
        runs = self.assert_peaks_are_as_planned("--model", "vit-s-16", "--batch", 8, "--accumulate", "1,4", "--checkpoint", "none,blocks",
                                                "--steps", 2, "--warmup", 1)
        peaks = {(run["precision"], run["settings"].get("accumulate", 1), run["settings"].get("checkpoint", "none")):
                 run["memory"]["peak_bytes"] for run in runs}
        self.assertGreater(peaks["fp32", 1, "none"], 1.2 * peaks["fp32", 4, "none"])
        self.assertGreater(peaks["fp32", 1, "none"], 1.2 * peaks["fp32", 1, "blocks"])

    def test_peak_of_forward_is_what_was_planned(self):
        for model, batch in CASES:
            self.assert_peaks_are_as_planned("--model", model, "--batch", batch, "--mode", "forward", "--steps", 2, "--warmup", 1)

    def test_data_that_are_kept_decoded_are_no_part_of_it(self):
        self.assert_peaks_are_as_planned("--model", "resnet18", "--data", "digits", "--batch", 2, "--cache", "decoded",
                                         "--steps", 2)  # 1,797 images of 224 x 224 x 3 floats: 1.1 GB

    def test_timed_steps_fault_no_page_in(self):
        for arguments in (
                ["--model", "lenet5,mlp", "--batch", 1, "--steps", 5000],  # digits: the loader works in each step
                ["--model", "lenet5", "--epochs", 5],  # with evaluations between them
                ["--model", "lenet5,resnet20", "--batch", 16, "--data", "synthetic", "--steps", 100],
                ["--model", "bert-tiny", "--batch", 2, "--steps", 100],
                ["--model", "bert-tiny", "--batch", 2, "--steps", 100, "--threads", 1]):
            with self.subTest(arguments=arguments):
                call = self.call("run", *arguments, *known_peaks(), "--out", self.out, "--overwrite")
                self.assertEqual(call.returncode, 0, call.stderr)
                for run in self.result()["runs"]:
                    faults = run["memory"]["page_faults_per_step"] * len(run["timing"]["step_seconds"])
                    # Not a page a step: the kernel has some of its own, when it moves or joins pages for example.
                    self.assertLessEqual(round(faults), 4, run["name"])


@unittest.skipIf(free_bytes() < LARGEST_BYTES, "too little memory is free")
class LargeModels(MemoryTest):
    def test_peak_is_what_was_planned(self):
        runs = self.assert_peaks_are_as_planned("--model", ",".join(LARGE), "--batch", 4, "--steps", 1, "--warmup", 0)
        self.assertEqual({run["workload"]["model"] for run in runs}, set(LARGE))
        for run in runs:
            self.assertEqual(run["memory"]["planned_bytes"], self.planned(run["workload"]["model"], run["precision"], "--batch", 4))


if __name__ == "__main__":
    unittest.main()
