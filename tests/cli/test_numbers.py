"""One estimator: what commands say of a case agrees to the last digit, for every published result."""
import csv
import io
import json
import math
import os
import pathlib
import re
import statistics

from support import CliTest, known_peaks

RESULTS = sorted(path for path in pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).parent.glob("*.json")
                 if not path.name.endswith("schema.json"))


def significant(value, digits=3):
    nearest = float(f"{value:.{digits - 1}e}")
    return f"{nearest:.{max(0, digits - 1 - math.floor(math.log10(abs(nearest))))}f}"


def rate(value):
    return f"{math.floor(value + 0.5):,}" if value >= 1000 else significant(value)


def seconds(value):
    if value < 60:
        return next(f"{significant(value * factor)} {unit}" for factor, unit, most in
                    ((1e6, "µs", 1e-3), (1e3, "ms", 1), (1, "s", 60)) if value < most)
    if value < 3600:
        return f"{round(value) // 60} min {round(value) % 60} s"
    return significant(value / 3600) + " h" if value < 86400 else significant(value / 86400) + " d"


class Numbers(CliTest):
    def json_of(self, *arguments):
        call = self.succeed(*arguments, "--json")
        return json.loads(call.stdout)

    def rows_of_page(self, path):
        self.assertEqual(self.call("report", path, "-o", "page.html").returncode, 0)
        text = (self.folder / "page.html").read_text().split('id="data">', 1)[1].split("</script", 1)[0]
        data = json.loads(text)
        return [dict(zip(data["columns"], row)) for row in data["rows"]]

    def test_the_page_and_the_commands_agree(self):
        compared = {"markdown": 0, "answers": 0, "cost": 0, "speedup": 0}
        for path in RESULTS:
            rows = self.rows_of_page(path)
            names = [row["name"] for row in rows]
            shown = {row["name"]: (rate(row["rate"]["value"]), seconds(row["epoch"]["value"]))
                     for row in rows if names.count(row["name"]) == 1}
            markdown = self.call("export", path, "--format", "markdown").stdout
            for line in markdown.splitlines():
                name = re.match(r"\| `([^`]+)`", line)
                if name and name[1] in shown:
                    compared["markdown"] += 1
                    for number in shown[name[1]]:
                        self.assertIn(f"| {number} ", line)
            for section in self.json_of("answers", path)["sections"]:
                for answer in section["answers"]:
                    found = re.match(r"(\S+)(?: †)?: (\S+) samples/s.*an epoch in (.*?) \(", answer)
                    if found and found[1] in shown:
                        compared["answers"] += 1
                        self.assertEqual((found[2], found[3]), shown[found[1]], found[1])
            for run in self.json_of("cost", path, "--purchase", "1000", "--lifetime", "3")["runs"]:
                if run["name"] in shown:
                    compared["cost"] += 1
                    self.assertEqual(seconds(run["epoch_seconds"]), shown[run["name"]][1], run["name"])
            speedup = self.call("speedup", path, "--json")
            for pair in json.loads(speedup.stdout)["pairs"] if speedup.returncode == 0 else []:
                for side in ("baseline", "contender"):
                    if pair[side] in shown:
                        compared["speedup"] += 1
                        self.assertEqual(rate(pair[f"{side}_samples_per_second"]), shown[pair[side]][0], pair[side])
        for command, count in compared.items():
            self.assertGreater(count, 5, command)

    def test_one_cost_for_one_run_everywhere(self):
        compared = {"markdown": 0, "answers": 0, "cost": 0, "plan": 0, "csv": 0, "shares": 0}
        for path in RESULTS:
            priced = [row for row in self.rows_of_page(path) if row["cost"]]
            if not priced:
                continue
            page = (self.folder / "page.html").read_text()
            value = {row["name"]: row["cost"]["value"] for row in priced}
            shown = {row["name"]: row["cost"]["text"] for row in priced}
            markdown = self.call("export", path, "--format", "markdown").stdout
            for line in markdown.splitlines():
                name = re.match(r"\| `([^`]+)`", line)
                if name and name[1] in shown:
                    compared["markdown"] += 1
                    self.assertIn(f"| {shown[name[1]]} ", line)
            answers = self.call("answers", path, "--json").stdout
            for section in json.loads(answers)["sections"]:
                for answer in section["answers"]:
                    found = re.match(r"(\S+)(?: †)?: (\$\S+) per epoch", answer)
                    if found:
                        compared["answers"] += 1
                        self.assertEqual(found[2], shown[found[1]])
            cost = self.call("cost", path, "--purchase", "1000", "--lifetime", "3").stdout
            for run in self.json_of("cost", path, "--purchase", "1000", "--lifetime", "3")["runs"]:
                if run["name"] in value and run["cloud_usd_per_epoch"] is not None:
                    compared["cost"] += 1
                    self.assertAlmostEqual(run["cloud_usd_per_epoch"] / value[run["name"]], 1, delta=1e-9)
            plan = self.call("plan", path, "--on", "t4").stdout  # empty without training on a CPU
            for answer in self.json_of("plan", path, "--on", "t4") if plan else []:
                for row in answer["rows"]:
                    if row["evidence"] == "measured" and row["usd_per_epoch"]["value"] is not None:
                        compared["plan"] += 1
                        self.assertTrue(any(math.isclose(row["usd_per_epoch"]["value"], usd, rel_tol=1e-9)
                                            for usd in value.values()))
            rows = list(csv.DictReader(io.StringIO(self.call("export", path, "--format", "csv").stdout)))
            for name, usd in value.items():
                costs = [float(row["cost_usd_per_epoch"]) for row in rows if row["cost_usd_per_epoch"]
                         and row["status"] == "ok" and re.sub(r"/seed=\d+", "", row["name"]) == name]
                if costs:
                    compared["csv"] += 1
                    self.assertAlmostEqual(statistics.geometric_mean(costs) / usd, 1, delta=1e-9)
            for row in rows:
                share = "hypothetical" in row["cost_price_source"]
                self.assertEqual([bool(row[f"cost_whole_usd_per_{unit}"]) for unit in ("hour", "epoch")], [share, share])
                if share:
                    times = [float(row[f"cost_whole_usd_per_{unit}"]) / float(row[f"cost_usd_per_{unit}"])
                             for unit in ("hour", "epoch")]
                    self.assertAlmostEqual(times[0], times[1])
                    self.assertGreater(times[0], 1)
            runs = json.loads(path.read_text())["runs"]
            if any((run["cost"] or {}).get("price_scaling", "whole") != "whole" for run in runs):
                compared["shares"] += 1
                self.assertIn("whole/epoch", markdown)
                for text in (answers, cost, page, *([plan] if plan else [])):
                    self.assertIn("rented only whole, for $", " ".join(text.split()))
                self.assertIn("hypothetical price for", "".join(row["cost_price_source"] for row in rows))
        for command, count in compared.items():
            self.assertGreater(count, 0, command)

    def test_the_table_of_run_has_the_costs_of_its_file(self):
        call = self.succeed("run", "--model", "mlp", "--batch", "16,32", "--steps", "12", "--repetitions", "2", *known_peaks(),
                            "--price", "cpu=0.34", "--precision", "fp32", "--out", self.out)
        rows = list(csv.DictReader(io.StringIO(self.call("export", self.out, "--format", "csv").stdout)))
        markdown = self.call("export", self.out, "--format", "markdown").stdout
        for name in ("mlp/cpu/fp32/b16", "mlp/cpu/fp32/b32"):
            shown = re.search(rf"^{name}( †)?  .*?(\$\S+)", call.stdout, re.MULTILINE)
            self.assertTrue(shown, call.stdout)
            self.assertIn(f" {shown[2]} ", next(line for line in markdown.splitlines() if f"`{name}`" in line))
            costs = [float(row["cost_usd_per_epoch"]) for row in rows if row["name"] == name]
            self.assertEqual(len(costs), 2)
            self.assertAlmostEqual(statistics.geometric_mean(costs) / float(shown[2].lstrip("$")), 1, delta=0.05)

    def test_a_table_after_repetitions_has_a_row_per_case(self):
        call = self.succeed("run", "--model", "mlp", "--batch", "16", "--steps", "12", "--repetitions", "5", "--verbose",
                            *known_peaks(), "--precision", "fp32", "--out", self.out)
        lines = call.stdout.splitlines()
        head = next(line for line in lines if line.startswith("case "))
        self.assertIn("95 % interval", head)
        self.assertEqual(len([line for line in lines if re.match(r"mlp/cpu/fp32/b16( †)?  +5 ", line)]), 1, call.stdout)
        self.assertEqual(len([line for line in lines if re.match(r"mlp/cpu/fp32/b16 #\d", line)]), 5, "--verbose")
