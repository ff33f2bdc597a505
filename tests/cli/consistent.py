"""Made-up results whose numbers agree with each other, as `epochbench verify` asks of measured ones."""
import math
import statistics

JITTER = 1e-3  # of equal steps, between repetitions; their mean and median stay
SECONDS_PER_HOUR = 3600
UNKNOWN_GPU = {"uuid": None, "compute_capability": "9.0", "memory_bytes": 2**34, "driver": None, "cuda": None, "cublas": None,
               "cudnn": None, "peak_flops_per_second": dict.fromkeys(("fp32", "tf32", "bf16", "fp16")),
               "memory_bandwidth_bytes_per_second": None, "host_to_device_bytes_per_second": None}


def spread(steps, repetition):
    """Equal steps, spread by pairs in another way in each repetition: measured steps are never those of another repetition."""
    if len(steps) < 3 or len(set(steps)) > 1:
        return steps
    pairs = [JITTER * math.modf(0.618 * (pair + 1) * (repetition + 1))[0] for pair in range(len(steps) // 2)]
    shares = [sign * jitter for jitter in pairs for sign in (1, -1)] + [0.0] * (len(steps) % 2)
    return [step * (1 + share) for step, share in zip(steps, shares)]


def set_timing(run):
    """Everything that follows from the steps and from what an epoch is."""
    timing, work = run["timing"], run["workload"]
    if not timing["step_seconds"]:
        return
    steps = timing["step_seconds"] = spread(timing["step_seconds"], run["repetition"])
    total, median = sum(steps), statistics.median(steps)
    timing.update(steps_total_seconds=total, wall_seconds=max(timing["wall_seconds"], total))
    if timing["step_seconds_median"] is not None:
        timing["step_seconds_median"] = median
    if timing["step_seconds_ci95"] and None not in timing["step_seconds_ci95"]:
        low, high = timing["step_seconds_ci95"]
        timing["step_seconds_ci95"] = [min(low, median), max(high, median)]
    if run["throughput"]:
        rate = run["throughput"]["samples_per_second"] = work["batch"] * len(steps) / total
        timing["epoch_seconds"] = work["samples_per_epoch"] / rate


def set_arithmetic(run, context):
    rate, efficiency = run["throughput"]["samples_per_second"], run["efficiency"]
    efficiency["flops_per_second"] = run["workload"]["train_flops_per_sample"] * rate
    on_gpu = run["device"]["backend"] == "cuda"
    peaks = [gpu["peak_flops_per_second"] for gpu in context["gpus"]] if on_gpu else [context["cpu"]["peak_flops_per_second"]]
    peak = peaks and peaks[0].get(run["precision"])
    if peak:
        efficiency["peak_fraction"] = efficiency["flops_per_second"] / peak


def set_energy_and_cost(run):
    """Power and price are what the figures per epoch ask for."""
    energy, cost, timing = run["energy"], run["cost"], run["timing"]
    if energy and energy["joules_per_epoch"] is not None:
        energy["average_watts"] = energy["joules_per_epoch"] / timing["epoch_seconds"]
    if cost and cost["usd_per_epoch"] is not None:
        cost["usd_per_hour"] = cost["usd_per_epoch"] * SECONDS_PER_HOUR / timing["epoch_seconds"]
        if cost["usd_total"] is not None:
            cost["usd_total"] = cost["usd_per_hour"] * timing["wall_seconds"] / SECONDS_PER_HOUR


def consistent(document):
    """The document, in which the numbers of each run that is ok follow from its steps, its epoch and its figures per epoch."""
    context = document["context"]
    for run in document["runs"]:
        if run["status"] != "ok":
            continue
        name = run["device"]["name"]
        if run["device"]["backend"] == "cuda" and name not in [gpu["name"] for gpu in context["gpus"]]:
            context["gpus"] = [*context["gpus"], {**UNKNOWN_GPU, "name": name}]
        if run["timing"]:
            set_timing(run)
            set_energy_and_cost(run)
        if run["efficiency"] and run["throughput"]:
            set_arithmetic(run, context)
        if run["quality"] and run["quality"]["loss"]:
            run["quality"]["final_loss"] = run["quality"]["loss"][-1]
    return document
