"""Random single edits of stored results: one figure of one run, changed by 1 % or more."""

import copy
import json
import subprocess

# Figures that answers are made of. A share of a CPU's peak is not one: every command computes it again.
FIGURES = (
    "timing.step_seconds", "timing.steps_total_seconds", "timing.step_seconds_median", "timing.epoch_seconds",
    "throughput.samples_per_second", "throughput.tokens_per_second", "efficiency.flops_per_second", "workload.batch",
    "workload.samples_per_epoch", "workload.parameters", "workload.train_flops_per_sample", "energy.average_watts",
    "energy.joules_per_epoch", "cost.usd_per_hour", "cost.usd_per_epoch", "cost.usd_total", "quality.final_loss",
    "quality.eval_value", "repetition",
)
LEAST, MOST = 0.01, 3.0  # of a change, relative


def place_of(run, figure):
    """The object or list that has the number, and its key there; None if the run does not know it."""
    *groups, key = figure.split(".")
    holder = run
    for group in groups:
        holder = holder.get(group) or {}
    value = holder.get(key)
    if isinstance(value, list):
        holder, value = value, value[0] if value else None
        key = None
    return None if not value and figure != "repetition" else (holder, key)


def edit(document, chosen):
    """A copy of the document with only the case of a run that `chosen`, a random.Random, picks, and one of its figures changed; and
    that figure. A whole document says no more: identities are of one run or of the repetitions of its case."""
    runs = [run for run in document["runs"] if run["status"] == "ok"]
    name = chosen.choice(runs)["name"]
    small = {**document, "runs": copy.deepcopy([run for run in document["runs"] if run["name"] == name])}
    run = chosen.choice([run for run in small["runs"] if run["status"] == "ok"])
    figure = chosen.choice([figure for figure in FIGURES if place_of(run, figure)])
    holder, key = place_of(run, figure)
    key = chosen.randrange(len(holder)) if key is None else key
    factor = 1 + chosen.uniform(LEAST, MOST) if chosen.random() < 0.5 else 1 / (1 + chosen.uniform(LEAST, MOST))
    if isinstance(holder[key], int):
        changed = round(holder[key] * factor)
        holder[key] = changed if abs(changed - holder[key]) > LEAST * holder[key] else holder[key] + 1 + holder[key] // 50
    else:
        holder[key] *= factor
    return small, figure


def found_by_verify(binary, folder, documents):
    """Which of the documents `epochbench verify` says contradict themselves; the folder is empty."""
    paths = []
    for index, document in enumerate(documents):
        path = folder / f"{index:05}.json"
        path.write_text(json.dumps(document))
        paths.append(str(path))
    call = subprocess.run([binary, "verify", "--json", *paths], capture_output=True, text=True)
    if call.returncode not in (0, 1):
        raise SystemExit(call.stderr)
    found = [bool(file["contradictions"]) for file in json.loads(call.stdout)["files"]]
    for path in folder.iterdir():
        path.unlink()
    return found
