"""What scripts/check_gpu reads from results and logs: parity, sanitizers' verdicts, and the table of the record. Every check
returns a list of complaints, empty if the check passed."""

import json
import math
import re

import checks

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


def parity(paths, steps):
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
            complaints += losses_apart(run, partner, steps)
    return complaints if compared else complaints + ["nothing was compared"]


# A step of a few layers and a node of attention within these bounds cannot hide a kernel that is ten times too slow. The profile's
# bound is the sum of its nodes' roofline bounds.
MAX_STEP_OVER_BOUND = 5
MAX_ATTENTION_SECONDS = 1e-3  # at batch 256 on an H200, where 0.4 is expected by products
MAX_ATTENTION_OVER_BOUND = 20  # on smaller cards


def near_bounds(path):
    """Complaints about runs with a profile whose step or attention is far slower than its bound."""
    complaints, runs = [], runs_of(path)
    for run in runs:
        if run["status"] != "ok":
            complaints.append(f"{run['name']}: {run['status']} ({run['message'] or 'no reason given'})")
            continue
        step, bound = run["timing"]["step_seconds_median"], run["profile"]["limit_seconds"]
        if not bound or step > MAX_STEP_OVER_BOUND * bound:
            over = f"{step / bound:.1f} times its bound" if bound else "and its bound is not known"
            complaints.append(f"{run['name']}: a step takes {1e3 * step:.2f} ms, {over}")
        for node in run["profile"]["nodes"]:
            longest = max(MAX_ATTENTION_SECONDS, MAX_ATTENTION_OVER_BOUND * (node["limit_seconds"] or 0))
            if "attention" in node["op"] and node["seconds"] > longest:
                complaints.append(f"{run['name']}: {node['name']} takes {1e3 * node['seconds']:.2f} ms by {node['implementation']}")
    return complaints if runs else ["no run"]


def losses_apart(run, partner, steps=PARITY_STEPS):
    ours, theirs = run["quality"]["loss"][:steps], partner["quality"]["loss"][:steps]
    # A result stores a loss that is not a number as null.
    differences = [math.inf if a is None or math.isnan(a) else abs(a - b) / abs(b) for a, b in zip(ours, theirs)]
    first, all_steps = BOUNDS[run["precision"]]
    skipped = (run["gpu"] or {}).get("skipped_steps") or 0
    if len(differences) < steps:
        return [f"{run['name']}: only {len(differences)} losses of {steps}"]
    if skipped > MAX_SKIPPED_STEPS:
        return [f"{run['name']}: {skipped} of {steps} steps skipped by loss scaling"]
    apart = [("first loss", differences[0], first)] + ([] if skipped else [("losses", max(differences), all_steps)])
    return [f"{run['name']}: {what} {difference:.1e} from the CPU's, rounding explains at most {bound:.1e}"
            for what, difference, bound in apart if difference > bound]


def sanitizer(logs):
    """Complaints from compute-sanitizer's logs, one per process. A report counts unless it is about a kernel of a library; each
    log must end with a summary, and show every report that the summary counts."""
    complaints = [] if logs else ["compute-sanitizer left no log"]
    for log in logs:
        reports, counts = sanitizer_reports(log.read_text(errors="replace"))
        ours = [report for report in reports if OUR_KERNEL.search(report) or not ANY_KERNEL.search(report)]
        if not counts:
            complaints.append(f"{log.name}: no summary")
        elif sum(counts) > len(reports):
            complaints.append(f"{log.name}: {sum(counts)} reports, but only {len(reports)} are shown")
        if ours:
            complaints.append(f"{log.name}: {len(ours)} reports, the first: {ours[0].splitlines()[0]}")
    return complaints


ANY_KERNEL = re.compile(r"^ +(?:at|in) \S", re.MULTILINE)  # the line that names the kernel of a report
OUR_KERNEL = re.compile(r"^ +(?:at|in) .*epochbench", re.MULTILINE)


def sanitizer_reports(text):
    """([report], [count of each summary]): a report begins with a line that is not indented, and its details are."""
    reports, counts = [], []
    for line in text.splitlines():
        if not line.startswith("========= "):
            continue
        line = line[len("========= "):]
        found = re.search(r"SUMMARY: (\d+) (?:errors?|hazards?)", line)
        if found:
            counts.append(int(found[1]))
        elif line.startswith(" "):
            reports[-1:] = [reports[-1] + "\n" + line] if reports else []
        elif not re.match(r"COMPUTE-SANITIZER|LEAK SUMMARY|Target application returned|$", line):
            reports.append(line)
    return reports, counts


def skipped_tests(log, left_out=()):
    """Tests that ctest reports as not run; with a GPU only those of precisions that it lacks are allowed; their names end
    with the precision."""
    return [f"{name}: skipped, on a machine with a GPU"
            for name in re.findall(r"^\s*\d+ - (\S+) \((?:Skipped|Not Run)\)", log.read_text(errors="replace"), re.MULTILINE)
            if re.split("[/_]", name)[-1] not in left_out]


def kinds_of_machine(folder):
    """The suffixes of result files, one per kind of machine: only runs of one machine are compared."""
    return sorted({path.stem[len("record"):] for path in folder.glob("record*.json")})


def table(folder, models):
    """Rows: throughput of each model and precision, that of PyTorch and of the CPU with the same batch, and what it costs."""
    rows = []
    for suffix in kinds_of_machine(folder):
        ours, peers = runs_of(folder / f"record{suffix}.json"), runs_of(folder / f"peers{suffix}.json")
        for run in [run for model in models for precision in PRECISIONS
                    for run in good(ours, model=model, precision=precision, backend="cuda")]:
            model, batch, precision = run["workload"]["model"], run["workload"]["batch"], run["precision"]
            same = good(peers, model=model, batch=batch, precision=precision, backend="pytorch")
            compiled = best_rate(peer for peer in same if "/compile=" in peer["name"])
            eager = best_rate(peer for peer in same if "/compile=" not in peer["name"])
            cpu = best_rate(good(ours, model=model, batch=batch, backend="cpu", precision="fp32"))
            better = best_rate(same)
            rows.append({"model": model, "precision": precision, "batch": batch, "samples/s": rate(run),
                         "of peak": shown_share(run["efficiency"]["peak_fraction"]), "eager": eager, "compiled": compiled,
                         "to the better": better and rate(run) / better, "CPU fp32": cpu, "to the CPU": cpu and rate(run) / cpu,
                         "J/sample": per_sample(run, "energy", "joules_per_epoch", 1),
                         "USD/million": per_sample(run, "cost", "usd_per_epoch", 1e6)})
    return rows


def shown_share(fraction):
    """At most 1: Winograd multiplies less than is counted."""
    return fraction if fraction is None else min(fraction, 1)


def per_sample(run, group, key, count):
    total = (run.get(group) or {}).get(key)
    return total * count / run["workload"]["samples_per_epoch"] if total is not None else None


def ratio(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


FORMS = {"batch": "d", "samples/s": ",.0f", "of peak": ".1%", "eager": ",.0f", "compiled": ",.0f", "to the better": ".2f",
         "CPU fp32": ",.1f", "to the CPU": ratio, "J/sample": ".3g", "USD/million": ".3g"}


def cell(name, value):
    """The text of a value in the column; `-` if it is unknown."""
    form = FORMS.get(name, "")
    return "-" if value is None else form(value) if callable(form) else format(value, form)


def markdown(rows):
    names = list(rows[0])
    return checks.table([names] + [[cell(name, row[name]) for name in names] for row in rows])
