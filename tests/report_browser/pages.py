"""What tests of the page share: a browser, made and measured results, and what to look for in a page."""
import json
import os
import pathlib
import unittest

import made  # which names the folder of support.py
from devtools import Browser, find_chromium
from support import CliTest, TURNS_VALIDATOR, VALIDATOR

RESULTS = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).parent
MEASURED = RESULTS / "zen4-2cores-quick.json"
HOUR = RESULTS / "zen4-2cores-hour.json"
PICTURES = os.environ.get("EPOCHBENCH_SCREENSHOTS")
# Panels that are not drawn or hold no marks.
UNDRAWN = """[...document.querySelectorAll('.panel')].filter((panel) =>
  panel.clientWidth > 0 && (panel.dataset.drawn !== 'true' || !panel.querySelector('svg .bar, svg .dot, svg .line'))).length"""
# Pixels by which the page is wider than the window; tables scroll within themselves.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = """[...document.querySelectorAll('svg [d], svg [x], svg [width]')].filter((node) =>
  /NaN|undefined|Infinity/.test(node.outerHTML)).length"""


class PageTest(CliTest):
    @classmethod
    def setUpClass(cls):
        program = find_chromium()
        if not program:
            raise unittest.SkipTest("Chromium is not installed")
        cls.browser = Browser(program)
        cls.addClassCleanup(cls.browser.close)

    def write(self, name, document, valid=True):
        self.assertEqual(VALIDATOR.is_valid(document), valid)
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def page_of(self, *results):
        page = self.folder / "page.html"
        call = self.call("report", *results, "-o", page)
        self.assertEqual(call.returncode, 0, call.stderr)
        return page

    def open(self, page, **view):
        seconds = self.browser.open(page, **view)
        self.browser.settle()
        self.assertEqual([url for url in self.browser.requests if url != page.as_uri()], [])
        self.assertTrue(self.browser.evaluate("document.documentElement.dataset.ready"))
        self.assert_drawn()
        return seconds

    def assert_drawn(self):
        self.assertEqual(self.browser.errors, [])
        self.assertEqual(self.browser.evaluate(UNDRAWN), 0)
        self.assertEqual(self.browser.evaluate(BROKEN), 0)

    def sections(self):
        return self.browser.evaluate("[...document.querySelectorAll('main > section')].map((section) => section.id)")

    def texts(self, selector):
        return self.browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)")

    def column(self, title, section="runs"):
        """The cells of a column of a section's first table, from top to bottom."""
        return self.browser.evaluate(f"""(() => {{
          const table = document.querySelector('#{section} table');
          const titles = [...table.querySelectorAll('thead th')].map((cell) => cell.textContent);
          const at = titles.findIndex((text) => text.startsWith({json.dumps(title)}));
          const text = (cell) => [...cell.childNodes].filter((one) => one.nodeName !== 'SMALL')
            .map((one) => one.textContent).join('');
          return [...table.querySelectorAll('tbody tr')].map((row) => text(row.children[at])); }})()""")

    def write_turns(self, name, **changes):
        document = made.turns(**changes)
        TURNS_VALIDATOR.validate(document)
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path
