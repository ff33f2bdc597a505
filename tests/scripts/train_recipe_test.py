"""What scripts/peers/train_recipe takes from a recipe, and what it refuses; nothing is trained."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "scripts" / "peers"
sys.path.insert(0, str(PEERS))


def load():
    loader = importlib.machinery.SourceFileLoader("train_recipe", str(PEERS / "train_recipe"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("train_recipe", loader))
    loader.exec_module(module)
    return module


class TrainRecipe(unittest.TestCase):
    def test_has_the_schedules_of_the_program(self):
        factor = load().factor
        cosine = {"lr_schedule": "cosine", "lr_warmup": 2}
        self.assertEqual([factor(cosine, step, 6) for step in (0, 1, 2)], [0.5, 1, 1])
        self.assertAlmostEqual(factor(cosine, 4, 6), 0.5)
        self.assertEqual([factor({"lr_schedule": "step"}, step, 9) for step in (0, 2)], [1, 1])
        self.assertAlmostEqual(factor({"lr_schedule": "step"}, 3, 9), 0.1)
        self.assertAlmostEqual(factor({"lr_schedule": "step"}, 8, 9), 0.01)
        self.assertEqual(factor({}, 5, 6), 1)

    def test_takes_the_stored_recipes(self):
        for file in (ROOT / "bench" / "recipes").glob("*.json"):
            self.assertEqual(load().options_of(file.stem), json.loads(file.read_text())["options"])

    def test_refuses_what_is_not_passed_on(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"options": {"model": "lenet5", "ema": 0.99, "mixup": 0.2}}, file)
            file.flush()
            with self.assertRaisesRegex(ValueError, "has ema, mixup, which is not passed on to PyTorch"):
                load().options_of(file.name)
        with self.assertRaisesRegex(ValueError, "missing.json does not exist; name a recipe"):
            load().options_of("missing.json")


if __name__ == "__main__":
    unittest.main()
