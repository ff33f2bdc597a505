"""What a process inherits from the one that starts it: descriptors, signals and rounding that are not the usual ones."""
import os
import pty
import resource
import shutil
import signal
import socket
import subprocess
import time
import tty
import unittest

from support import BINARY, ENDLESS, QUICK, TIMEOUT_SECONDS, CliTest, known_peaks, load

SHORT = ["--model", "mlp:width=16,depth=1", "--batch", "16", "--steps", "5", "--warmup", "0", "--meters", "off"]


def raw_terminal():
    reading, writing = pty.openpty()
    tty.setraw(writing)
    return reading, writing


def read_to_end(descriptor):
    content = b""
    while True:
        try:
            part = os.read(descriptor, 1 << 16)
        except OSError:  # a terminal that nobody writes to anymore
            part = b""
        if not part:
            return content
        content += part


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

    def test_output_waits_for_a_slow_reader(self):
        plain = subprocess.run([BINARY, "list", "published", "--json"], capture_output=True, timeout=TIMEOUT_SECONDS).stdout
        self.assertGreater(len(plain), 1 << 16, "more than a pipe holds")
        for stream, ends in (("pipe", os.pipe), ("terminal", raw_terminal), ("socket", lambda: [each.detach() for each in socket.socketpair()])):
            with self.subTest(stream):
                reading, writing = ends()
                os.set_blocking(writing, False)
                with subprocess.Popen([BINARY, "list", "published", "--json"], stdout=writing, stderr=subprocess.PIPE) as process:
                    time.sleep(0.3)
                    self.assertEqual(os.get_blocking(writing), stream == "socket", "the setting of those who share it stays")
                    os.close(writing)
                    self.assertEqual(read_to_end(reading), plain)
                    self.assertEqual((process.wait(), process.stderr.read()), (0, b""))
                os.close(reading)

    def test_input_comes_through_a_socket(self):
        self.assertEqual(self.call("run", *SHORT, *known_peaks(), "-o", self.out).returncode, 0)
        near, far = socket.socketpair()
        with subprocess.Popen([BINARY, "export", "-", "--format", "csv"], stdin=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            far.setblocking(False)
            far.close()
            near.sendall(self.out.read_bytes())
            near.close()
            output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(output.decode(), self.call("export", self.out, "--format", "csv").stdout, errors)

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

    def test_a_limit_of_processes_is_named(self):
        program, peaks = shutil.copy(BINARY, self.folder), shutil.copy(known_peaks()[1], self.folder)
        os.chmod(peaks, 0o644)
        self.folder.chmod(0o777)
        other = {"user": 1000680001, "group": 0, "extra_groups": []} if os.geteuid() == 0 else {}  # whom the limit holds for
        # For the program alone, for the case without the thread that reads its data, and without the other of OpenMP's threads.
        for limit, threads in ((1, 1), (2, 1), (3, 2))[:3 if len(os.sched_getaffinity(0)) > 1 else 2]:
            with self.subTest(limit):
                done = subprocess.run([program, "run", *SHORT, "--threads", str(threads), "--resume", peaks, "--overwrite", "-o", self.out],
                                      capture_output=True, text=True, cwd=self.folder, timeout=TIMEOUT_SECONDS, **other,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit)))
                self.assertEqual(done.returncode, 1, done.stderr)
                run, = load(self.out.read_text())["runs"]
                self.assertRegex(run["message"], r"Resource temporarily unavailable; too many processes or threads: raise their limit \(ulimit -u, ")

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
