"""Settings as other programs write them: numbers by value, booleans where a word is expected."""
import json
import pathlib
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

    def test_what_people_write_around_a_number_is_named_without_it(self):
        for option, value, meant in (("--batch", "1k", "1000"), ("--batch", "1_024", "1024"), ("--learning-rate", "0,001", "0.001"),
                                     ("--min-time", "2s", "2"), ("--min-time", "500ms", "0.5"), ("--min-time", "2min", "120"),
                                     ("--ema", "99.9%", "0.999"), ("--price", "cpu=$0.36", "0.36"), ("--price", "cpu=0.36/h", "0.36")):
            with self.subTest(option, value=value):
                self.assert_refused(self.call("run", "mlp", option, value, "--dry-run"), 2, f"; did you mean {meant}?")
                self.succeed("run", "mlp", option, value.replace(value.split("=")[-1], meant), "--dry-run")
        for value in ("0k", "9999M", "k", "1kk", "%", "$"):
            with self.subTest(value):
                refused = self.call("run", "mlp", "--batch", value, "--dry-run")
                self.assert_refused(refused, 2, "must be a whole number from 1 to 1048576")
                self.assertNotIn("mean", refused.stderr)
        self.assert_refused(self.call("run", "mlp", "--batch", "1,024", "--dry-run"), 2, "leading zero", "between several values")
        self.assert_refused(self.call("run", "lenet5", "--until", "accuracy=97%", "--dry-run"), 2, "write accuracy=0.97")

    def test_what_documents_make_of_quotes_and_dashes(self):
        for model in ("“mlp”", "mlp\u00a0", "mlp\r", "‘mlp’", "M LP"):
            with self.subTest(model):
                self.assert_refused(self.call("run", "--model", model, "--dry-run"), 2, "unknown model", "did you mean mlp?")
        for dash in ("–", "—", "−", "––"):
            with self.subTest(dash):
                self.assert_refused(self.call("run", f"{dash}model", "mlp"), 2, f"'{dash}model' begins with a printed dash",
                                    "did you mean --model?")
        self.assert_refused(self.call("run", "mlp", "–batch=8"), 2, "did you mean --batch?")
        self.assertEqual(self.call("report", "--help").returncode, 0)

    def test_an_option_is_no_value_of_another(self):
        for call in (["run", "mlp", "--out", "--dry-run"], ["run", "--suite", "--dry-run"], ["run", "mlp", "--save", "--steps", "3"],
                     ["run", "mlp", "-o", "--batch=8"], ["compare", "--interleave", "a", "--quiet"], ["export", "r.json", "--format", "-o", "x"]):
            with self.subTest(call):
                self.assert_refused(self.call(*call), 2, "a value is missing before -")
        self.assertEqual(list(self.folder.iterdir()), [])  # no file is called --dry-run
        self.assertEqual(self.call("run", "mlp", "--learning-rate", "-1", "--dry-run").stderr.count("must be a number"), 1)

    def test_a_home_that_no_shell_has_replaced(self):
        run = ["run", "lenet5", "--dry-run"]
        for call, meant in (([*run, "--data", "images:~/set"], "images:$HOME/set"), ([*run, "--tokenizer", "gpt2:~/gpt2"], "gpt2:$HOME/gpt2"),
                            ([*run, "--out=~/r.json"], "$HOME/r.json"), (["export", "a.json", "~/b.json", "--format", "csv"], "$HOME/b.json")):
            with self.subTest(meant):
                self.assert_refused(self.call(*call), 2, "no shell has replaced the ~", f"write {meant}")
        self.assert_refused(self.call(*run, "--data", "idx:./~/set"), 2, "./~/set")

    def test_ranges_and_words_for_all(self):
        for option, value, values in (("--batch", "8..64", "8,64"), ("--batch", "8-64", "8,64"), ("--threads", "1:2", "1,2")):
            self.assert_refused(self.call("run", "mlp", option, value, "--dry-run"), 2, f"'{value}' is a range", f"such as {values}")
        for word in ("all", "auto", "max"):
            self.assert_refused(self.call("run", "mlp", "--threads", word, "--dry-run"), 2, f"'{word}'", "leave the option out")
        self.assert_refused(self.call("run", "mlp", "--batch", "-8", "--dry-run"), 2, "whole number from 1")

    def test_words_that_others_have_for_devices_and_modes(self):
        for word in ("mps", "rocm", "xpu", "tpu:0"):
            self.assert_refused(self.call("run", "mlp", "--device", word, "--dry-run"), 2, "CPUs and NVIDIA GPUs")
        for word in ("inference", "eval"):
            self.assert_refused(self.call("run", "mlp", "--mode", word, "--dry-run"), 2, "did you mean forward?")

    @unittest.skipIf(list(pathlib.Path("/dev").glob("nvidia*")), "this machine may have a GPU")
    def test_a_gpu_by_another_name_is_not_usable_here(self):
        for word in ("gpu", "CUDA", "nvidia:0"):
            self.assert_refused(self.call("run", "mlp", "--device", word, "--dry-run"), 2, "choose from cpu", "cuda:0 is not usable here")

    def test_words_that_others_have_for_a_precision(self):
        for word, meant in (("float32", "fp32"), ("single", "fp32"), ("amp", "bf16"), ("mixed", "bf16")):
            self.assert_refused(self.call("run", "mlp", "--precision", word, "--dry-run"), 2, f"did you mean {meant}?")


if __name__ == "__main__":
    unittest.main()
