"""Synthetic results, never measured: a CPU and a GPU, a sweep, ten thousand runs, hostile names."""
import math
import pathlib
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from consistent import consistent  # noqa: E402

GROUPS = ("timing", "throughput", "efficiency", "memory", "interference", "gpu", "quality", "energy", "cost", "profile")
PEAKS = {"fp32": 1.2e12, "bf16": 4.5e12}
FLOPS = {"resnet50": 2.4e10, "bert-base": 2.4e10}  # per sample; of others few, at rates of thousands


def context(host="test-host", date="2026-01-02T03:04:05Z", sha="0123456789abcdef", gpu=True):
    return {
        "date": date, "host_name": host, "epochbench_version": "0.1.0", "git_sha": sha, "git_dirty": False,
        "build_type": "Release", "compiler": "gcc 12.2.0", "command_line": ["epochbench", "run", "--suite", "synthetic"],
        "load_average": [0.1, 0.1, 0.1],
        "cpu": {"model": "Synthetic CPU", "sockets": 1, "cores": 8, "threads_available": 8, "isa": ["avx2", "fma", "avx512f"],
                "cache_bytes": {"l1d": 32768, "l2": 1048576, "l3": None}, "memory_bytes": 68719476736,
                "frequency_scaling": "no", "peak_flops_per_second": PEAKS, "memory_bandwidth_bytes_per_second": 1.5e11,
                "peak_threads": 8},
        "gpus": [{"name": "Synthetic GPU", "uuid": "GPU-0", "compute_capability": "9.0", "memory_bytes": 150323855360,
                  "driver": "550.54", "cuda": "12.4", "cublas": "12.4", "cudnn": None,
                  "peak_flops_per_second": {"fp32": 6e13, "tf32": 4e14, "bf16": 8e14, "fp16": 8e14},
                  "memory_bandwidth_bytes_per_second": 4.2e12, "host_to_device_bytes_per_second": 5.5e10}] if gpu else [],
    }


def noise(seed, index, size):
    """Deterministic, between -size and size."""
    return size * math.sin(12.9898 * (seed + 1) + 78.233 * (index + 1) * (seed % 7 + 1))


def run(model="resnet50", backend="cpu", precision="fp32", rate=8.0, batch=16, repetition=0, steps=60, settings="", seed=0,
        **changes):
    gpu = backend == "cuda"
    rate *= 1 + noise(seed + repetition * 31, 3, 0.01)
    step = batch / rate
    seconds = [step * (1 + noise(seed + repetition, index, 0.015) + (0.6 if index % 41 == 17 else 0)
                       + 0.06 * math.exp(-index / 6)) for index in range(steps)]
    total, epoch, watts = sum(seconds), 1281167 / rate, (650 if gpu else 240)
    loss = [7 * math.exp(-index / (25 + 2 * len(precision))) + 2.2 + noise(seed, index, 0.12) for index in range(steps + 3)]
    made = {
        "name": f"{model}/{backend}/{precision}/b{batch}{settings}", "repetition": repetition, "status": "ok", "message": None,
        "workload": {"model": model, "mode": "train", "parameters": 25557032,
                     "fingerprint": f"{zlib.crc32(f'{model} {batch}'.encode()):032x}", "batch": batch, "dataset": "synthetic",
                     "samples_per_epoch": 1281167, "optimizer": "sgd lr=0.1 momentum=0.9", "seed": 0,
                     "train_flops_per_sample": FLOPS.get(model, 1e6), "tokens_per_sample": None},
        "device": {"backend": backend, "name": "Synthetic GPU" if gpu else "Synthetic CPU", "threads": None if gpu else 8,
                   "isa": None if gpu else "avx512"},
        "precision": precision, **{group: None for group in GROUPS},
        "timing": {"warmup_steps": 3, "step_seconds": seconds, "step_seconds_median": sorted(seconds)[steps // 2],
                   "step_seconds_ci95": [step * 0.995, step * 1.005], "steps_total_seconds": total, "epoch_seconds": epoch,
                   "epoch_kind": "projected", "compile_seconds": 1.0, "wall_seconds": total + 5 + repetition,
                   "stopped_by": "noise",
                   "harness_seconds_per_step": None},
        "throughput": {"samples_per_second": steps * batch / total, "tokens_per_second": None},
        "efficiency": {"flops_per_second": 2.4e10 * rate, "peak_fraction": 0.7, "data_wait_fraction": 0.002,
                       "gpu_busy_fraction": 0.97 if gpu else None},
        "memory": {"planned_bytes": 1_500_000_000 + 90_000_000 * batch, "peak_bytes": 1_600_000_000 + 91_000_000 * batch,
                   "page_faults_per_step": 0.0},
        "interference": {"foreign_cpu_cores": 0.02},
        "quality": {"loss": loss, "final_loss": loss[-1], "eval_metric": None, "eval_value": None, "eval_history": [],
                    "parity_with": None, "parity_max_relative_difference": None},
        "energy": {"source": "rapl+nvml" if gpu else "rapl", "joules_per_epoch": watts * epoch,
                   "parts": {"cpu": 120 * epoch if gpu else watts * epoch, "gpu": 530 * epoch if gpu else None},
                   "average_watts": watts, "idle_watts": None},
        "cost": {"usd_per_hour": 4.0 if gpu else 0.7, "usd_per_epoch": (4.0 if gpu else 0.7) * epoch / 3600,
                 "usd_total": 0.01, "price_source": "user"},
    }
    if gpu:
        made["gpu"] = {"utilization": 0.97, "sm_clock_hertz": 1.7e9, "temperature_celsius": 66, "throttled_steps": 9,
                       "throttle_reasons": ["power cap"], "skipped_steps": None, "throttled_step_ranges": [[30, 38]]}
    made.update(changes)
    return made


def profile(step):
    shares = (("conv2d", 0.46, 53, 0.39), ("conv2d_weight_gradient", 0.31, 53, 0.25), ("batch_norm", 0.14, 53, 0.11),
              ("sgd_update", 0.05, 161, 0.02), ("cross_entropy", 0.0004, 1, None))
    classes = [{"op": op, "nodes": nodes, "seconds": share * step, "share": share, "flops_per_second": 9e11 if limit else None,
                "bytes_per_second": 8e10, "limit_fraction": limit and limit / share, "flops": None, "bytes": None,
                "limit_seconds": limit and limit * step} for op, share, nodes, limit in shares]
    return {"passes": 5, "seconds": step, "limit_seconds": 0.8 * step, "limit_fraction": 0.8, "classes": classes, "nodes": []}


def document(runs, **parts):
    return consistent({"schema_version": 1, "context": context(**parts), "runs": runs})


RATES = {("cpu", "fp32"): 8.0, ("cpu", "bf16"): 21.0, ("cuda", "fp32"): 390.0, ("cuda", "tf32"): 1500.0,
         ("cuda", "bf16"): 2700.0, ("cuda", "fp16"): 2650.0}


def both_devices(repetitions=5):
    """Two models on both devices, one failed run and one skipped run."""
    runs = [run(model, backend, precision, rate * scale, batch, repetition, seed=number,
                profile=profile(batch / rate) if repetition == 0 else None)
            for repetition in range(repetitions) for model, batch, scale in (("resnet50", 16, 1), ("bert-base", 8, 0.4))
            for number, ((backend, precision), rate) in enumerate(RATES.items())]
    empty = {group: None for group in GROUPS}
    runs.append(run("resnet152", "cuda", "fp32", batch=4096, status="out_of_memory", message="requested 412 GiB of 140 GiB",
                    **empty))
    runs.append(run("resnet50", "cpu", "fp16", status="skipped", message="the CPU backend does not support fp16", **empty))
    return document(runs)


def sweep(repetitions=5):
    curves = {"cpu": lambda batch: 9 * batch / (batch + 3), "cuda": lambda batch: 620 * batch / (batch + 400)}
    runs = [run("resnet20", backend, "fp32", rate(batch) * 40, batch, repetition, steps=20, seed=batch)
            for repetition in range(repetitions) for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256)
            for backend, rate in curves.items()]
    runs.append(run("resnet20", "cuda", "fp32", batch=4096, status="out_of_memory", message="too large",
                    **{group: None for group in GROUPS}))
    return document(runs)


def history(dates=24, slower_from=14):
    """Files of one workload, one per day; from one day on it takes 6 % longer."""
    return [document([run("lenet5", rate=30000 / (1.06 if day >= slower_from else 1), batch=64, repetition=repetition, steps=30,
                          seed=100 + day) for repetition in range(3)],
                     date=f"2026-01-{day + 1:02d}T04:00:00Z", sha=f"{day:02d}c0ffee{day:04d}abcd", gpu=False)
            for day in range(dates)]


def many(runs=10_000):
    """Five repetitions of 2,000 runs, of twenty workloads."""
    return document([run(f"model-{number % 20:02d}", "cpu", "fp32" if number % 2 else "bf16", 50 + number % 97, 16, repetition,
                         steps=25, settings=f"/learning-rate={number // 20 + 1}", seed=number)
                     for repetition in range(5) for number in range(runs // 5)])


def odd():
    """Numbers at the limits of their range, one step, equal steps, losses that are not numbers, missing groups."""
    tiny, huge, flat, one, poor = (run("mlp", batch=2 ** number) for number in range(5))
    tiny["timing"]["step_seconds"], huge["timing"]["step_seconds"] = [1e290] * 20, [1e-290] * 20
    huge["workload"]["train_flops_per_sample"], huge["cost"]["usd_per_epoch"] = 0, 1e-280
    huge["energy"]["joules_per_epoch"], huge["memory"]["peak_bytes"] = 1e-300, 2 ** 62
    flat["timing"]["step_seconds"], flat["quality"]["loss"] = [0.5] * 20, [2.0] * 23
    flat["cost"] = {"usd_per_hour": 0, "usd_per_epoch": 0, "usd_total": 0, "price_source": "user", "currency": "EUR"}
    one["timing"]["step_seconds"], one["quality"]["loss"] = [0.5], [None, 3.0, None, None]
    one["memory"].update(planned_bytes=0, peak_bytes=2 ** 27)
    for group in GROUPS[2:]:
        poor[group] = None
    return document([tiny, huge, flat, one, poor], host=None, gpu=False)


def steps_without_median():
    """Step times without their median and with half an interval; a run of PyTorch on a CPU."""
    made = run("mlp", backend="pytorch")
    made["timing"]["step_seconds_median"], made["timing"]["step_seconds_ci95"] = None, [None, 3.0]
    return document([made])


def crowded(date="2026-01-02T03:04:05Z", longer_seconds=0.0):
    """More curves, profiles and workloads over time than a page draws, one commit per day; runs of equal times would be copies."""
    made = document([run("mlp", batch=batch, settings=f"/learning-rate={seed + 1}", steps=5, seed=seed, profile=profile(1.0))
                     for seed in range(70) for batch in (1, 2, 4)], date=date)
    made["context"]["git_sha"] = f"{date[:10].replace('-', '')}"
    for one in made["runs"]:
        one["timing"]["wall_seconds"] += longer_seconds
    return consistent(made)


def odd_sweep():
    """Rates near the limits of a logarithmic axis."""
    rates = (1e-290, 40.0, 1e-280, 1e290, 80.0)
    runs = [run("mlp", backend, rate=rate, batch=2 ** number) for backend in ("cpu", "cuda") for number, rate in enumerate(rates)]
    for one in runs:
        one["workload"]["train_flops_per_sample"] = 0
    made = document(runs)
    made["runs"] += [run("lenet5", batch=2 ** number, throughput={"samples_per_second": 0.0, "tokens_per_second": None})
                     for number in range(3)]  # contradict their steps, so that their curve has no point
    return made


def hostile():
    text = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
    made = run(text, repetition=0)
    made["workload"]["dataset"] = made["device"]["name"] = text
    made["cost"]["price_source"] = text
    made["profile"] = profile(2.0)
    made["profile"]["classes"][0]["op"] = text
    failed = run(text, batch=8, status="failed", message=text, **{group: None for group in GROUPS})
    result = document([made, failed], host=text, date="2026-01-02T03:04:05Z")
    result["context"]["cpu"]["model"] = result["context"]["compiler"] = text
    result["context"]["command_line"] = [text]
    build = {key: text for key in ("date", "epochbench_version", "git_sha", "build_type", "compiler")}
    result["context"]["earlier_calls"] = [{**build, "git_dirty": None, "command_line": [text]}]
    return result


def turns(slower=0.05, date="2026-01-02T03:04:05Z", text="gate"):
    """Two interleaved binaries, the new one slower in the first of two cases; a third case was not measured."""
    def side(index, ratio):
        return {"status": "ok", "message": None, "fingerprint": "1111", "isa": "avx512", "compile_seconds": 0.5,
                "step_seconds_median": 0.01 * ratio, "peak_bytes": 1000000, "steps": 100, "first_losses": [2.5, 2.25],
                "final_loss": 1.0, "library_dropout_masks": False, "step_seconds": [0.01 * ratio, 0.011 * ratio]}

    def case(name, change, pairs, skipped=None):
        made = []
        for index in range(pairs):
            log_ratio = math.log(1 + change) + noise(len(name), index, 0.008)
            made.append({"log_ratio": log_ratio, "foreign_cpu_cores": 0.1, "steps_per_turn": 5, "dropped_rounds": 2,
                         "started_first": "new", "first_by_round": ["new", "baseline"],
                         "baseline": side(index, 1), "new": side(index, math.exp(log_ratio))})
        return {"name": name, "model": "mlp", "device": "cpu", "precision": "fp32", "batch": 64, "threads": 2,
                "skipped": skipped, "pairs": made}

    build = {"epochbench_version": "0.1.0", "git_dirty": False, "build_type": "Release", "compiler": "gcc 12.2.0"}
    return {"turns_version": 1, "context": context(date=date, gpu=False), "suite": text, "order_seed": 7,
            "baseline": {"binary": "old/epochbench", "git_sha": "aaaaaaa1", **build},
            "new": {"binary": "new/epochbench", "git_sha": "bbbbbbb2", **build},
            "cases": [case("mlp/cpu/fp32/b64", slower, 10), case("lenet5/cpu/fp32/b64", 0.0, 10),
                      case(f"{text}/cuda/fp32/b64", 0.0, 0, skipped=text)]}
