"""What a process inherits from the one that starts it: descriptors, signals and rounding that are not the usual ones."""
import os
import shutil
import signal
import subprocess
import unittest

from support import BINARY, ENDLESS, QUICK, TIMEOUT_SECONDS, CliTest, known_peaks, load

SHORT = ["--model", "mlp:width=16,depth=1", "--batch", "16", "--steps", "5", "--warmup", "0", "--meters", "off"]


class Inherited(CliTest):
    def test_closed_streams_are_no_place_for_files(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                subprocess.run(["bash", "-c", 'exec "$0" "$@" ' + closed, BINARY, "run", *SHORT, *known_peaks(), "--overwrite",
                                "-o", self.out], capture_output=True, timeout=TIMEOUT_SECONDS)
                self.assertEqual(load(self.out.read_text())["runs"][0]["status"], "ok")

    def test_output_that_nobody_receives_is_an_error(self):
        done = subprocess.run(["bash", "-c", 'exec "$0" list models >&-', BINARY], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write the output", done.stderr)

    def test_blocked_signals_end_it_with_its_result(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU):
            with self.subTest(number.name):
                block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
                process = self.start("run", *ENDLESS, *known_peaks(), "--overwrite", "-o", self.out, preexec_fn=block)
                self.case_of(process)
                process.send_signal(number)
                _, errors = process.communicate(timeout=20)
                self.assertEqual(process.returncode, 130, errors)
                self.assertEqual(self.result()["runs"][0]["status"], "interrupted")

    @unittest.skipUnless(shutil.which("gcc"), "needs gcc for a library that changes the rounding")
    def test_the_rounding_of_a_preloaded_library_is_set_back(self):
        libraries = {"upward": ["#include <fenv.h>\n__attribute__((constructor)) void up(void) { fesetround(FE_UPWARD); }\n"],
                     "flush": ["void nothing(void) {}\n", "-ffast-math"]}
        run = ["run", *QUICK, *known_peaks(), "--meters", "off", "--overwrite", "-o", self.out]
        self.assertEqual(self.call(*run).returncode, 0)
        losses = self.result()["runs"][0]["quality"]["loss"]
        for name, (source, *options) in libraries.items():
            (self.folder / "source.c").write_text(source)
            library = self.folder / f"{name}.so"
            subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", self.folder / "source.c", "-o", library, *options], check=True)
            with self.subTest(name):
                done = self.call(*run, env={**os.environ, "LD_PRELOAD": str(library)})
                self.assertEqual(self.result()["runs"][0]["quality"]["loss"], losses)
                self.assertEqual(done.stderr.count("had changed how floats are rounded"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
