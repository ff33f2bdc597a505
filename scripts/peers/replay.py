"""Replays a trace: the same weights, batches and optimizer, in PyTorch."""

import gzip
import json
import math
import pathlib

import numpy
import torch
from safetensors.torch import load_file
from torch.nn import functional

import models
import optimizers

# What modules hold besides weights, or hold twice; traces do not have it.
NOT_IN_TRACES = (".num_batches_tracked", ".position_ids")
TIED = ("cls.predictions.decoder.", "lm_head.")
# The gradient of the key's bias is zero except for rounding, so AdamW moves it by noise. It is all of the first tensor and the
# second third of the others.
NOISE, NOISE_WITHIN = "attention.self.key.bias", ("in_proj_bias", "attn.c_attn.bias")
STATISTICS = ("running_mean", "running_var")


def load(model, weights):
    missing, unexpected = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if not name.endswith(NOT_IN_TRACES) and not name.startswith(TIED)]
    if missing or unexpected:
        raise ValueError(f"the weights do not fit the module: missing {missing[:5]}, unexpected {unexpected[:5]}")
    for name, tensor in model.state_dict().items():
        if name in weights and not torch.equal(tensor, weights[name]):
            raise ValueError(f"the module shares '{name}' with another tensor")


def read_idx(folder, name):
    """An IDX file of unsigned bytes, as MNIST has them."""
    plain = folder / name
    data = plain.read_bytes() if plain.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">i4", dimensions, 4)
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, -1, 4 + 4 * dimensions).reshape(shape).copy())


class Replay:
    """Steps through a trace; `steps` yields (our loss, PyTorch's loss)."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.trace = json.loads((self.folder / "trace.json").read_text())
        if self.trace["precision"] != "fp32":
            raise ValueError(f"the trace is of {self.trace['precision']}; only fp32 can be replayed")
        self.model = models.build(self.trace["model"])
        self.initial = load_file(self.folder / "initial.safetensors")
        load(self.model, self.initial)
        self.optimizer = optimizers.make(self.model, self.trace["optimizer"], self.trace["learning_rate"][0])

    def steps(self):
        for step in range(self.trace["steps"]):
            batch = load_file(self.folder / f"step-{step:06d}.safetensors")
            for group in self.optimizer.param_groups:
                group["lr"] = self.trace["learning_rate"][step]
            self.optimizer.zero_grad(set_to_none=True)
            loss = sum(self.backward(part) for part in self.parts(batch))
            optimizers.clip(self.model, self.trace["optimizer"])
            self.optimizer.step()
            yield batch["loss"].item(), loss

    def parts(self, batch):
        """The equal parts of a batch whose gradients the run summed; traces of undivided batches do not state their number."""
        count = self.trace.get("accumulate", 1)
        inputs = {name: tensor.chunk(count) for name, tensor in batch.items() if name != "loss"}
        return [{name: tensors[part] for name, tensors in inputs.items()} for part in range(count)]

    def backward(self, part):
        share = 1 / self.trace.get("accumulate", 1)
        loss = models.loss(self.model, part, self.trace["label_smoothing"]) * share
        loss.backward()
        return loss.item()

    def held_out_loss(self, text):
        """The loss of PyTorch's weights on a text as bytes: the mean over every tenth window, as epochbench evaluates."""
        batch = load_file(self.folder / "step-000000.safetensors")
        if "masked_positions" in batch or batch["labels"].shape != batch.get("input_ids", torch.empty(0)).shape:
            raise ValueError("only models of the next token have a held-out loss here")
        sequence, ids = batch["input_ids"].shape[1], torch.frombuffer(bytearray(text), dtype=torch.uint8).int()
        windows = [ids[i * sequence:(i + 1) * sequence + 1] for i in range(9, (len(ids) - 1) // sequence, 10)]
        if not windows:
            raise ValueError("the text has no held-out window: name a longer one")
        self.model.eval()
        with torch.no_grad():
            losses = [models.loss(self.model, {"input_ids": window[None, :-1], "labels": window[None, 1:]}).item()
                      for window in windows]
        return sum(losses) / len(losses)

    def held_out_accuracy(self, folder):
        """The accuracy of PyTorch's weights on the test images of MNIST's four files in `folder`, standardized by the training
        pixels."""
        _, channels, height, width = load_file(self.folder / "step-000000.safetensors")["images"].shape
        pixels = read_idx(folder, "train-images-idx3-ubyte").double()
        mean, deviation = pixels.mean(), pixels.std(correction=0)
        images = ((read_idx(folder, "t10k-images-idx3-ubyte").double() - mean) / deviation).float()
        labels = read_idx(folder, "t10k-labels-idx1-ubyte").long()
        self.model.eval()
        right = 0
        with torch.no_grad():
            for i in range(0, len(images), 250):
                resized = functional.interpolate(images[i:i + 250, None], (height, width), mode="bilinear")
                right += (self.model(resized.expand(-1, channels, -1, -1)).argmax(1) == labels[i:i + 250]).sum().item()
        return right / len(images)

    def differences(self):
        """Norm of the difference of all final weights together over the norm of their change; the same for the running
        statistics, which are kept apart because their change is so much larger that it would hide that of the weights."""
        final, theirs = load_file(self.folder / "final.safetensors"), self.model.state_dict()
        sums = {"weights": [0.0, 0.0], "statistics": [0.0, 0.0]}
        for name, ours in final.items():
            if name.endswith(NOISE):
                continue
            group = sums["statistics" if name.endswith(STATISTICS) else "weights"]
            for i, other in enumerate((theirs[name], self.initial[name])):
                difference = ours.double() - other.double()
                if name.endswith(NOISE_WITHIN):
                    difference.chunk(3)[1].zero_()
                group[i] += difference.square().sum().item()
        return {name: math.sqrt(difference / change) if change > 0 else math.inf
                for name, (difference, change) in sums.items() if name == "weights" or change > 0}
