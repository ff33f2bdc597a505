"""The optimizers of the contract in PyTorch."""

import torch


def parse(text):
    """'sgd lr=0.1 momentum=0.9 weight_decay=0.0001', as results and `epochbench plan` have it -> a trace's form and the rate."""
    name, *pairs = text.split()
    numbers = {key: float(value) for key, value in (pair.split("=") for pair in pairs)}
    rate = numbers.pop("lr")
    return {"name": name, **numbers}, rate


def make(model, spec, learning_rate, fused=False):
    """spec: the `optimizer` of a trace.json."""
    if spec.get("ema"):
        raise ValueError("averages of the weights (ema) are not kept here")
    if spec["name"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=spec["momentum"],
                               weight_decay=spec["weight_decay"], fused=fused)
    if spec["name"] == "adamw":
        matrices = [p for p in model.parameters() if p.dim() >= 2]
        others = [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": spec["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=(spec["beta1"], spec["beta2"]), eps=spec["epsilon"],
                                 fused=fused)
    raise ValueError(f"no optimizer is known by the name '{spec['name']}'")


def clip(model, spec):
    """Before a step: limits the norm of all gradients together, if the optimizer has a limit."""
    if spec.get("clip_norm"):
        torch.nn.utils.clip_grad_norm_(model.parameters(), spec["clip_norm"])
