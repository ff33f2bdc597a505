"""Settings as other programs write them: numbers by value, booleans where a word is expected."""
import json
import unittest

from support import CliTest


class Settings(CliTest):
    def planned(self, **case):
        suite = self.folder / "suite.json"
        suite.write_text(json.dumps({"cases": [{"model": "mlp:width=16", "batch": 16, "steps": 2, **case}]}))
        return self.call("run", "--suite", suite, "--dry-run")

    def test_numbers_count_by_value(self):
        plain = self.planned()
        self.assertEqual(plain.returncode, 0, plain.stderr)
        for case in ({"batch": 16.0}, {"batch": "1.6e1"}, {"steps": 2e0}, {"model": "mlp:width=16.0"}, {"model": "mlp:width=1.6e1"}):
            with self.subTest(case):
                self.assertEqual(self.planned(**case).stdout, plain.stdout)
        call = lambda *numbers: self.call("run", "mlp", "--batch", numbers[0], "--steps", numbers[1], "--seed", numbers[2], "--dry-run").stdout
        self.assertEqual(call("100", "5", "7"), call("1e2", "5.0", "7.0"))

    def test_numbers_that_are_not_whole_are_refused(self):
        for value in (16.5, 1e30, -16.0, "1e400", "0x10", "16 ", "1_000"):
            with self.subTest(value):
                self.assert_refused(self.planned(batch=value), 2, "cases[0].batch: '", "must be a whole number")

    def test_booleans(self):
        for value in (True, False):
            self.assertEqual(self.planned(meters=value).returncode, 0)
            refused = self.planned(pin=value)
            self.assert_refused(refused, 2, "cases[0].pin: '" + str(value).lower() + "'", "cores")
            self.assertEqual(refused.stderr.count("cases[0]"), 1)
        self.assert_refused(self.planned(steps=None), 2, "cases[0].steps: must be a string, a number, true or false")


if __name__ == "__main__":
    unittest.main()
