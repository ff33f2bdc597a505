"""Energy of runs on this machine, and on one whose CPU counters are made up and move by themselves."""
import json
import os
import pathlib
import threading
import time

from support import CliTest, known_peaks

SHORT = ["--model", "mlp:width=64", "--batch", "16", "--min-time", "0.3"]


class Powercap:
    """A powercap tree whose package draws `watts` by the clock."""

    def __init__(self, folder, watts=None):
        self.domain = pathlib.Path(folder) / "powercap" / "intel-rapl:0"
        self.domain.mkdir(parents=True)
        (self.domain / "name").write_text("package-0\n")
        (self.domain / "max_energy_range_uj").write_text("262143328850\n")
        self.count(1)
        self.watts = watts
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.tick)
        self.environment = {**os.environ, "EPOCHBENCH_POWERCAP": str(self.domain.parent)}

    def count(self, microjoules):
        new = self.domain / "new"
        new.write_text(f"{microjoules}\n")
        new.replace(self.domain / "energy_uj")

    def tick(self):
        began = time.monotonic()
        while not self.stopping.wait(0.002):
            self.count(int((time.monotonic() - began) * self.watts * 1e6))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


class Meters(CliTest):
    def run_ok(self, *arguments, **options):
        call = self.succeed("run", *known_peaks(), "--out", self.out, *arguments, **options)
        return call, self.result()

    def test_energy_is_the_draw_times_the_epoch_where_the_meters_are_on(self):
        with Powercap(self.folder, watts=80) as powercap:
            call, result = self.run_ok(*SHORT[:-1], "1", "--meters", "on,off", env=powercap.environment)
        run, off = result["runs"]
        energy, timing = run["energy"], run["timing"]
        self.assertEqual(energy["source"], "rapl", energy)
        # The counter moves 80 J a second, in steps whose length the machine's load decides.
        self.assertAlmostEqual(energy["average_watts"] / 80, 1, delta=0.25)
        self.assertAlmostEqual(energy["idle_watts"] / 80, 1, delta=0.25)
        self.assertAlmostEqual(energy["joules_per_epoch"] / (energy["average_watts"] * timing["epoch_seconds"]), 1)
        self.assertEqual(energy["parts"], {"cpu": energy["joules_per_epoch"], "gpu": None})
        self.assertEqual(energy["average_watts_parts"], {"cpu": energy["average_watts"], "gpu": None})
        self.assertGreaterEqual(energy["window_seconds"], timing["steps_total_seconds"] * 0.99)
        self.assertIsNone(energy["reason"])
        self.assertTrue(any("EPOCHBENCH_POWERCAP" in remark for remark in energy["remarks"]))
        self.assertIn("the CPU's energy leaves out that of its memory, which has no counter here", energy["remarks"])
        self.assertFalse(energy["cpu_includes_memory"])
        self.assertIn("energy/epoch", call.stdout)
        self.assertIn("not subtracted", call.stdout)
        self.assertEqual([run["name"], off["name"]],
                         ["mlp:width=64/cpu/fp32/b16", "mlp:width=64/cpu/fp32/b16/meters=off"])
        self.assertEqual((off["energy"]["source"], off["energy"]["reason"]), ("unavailable", "the meters were off"))
        self.assert_refused(self.call("run", *SHORT, "--meters", "maybe"), 2, "--meters", "maybe", "on", "off")

    def test_a_counter_that_stands_still_is_no_zero(self):
        call, result = self.run_ok(*SHORT, env=Powercap(self.folder).environment)
        energy = result["runs"][0]["energy"]
        self.assertEqual((energy["source"], energy["joules_per_epoch"], energy["idle_watts"]), ("unavailable", None, None))
        self.assertIn("stood still", energy["reason"])
        self.assertNotIn("energy/epoch", call.stdout)
        self.assertIn("energy: not known: CPU: the meter stood still", call.stdout)

    def test_without_a_counter_the_reason_stands_in_the_result_and_under_the_table(self):
        environment = {**os.environ, "EPOCHBENCH_POWERCAP": str(self.folder / "nowhere")}
        call, result = self.run_ok(*SHORT, "--anonymous", env=environment)
        energy = result["runs"][0]["energy"]
        self.assertEqual((energy["source"], energy["average_watts"]), ("unavailable", None))
        self.assertIn("has no energy counter", energy["reason"])
        self.assertNotIn(str(self.folder), self.out.read_text())
        self.assertIn("energy: not known: CPU: ", call.stdout)

    def test_info_lists_every_meter_or_why_it_cannot_be_read(self):
        powercap = Powercap(self.folder)
        call = self.succeed("info", "--json", env=powercap.environment)
        meters = {meter["name"]: meter for meter in json.loads(call.stdout)["meters"]}
        self.assertEqual(meters["rapl"], {"name": "rapl", "measures": "CPU energy of package-0", "readable": True,
                                          "reason": None,
                                          "missing": ["energy of the CPU's memory: RAPL has no counter named dram"]})
        self.assertTrue(any(name.startswith("nvml") for name in meters))
        for meter in meters.values():
            self.assertEqual(meter["readable"], meter["reason"] is None)
        (powercap.domain / "energy_uj").unlink()
        text = " ".join(self.call("info", env=powercap.environment).stdout.split())
        self.assertRegex(text, r"meter rapl +CPU energy of package-0: cannot be read: .*energy_uj cannot be opened")
