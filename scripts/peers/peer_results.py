"""The result document of peers, in epochbench's own format (results/schema.json), and the numbers in it."""

import datetime
import json
import math
import os
import pathlib
import platform
import statistics


TELLING_SECONDS = 0.2  # below, the kernel's count of CPU time (in 10 ms) says nothing of other processes


def context(info, version, versions, command_line):
    """info: `epochbench info --json`; version: epochbench's; versions: what the peers' process told of its libraries."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "host_name": platform.node() or None,
        "epochbench_version": version,
        "git_sha": None,
        "git_dirty": None,
        "build_type": "Release",
        "compiler": f"PyTorch {versions['torch']}" if versions else "PyTorch",
        "command_line": command_line,
        "load_average": list(os.getloadavg()),
        "cpu": info["cpu"],
        "gpus": info["gpus"],
        "peers": versions,
    }


def median_interval(samples):
    """A 95 % interval of the median whatever the distribution: two order statistics. None of fewer than 6 samples."""
    n = len(samples)
    if n < 6:
        return None
    if n > 1000:
        beyond = int((n - 1.96 * math.sqrt(n)) / 2 - 1)
    else:
        tail, beyond = 0, -1
        while tail + math.comb(n, beyond + 1) <= 0.025 * 2 ** n:
            beyond += 1
            tail += math.comb(n, beyond)
    ordered = sorted(samples)
    return [ordered[beyond], ordered[n - 1 - beyond]]


def peak_of(info, device, precision):
    """The measured peak of the device in this precision; None where it is not known."""
    if device == "cpu":
        return info["cpu"]["peak_flops_per_second"].get(precision)
    index = int(device.split(":")[1])
    return info["gpus"][index]["peak_flops_per_second"].get(precision) if index < len(info["gpus"]) else None


def foreign_cores(blocks):
    """How many cores other processes kept busy during these blocks; None where that is not known."""
    busy, walls = [block.get("busy_cpu_seconds") for block in blocks], sum(block["wall_seconds"] for block in blocks)
    if None in busy or walls < TELLING_SECONDS:
        return None
    return max(0.0, (sum(busy) - sum(block["own_cpu_seconds"] for block in blocks)) / walls)


def measured(case, workload, ready, blocks, result, peak, stopped_by, wall_seconds):
    """What a finished case adds to its run. blocks: the timed blocks' answers, after the warm-up's."""
    warm, timed = blocks
    seconds = [second for block in timed for second in block["seconds"]]
    losses = [loss for block in warm + timed for loss in block["loss"]]
    total, walls = sum(seconds), sum(block["wall_seconds"] for block in timed)
    rate = sum(block["samples"] for block in timed) / total
    flops = rate * workload["train_flops_per_sample"]
    tokens = workload["tokens_per_sample"]
    on_gpu = ready["asynchronous"]
    return {
        "timing": {
            "warmup_steps": case["warmup"],
            "step_seconds": seconds,
            "step_seconds_median": statistics.median(seconds),
            "step_seconds_ci95": median_interval(seconds),
            "steps_total_seconds": total,
            "epoch_seconds": workload["samples_per_epoch"] / rate,
            "epoch_kind": "projected",
            "compile_seconds": ready["compile_seconds"],
            "wall_seconds": wall_seconds,
            "stopped_by": stopped_by,
            "harness_seconds_per_step": None if on_gpu else max(0.0, (walls - total) / len(seconds)),
            "clock_disagreement": abs(walls - total) / total if on_gpu else None,
        },
        "throughput": {"samples_per_second": rate, "tokens_per_second": tokens and rate * tokens},
        "efficiency": {"flops_per_second": flops, "peak_fraction": peak and flops / peak, "data_wait_fraction": 0.0,
                       "gpu_busy_fraction": None},
        "memory": {"planned_bytes": ready["planned_bytes"], "peak_bytes": result["peak_bytes"],
                   "page_faults_per_step": sum(block["page_faults"] for block in timed) / len(seconds)},
        "interference": {"foreign_cpu_cores": foreign_cores(timed)},
        "gpu": {"utilization": None, "sm_clock_hertz": None, "temperature_celsius": None, "throttled_steps": None,
                "throttle_reasons": [], "skipped_steps": result["skipped_steps"]} if on_gpu else None,
        "quality": {"loss": losses, "final_loss": losses[-1], "eval_metric": None, "eval_value": None, "eval_history": [],
                    "parity_with": None, "parity_max_relative_difference": None,
                    "dropout_masks": "library" if ready["library_dropout_masks"] else None},
        "energy": {"source": "unavailable", "joules_per_epoch": None, "parts": {"cpu": None, "gpu": None},
                   "average_watts": None, "idle_watts": None},
    }


GROUPS = ("timing", "throughput", "efficiency", "memory", "interference", "gpu", "quality", "energy", "cost", "profile")


def run(name, repetition, workload, device, precision, status="ok", message=None, groups=None):
    return {"name": name, "repetition": repetition, "status": status, "message": message, "workload": workload,
            "device": device, "precision": precision, **{group: (groups or {}).get(group) for group in GROUPS}}


def write(path, document):
    """The file is replaced whole or not at all."""
    path = pathlib.Path(path)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    os.replace(partial, path)
