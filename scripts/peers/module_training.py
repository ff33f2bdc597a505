"""A module of the user's own under our protocol: profile_module says what its file defines."""

import hashlib
import importlib.util
import itertools
import pathlib
import sys
import traceback

import torch
from torch.utils.flop_counter import FlopCounterMode

import training


class ModuleError(Exception):
    pass


def load(path):
    file = pathlib.Path(path).resolve()
    sys.path.insert(0, str(file.parent))  # for what it imports
    spec = importlib.util.spec_from_file_location("profiled_module", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("model", "batch"):
        if not callable(getattr(module, name, None)):
            raise ModuleError(f"{file.name} defines no {name}(): profile_module --help shows what it needs")
    return module


def to_device(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: to_device(item, device) for key, item in value.items()}
    return type(value)(to_device(item, device) for item in value) if isinstance(value, (list, tuple)) else value


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors(item)]


class ModuleTraining(training.Training):
    """case: module, device, precision, threads, seed and compile."""

    def __init__(self, case):
        self.start(case)
        self.file = pathlib.Path(case["module"]).name
        self.user = self.during("its import", lambda: load(case["module"]))
        self.model = self.during("model()", lambda: self.user.model().train().to(self.device))
        data = self.during("batch()", lambda: to_device(self.user.batch(self.device), self.device))
        if not tensors(data) or not tensors(data)[0].dim():
            raise ModuleError(f"{self.file}: batch() returns no tensor whose first size is the batch")
        self.batches = itertools.repeat(data)
        self.batch = tensors(data)[0].shape[0]
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.optimizer_spec = {}
        make = getattr(self.user, "optimizer", lambda model: torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))
        self.optimizer = self.during("optimizer()", lambda: make(self.model))
        layout = next((p for p in self.model.parameters() if p.dim() == 4), torch.empty(1, 1, 1))
        last = layout.dim() == 4 and layout.is_contiguous(memory_format=torch.channels_last) and not layout.is_contiguous()
        self.conditions = {"clock": self.clock, "memory_format": "channels_last" if last else "contiguous"}
        self.found = self.examine(data, case["seed"])
        self.during("torch.compile", lambda: self.make_ready(case["compile"]))

    def during(self, phase, act):
        try:
            return act()
        except (ModuleError, torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # whatever the user's code does
            raise self.failed(phase, error) from error

    def failed(self, phase, error):
        """One line, with the last line of the user's own file that was on the way."""
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if pathlib.Path(frame.filename).name == self.file]
        place = f" (line {lines[-1]})" if lines else ""
        text = " ".join(str(error).split())[:300]
        return ModuleError(f"{self.file}{place} fails in {phase} on {self.device}: {type(error).__name__}: {text}")

    def forward(self, data):
        with self.autocast():
            if isinstance(data, dict):
                return self.model(**data)
            return self.model(data[0] if isinstance(data, (list, tuple)) else data)

    def eager_loss(self, batch):
        output = self.forward(batch)
        with self.autocast():
            loss = self.user.loss(output, batch) if hasattr(self.user, "loss") else getattr(output, "loss", output)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
            raise ModuleError(f"{self.file} returns no loss: define loss(output, batch), which returns one number with a gradient")
        return loss

    def examine(self, data, seed):
        """A first pass, by phase: FLOPs of a sample, what identifies the work, and whether two passes are equal."""
        losses = []
        for _ in range(2):
            torch.manual_seed(seed)
            with FlopCounterMode(display=False) as forward:
                loss = self.during("forward", lambda: self.eager_loss(data))
            with FlopCounterMode(display=False) as backward:
                self.during("backward", loss.backward)
            self.optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
        shapes = [[name, list(p.shape)] for name, p in self.model.named_parameters()] + [list(t.shape) for t in tensors(data)]
        flops = forward.get_total_flops(), backward.get_total_flops()
        return {"batch": self.batch, "forward_flops_per_sample": flops[0] / self.batch,
                "train_flops_per_sample": sum(flops) / self.batch, "optimizer": type(self.optimizer).__name__.lower(),
                "fingerprint": hashlib.md5(repr(shapes).encode()).hexdigest(), "first_losses": losses}

    def step(self):
        try:
            return super().step()
        except (ModuleError, torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:
            raise self.failed("a step", error) from error
