"""Tests scripts/experiments/compare_quality on made-up results."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "experiments" / "compare_quality"


def run_of(precision, seed, history, metric="accuracy", status="ok"):
    return {
        "name": f"m/cpu/{precision}/b8/seed={seed}", "status": status, "precision": precision,
        "workload": {"model": "m", "dataset": "d", "batch": 8, "seed": seed},
        "device": {"backend": "cpu"}, "quality": {"eval_metric": metric, "eval_history": history},
    }


class CompareQuality(unittest.TestCase):
    def compare(self, *runs):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            path.write_text(json.dumps({"runs": runs}))
            return subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True)

    def test_takes_the_mean_of_the_last_five_evaluations_over_seeds(self):
        call = self.compare(run_of("fp32", 0, [0.1] + [0.90] * 5), run_of("fp32", 1, [0.1] + [0.94] * 5),
                            run_of("bf16", 0, [0.1] + [0.91] * 5), run_of("bf16", 1, [0.1] + [0.92] * 5))
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn("fp32 0.9200, bf16 0.9150, worse by +0.0050", call.stdout)
        self.assertIn("2 seeds: ok", call.stdout)

    def test_says_what_is_worse_than_allowed(self):
        self.assertEqual(self.compare(run_of("fp32", 0, [0.9] * 5), run_of("bf16", 0, [0.8899] * 5)).returncode, 1)
        higher = self.compare(run_of("fp32", 0, [3.0] * 5, "loss"), run_of("bf16", 0, [3.031] * 5, "loss"))
        self.assertEqual(higher.returncode, 1)
        self.assertIn("WORSE", higher.stdout)
        lower = self.compare(run_of("fp32", 0, [3.0] * 5, "loss"), run_of("bf16", 0, [2.9] * 5, "loss"))
        self.assertEqual(lower.returncode, 0)

    def test_compares_equal_seeds_of_finished_runs_only(self):
        for others in ([run_of("bf16", 1, [0.9] * 5)], [run_of("bf16", 0, [0.9] * 5, status="failed")],
                       [run_of("bf16", 0, [0.9] * 4)], []):
            call = self.compare(run_of("fp32", 0, [0.9] * 5), *others)
            self.assertEqual(call.returncode, 2, call.stdout)

    def test_an_evaluation_that_is_not_a_number_is_an_error(self):
        call = self.compare(run_of("fp32", 0, [0.9] * 5), run_of("bf16", 0, [0.9] * 4 + [None]))
        self.assertNotEqual(call.returncode, 0)
        self.assertIn("not a number", call.stderr)


if __name__ == "__main__":
    unittest.main()
