"""The page of scripts/check_cpu in Markdown, and its result file: a result of epochbench (results/schema.json) with the runs of
the training and, under `check`, everything else. Neither identifies the owner of the machine: no host name, no path."""

import json
import re

import checks
import cpu_machine
import cpu_results as results
from commands import Stamps

QUESTIONS = (("Is every kernel correct?", ("build", "info", "smoke", "tests-")),
             ("How fast are products and convolutions beside the libraries?", ("own-", "libraries", "build-libraries", "products-", "convolutions-")),
             ("How fast is training beside PyTorch?", ("pytorch", "training-")),
             ("How fast is inference in int8?", ("inference-",)))


UNREADABLE = (results.Unreadable, ValueError, LookupError, TypeError, OSError)


class Records:
    """The contents of the folder: stamps, and the files of the commands that passed."""

    def __init__(self, folder, facts, commands, left_out):
        self.folder, self.facts, self.commands = folder, facts, commands
        self.left_out = {name: without_paths(reason) for name, reason in left_out.items()}
        self.stamps = {command.name: Stamps(folder / "stamps").read(command.name) for command in commands}
        for stamp in filter(None, self.stamps.values()):
            stamp["complaints"] = [without_paths(complaint) for complaint in stamp["complaints"]]

    def measured(self):
        return [command.name for command in self.commands if not command.here]

    def passed(self, prefix=""):
        return [name for name in self.measured() if name.startswith(prefix) and checks.is_passed(self.stamps[name])]

    def info(self):
        try:
            return json.loads((self.folder / "info.json").read_text())["cpu"] if self.passed("info") else {}
        except UNREADABLE:
            return {}

    def cpu_name(self):
        """As results have it: a general name, such as AMD EPYC, with the numbers of the kind."""
        return self.info().get("model") or self.facts["cpu"]["name"]

    def stem(self):
        """Of the names of the files in results/."""
        return f"{cpu_machine.slug(self.cpu_name())}-{self.facts['threads']}cores-check"

    def documents(self):
        """(result, its runs that are kept) of what passed and can be read; the smoke test contributes only its context."""
        for name in self.passed("smoke") + self.passed("training-") + self.passed("inference-"):
            try:
                read = json.loads((self.folder / f"{name}.json").read_text())
                yield {"schema_version": read["schema_version"], "context": read["context"]}, [] if name == "smoke" else read["runs"]
            except UNREADABLE:
                pass  # the section of the page says so

    def runs(self):
        """(schema version and context, runs of training and inference): those of the smoke test if it passed; None where nothing
        can be read."""
        documents = list(self.documents())
        runs = [{**run, "message": run["message"] and without_paths(run["message"])} for _, runs in documents for run in runs]
        return documents and {"schema_version": max(result["schema_version"] for result, _ in documents),
                              "context": {**documents[0][0]["context"], "host_name": None, "command_line": None}}, runs

    def kernels(self):
        """{kind: {"threads", "precision", ..., "whole"}} of every comparison, those beside libraries first."""
        names = [name for prefix in ("products-", "convolutions-", "own-") for name in self.passed(prefix)]
        return {name: results.comparison((self.folder / f"{name}.txt").read_text()) for name in names}

    def inference(self):
        return [row for name in self.passed("inference-") for row in results.inference(self.folder / f"{name}.table.json")]

    def training(self):
        return [row for name in self.passed("training-") for row in json.loads((self.folder / f"{name}.table.json").read_text())]


def without_paths(text):
    """Every absolute path becomes its last part."""
    return re.sub(r"(?<![\w.])/(?:[^\s/'\",;:()]+/)+([^\s/'\",;:()]*)", r"\1", text)


def page(records):
    measured = records.measured()
    core = {command.name for command in records.commands if command.core and not command.here and not command.absent}
    passed = set(records.passed())
    lines = [f"# epochbench on {records.cpu_name()}", "", f"{len(passed)} of {len(measured)} commands passed; of the core, which is "
             f"all but training and inference, {len(core & passed)} of {len(core)}.", "", *machine_lines(records)]
    sections = {"kernel correct": lambda: test_lines(records), "the libraries": lambda: kernel_lines(records.kernels()),
                "int8": lambda: inference_lines(records.inference()), "PyTorch": lambda: training_lines(records.training())}
    for question, names in QUESTIONS:
        asked = [command for command in records.commands if is_one_of(command.name, names)]
        lines += ["", f"## {question}", "", *checks.answer(asked, records.stamps, records.left_out)]
        try:
            lines += next(section for key, section in sections.items() if key in question)()
        except UNREADABLE as error:
            lines += ["", f"The results of this part cannot be read: {error}."]
    seconds = sum(stamp["seconds"] for stamp in records.stamps.values() if stamp)
    return "\n".join([*lines, "", f"All commands together took {seconds:.0f} s."]) + "\n"


def is_one_of(name, names):
    return any(name.startswith(each) if each.endswith("-") else name == each for each in names)


def machine_lines(records):
    facts, info, (result, runs) = records.facts, records.info(), records.runs()
    cpu, context = facts["cpu"], result["context"] if result else {}
    described = ", ".join(f"{key} {value}" for key, value in cpu["described"].items())
    sets = sorted(info.get("isa", []))
    peaks = ", ".join(f"{precision} {1e-9 * rate:,.0f} GFLOP/s ({info['peak_instruction'][precision]})"
                      for precision, rate in info.get("peak_flops_per_second", {}).items() if rate)
    bandwidth = info.get("memory_bandwidth_bytes_per_second")
    torch = {run["device"]["versions"]["torch"] for run in runs if (run["device"] or {}).get("versions", {}).get("torch")}
    return [f"- date: {facts['began']}; load average before: {facts['load']:.1f}",
            f"- sources: {'commit ' + facts['commit'] if facts['commit'] else 'changed since the last commit'}, digest "
            f"{facts['sources'][:16]}; compiler: {context.get('compiler', 'unknown')}",
            f"- CPU: {cpu['name']}" + (f" ({described})" if described else ""),
            f"- cores and threads: {cpu['cores']} physical cores with {cpu['logical_cpus']} logical CPUs that may be used; measured with "
            f"{facts['threads']}",
            f"- caches: {', '.join(f'{level} {size}' for level, size in cpu['caches'].items()) or 'unknown'}",
            f"- instruction sets: {' '.join(sets) or 'unknown'}",
            f"- measured peak, all threads: {peaks or 'unknown'}",
            f"- memory: {info['memory_bytes'] / 2 ** 30:.1f} GiB, {1e-9 * bandwidth:.1f} GB/s measured" if info and bandwidth else
            "- memory: unknown", f"- PyTorch: {', '.join(sorted(torch)) or 'not measured'}"]


def test_lines(records):
    """How many tests the programs ran, and which of them this machine cannot run."""
    ran, skipped = results.tests_run([records.folder / "logs" / f"{name}.log" for name in records.passed("tests-")])
    return ([f"- {ran} tests passed; those of kernels run every instruction set of this CPU"] if ran else []) + \
        ([f"- skipped by the tests themselves: {', '.join(skipped)}"] if skipped else [])


def kernel_lines(tables):
    """The kernels beside each library, and on their own where no library was measured."""
    rows, versions = [], {}
    for name, table in tables.items():
        versions.update(table["versions"])
        ours = {row["work"]: row for row in table["whole"] if row["ratio"] is None and not row["library"].endswith("one thread")}
        for row in table["whole"]:
            own, alone = ours[row["work"]], name.startswith("own-")
            threads = 1 if row["library"].endswith("one thread") else table["threads"]
            if alone and beside_libraries(tables, table["shapes"], table["precision"], threads) or (not alone and row is own):
                continue
            mine, peer = (row, None) if alone else (own, row)
            rows.append([f"{row['work']} of {table['shapes']}", f"{table['precision']}, {threads}", f"{mine['peak_fraction']:.1%}", f"{mine['worst']:.1%}",
                         seconds(mine), peer["library"] if peer else "-", f"{peer['peak_fraction']:.1%}" if peer else "-",
                         seconds(peer), (peer and peer["ratio"]) or "-", (peer and peer["total_ratio"]) or "-"])
    if not rows:
        return []
    names = ["work", "precision, threads", "ours", "worst", "total", "library", "of peak", "its total", "ours over it", "in total time"]
    known = "; ".join(f"{library}: {version}" for library, version in versions.items())
    return ["", *checks.table([names, *rows]), "", "Shares of the peak that bursts in the same rounds measured, as geometric means; total "
            "time of all problems. Ratios are of times, above 1 ours is faster; [95 % interval] over processes. Lines without a library "
            "are of one process." + (f" {known}." if known else "")]


def beside_libraries(tables, *wanted):
    """wanted: problems, precision, threads."""
    return any((table["shapes"], table["precision"], table["threads"]) == wanted for name, table in tables.items()
               if not name.startswith("own-"))


def seconds(row):
    return f"{row['total']:.4g} s" if row and row["total"] is not None else "-"


def inference_lines(rows):
    cells = [[row["model"], row["precision"], rate(row["base"]), rate(row["rate"]), spread({**row, "ratio_range": None})] for row in rows]
    names = ["model, batch", "precision", "fp32", "in this precision", "over fp32"]
    return ["", *checks.table([names, *cells]), "", "Samples per second of `--mode forward`. Ratios are of times, above 1 this precision "
            "is faster than fp32; [95 % interval] over processes."] if cells else []


def training_lines(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["model"], row["batch"], row["precision"], row["threads"]), {})[row["contestant"]] = row
    cells = []
    for (model, batch, precision, threads), sides in groups.items():
        eager, compiled = sides.get("PyTorch eager"), sides.get("PyTorch compile")
        cells.append([f"{model}, {batch}", f"{precision}, {threads}", *(speed(side) for side in (sides.get("epochbench"), eager, compiled)),
                      spread(eager), spread(compiled)])
    names = ["model, batch", "precision, threads", "ours", "PyTorch eager", "torch.compile", "over eager", "over compiled"]
    return ["", *checks.table([names, *cells]), "", "Samples per second and the share of the peak, at most 100 %, since Winograd multiplies "
            "less than is counted. Ratios are of times, above 1 ours is faster; [95 % interval] over groups of processes."] if cells else []


def speed(row):
    if not row or row["samples_per_second"] is None:
        return "-"
    share = f", {min(row['peak_fraction'], 1):.0%}" if row["peak_fraction"] is not None else ""
    return rate(row["samples_per_second"]) + share


def rate(per_second):
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"


def spread(row):
    if not row or row["ratio"] is None:
        return "-"
    interval, between = (row["ratio_ci95"], "[{:.2f}, {:.2f}]") if row["ratio_ci95"] else (row["ratio_range"], "({:.2f} to {:.2f})")
    return f"{row['ratio']:.2f}" + (" " + between.format(*interval) if interval else "")


def document(records):
    """The result file; None if nothing that was measured names the machine."""
    result, runs = records.runs()
    if not result:
        return None
    commands = {name: stamp and {key: stamp[key] for key in ("status", "seconds", "attempts", "began", "complaints")}
                for name, stamp in records.stamps.items()}
    check = {**records.facts, "commands": commands, "kernels": readable(records.kernels),
             "inference": readable(records.inference), "training": readable(records.training)}
    return {**result, "runs": runs, "check": check}


def readable(part):
    try:
        return part()
    except UNREADABLE:
        return None  # the page says so
