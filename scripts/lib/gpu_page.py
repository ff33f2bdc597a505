"""The page of scripts/check_gpu in Markdown: what was proven, how fast it is, what failed and what was not run."""

import json
import re

import gpu_results as results
from checks import answer, is_passed
from commands import Stamps
from gpu_plan import RECORD, why_left_out

QUESTIONS = (("Does it work?", ("configure", "build", "info", "smoke-")),
             ("Is it correct?", ("smoke-", "tests", "parity-", "sanitizer-")),
             ("How fast is it beside PyTorch and the CPU?", ("record-", "eager-", "compiled-", "cpu-")),
             ("What do the suites answer?", ("hour", "claims")))
PUBLISHED = ("record", "peers", "hour", "claims")


def page(folder, facts, commands, left_out):
    """left_out: why commands did not run in this call, by name."""
    stamps = {command.name: Stamps(folder / "stamps").read(command.name) for command in commands}
    measured = [command for command in commands if not command.here]
    passed = [command.name for command in measured if is_passed(stamps[command.name])]
    core = [command.name for command in measured if command.core]
    lines = [f"# epochbench on {facts['gpu']['name']}", "",
             f"{len(passed)} of {len(measured)} commands passed; of the core, {len(set(core) & set(passed))} of {len(core)}.", "",
             *machine_lines(folder, facts)]
    for question, names in QUESTIONS:
        asked = [command for command in commands if command.name.startswith(names)]
        if not asked:  # by a quick call
            continue
        lines += ["", f"## {question}", "", *answer(asked, stamps, left_out)]
        if "PyTorch" in question:
            try:
                rows = results.table(folder, RECORD)
                if not rows:
                    lines += ["", "No run of the record is there."]
                    continue
                lines += ["", *results.markdown(rows)]
            except (ValueError, LookupError, TypeError) as error:
                lines += ["", f"The record cannot be read: {error}."]
                continue
            lines += ["", "Samples per second; the medians of one process each, so small differences mean nothing. " + costs(folder),
                          *no_energy(folder)]
    seconds = sum(stamp["seconds"] for stamp in stamps.values() if stamp)
    lines += ["", f"All commands together took {seconds:.0f} s."]
    return "\n".join(lines) + "\n"


def machine_lines(folder, facts):
    gpu = facts["gpu"]
    libraries = ""
    info = folder / "info.json"
    if info.exists():
        try:
            known = json.loads(info.read_text())["gpus"][0]
            libraries = f", CUDA {known['cuda']}, cuBLAS {known['cublas']}, cuDNN {known['cudnn']}"
        except (ValueError, LookupError, TypeError):
            libraries = ""  # info has failed, and its stamp says so
    absent = why_left_out(gpu["capability"])
    return [f"- GPU: {gpu['name']}, compute capability {gpu['capability']}, driver {gpu['driver']}{libraries}",
            *([f"- {absent}"] if absent else []),
            f"- CPU: {'; '.join(facts['machines'])}",
            f"- PyTorch: {facts['pytorch'] or 'none was found'}",
            f"- sources: {'commit ' + facts['commit'] + ', ' if facts['commit'] else ''}digest {facts['sources'][:16]}"]


def costs(folder):
    """Where the prices come from."""
    sources = {run["cost"]["price_source"] for suffix in results.kinds_of_machine(folder)
               for run in results.good(results.runs_of(folder / f"record{suffix}.json")) if run.get("cost")}
    return "Prices: " + "; ".join(sorted(filter(None, sources))) + "." if sources else "No price of this card is known: --price states one."


def no_energy(folder):
    """Lines: why runs of the record have no energy."""
    reasons = {run["energy"]["reason"] for suffix in results.kinds_of_machine(folder)
               for run in results.good(results.runs_of(folder / f"record{suffix}.json"), backend="cuda")
               if run.get("energy") and run["energy"]["joules_per_epoch"] is None}
    return ["", "No energy: " + "; ".join(sorted(filter(None, reasons))) + "."] if any(reasons) else []


def results_of(folder, gpu_name, quick=False):
    """(file, its name in results/): the result files, named after the card; those of --quick have the word in their names."""
    card = re.sub(r"[^a-z0-9]+", "-", re.sub(r"^nvidia ", "", gpu_name.lower())).strip("-") + ("-quick" if quick else "")
    return [(file, f"{card}-{file.name}") for group in PUBLISHED for file in sorted(folder.glob(f"{group}*.json"))
            if re.fullmatch(rf"{group}(-\d+)?\.json", file.name)] + \
        ([(folder / "page.md", f"{card}-page.md")] if (folder / "page.md").exists() else [])
