"""What scripts/check_gpu reads from results and logs: parity, sanitizers' verdicts, the best batch, and
the table of the benchmark of record. Every check returns a list of complaints, empty if the check passed."""

import json
import math
import re

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# Bounds on the relative difference of losses from those of the CPU in fp32: for the first step and for ten. In fp32 only the
# order of sums differs. Otherwise the unit roundoff u of the operands decides: each logit is rounded to a relative error of u,
# so the first loss, about ln(classes) for any weights, changes by less than u; ten steps accumulate a few such changes, 4 u.
# PyTorch's autocast on a CPU stayed within 0.04 u and 0.7 u on resnet18, resnet20 and bert-tiny. A loss that falls to
# thousandths exceeds these bounds.
ROUNDOFF = {"tf32": 2.0 ** -11, "bf16": 2.0 ** -8, "fp16": 2.0 ** -11}
BOUNDS = {"fp32": (1e-5, 1e-4), **{precision: (u, 4 * u) for precision, u in ROUNDOFF.items()}}
PARITY_STEPS = 10
# A loss scale that starts at 2^16 and halves at each overflow is stable by then. The CPU does not skip steps, so after a skipped
# step the weights differ.
MAX_SKIPPED_STEPS = 4


def runs_of(*paths):
    return [run for path in paths if path.exists() for run in json.loads(path.read_text())["runs"]]


def good(runs, **wanted):
    """The successful runs with the given model, backend, precision or batch."""
    def fits(run):
        facts = {"model": run["workload"]["model"], "batch": run["workload"]["batch"], "backend": run["device"]["backend"],
                 "precision": run["precision"]}
        return run["status"] == "ok" and all(facts[key] == value for key, value in wanted.items())
    return [run for run in runs if fits(run)]


def rate(run):
    return run["throughput"]["samples_per_second"]


def best_rate(runs):
    return max(map(rate, runs), default=None)


def gpu_seen(path):
    info = json.loads(path.read_text())
    return [] if info["gpus"] else [f"epochbench sees no GPU: {info.get('gpus_reason')}"]


def parity(paths):
    complaints, compared = [], 0
    for path in paths:
        runs = runs_of(path)
        by_name = {run["name"]: run for run in runs}
        for run in runs:
            if run["device"]["backend"] != "cuda" or run["status"] == "skipped":
                continue
            partner = by_name.get((run["quality"] or {}).get("parity_with"))
            if not partner:
                complaints.append(f"{run['name']}: {run['status']}, no losses to compare ({run['message'] or 'no reason given'})")
                continue
            compared += 1
            complaints += losses_apart(run, partner)
    return complaints if compared else complaints + ["nothing was compared"]


def losses_apart(run, partner):
    ours, theirs = run["quality"]["loss"][:PARITY_STEPS], partner["quality"]["loss"][:PARITY_STEPS]
    # A result stores a loss that is not a number as null.
    differences = [math.inf if a is None or math.isnan(a) else abs(a - b) / abs(b) for a, b in zip(ours, theirs)]
    first, all_steps = BOUNDS[run["precision"]]
    skipped = (run["gpu"] or {}).get("skipped_steps") or 0
    if len(differences) < PARITY_STEPS:
        return [f"{run['name']}: only {len(differences)} losses of {PARITY_STEPS}"]
    if skipped > MAX_SKIPPED_STEPS:
        return [f"{run['name']}: {skipped} of {PARITY_STEPS} steps skipped by loss scaling"]
    apart = [("first loss", differences[0], first)] + ([] if skipped else [("losses", max(differences), all_steps)])
    return [f"{run['name']}: {what} {difference:.1e} from the CPU's, rounding explains at most {bound:.1e}"
            for what, difference, bound in apart if difference > bound]


def sanitizer(logs):
    """Complaints from compute-sanitizer's logs, one log per process; each must end with a summary without errors."""
    complaints = []
    if not logs:
        complaints.append("compute-sanitizer left no log")
    for log in logs:
        text = log.read_text(errors="replace")
        counts = [int(count) for count in re.findall(r"SUMMARY: (\d+) (?:errors?|hazards?)", text)]
        if not counts:
            complaints.append(f"{log}: no summary")
        elif any(counts):
            complaints.append(f"{log}: {sum(counts)} errors")
    return complaints


def skipped_tests(log):
    """Tests that ctest reports as not run; with a GPU there must be none."""
    return [f"{name}: skipped, on a machine with a GPU"
            for name in re.findall(r"^\s*\d+ - (\S+) \((?:Skipped|Not Run)\)", log.read_text(errors="replace"), re.MULTILINE)]


def best_batch(path, model):
    """The smallest batch within 2 % of the best throughput; None without a run."""
    runs = good(runs_of(path), model=model)
    if not runs:
        return None
    best = best_rate(runs)
    return min(run["workload"]["batch"] for run in runs if rate(run) >= 0.98 * best)


def table(folder, models):
    """Lines: throughput of each model and precision, and that of PyTorch and the CPU with the same batch."""
    lines = [f"{'model, samples/s':24} {'epochbench':>11} {'of peak':>8} {'eager':>9} {'compiled':>9} {'ratio':>6} {'CPU':>9} {'ratio':>6}"]
    for model in models:
        ours = good(runs_of(folder / f"record-{model}.json"), model=model, backend="cuda")
        peers = runs_of(folder / f"peers-{model}.json")
        hosts = good(runs_of(folder / f"record-cpu-{model}.json"), model=model, backend="cpu")
        for run in sorted(ours, key=lambda run: PRECISIONS.index(run["precision"])):
            batch, precision = run["workload"]["batch"], run["precision"]
            same = good(peers, model=model, batch=batch, precision=precision, backend="pytorch")
            eager = best_rate(peer for peer in same if "/compile=" not in peer["name"])
            compiled = best_rate(peer for peer in same if "/compile=" in peer["name"])
            cpu = best_rate(host for host in hosts if host["workload"]["batch"] == batch)
            better = best_rate(same)
            fraction = run["efficiency"]["peak_fraction"]
            lines.append(f"{model + ' ' + precision + ' b' + str(batch):24} {rate(run):11,.0f} {cell(fraction, '8.1%')} "
                         f"{cell(eager, '9,.0f')} {cell(compiled, '9,.0f')} {cell(better and rate(run) / better, '6.2f')} "
                         f"{cell(cpu, '9,.1f')} {cell(cpu and rate(run) / cpu, '6.0f')}")
        own = good(runs_of(folder / f"peers-batches-{model}.json"), model=model)
        if own:
            best = max(own, key=rate)
            lines.append(f"  PyTorch's best of these batches: {rate(best):,.0f} samples/s ({best['name']})")
    return lines


def cell(value, form):
    return format("-", ">" + re.match(r"\d+", form)[0]) if value is None else format(value, form)
