"""The page of `epochbench report` in headless Chromium. Visibly skipped without Chromium.

EPOCHBENCH_BINARY, EPOCHBENCH_SCHEMA as in tests/cli. EPOCHBENCH_SCREENSHOTS: a folder for pictures of the pages.
"""
import json
import pathlib
import sys
import unittest

import made
from pages import BROKEN, MEASURED, PICTURES, TOO_WIDE, UNDRAWN, PageTest
from support import VALIDATOR

MEBIBYTE = 1 << 20


class Report(PageTest):
    def picture(self, name, page):
        """Nothing may overflow at two widths; dark changes colors alone. EPOCHBENCH_SCREENSHOTS: all four, and a PDF."""
        for width, dark in ((1600, False), (400, True), *(((1600, True), (400, False)) if PICTURES else ())):
            self.open(page, width=width, dark=dark)
            self.assertLessEqual(self.browser.evaluate(TOO_WIDE), 0, f"{name} at {width} pixels")
            if PICTURES:
                self.browser.screenshot(pathlib.Path(PICTURES) / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        if PICTURES:
            self.browser.pdf(pathlib.Path(PICTURES) / f"{name}.pdf")

    def test_a_measured_result(self):
        page = self.page_of(MEASURED)
        self.picture("measured", page)
        self.assertEqual(self.sections(), ["runs", "epoch", "memory", "steps", "losses", "places"])
        self.assertEqual(len(self.column("run")), 6)
        self.assertIn("cost/epoch", self.browser.evaluate("document.querySelector('#runs').textContent"))

    def test_a_policy_that_blocks_scripts_leaves_the_tables(self):
        page = self.page_of(MEASURED)
        self.open(page)
        self.assertFalse(self.browser.evaluate("Boolean(document.getElementById('plain'))"))
        page.write_text(page.read_text().replace("script-src 'unsafe-inline'", "script-src 'none'"))
        self.browser.open(page)
        shown = self.browser.evaluate("document.body.innerText")
        for text in ("resnet50/cpu/fp32/b16", "7.70", "does not run here"):
            self.assertIn(text, shown)

    def test_all_measured_results_together(self):
        self.picture("all", self.page_of(MEASURED.parent))

    def test_both_devices(self):
        page = self.page_of(self.write("both.json", made.both_devices()))
        self.picture("both", page)
        self.assertEqual(self.sections(), ["runs", "throughput", "epoch", "cost", "energy", "memory", "steps", "speedup",
                                           "profiles", "left-out", "places"])
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#throughput .whisker').length"), 0)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#lead .whisker').length"), 0)
        self.assertIn("412 GiB", self.browser.evaluate("document.querySelector('#left-out').textContent"))

    def test_a_sweep(self):
        self.picture("sweep", self.page_of(self.write("sweep.json", made.sweep())))
        text = self.browser.evaluate("document.querySelector('#lead').textContent")
        self.assertIn("crossover   in time", text)
        self.assertIn("flat from", text)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#lead .mark').length"), 2)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#lead .missing').length"), 1)

    def test_a_history(self):
        nightly = self.folder / "nightly"
        nightly.mkdir()
        for number, document in enumerate(made.history()):
            VALIDATOR.validate(document)
            (nightly / f"{number:02d}.json").write_text(json.dumps(document))
        self.picture("history", self.page_of(nightly))
        text = self.browser.evaluate("document.querySelector('#history').textContent")
        self.assertIn("14c0ffee0014", text)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#history .mark').length"), 1)

    def test_two_interleaved_binaries(self):
        page = self.page_of(self.write_turns("turns.json"))
        self.picture("turns", page)
        self.assertEqual(self.sections(), ["places"])
        self.assertEqual(self.column("verdict", "lead"), ["✗ regression", "✓ no change", "not compared"])
        self.assertEqual(self.column("pairs", "lead"), ["10", "10", ""])
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#lead .panel .dot').length"), 20)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#lead .panel .band').length"), 2)
        self.assertIn("2 cases of two interleaved binaries", self.texts("header p")[0])
        self.assertEqual(self.texts(".answers h2"), ["Verdict", "Largest change"])

    def test_nights_of_turns_beside_a_result(self):
        nights = [self.write_turns(f"night-{day}.json", date=f"2026-01-{day}T02:00:00Z", slower=0.0 if day < 20 else 0.05)
                  for day in range(10, 30)]
        self.picture("nights", self.page_of(*nights, self.write("both.json", made.both_devices())))
        self.assertIn("turns", self.sections())
        self.assertIn("runs", self.sections())
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#history .mark').length"), 1)
        self.assertIn("+5.0 %", self.browser.evaluate("document.querySelector('#history').textContent"))
        self.assertIn("night-29.json", self.browser.evaluate("document.querySelector('#turns option:checked').textContent"))
        choose = "(() => { const box = document.querySelector('#turns select'); box.value = 19; " \
            "box.dispatchEvent(new Event('change')); return document.querySelector('#turns .verdict').textContent; })()"
        self.assertEqual(self.browser.evaluate(choose), "– not compared", "one of its cases was skipped")
        self.browser.settle()
        self.assertEqual(self.browser.evaluate(UNDRAWN), 0)

    def test_tables_sort_by_mouse_and_keyboard(self):
        self.open(self.page_of(self.write("both.json", made.both_devices())))
        button = "[...document.querySelectorAll('#runs thead button')].find((one) => one.textContent.startsWith('samples/s'))"
        self.browser.evaluate(button + ".click()")
        number = [float(text.replace(",", "")) for text in self.column("samples/s")]
        self.assertEqual(number, sorted(number, reverse=True))
        self.assertEqual(self.browser.evaluate(button + ".closest('th').getAttribute('aria-sort')"), "descending")
        self.browser.evaluate(button + ".focus()")
        self.browser.press("Enter")
        number = [float(text.replace(",", "")) for text in self.column("samples/s")]
        self.assertEqual(number, sorted(number))
        self.assertEqual(self.browser.evaluate(button + ".closest('th').getAttribute('aria-sort')"), "ascending")
        self.browser.press("Tab")
        self.assertEqual(self.browser.evaluate("document.activeElement.textContent").rstrip("↕↑↓"), "epoch")
        names = self.column("run")
        self.browser.evaluate("[...document.querySelectorAll('#runs thead button')][0].click()")
        self.assertEqual(self.column("run"), sorted(names))

    def test_tables_filter(self):
        self.open(self.page_of(self.write("both.json", made.both_devices())))
        self.browser.evaluate("(() => { const box = document.querySelector('#runs input'); box.value = 'CUDA/bf16';"
                              " box.dispatchEvent(new Event('input')); })()")
        self.assertEqual(len(self.column("run")), 2)
        self.assertIn("2 of 12 rows", self.browser.evaluate("document.querySelector('#runs .status').textContent"))

    def test_other_steps_are_drawn_when_chosen(self):
        self.open(self.page_of(self.write("both.json", made.both_devices())))
        label = "document.querySelector('#steps .panel svg').getAttribute('aria-label')"
        before = self.browser.evaluate(label)
        self.browser.evaluate("(() => { const choice = document.querySelector('#steps select'); choice.value = '5';"
                              " choice.dispatchEvent(new Event('change')); })()")
        self.browser.settle()
        self.assertEqual(self.browser.evaluate(UNDRAWN), 0)
        self.assertNotEqual(self.browser.evaluate(label), before)

    def test_charts_follow_the_width(self):
        self.open(self.page_of(MEASURED), width=1600)
        self.browser.view(400, 900)
        self.browser.settle()
        self.assertLessEqual(self.browser.evaluate(TOO_WIDE), 0)
        widths = self.browser.evaluate("[...document.querySelectorAll('svg.chart')].map((svg) => svg.clientWidth)")
        self.assertLessEqual(max(widths), 400)

    def test_every_chart_has_words_and_numbers(self):
        self.open(self.page_of(self.write("both.json", made.both_devices())))
        labels = self.browser.evaluate("""[...document.querySelectorAll('svg.chart')].map((svg) =>
          svg.getAttribute('aria-label'))""")
        self.assertGreater(len(labels), 12)
        self.assertTrue(all(labels))
        self.browser.evaluate("document.querySelectorAll('details.numbers').forEach((details) => { details.open = true; })")
        self.browser.settle()
        rows = self.browser.evaluate("""[...document.querySelectorAll('details.numbers')].map((details) =>
          details.querySelectorAll('tbody tr').length)""")
        self.assertGreater(len(rows), 5)
        self.assertGreater(min(rows), 1)

    def test_hostile_text_does_nothing(self):
        text = made.hostile()["runs"][1]["message"]
        page = self.page_of(self.write("hostile.json", made.hostile()), self.write_turns("turns.json", text=text))
        self.open(page)
        self.assertIn("<script>", self.browser.evaluate("document.title"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('main img, main script').length"), 0)
        for section in ("runs", "turns"):
            self.assertIn("<script>", self.browser.evaluate(f"document.querySelector('#{section}').textContent"))

    def test_odd_numbers_are_drawn_or_left_out(self):
        page = self.page_of(self.write("odd.json", made.odd(), valid=False))
        self.open(page)
        for _ in range(4):
            self.browser.evaluate("(() => { const choice = document.querySelector('#steps select'); choice.selectedIndex += 1;"
                                  " choice.dispatchEvent(new Event('change')); })()")
            self.browser.settle()
            self.assertEqual(self.browser.evaluate(UNDRAWN), 0)
            self.assertEqual(self.browser.evaluate(BROKEN), 0)
        self.assertNotRegex(self.browser.evaluate("document.querySelector('main').textContent"), "NaN|undefined|Infinity")

    def test_rates_that_a_logarithmic_axis_cannot_show(self):
        page = self.page_of(self.write("odd.json", made.odd_sweep()))
        self.browser.open(page)
        self.browser.settle()
        self.assertEqual(self.browser.errors, [])
        self.assertTrue(self.browser.evaluate("document.documentElement.dataset.ready"))
        self.assertEqual(self.browser.evaluate(BROKEN), 0)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.trouble').length"), 0)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#lead .dot').length"), 4)
        self.assertIn("No point can be drawn", self.browser.evaluate("document.querySelector('#lead').textContent"))

    def test_steps_without_their_median(self):
        self.open(self.page_of(self.write("steps.json", made.steps_without_median(), valid=False)))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#steps .band').length"), 0)
        ticks = self.texts("#steps .axis:first-of-type text")
        self.assertNotIn("0", ticks, "the axis begins near the steps")
        self.assertIn("CPU PyTorch fp32", self.browser.evaluate("document.querySelector('#lead').textContent"))

    def test_omitted_curves_are_counted_and_files_are_distinguished(self):
        page = self.page_of(self.write("a.json", made.crowded()), self.write("b.json", made.crowded("2026-02-03T03:04:05Z", 1.0)))
        self.open(page)
        self.browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        self.browser.settle()
        text = {name: self.browser.evaluate(f"document.querySelector('#{name}').textContent")
                for name in ("sweeps", "history", "profiles")}
        self.assertIn("And 40 curves more", text["sweeps"])
        self.assertIn("And 10 workloads more", text["history"])
        self.assertRegex(text["profiles"], r"And \d+ profiles more")
        heads = self.browser.evaluate("""[...document.querySelectorAll('.numbers table')].map((table) =>
          [...table.querySelectorAll('tbody th')].map((cell) => cell.textContent))""")
        self.assertGreater(len(heads), 5)
        for rows in heads:
            self.assertEqual(len(set(rows)), len(rows), rows[:3])
        sentences = self.texts("#sweeps .sentences li")
        self.assertTrue(all(one.endswith((" (a.json)", " (b.json)")) for one in sentences), sentences[:3])
        self.assertEqual(len(set(sentences)), len(sentences))

    def test_paper_says_how_many_rows_it_has(self):
        self.open(self.page_of(self.write("a.json", made.crowded())))
        shown = "(name) => document.querySelector('#runs ' + name).getClientRects().length > 0"
        self.browser.view(1280, 900, media="print")
        self.browser.settle()
        self.assertTrue(self.browser.evaluate(f"({shown})('.status')"))
        self.assertFalse(self.browser.evaluate(f"({shown})('.controls input')"))
        self.assertIn("200 of 210 rows", self.browser.evaluate("document.querySelector('#runs .status').textContent"))

    def test_every_table_has_a_caption(self):
        self.open(self.page_of(MEASURED, "--claims"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('table:not(:has(caption))').length"), 0)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.claims caption').length"), 0)

    def test_a_failure_to_draw_is_reported_and_the_rest_is_shown(self):
        page = self.page_of(self.write("both.json", made.both_devices()))
        text = page.read_text()
        for one, other in (('"Throughput", throughputSection', '"Throughput", () => { throw Error("a section"); }'),
                           ("function drawCurves(box, width, chart) {", "function drawCurves() { throw Error('a chart');")):
            self.assertTrue(one in text, one)
            text = text.replace(one, other)
        page.write_text(text)
        self.browser.open(page)
        self.browser.settle()
        self.assertTrue(self.browser.errors, "errors are reported in the console")
        troubles = self.texts(".trouble")
        self.assertEqual(troubles.count("This section could not be drawn: a section"), 1)
        self.assertGreater(troubles.count("This chart could not be drawn: a chart"), 0)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#epoch .dot').length"), 4)

    def test_ten_thousand_runs(self):
        results = self.folder / "many.json"
        results.write_text(json.dumps(made.many()))  # validating it would take a minute
        page = self.page_of(results)
        size = page.stat().st_size / MEBIBYTE
        seconds = self.open(page)
        busy = self.browser.busy_seconds()
        print(f"10,000 runs: {size:.1f} MiB, open in {seconds:.1f} s ({busy:.1f} s of processor time)", file=sys.stderr)
        self.assertLess(size, 20)
        self.assertLess(busy, 5)
        self.assertIn("200 of 2,000 rows", self.browser.evaluate("document.querySelector('#runs .status').textContent"))


if __name__ == "__main__":
    unittest.main()
