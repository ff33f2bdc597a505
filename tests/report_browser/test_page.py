"""Rules of the page of `epochbench report`, in headless Chromium: nothing cut, a first screen that answers, and axe-core's.

EPOCHBENCH_BINARY, EPOCHBENCH_SCHEMA, EPOCHBENCH_SCREENSHOTS as in test_browser.py. axe-core comes with
axe-playwright-python (PyPI).
"""
import importlib.util
import json
import pathlib
import re
import unittest

import made
from pages import HOUR, MEASURED, PICTURES, RESULTS, PageTest

WIDTHS = (1440, 768, 400)
# Text beyond the window or beyond what a box shows of it. Details that are closed show nothing.
CUT = """(() => {
  const cut = [], name = (node) => `${node.tagName} ${node.className.baseVal ?? node.className} ${node.textContent.slice(0, 40)}`;
  for (const node of document.querySelectorAll('body *')) {
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    if (!box.width || node.closest('.skip, .patterns') || !node.checkVisibility()) continue;
    if (box.right > innerWidth + 1 || box.left < -1) cut.push(`outside: ${name(node)}`);
    if (style.overflowX !== 'visible' && node.scrollWidth > node.clientWidth + 1 && node.nodeName !== 'svg')
      cut.push(`cut by ${node.scrollWidth - node.clientWidth}: ${name(node)}`);
  }
  return cut.slice(0, 8); })()"""
PAINTED = """new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
  .observe({type: 'largest-contentful-paint', buffered: true}))"""


def pages_of_pdf(path):
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


class Page(PageTest):
    def test_nothing_is_cut_at_any_width(self):
        both, sweep = self.write("both.json", made.both_devices()), self.write("sweep.json", made.sweep())
        turns = self.write_turns("turns.json")
        pages = {"hour": [HOUR], "quick": [MEASURED, "--claims"], "all": [RESULTS / name for name in RESULTS.glob("*-*.json")],
                 "both": [both], "sweep": [sweep], "turns": [turns], "articles": [MEASURED, "--articles"]}
        for name, arguments in pages.items():
            self.open(self.page_of(*arguments), width=WIDTHS[0])
            for width in WIDTHS:
                for dark in (False, True) if PICTURES else (False,):  # which changes colors alone
                    with self.subTest(page=name, width=width, dark=dark):
                        self.browser.view(width, 900, dark=dark)
                        self.browser.settle()
                        self.assert_drawn()
                        self.assertEqual(self.browser.evaluate(CUT), [])
                        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                        if PICTURES:
                            colors = "dark" if dark else "light"
                            self.browser.screenshot(pathlib.Path(PICTURES) / f"rules-{name}-{width}-{colors}.png")
            self.browser.view(720, 1000, media="print")
            self.browser.settle()
            with self.subTest(page=name, media="print"):
                self.assertEqual(self.browser.evaluate(CUT), [])

    def test_an_hour_is_short(self):
        page = self.page_of(HOUR)
        painted = []
        for _ in range(3):
            self.open(page, width=1440)
            painted.append(self.browser.evaluate(PAINTED))
        self.assertLess(min(painted), 1000, "largest contentful paint, in milliseconds")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollHeight"), 7000)
        pdf = self.folder / "hour.pdf"
        self.browser.pdf(pdf)
        self.assertLessEqual(pages_of_pdf(pdf), 5)

    def test_the_first_screen_answers(self):
        self.open(self.page_of(HOUR), width=1440)
        self.assertEqual(self.texts("h1"), ["ResNet-50, BERT-base and 3 smaller models on an AMD EPYC, 2 cores"])
        self.assertEqual(self.texts(".answers h2"), ["Speed", "Time of an epoch", "Cost of an epoch", "Speedup",
                                                     "Time to the target", "Quality"])
        heights = self.browser.evaluate("[...document.querySelectorAll('.answer')].map((value) => value.clientHeight)")
        self.assertEqual(len(set(heights)), 1, "a value takes one line")
        for card in self.texts(".card.answers"):
            self.assertRegex(card, "95 % interval .* to .*, n=|range of|no interval")
        bottom = "document.querySelector('.trust').getBoundingClientRect().bottom"
        self.assertLess(self.browser.evaluate(bottom), 620, "above the fold, with room for the chart")
        self.assertIn("in doubt", self.texts(".trust")[0])
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('header .panel .dot').length"), 4)

    def test_a_title_of_ones_own(self):
        self.open(self.page_of(MEASURED, "--title", "Spring <b>2026</b>"))
        self.assertEqual(self.texts("h1"), ["Spring <b>2026</b>"])
        self.assertEqual(self.browser.evaluate("document.title"), "Spring <b>2026</b>")

    def test_rows_are_cards_on_a_phone(self):
        self.open(self.page_of(MEASURED), width=400)
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.querySelector('#runs td')).display"), "block")
        labels = self.browser.evaluate("[...document.querySelectorAll('#runs td')].map((one) => one.dataset.label)")
        self.assertIn("samples/s", labels)

    def test_load_is_marked_in_every_table(self):
        document = made.both_devices()
        for run in document["runs"]:
            if run["interference"] and run["device"]["backend"] == "cpu":
                run["interference"]["foreign_cpu_cores"] = 1.8
        turns = made.turns()
        for pair in turns["cases"][0]["pairs"]:
            pair["foreign_cpu_cores"] = 1.8
        (self.folder / "turns.json").write_text(json.dumps(turns))
        self.open(self.page_of(self.write("both.json", document), self.folder / "turns.json"))
        for section in ("runs", "speedup", "turns"):
            self.assertEqual(len(self.texts(f"#{section} .banner")), 1, section)
            self.assertTrue(any("†" in name for name in self.texts(f"#{section} tbody th")), section)
        self.assertIn("other processes took 1.8 cores", self.texts("#runs tbody th small")[0])
        cell = "getComputedStyle([...document.querySelectorAll('#runs tbody tr:first-child td')].find((one) => " \
            "one.dataset.label === '{}')).color"
        for column in ("epoch", "cost/epoch"):
            self.assertNotEqual(self.browser.evaluate(cell.format(column)), self.browser.evaluate(cell.format("step")))

    def test_few_steps_have_no_band(self):
        self.open(self.page_of(HOUR))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#steps .band').length"), 0, "three steps each")
        self.open(self.page_of(MEASURED))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#steps .band').length"), 1)
        self.assertIn("within this run", self.texts("#steps .band title")[0])

    def test_devices_and_precisions_have_colors_of_their_own(self):
        self.open(self.page_of(self.write("both.json", made.both_devices())))
        colors = self.browser.evaluate("""[...document.querySelectorAll('#throughput .dot')].map((one) =>
          getComputedStyle(one).fill)""")
        self.assertEqual(len(set(colors)), 6)
        self.assertIn("(1 of them without a result) in 1 result file", self.texts("#head .muted")[0])

    def test_charts_are_files(self):
        charts = self.folder / "charts"
        self.page_of(MEASURED, "--charts", charts)
        names = sorted(path.name for path in charts.iterdir())
        self.assertIn("lead.svg", names)
        self.assertIn("epoch.png", names)
        self.assertEqual([path.name for path in charts.iterdir() if path.is_dir()], [])
        for path in charts.glob("*.svg"):
            self.assertEqual((charts / f"{path.stem}.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.browser.open(path.resolve())
            self.assertEqual(self.browser.errors, [])
            self.assertGreater(self.browser.evaluate("document.querySelectorAll('text').length"), 3)
            self.assertNotIn("var(", path.read_text())


class Accessibility(PageTest):
    @classmethod
    def setUpClass(cls):
        package = importlib.util.find_spec("axe_playwright_python")
        if not package:
            raise unittest.SkipTest("axe-playwright-python is not installed")
        super().setUpClass()
        cls.axe = next(pathlib.Path(package.submodule_search_locations[0]).rglob("axe.min.js")).read_text()

    def test_axe_finds_nothing(self):
        pages = {"hour": [HOUR], "claims": [MEASURED, "--claims"], "articles": [MEASURED, "--articles"],
                 "both": [self.write("both.json", made.both_devices())], "turns": [self.write_turns("turns.json")]}
        for name, arguments in pages.items():
            page = self.page_of(*arguments)
            others = ((1440, True), (400, False)) if name in ("hour", "articles") else ()  # they have all colors
            for width, dark in ((1440, False), *others):
                self.open(page, width=width, dark=dark)
                self.browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                self.browser.settle()
                self.browser.evaluate(self.axe + "; true")
                found = self.browser.evaluate("""axe.run().then(({violations}) => violations.map(({id, nodes}) =>
                  `${id}: ${nodes.length}, ${nodes[0].html.slice(0, 160)}`))""")
                with self.subTest(page=name, width=width, dark=dark):
                    self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
