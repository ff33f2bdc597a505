"""What epochbench says of its models: workloads as results have them, cases as its protocol has them, names of runs.

Standard library only. What ends a call is one line and exit code 2.
"""

import json
import pathlib
import subprocess
import sys

WARM_UP_BY_DEFAULT = 3


def fail(message):
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(2)


def ask(binary, *arguments):
    """What `epochbench ARGUMENTS` prints, or None, and what it says where it refuses."""
    try:
        done = subprocess.run([binary, *arguments], capture_output=True, text=True)
    except OSError as error:
        fail(f"{binary} cannot be run ({error.strerror}): build it (scripts/run), or name it with --binary")
    if done.returncode != 0:
        return None, done.stderr.strip() or f"{binary} {arguments[0]} ended with {done.returncode}"
    return done.stdout, None


def epochbench(binary, *arguments):
    printed, refusal = ask(binary, *arguments)
    return printed if refusal is None else fail(refusal)


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be read: {error}")


def machine(binary, path):
    """`epochbench info --json`: from the file, or asked for, which takes seconds."""
    return read_json(path) if path else json.loads(epochbench(binary, "info", "--json"))


def cases(binary, **options):
    """Finished cases of `epochbench cases`, each with name, settings, workload, obstacle (None where it can run) and the case
    as the protocol has it, which has what a peer cannot derive from the model's name too. options: None leaves the default."""
    given = [word for key, value in options.items() if value is not None
             for word in (f"--{key.replace('_', '-')}", ",".join(map(str, value)) if isinstance(value, list) else str(value))]
    finished = json.loads(epochbench(binary, "cases", *given))["cases"]
    for one in finished:
        workload = one["workload"]
        one["case"].update(samples_per_epoch=workload["samples_per_epoch"], optimizer=workload["optimizer"],
                           tokens=workload["tokens_per_sample"], parameters=workload["parameters"])
    return finished


def planned(binary, model, batch):
    """A model's workload on synthetic data, and the data that epochbench would take by default. batch: None for the model's."""
    arguments = ["--model", model, "--json", *(["--batch", str(batch)] if batch else [])]
    plan = json.loads(epochbench(binary, "plan", *arguments))
    families = json.loads(epochbench(binary, "list", "models", "--json"))["models"]
    data = next(family["default_data"] for family in families if family["name"] == plan["model"].split(":")[0])
    workload = {"model": plan["model"], "mode": "train", "parameters": plan["parameters"],
                "fingerprint": plan["fingerprint"], "batch": plan["batch"], "dataset": "synthetic",
                "samples_per_epoch": plan["nominal_samples_per_epoch"], "optimizer": plan["optimizer"], "seed": 0,
                "train_flops_per_sample": plan["train_flops_per_sample"], "tokens_per_sample": plan["tokens_per_sample"],
                "forward_flops_per_sample": plan["forward_flops_per_sample"], "options": plan["options"]}
    return workload, data


def case(name, repetition, workload, device, precision, threads, warmup):
    """A CaseSpec of the protocol. Its last four keys are for peers, and epochbench's own process passes over them."""
    return {"name": name, "repetition": repetition, "model": workload["model"], "device": device, "precision": precision,
            "mode": "train", "order": "shuffled", "data": "synthetic", "batch": workload["batch"], "threads": threads,
            "warmup": warmup, "seed": workload["seed"], "learning_rate": None, "dropout": None, "epoch_samples": None,
            "loader_threads": 1, "decode_cost_seconds": 0, "cache": "none",
            "init": "", "save": "", "trace": "", "without": "", "gemm": "best", "profile": False,
            "steps": None, "epochs": None, "min_time_seconds": None, "until": None,
            "samples_per_epoch": workload["samples_per_epoch"], "optimizer": workload["optimizer"],
            "tokens": workload["tokens_per_sample"], "parameters": workload["parameters"]}


def run_name(workload, backend, precision, data, **settings):
    """settings: what is not as by default; None where it is. data: the model's by default."""
    settings["data"] = "synthetic" if data != "synthetic" else None
    name = f"{workload['model']}/{backend}/{precision}/b{workload['batch']}"
    return name + "".join(f"/{key}={value}" for key, value in sorted(settings.items()) if value is not None)
