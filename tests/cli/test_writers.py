"""Files that several processes want to write, and binaries that change while they are measured: nothing is lost or mixed up."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from support import BINARY, ENDLESS, QUICK, SCHEMAS, CliTest, children, known_peaks, wait_until

STORED = SCHEMAS.with_name("zen4-2cores-quick.json")
TINY = ["--model", "mlp:width=32", "--batch", "16", "--steps", "10", "--quiet"]


def descendants(pid):
    """Process ids of all cases below the program."""
    return [case for child in children(pid, False) for case in (child, *descendants(child))]


class Writers(CliTest):
    def results(self):
        return sorted(self.folder.glob("*.json"))

    def test_runs_that_begin_together_keep_a_file_each(self):
        processes = [self.start("run", *TINY) for _ in range(3)]
        for process in processes:
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(len(self.results()), 3)
        for path in self.results():
            self.assertEqual([run["status"] for run in self.result(path)["runs"]], ["ok"])
        self.assertEqual(len(os.listdir(self.folder)), 3, "locks and temporary files are gone")

    def test_a_result_is_replaced_only_with_overwrite(self):
        self.out.write_text("precious")
        for command in (["run", *TINY], ["sweep", "--over", "batch", "--model", "mlp:width=32", "--values", "16", "--steps", "5"]):
            with self.subTest(command[0]):
                self.assert_refused(self.call(*command, "--out", self.out), 2, "result.json exists", "--overwrite")
        self.assertEqual(self.out.read_text(), "precious")
        self.assertEqual(self.call("run", *TINY, *known_peaks(), "-o", self.out, "--overwrite").returncode, 0)
        self.assertEqual(self.call("run", *TINY, "--resume", self.out).returncode, 0, "its own file")
        self.assertEqual(self.call("run", *TINY, "--resume", self.out, "--out", "./result.json").returncode, 0)

    def test_a_result_has_one_writer_at_a_time(self):
        first = self.start("run", *ENDLESS, *known_peaks(), "--out", self.out)
        self.case_of(first)
        for other in (["run", *TINY, "--out", self.out, "--overwrite"], ["export", STORED, "--format", "csv", "-o", self.out],
                      ["report", STORED, "-o", self.out]):
            with self.subTest(other[0]):
                self.assert_refused(self.call(*other), 2, "being written by another process")
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        self.assertEqual(self.call("run", *TINY, *known_peaks(), "--out", self.out, "--overwrite").returncode, 0)

    def test_containers_that_number_their_processes_alike_keep_their_own(self):
        inside = ["unshare", "--pid", "--fork", BINARY]  # each is process 1
        if subprocess.run([*inside, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("process namespaces are not permitted here")
        formats = {"a.csv": "csv", "b.md": "markdown"}
        expected = {name: self.call("export", STORED, "--format", form).stdout for name, form in formats.items()}
        for _ in range(40):
            processes = [subprocess.Popen([*inside, "export", STORED, "--format", form, "-o", name], cwd=self.folder)
                         for name, form in formats.items()]
            self.assertEqual([process.wait() for process in processes], [0, 0])
            for name, text in expected.items():
                self.assertEqual((self.folder / name).read_text(), text)

    def test_a_file_that_may_not_grow_is_a_failed_write(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
        call = self.call("run", *QUICK, *known_peaks(), "--out", self.out, preexec_fn=limit)
        self.assertEqual(call.returncode, 2, call.stderr)
        self.assertIn("File too large", call.stderr)
        self.assertNotIn("result: ", call.stdout)


    def test_a_small_stack_is_enlarged_or_refused(self):
        def limit(hard):
            return lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, hard))
        self.assertEqual(self.call("run", *TINY, preexec_fn=limit(8 << 20)).returncode, 0)
        self.assert_refused(self.call("run", *TINY, preexec_fn=limit(64 << 10)), 2, "stack is 64 KiB", "ulimit -s 8192")


class ChangedBinaries(CliTest):
    """A rebuild puts another file in the place of the one that runs."""

    def setUp(self):
        super().setUp()
        self.binary = self.folder / "epochbench"
        shutil.copy(BINARY, self.binary)

    def rebuild(self, text="#!/bin/sh\nexit 9\n"):
        new = self.folder / "new"
        new.write_text(text)
        new.chmod(0o755)
        new.rename(self.binary)

    def test_a_run_goes_on_with_the_image_that_runs(self):
        process = subprocess.Popen([self.binary, "run", *QUICK, "--repetitions", "3", "--out", self.out], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: children(process.pid), "a case")
        self.rebuild()
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual([run["status"] for run in self.result()["runs"]], ["ok"] * 3)

    def interleave(self, new):
        suite = self.write("suite.json", {"cases": [{"model": "mlp:width=1,depth=1", "batch": 1, "data": "synthetic", "threads": 1}]})
        process = self.start("compare", "--interleave", BINARY, new, "--suite", suite, "--max-pairs", 2, "-o", self.out)
        return process, wait_until(lambda: self.pair_of(process), "the first pair")

    @staticmethod
    def pair_of(process):
        """The processes that take turns, once both do; not the one that was asked who it is, nor a shell."""
        found = []
        for case in descendants(process.pid):
            try:
                program, environment = os.readlink(f"/proc/{case}/exe"), pathlib.Path(f"/proc/{case}/environ").read_bytes()
            except OSError:
                continue
            if "epochbench" in program and b"OMP_WAIT_POLICY=passive" in environment.split(b"\0"):
                found.append(case)
        return found if len(found) == 2 else []

    def statuses(self):
        return [pair["new"]["status"] for pair in json.loads(self.out.read_text())["cases"][0]["pairs"]]

    def test_so_does_a_side_of_a_comparison(self):
        process, _ = self.interleave(self.binary)
        self.rebuild()
        process.communicate(timeout=120)
        self.assertEqual(self.statuses(), ["ok"] * 2)

    def test_a_script_in_the_place_of_a_side_may_not_change(self):
        self.binary.write_text(f'#!/bin/sh\nexec "{BINARY}" "$@"\n')
        process, _ = self.interleave(self.binary)
        self.rebuild(self.binary.read_text() + "# changed\n")  # does the same
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, output + errors)
        self.assertIn("was changed while it was being measured", self.out.read_text())

    def test_a_wrapper_takes_its_case_along(self):
        self.binary.write_text(f'#!/bin/sh\n"{BINARY}" "$@"\n')
        process, cases = self.interleave(self.binary)
        cases = [*cases, *descendants(process.pid)]
        process.kill()
        wait_until(lambda: not any(pathlib.Path(f"/proc/{case}").exists() for case in cases), "the end of all", 5)


class Peaks(CliTest):
    def test_an_interrupt_ends_a_child_that_is_stopped(self):
        process = self.start("run", *QUICK, "--out", self.out)
        child = wait_until(lambda: children(process.pid), "the process that measures the peaks")[0]
        os.kill(child, signal.SIGSTOP)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)

    def test_a_machine_without_proc_measures_too(self):
        without = ["unshare", "--mount", "sh", "-c", 'umount -l /proc 2>/dev/null; [ ! -e /proc/self ] && exec "$@"', "sh"]
        if subprocess.run([*without, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("/proc cannot be taken away here")
        call = subprocess.run([*without, BINARY, "run", *QUICK, "--out", self.out], capture_output=True, text=True, check=False)
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertEqual([run["status"] for run in self.result()["runs"]], ["ok"])
