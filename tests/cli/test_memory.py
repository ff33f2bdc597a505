"""Memory: what `plan` says of it against what a run really takes, and that timed steps find all of it there."""
import json
import unittest

from support import CliTest, SANITIZED

# From almost nothing to a variable of 67 MB, a graph with many activations and one with little else than gradients.
CASES = [("lenet5", 64), ("mlp:width=4096", 64), ("resnet20", 128), ("resnet18", 2), ("bert-tiny", 16)]


@unittest.skipIf(SANITIZED, "sanitizers take memory of their own")
class Memory(CliTest):
    def test_peak_is_what_was_planned(self):
        for model, batch in CASES:
            with self.subTest(model=model):
                plan = self.call("plan", "--model", model, "--batch", batch, "--json")
                self.assertEqual(plan.returncode, 0, plan.stderr)
                planned = json.loads(plan.stdout)["memory_bytes"]["total"]
                call = self.call("run", "--model", model, "--batch", batch, "--steps", 2, "--warmup", 1, "--out", self.out)
                self.assertEqual(call.returncode, 0, call.stderr)
                memory = self.result()["runs"][0]["memory"]
                self.assertEqual(memory["planned_bytes"], planned)
                self.assertLess(abs(memory["peak_bytes"] - planned), 0.1 * planned + 32e6)

    def test_timed_steps_fault_no_page_in(self):
        for arguments in (
                ["--model", "lenet5,mlp", "--batch", 1, "--steps", 5000],  # digits: the loader works in each step
                ["--model", "lenet5", "--epochs", 5],  # with evaluations between them
                ["--model", "lenet5,resnet20", "--batch", 16, "--data", "synthetic", "--steps", 100],
                ["--model", "bert-tiny", "--batch", 2, "--steps", 100],
                ["--model", "bert-tiny", "--batch", 2, "--steps", 100, "--threads", 1]):
            with self.subTest(arguments=arguments):
                call = self.call("run", *arguments, "--out", self.out)
                self.assertEqual(call.returncode, 0, call.stderr)
                for run in self.result()["runs"]:
                    faults = run["memory"]["page_faults_per_step"] * len(run["timing"]["step_seconds"])
                    # Not a page a step: the kernel has some of its own, when it moves or joins pages for example.
                    self.assertLessEqual(round(faults), 4, run["name"])


if __name__ == "__main__":
    unittest.main()
