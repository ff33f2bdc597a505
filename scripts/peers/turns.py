"""The numbers that follow from turns, and the table of them: pure functions over the runs of a result document.

A run's turns lie in its `timing.step_seconds`, `turns.steps` to each, and turn i of all contestants belongs to round i.
"""

import itertools
import math
import statistics

import peer_results


def seconds_of_turns(run):
    steps, seconds = run["turns"]["steps"], run["timing"]["step_seconds"]
    return [sum(seconds[i:i + steps]) / steps for i in range(0, len(seconds), steps)]


def ratio(pairs):
    """pairs: (theirs, ours), the seconds of a step round by round. How many times ours is as fast: the median over the rounds,
    a 95 % interval of it (None of fewer than 6 rounds), and the spread, which is the standard deviation of the logarithm."""
    logs = [math.log(theirs / ours) for theirs, ours in pairs]
    interval = peer_results.median_interval(logs)
    return {"ratio": math.exp(statistics.median(logs)), "ci95": interval and [math.exp(end) for end in interval],
            "spread": statistics.stdev(logs) if len(logs) > 1 else None}


def rows(runs):
    """One row a contestant of each case, its repetitions taken together."""
    def case_of(run):
        return run["workload"]["model"], run["workload"]["batch"], run["precision"], run["device"]["threads"]

    cases = {}
    for run in runs:
        if run.get("turns"):
            cases.setdefault(case_of(run), {}).setdefault(run["turns"]["contestant"], []).append(run)
    return [row(case, label, theirs, contestants.get(runs_label(contestants), []))
            for case, contestants in cases.items() for label, theirs in contestants.items()]


def runs_label(contestants):
    return next((label for label, runs in contestants.items() if runs[0]["device"]["backend"] != "pytorch"), None)


def row(case, label, runs, ours):
    model, batch, precision, threads = case
    good = [run for run in runs if run["status"] == "ok"]
    told = {"model": model, "batch": batch, "precision": precision, "threads": threads, "contestant": label,
            "repetitions": len(good), "rounds": None, "samples_per_second": None, "peak_flops_per_second": None,
            "peak_fraction": None, "peak_fraction_of_median_step": None, "ratio": None, "ratio_ci95": None,
            "ratio_spread": None, "message": None}
    if not good:
        return {**told, "message": f"{runs[0]['status']}: {runs[0]['message']}"}
    totals = [run["timing"]["steps_total_seconds"] for run in good]
    samples = sum(len(run["timing"]["step_seconds"]) for run in good) * batch
    told.update(rounds=sum(len(seconds_of_turns(run)) for run in good), samples_per_second=samples / sum(totals))
    peaks = [run["turns"]["peak_flops_per_second"] for run in good]
    if None not in peaks:
        flops = good[0]["workload"]["train_flops_per_sample"]
        fractions = [batch * flops / peak / second for run, peak in zip(good, peaks) for second in seconds_of_turns(run)]
        told.update(peak_flops_per_second=max(peaks), peak_fraction_of_median_step=statistics.median(fractions),
                    peak_fraction=samples * flops / sum(peak * total for peak, total in zip(peaks, totals)))
    repetitions = {run["repetition"]: run for run in ours if run["status"] == "ok"}
    pairs = [pair for run in good if run["repetition"] in repetitions
             for pair in zip(seconds_of_turns(run), seconds_of_turns(repetitions[run["repetition"]]))]
    if pairs and good[0]["device"]["backend"] == "pytorch":
        of_all = ratio(pairs)
        told.update(ratio=of_all["ratio"], ratio_ci95=of_all["ci95"], ratio_spread=of_all["spread"])
    return told


HEADS = ("model", "batch", "precision", "contestant", "samples/s", "of the peak", "median", "ratio", "95 % interval", "spread",
         "rounds")


def cells(told):
    def shown(value, form):
        return "-" if value is None else form.format(*value if isinstance(value, list) else [value])

    rate = told["samples_per_second"]
    return [told["model"], str(told["batch"]), told["precision"], told["contestant"],
            "-" if rate is None else f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}",
            shown(told["peak_fraction"], "{:.1%}"), shown(told["peak_fraction_of_median_step"], "{:.1%}"),
            shown(told["ratio"], "{:.3f}"), shown(told["ratio_ci95"], "{:.3f} to {:.3f}"),
            shown(told["ratio_spread"], "{:.1%}"), shown(told["rounds"], "{}")]


def table(all_rows):
    """Text; below it what the numbers are relative to, and why there are none."""
    lines = [HEADS] + [cells(told) for told in all_rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    text = ["  ".join(cell.ljust(width) if i in (0, 2, 3) else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]
    text.append("of the peak: by the time of all steps, and by the median of turns, which others on this machine disturb less")
    text.append("ratio: a contestant's time for a step over epochbench's in the same round, the median of all rounds")
    for (precision, threads), group in itertools.groupby(sorted(all_rows, key=peak_key), key=peak_key):
        peaks = [told["peak_flops_per_second"] for told in group if told["peak_flops_per_second"]]
        if peaks:
            low, high = (f"{peak / 1e9:.1f}" for peak in (min(peaks), max(peaks)))
            text.append(f"peak: {low if low == high else low + ' to ' + high} GFLOP/s in {precision} with {threads} thread{'s' * (threads != 1)}, "
                        "the best burst between the turns")
    text += [f"{told['model']}, {told['precision']}, {told['contestant']}: {told['message']}" for told in all_rows
             if told["message"]]
    return "\n".join(text)


def peak_key(told):
    return told["precision"], told["threads"] or 0
