"""scripts/peers/count_pytorch without PyTorch: made-up modules and a made-up counter in its place, and a made-up epochbench."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "peers"

TORCH = """
import contextlib
long = "long"
def device(name):
    assert name == "meta"
    return contextlib.nullcontext()
def ones(shape):
    return shape
class zeros(list):
    def __init__(self, rows, *shape, dtype=None):
        super().__init__([0] * rows)
        self.shape = (rows, *shape)
"""
COUNTER = """
from models import CALLS
class FlopCounterMode:
    def __init__(self, display):
        assert not display
    def __enter__(self):
        CALLS.clear()
        return self
    def __exit__(self, *error):
        pass
    def get_total_flops(self):
        return sum(CALLS)
"""
# All scores of two layers of 8 units, as PyTorch counts them: 3 x 3 of each; images: 100 multiply-adds of each.
MODELS = """
IMAGES = {name: (3, 8, 10) for name in ("wide", "larger", "more")}
CALLS = []
class Parameter:
    def __init__(self, n):
        self.n = n
    def numel(self):
        return self.n
class Module:
    def __init__(self, name):
        self.name = name
        if name == "gpt2":
            self.config = None
    def parameters(self):
        return [Parameter(7), Parameter(5)]
    def __call__(self, sample, attention_mask=None):
        assert attention_mask == (sample.shape if self.name == "gpt2" else None)
        rows = sample.shape[0]
        CALLS.append(2 * (500 + 2 * 2 * 8 * 3 * 3) if self.name == "gpt2" else 2 * rows * 100)
        assert self.name == "gpt2" or sample.shape[1:] == (3, 8, 6), sample.shape
def build(name):
    if name == "unknown":
        raise ValueError("no module is known for model 'unknown'")
    return Module(name)
"""
EPOCHBENCH = """#!{python}
import json, sys
name = sys.argv[sys.argv.index("--model") + 1]
if name == "nothing":
    sys.exit("epochbench: --model: unknown model 'nothing'")
text = {{"options": {{"layers": 2, "units": 8, "sequence": 3}}, "forward_flops_per_sample": 2 * (500 + 2 * 2 * 8 * 3 * 4 / 2)}}
image = {{"options": {{"width": 6}}, "forward_flops_per_sample": 200 + 2 * (name == "more")}}
print(json.dumps({{"parameters": 12 + (name == "larger"), **(text if name == "gpt2" else image)}}))
"""


class CountPytorch(unittest.TestCase):
    def call(self, *models):
        with tempfile.TemporaryDirectory() as folder:
            peers = pathlib.Path(folder) / "peers"
            shutil.copytree(PEERS, peers)
            (peers / "models.py").write_text(MODELS)
            (peers / "torch" / "utils").mkdir(parents=True)
            (peers / "torch" / "__init__.py").write_text(TORCH)
            (peers / "torch" / "utils" / "flop_counter.py").write_text(COUNTER)
            binary = pathlib.Path(folder) / "epochbench"
            binary.write_text(EPOCHBENCH.format(python=sys.executable))
            binary.chmod(0o755)
            # An environment that is this Python's own needs no PyTorch.
            return subprocess.run([sys.executable, peers / "count_pytorch", "--binary", binary, "--venv", sys.prefix, *models],
                                  capture_output=True, text=True, timeout=60)

    def test_masked_scores_are_taken_off(self):
        done = self.call("gpt2", "wide")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(rows[1], ["gpt2", "12", "12", "692", "692"])  # 500 and 2 x 2 x 8 x (1 + 2 + 3)
        self.assertEqual(rows[2], ["wide", "12", "12", "100", "100"])
        self.assertEqual(done.stdout.splitlines()[-1], "all agree")

    def test_what_differs_is_named(self):
        for model in ("larger", "more"):
            done = self.call(model)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("DIFFERS", done.stdout.splitlines()[1])
            self.assertEqual(done.stdout.splitlines()[-1], "some DISAGREE")

    def test_what_cannot_be_counted_is_one_line(self):
        for model, said in (("nothing", "unknown model 'nothing'"), ("unknown", "no module is known"), ("bert-tiny", "masked tokens")):
            done = self.call(model)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
