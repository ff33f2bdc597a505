"""epochbench reproduce: a result's cases measured again here."""
import json
import time
import unittest

from support import SCHEMAS, CliTest, known_peaks

RESULTS = SCHEMAS.parent
QUICK = ["--warmup", "0", "--steps", "20", "--meters", "off", "--quiet"]


class Reproduce(CliTest):
    def measured(self, *options):
        path = self.folder / "there.json"
        self.succeed("run", "--model", "mlp:width=64", "--batch", "16", "--repetitions", "5", *QUICK, *known_peaks(), "--out",
                     path, *options)
        return path

    def test_measures_within_the_budget_and_keeps_the_result(self):
        there = self.measured("--threads", "1")
        began = time.monotonic()
        call = self.call("reproduce", there, "--budget", "0.3", "--json", "--out", self.out, "--quiet")
        self.assertLess(time.monotonic() - began, 1.5 * 18)
        self.assertIn(call.returncode, (0, 1, 4), call.stderr)
        answer = json.loads(call.stdout)
        figure, = answer["figures"]
        self.assertEqual(figure["name"], json.loads(there.read_text())["runs"][0]["name"])
        self.assertEqual(figure["figure"], "roofline_fraction")
        self.assertNotIn("another build", figure["reason"] or "")
        self.assertEqual({run["settings"]["threads"] for run in self.result()["runs"]}, {1})

    def test_an_edit_of_both_sides_that_agrees_with_itself_is_found_here(self):
        """Every time of the file is made a hundred times as long, which `verify` cannot see; other load slows a step ten times."""
        longer = 100
        there = self.measured("--threads", "1")
        document = json.loads(there.read_text())
        for run in document["runs"]:
            timing, throughput = run["timing"], run["throughput"]
            for key in ("step_seconds_median", "steps_total_seconds", "epoch_seconds", "wall_seconds"):
                timing[key] = longer * timing[key] if timing[key] else timing[key]
            timing["step_seconds"] = [longer * step for step in timing["step_seconds"]]
            timing["step_seconds_ci95"] = [longer * end for end in timing["step_seconds_ci95"] or []] or None
            throughput["samples_per_second"] /= longer
            run["efficiency"]["flops_per_second"] /= longer
            if run["efficiency"]["peak_fraction"]:
                run["efficiency"]["peak_fraction"] /= longer
        there.write_text(json.dumps(document))
        call = self.call("reproduce", there, "--budget", "0.3", "--json", "--quiet")
        figure, = json.loads(call.stdout)["figures"]
        self.assertGreater(figure["here_over_there"], 2)
        self.assertNotEqual(figure["verdict"], "agrees")

    def test_a_file_of_another_machine_names_what_is_not_tried(self):
        call = self.succeed("reproduce", RESULTS / "zen4-2cores-hour.json", "--dry-run", "--budget", "1")
        self.assertIn("not tried:", call.stdout)
        self.assertIn("--budget gives more", call.stdout)

    def test_bad_input(self):
        self.assert_refused(self.call("reproduce"), 2, "reproduce: no RESULT")
        self.assert_refused(self.call("reproduce", "missing.json"), 2, "missing.json")
        self.assert_refused(self.call("reproduce", RESULTS / "h200-peers.json"), 2, "none of its runs can be repeated here")
        self.assert_refused(self.call("reproduce", RESULTS / "zen4-2cores-hour.json", "--budget", "0"), 2, "--budget")


if __name__ == "__main__":
    unittest.main()
