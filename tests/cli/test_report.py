"""epochbench report as a call: what it writes, and what it refuses. The page in a browser: tests/report_browser."""
import json
import os
import pathlib
import signal
import time
import unittest

from support import CliTest

MEASURED = pathlib.Path(os.environ["EPOCHBENCH_SCHEMA"]).parent / "zen4-2cores-quick.json"


class Report(CliTest):
    def data_of(self, *arguments):
        page = self.folder / "page.html"
        call = self.succeed("report", *arguments, "-o", page)
        self.assertIn("page.html: ", call.stdout)
        block = page.read_text().split('id="data">', 1)[1].split("</script", 1)[0]
        return json.loads(block)

    def test_writes_a_page_with_the_runs(self):
        data = self.data_of(MEASURED)
        names = [row[data["columns"].index("name")] for row in data["rows"]]
        self.assertIn("resnet50/cpu/fp32/b16", names)
        self.assertEqual(len(data["steps"]), 6)

    def test_runs_without_a_result_are_counted_apart(self):
        document = json.loads(MEASURED.read_text())
        document["runs"][0] |= {"status": "failed", "message": "lost"}
        (self.folder / "lost.json").write_text(json.dumps(document))
        self.assertIn(": 6 runs (1 of them without a result) of 1 file, ",
                      self.call("report", "lost.json", "-o", "page.html").stdout)

    def test_schemas_among_several_files_are_left_out(self):
        schema = MEASURED.parent / "schema.json"
        call = self.call("report", MEASURED, schema, "-o", "page.html")
        self.assertEqual((call.returncode, call.stderr), (0, f"epochbench: left out: {schema} is a schema, not a result\n"))
        self.assert_refused(self.call("report", schema, "-o", "page.html"), 2, "no schema_version")

    def test_is_the_same_every_time(self):
        self.assertEqual(self.call("report", MEASURED, "-o", "a.html").returncode, 0)
        self.assertEqual(self.call("report", MEASURED, "-o", "b.html").returncode, 0)
        self.assertEqual((self.folder / "a.html").read_text(), (self.folder / "b.html").read_text())

    def test_names_no_folder_and_tells_files_of_one_name_apart(self):
        for folder in ("private-one", "private-two"):
            (self.folder / folder).mkdir()
            result = json.loads(MEASURED.read_text())
            for run in result["runs"]:
                if folder == "private-two" and run["timing"]:
                    run["timing"]["compile_seconds"] += 1  # no copy, which would be left out
            (self.folder / folder / "result.json").write_text(json.dumps(result))
        data = self.data_of("private-one/result.json", "private-two/result.json")
        self.assertEqual([file["file"] for file in data["files"]], ["result.json", "result.json (2)"])
        self.assertNotIn("private", (self.folder / "page.html").read_text())

    def test_claims_stand_on_the_page_only_on_request(self):
        self.assertIsNone(self.data_of(MEASURED)["claims"])
        self.assertTrue(self.data_of(MEASURED, "--claims")["claims"]["claims"])
        result = json.loads(MEASURED.read_text())
        result["context"]["command_line"] = ["epochbench", "run", "--suite=claims"]
        (self.folder / "claims.json").write_text(json.dumps(result))
        self.assertTrue(self.data_of("claims.json")["claims"]["claims"], "it was made for them")

    def test_opens_the_page_or_says_where_it_is(self):
        programs = self.folder / "bin"
        programs.mkdir()
        call = self.succeed("report", MEASURED, "-o", "page.html", "--open", env={"PATH": str(programs)})
        self.assertEqual(call.stdout.splitlines()[1],
                         "no browser could be started (neither xdg-open nor open is installed here); the page is "
                         f"{self.folder / 'page.html'}")
        opener = programs / "xdg-open"
        opener.write_text("#!/bin/sh\necho \"$1\" >opened\nexit ${CODE:-0}\n")
        opener.chmod(0o755)
        call = self.call("report", MEASURED, "-o", "page.html", "--open", env={"PATH": str(programs)})
        self.assertEqual(len(call.stdout.splitlines()), 1)
        self.assertEqual((self.folder / "opened").read_text(), "page.html\n")
        call = self.call("report", MEASURED, "-o", "page.html", "--open", env={"PATH": str(programs), "CODE": "3"})
        self.assertEqual(call.returncode, 0)
        self.assertIn("ended with exit code 3", call.stdout)

    def test_leaves_a_browser_alone_that_it_opened(self):
        programs = self.folder / "bin"
        programs.mkdir()
        opener = programs / "xdg-open"
        opener.write_text("#!/bin/sh\necho $$ >pid\nexec /bin/sleep 60\n")
        opener.chmod(0o755)
        begin = time.monotonic()
        call = self.call("report", MEASURED, "-o", "page.html", "--open", env={"PATH": str(programs)})
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual((call.returncode, len(call.stdout.splitlines())), (0, 1))
        os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)  # fails where it is gone

    def test_charts_take_a_browser(self):
        call = self.call("report", MEASURED, "-o", "page.html", "--charts", "charts", env={"PATH": str(self.folder)})
        self.assert_refused(call, 2, "--charts", "Chromium", "apt install chromium")
        self.assertEqual(list(self.folder.iterdir()), [])
        browser = self.folder / "chromium"
        browser.write_text("#!/bin/sh\nexit 1\n")
        browser.chmod(0o755)
        call = self.call("report", MEASURED, "-o", "page.html", "--charts", "charts", env={"PATH": str(self.folder)})
        self.assertEqual(call.returncode, 2)
        self.assertRegex(call.stderr, "^epochbench: .*charts are not drawn: .*ended with exit code 1\n$")
        self.assertEqual(list((self.folder / "charts").iterdir()), [])

    def test_reads_no_file_that_it_would_replace(self):
        self.out.write_bytes(MEASURED.read_bytes())
        self.assert_refused(self.call("report", self.out, "-o", self.out), 2, "result.json", "would be lost")
        self.assert_refused(self.call("report", self.folder, "-o", "result.json"), 2, "result.json", "would be lost")
        self.assert_refused(self.call("export", self.out, "--format", "csv", "-o", "result.json"), 2, "would be lost")
        self.assertEqual(self.out.read_bytes(), MEASURED.read_bytes())

    def test_wrong_calls(self):
        self.assert_refused(self.call("report", MEASURED), 2, "-o FILE.html")
        self.assert_refused(self.call("report", MEASURED, "-o", ""), 2, "--out", "empty")
        self.assert_refused(self.call("report", "-o", "page.html"), 2, "no RESULT", "compare --interleave")
        (self.folder / "turns.json").write_text('{"turns_version": 1}')
        self.assert_refused(self.call("speedup", "turns.json"), 2, "turns.json: a document of `compare --interleave`")
        (self.folder / "turns.json").unlink()
        self.assert_refused(self.call("report", "nowhere.json", "-o", "page.html"), 2, "nowhere.json")
        self.assert_refused(self.call("report", MEASURED, "-o", "no/page.html"), 2, "no/page.html")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_page_is_replaced_whole_or_not_at_all(self):
        self.out.write_text("{")
        page = self.folder / "page.html"
        page.write_text("an older page")
        self.assert_refused(self.call("report", self.out, "-o", page), 2, "result.json", "not valid JSON")
        self.assertEqual(page.read_text(), "an older page")


if __name__ == "__main__":
    unittest.main()
