"""Sandboxes that refuse system calls or lack parts of the system: a run has the losses and threads of the plain one, or says why not."""
import errno
import subprocess
import unittest

from support import BINARY, TIMEOUT_SECONDS, CliTest, known_peaks, load
from surroundings import SHORT, can_mount, can_refuse, mounted, refuse


class Surrounded(CliTest):
    def run_in(self, *arguments, before=(), **options):
        self.done = subprocess.run([*before, BINARY, "run", *SHORT, *known_peaks(), "--overwrite", "-o", self.out, *arguments],
                                   capture_output=True, text=True, cwd=self.folder, timeout=TIMEOUT_SECONDS, **options)
        return load(self.out.read_text())["runs"][0] if self.out.exists() and self.out.stat().st_size else None

    def assert_like_plain(self, run):
        self.assertIsNotNone(run, self.done.stderr)
        self.assertEqual(run["status"], "ok", run["message"])
        plain = self.run_in()
        self.assertEqual(run["quality"]["loss"], plain["quality"]["loss"])
        self.assertEqual(run["device"]["threads"], plain["device"]["threads"])


@unittest.skipUnless(can_refuse(), "system calls cannot be refused here (seccomp)")
class RefusedCalls(Surrounded):
    def test_cases_run_without_newer_calls(self):
        for code in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            with self.subTest(errno.errorcode[code]):
                self.assert_like_plain(self.run_in(preexec_fn=refuse(code, "execveat", "close_range", "statx", "perf_event_open", "ptrace",
                                                                     "process_vm_readv", "process_vm_writev", "set_mempolicy")))

    def test_threads_are_not_pinned_where_that_is_refused(self):
        denied = refuse(errno.EPERM, "sched_setaffinity")
        run = self.run_in(preexec_fn=denied)
        self.assert_like_plain(run)
        self.assertFalse(run["device"]["pinned"])
        self.out.unlink()
        self.assertIsNone(self.run_in("--pin", "cores", preexec_fn=denied))
        self.assertEqual(self.done.returncode, 2)
        self.assertIn("refuses sched_setaffinity", self.done.stderr)

    def test_files_are_written_without_fsync_and_locks(self):
        for code in (errno.EPERM, errno.EINVAL, errno.ENOSYS):
            with self.subTest(errno.errorcode[code]):
                self.assert_like_plain(self.run_in(preexec_fn=refuse(code, "fsync", "flock", "fchown", "fchmod")))


class PartsOfTheSystem(Surrounded):
    @unittest.skipUnless(can_mount(), "needs mount namespaces")
    def test_without_proc_and_sys(self):
        for commands in ("mount -t tmpfs none /proc", "mount -t tmpfs none /sys", "mount -t tmpfs none /proc && mount -t tmpfs none /sys"):
            with self.subTest(commands):
                run = self.run_in(before=mounted(commands))
                self.assertIsNotNone(run, self.done.stderr)
                self.assertEqual(run["status"], "ok", run["message"])

    def test_with_few_variables(self):
        for environment in ({}, {"HOME": "/nowhere", "TMPDIR": "/nowhere"}, {"LC_ALL": "tr_TR.UTF-8"}, {"LC_ALL": "de_DE.UTF-8"},
                            {"TERM": "dumb", "COLUMNS": "10"}, {"COLUMNS": "0"}, {"COLUMNS": "x", "TERM": ""}):
            with self.subTest(environment):
                self.assert_like_plain(self.run_in(env=environment))


if __name__ == "__main__":
    unittest.main()
