"""What scripts/check_cpu reads: tables of epochbench_bench, tables of take_turns, results and logs of tests. Judges return
complaints, none if all is well."""

import json
import pathlib
import re

WHOLE = {"products": (r"\d+ products",), "convolutions": ("forward", "grad_input", "grad_weight", "convolutions")}
SPREAD = r"(?: \[[\d., ]+\]| \([\d. to]+\))?"
# "  onednn     149.6   64.4 %  worst   52.4 %     1.048 [1.023, 1.072]"; of one thread beside several: "threads gain ..."
SHARE = re.compile(rf"  (\S.*?) {{2,}}([\d.]+) +([\d.]+) % +worst +([\d.]+) %(?: +(\d[\d.]*{SPREAD}))?(?:  threads gain .*)?")


class Unreadable(Exception):
    """One line: what in an output is not as expected."""


def comparison(text):
    """A table of `epochbench_bench --peers=` or `--scaling`: {"shapes", "precision", "threads", "processes", "rounds", "versions", "whole": [{"work",
    "library", "gflops", "peak_fraction", "worst", "ratio", "total", "total_ratio"}]}. Texts of ratios have their spread."""
    head = re.search(r"^# (.*), (\w+), threads: (\d+), processes: (\d+), rounds: (\d+); memory ([\d.]+) GB/s", text, re.MULTILINE)
    if not head or "\n#\n" not in text:
        raise Unreadable("the table of epochbench_bench has no end")
    whole, work = [], None
    for line in text.rsplit("\n#\n", 1)[1].splitlines():
        if line.endswith(", geometric mean"):
            work = line[:-len(", geometric mean")]
        elif share := SHARE.fullmatch(line):
            name, rate, fraction, worst, ratio = share.groups()
            whole.append({"work": work, "library": name, "gflops": float(rate), "peak_fraction": round(float(fraction) / 100, 4),
                          "worst": round(float(worst) / 100, 4), "ratio": ratio, "total": None, "total_ratio": None})
        elif re.match(r" +total ", line) and whole:
            whole[-1].update(total_of(line))
        else:
            raise Unreadable(f"the table of epochbench_bench has a line of another kind: {line.strip()}")
    return {"shapes": pathlib.PurePath(head[1]).stem, "precision": head[2], "threads": int(head[3]), "processes": int(head[4]),
            "rounds": int(head[5]),
            "versions": dict(re.findall(r"^# ([\w-]+): (.+)$", text[:head.start()], re.MULTILINE)), "whole": whole}


def total_of(line):
    """"total 1.8600 s", "total 0.3640 s [0.3500 s, 0.3700 s]     1.155 [1.111, 1.164]": seconds, and the ratio with its spread."""
    found = re.fullmatch(rf" +total ([\d.]+) s(?: \[[\d.s, ]+\]| \([\d.s to]+\))?(?: +([\d.]+{SPREAD}))?", line)
    if not found:
        raise Unreadable(f"the table of epochbench_bench has a line of another kind: {line.strip()}")
    return {"total": float(found[1]), "total_ratio": found[2]}


def table_complaints(path, kind):
    try:
        works = [row["work"] for row in comparison(path.read_text())["whole"]]
    except Unreadable as error:
        return [str(error)]
    return [f"the table has no line of {name}" for name in WHOLE[kind] if not any(re.fullmatch(name, work) for work in works)]


def info_complaints(path):
    cpu = json.loads(path.read_text())["cpu"]
    return [] if cpu["peak_flops_per_second"]["fp32"] else ["the peak in fp32 was not measured"]


def failed_runs(path):
    """Why runs of a result file failed; an empty list if the file does not exist."""
    if not path.exists():
        return []
    return [f"{run['name']}: {run['status']}: {run['message'] or 'no reason given'}" for run in json.loads(path.read_text())["runs"]
            if run["status"] not in ("ok", "skipped")][:4]


def training_complaints(path):
    rows = json.loads(path.read_text())
    complaints = [f"{row['contestant']}: {row['message'] or 'was not measured'}" for row in rows if not row["samples_per_second"]]
    return complaints if rows else ["nothing was measured"]


def inference(path):
    """[{"model": "resnet50, 16", "precision", "rate", "base": of fp32, "ratio", "ratio_ci95"}] of `epochbench speedup --json`."""
    rows = []
    for pair in json.loads(path.read_text())["pairs"]:
        (model, _, base, batch), precision = pair["baseline"].split("/")[:4], pair["contender"].split("/")[2]
        if base == "fp32":
            rows.append({"model": f"{model}, {batch[1:]}", "precision": precision, "rate": pair["contender_samples_per_second"],
                         "base": pair["baseline_samples_per_second"], "ratio": pair["ratio"], "ratio_ci95": pair["ratio_ci95"]})
    return rows


def inference_complaints(path):
    measured = {row["precision"] for row in inference(path) if row["ratio"]}
    return [] if "int8" in measured else ["int8 over fp32 was not measured"]


def last_attempt(log):
    return log.read_text(errors="replace").rsplit("\n$ ", 1)[-1]


def tests_run(logs):
    """(how many tests ran in the last attempts, [those that were skipped])"""
    texts = [last_attempt(log) for log in logs]
    ran = sum(int(count) for text in texts for count in re.findall(r"^\[=+\] (\d+) tests? from .* ran", text, re.MULTILINE))
    skipped = [name for text in texts for name in dict.fromkeys(re.findall(r"^\[  SKIPPED \] ([\w/]+\.[\w/]+)", text, re.MULTILINE))]
    return ran - len(skipped), skipped


def failed_tests(log):
    """The tests that failed in the last attempt, and how many."""
    text = last_attempt(log)
    names = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", text, re.MULTILINE)))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return [f"{', '.join(names[:3])}{more} failed (see {log.name})"] if names else []
