"""Training on image files: what is read, what is left out, and what does not change the pixels."""
import os
import shutil
import subprocess
import unittest

from support import CliTest, known_peaks

CALL = ["--model", "resnet20", "--batch", "4", "--steps", "3", "--warmup", "0", "--meters", "off"]


class Images(CliTest):
    def setUp(self):
        super().setUp()
        self.set = self.folder / "set"
        subprocess.run([os.environ["EPOCHBENCH_MAKE_IMAGES"], self.set, "--classes", "3", "--train", "4", "--val", "2", "--width",
                        "80", "--height", "60"], check=True, capture_output=True)

    def run_on(self, data, *options):
        call = self.succeed("run", *CALL, "--data", f"images:{data}", *known_peaks(), "--out", self.out, "--overwrite", *options)
        return self.result()["runs"], call

    def test_pixels_are_the_same_whatever_reads_them(self):
        augmented = ["--augment", "crop+flip+color"]
        runs, _ = self.run_on(self.set, *augmented, "--loader-threads", "0,3")
        self.assertEqual(len({tuple(run["quality"]["loss"]) for run in runs}), 1)
        self.assertEqual(runs[0]["settings"]["augment"], ["color", "crop", "flip"])
        self.assertIsNone(runs[0]["input"]["left_out_images"])
        plain = self.run_on(self.set)[0][0]
        self.assertNotEqual(plain["quality"]["loss"], runs[0]["quality"]["loss"])
        self.assertNotEqual(plain["workload"]["fingerprint"], runs[0]["workload"]["fingerprint"])
        # By class and name, as in the folder; so a sequential epoch is the same.
        names = sorted(path.relative_to(self.set) for path in self.set.rglob("*.jpg"))
        subprocess.run(["tar", "--format=ustar", "-cf", self.folder / "set.tar", "-C", self.set, *names], check=True)
        folder, archive = (self.run_on(path, "--order", "sequential")[0][0] for path in (self.set, self.folder / "set.tar"))
        self.assertEqual(folder["quality"]["loss"], archive["quality"]["loss"])

    def test_a_damaged_file_stops_a_run_or_is_named_and_left_out(self):
        damaged = sorted((self.set / "train/class1").iterdir())[0]
        damaged.write_bytes(damaged.read_bytes()[:1000])
        call = self.call("run", *CALL, "--data", f"images:{self.set}", *known_peaks(), "--out", self.out)
        self.assertEqual(call.returncode, 1, call.stderr)
        self.assertIn("--on-bad-image skip", self.result()["runs"][0]["message"])
        runs, call = self.run_on(self.set, "--on-bad-image", "skip")
        self.assertEqual(runs[0]["input"]["left_out_images"], 1)
        self.assertEqual(call.stderr.count(f"left out: image 'train/class1/{damaged.name}'"), 1, call.stderr)

    def test_refusals(self):
        for options, parts in [
            (["--data", "digits", "--augment", "crop"], ["--augment", "digits", "images:PATH"]),
            (["--data", f"images:{self.set}", "--augment", "crop", "--cache", "decoded"], ["--cache decoded", "--augment"]),
            (["--data", f"images:{self.set}", "--augment", "turn"], ["--augment", "'turn'", "color, crop, flip", "color+crop"]),
            (["--data", f"images:{self.set}", "--on-bad-image", "ignore"], ["--on-bad-image", "stop, skip"]),
            (["--data", f"images:{self.set}/none"], ["none", "No such file"]),
        ]:
            with self.subTest(options=options):
                self.assert_refused(self.call("run", *CALL, *options), 2, *parts)
        shutil.rmtree(self.set / "val")
        self.assert_refused(self.call("run", *CALL, "--data", f"images:{self.set}"), 2, "has no folder val (but 'train')")


if __name__ == "__main__":
    unittest.main()
