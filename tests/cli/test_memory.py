"""Memory: what `plan` says of it against what a run really takes, and that timed steps find all of it there."""
import json
import os
import unittest

from support import CliTest, known_peaks

# From almost nothing to a variable of 67 MB, graphs with many activations and one with little else than gradients. Every kind of
# layers, as few of them as need clearly more memory than what a peak may differ by.
CASES = [("lenet5", 64), ("mlp:width=4096", 64), ("resnet20", 128), ("resnet18", 2), ("bert-tiny", 16),
         ("vit-s-16:layers=2,classes=10", 8), ("llama-15m:layers=2,vocabulary=8000", 2),
         ("mobilenet-v2:height=96,width=96,classes=10", 16), ("efficientnet-b0:height=96,width=96,classes=10", 16),
         ("nasnet-mobile:height=96,width=96,classes=10,cells=1", 16), ("lstm", 32)]
ONE_STEP = ["--steps", 1, "--warmup", 0]  # which takes all memory that there is to take
LARGE = ["resnet50", "resnet152", "bert-base", "bert-large", "llama-110m:sequence=256",
         "vit-b-16", "efficientnet-b2",
         "lstm-lm"]  # up to 5.4 GB at batch 4
LARGEST_BYTES = 7e9


def free_bytes():
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class MemoryTest(CliTest):
    def planned(self, model, precision, *arguments):
        plan = self.succeed("plan", "--model", model, "--precision", precision, *arguments, "--json")
        return json.loads(plan.stdout)["memory_bytes"]["total"]

    def assert_peaks_are_as_planned(self, *arguments):
        """Of the runs, which it returns; one precision may be skipped where the CPU lacks it."""
        self.succeed("run", *arguments, "--precision", "fp32,bf16", *known_peaks(), "--out", self.out, "--overwrite")
        runs = [run for run in self.result()["runs"] if run["status"] != "skipped"]
        self.assertIn("fp32", [run["precision"] for run in runs])
        for run in runs:
            with self.subTest(run=run["name"]):
                memory = run["memory"]
                self.assertLess(abs(memory["peak_bytes"] - memory["planned_bytes"]), 0.05 * memory["planned_bytes"] + 20e6)
        return runs


class Memory(MemoryTest):
    def test_peak_is_what_was_planned(self):
        for model, batch in CASES:
            for run in self.assert_peaks_are_as_planned("--model", model, "--batch", batch, *ONE_STEP):
                planned = self.planned(model, run["precision"], "--batch", batch)
                self.assertEqual(run["memory"]["planned_bytes"], planned, run["name"])

    def test_peak_of_parts_and_of_recomputed_activations_is_what_was_planned(self):
        for model, batch in (("resnet20", 128), ("vit-s-16:layers=4,units=192,heads=3,height=112,width=112,classes=10", 32)):
            runs = self.assert_peaks_are_as_planned("--model", model, "--batch", batch, "--accumulate", "1,4",
                                                    "--checkpoint", "none,blocks", *ONE_STEP)
            peaks = {(run["precision"], run["settings"].get("accumulate", 1), run["settings"].get("checkpoint", "none")):
                     run["memory"]["peak_bytes"] for run in runs}
            self.assertGreater(peaks["fp32", 1, "none"], 1.5 * peaks["fp32", 4, "none"], model)
            self.assertGreater(peaks["fp32", 1, "none"], 1.5 * peaks["fp32", 1, "blocks"], model)

    def test_peak_of_forward_is_what_was_planned(self):
        for model, batch in CASES:
            self.assert_peaks_are_as_planned("--model", model, "--batch", batch, "--mode", "forward", *ONE_STEP)

    def test_data_that_are_kept_decoded_are_no_part_of_it(self):
        self.assert_peaks_are_as_planned("--model", "resnet20:height=96,width=96", "--data", "digits", "--batch", 2,
                                         "--cache", "decoded", *ONE_STEP)  # 1,797 images of 96 x 96 x 3 floats: 200 MB

    def test_timed_steps_fault_no_page_in(self):
        for arguments in (
                ["--model", "lenet5,mlp:width=64", "--batch", 1, "--steps", 1500],  # digits: the loader works in each step
                ["--model", "lenet5", "--epochs", 3],  # with evaluations between them
                ["--model", "lenet5,resnet20", "--batch", 16, "--data", "synthetic", "--steps", 30],
                ["--model", "bert-tiny", "--batch", 2, "--steps", 40],
                ["--model", "bert-tiny", "--batch", 2, "--steps", 40, "--threads", 1]):
            with self.subTest(arguments=arguments):
                self.succeed("run", *arguments, *known_peaks(), "--out", self.out, "--overwrite")
                for run in self.result()["runs"]:
                    faults = run["memory"]["page_faults_per_step"] * len(run["timing"]["step_seconds"])
                    # Not a page a step: the kernel has some of its own, when it moves or joins pages for example.
                    self.assertLessEqual(round(faults), 4, run["name"])


@unittest.skipIf(free_bytes() < LARGEST_BYTES, "too little memory is free")
class LargeModels(MemoryTest):
    def test_peak_is_what_was_planned(self):
        runs = self.assert_peaks_are_as_planned("--model", ",".join(LARGE), "--batch", 4, *ONE_STEP)
        self.assertEqual({run["workload"]["model"] for run in runs}, set(LARGE))
        for run in runs:
            self.assertEqual(run["memory"]["planned_bytes"], self.planned(run["workload"]["model"], run["precision"], "--batch", 4))


if __name__ == "__main__":
    unittest.main()
