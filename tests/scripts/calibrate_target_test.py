"""Tests what scripts/calibrate_target makes of trainings."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "calibrate_target"


def load():
    loader = importlib.machinery.SourceFileLoader("calibrate_target", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("calibrate_target", loader))
    loader.exec_module(module)
    return module


def run_of(*history, metric="accuracy", status="ok"):
    return {"status": status, "quality": {"eval_metric": metric, "eval_history": list(history)}}


class CalibrateTarget(unittest.TestCase):
    def test_takes_what_the_share_of_seeds_reached(self):
        values = [n / 100 for n in range(81, 101)]  # 20 seeds
        self.assertEqual(load().reached_by(values, 0.9, "accuracy"), 0.83)
        self.assertEqual(load().reached_by(values, 1, "accuracy"), 0.81)
        self.assertEqual(load().reached_by(values, 0.9, "loss"), 0.98)

    def test_takes_the_best_evaluation_of_each_training(self):
        text = load().report([run_of(0.5, 0.9, 0.8), run_of(0.7, 0.6, 0.95), run_of(0.1, status="diverged")], 0.5)
        self.assertIn("2 of 3 seeds trained 3 epochs: best accuracy 0.9000 to 0.9500", text)
        self.assertIn("1 of 2 reach 0.9500", text)


if __name__ == "__main__":
    unittest.main()
