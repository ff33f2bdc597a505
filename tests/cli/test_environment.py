"""What is set around the program changes neither the threads of a step nor the CPUs that it may use, and the result says what was set."""
import os
import pathlib
import signal
import subprocess
import time
import unittest

from support import BINARY, ENDLESS, QUICK, TIMEOUT_SECONDS, CliTest, known_peaks, load

VARIABLES = {
    "OMP_PROC_BIND": "true",
    "OMP_PLACES": "{0}",
    "OMP_THREAD_LIMIT": "1",
    "GOMP_CPU_AFFINITY": "0",
    "KMP_AFFINITY": "granularity=fine,compact",
    "OMP_NUM_THREADS": "1",
    "OMP_DYNAMIC": "true",
    "OMP_MAX_ACTIVE_LEVELS": "0",
}


class Surroundings(CliTest):
    def result(self, environment, *arguments, before=(), **options):
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_", "KMP_"))}
        self.done = subprocess.run([*before, BINARY, "run", *QUICK, *known_peaks(), "--meters", "off", "--overwrite", "-o", self.out,
                                    *arguments], capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
                                   env={**plain, **environment}, **options)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        return load(self.out.read_text())


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
class OpenMp(Surroundings):
    def test_no_variable_changes_the_threads_of_a_step(self):
        plain = self.result({})
        self.assertNotIn("environment", plain["context"])
        for name, value in VARIABLES.items():
            with self.subTest(name):
                result = self.result({name: value})
                self.assertEqual(result["context"]["environment"], {name: value})
                self.assertEqual(result["context"]["cpu"]["threads_available"], plain["context"]["cpu"]["threads_available"])
                self.assertEqual(result["runs"][0]["device"], plain["runs"][0]["device"])

    def test_all_of_them_with_what_is_asked_for(self):
        result = self.result({**VARIABLES, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}, "--threads", "2")
        self.assertEqual(result["context"]["environment"], {**VARIABLES, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"})
        self.assertEqual(result["runs"][0]["device"]["threads"], 2)
        self.assertEqual(len(result["runs"][0]["device"]["cpus"]), 2)

    def test_a_mask_is_followed(self):
        one = min(os.sched_getaffinity(0))
        result = self.result({"OMP_PROC_BIND": "true"}, preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual(result["runs"][0]["device"]["cpus"], [one])
        self.assertEqual(result["runs"][0]["device"]["threads"], 1)

    def test_the_table_says_what_was_not_followed_and_that_others_come_first(self):
        done = subprocess.run(["nice", "-n", "5", BINARY, "run", *QUICK, *known_peaks(), "--meters", "off", "-o", self.out],
                              capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env={**os.environ, "OMP_PROC_BIND": "true"})
        text = " ".join(done.stdout.split())
        self.assertIn("OMP_PROC_BIND=true", text)
        self.assertIn("set and not followed: --threads and --pin say how many threads run, and where", text)
        self.assertIn(f"this ran at a nice value of {min(19, os.nice(0) + 5)}, so other processes came first", text)

    def test_it_keeps_its_name(self):
        process = self.start("run", *ENDLESS, *known_peaks(), "--out", self.out, env={**os.environ, "OMP_PROC_BIND": "true"})
        self.case_of(process)
        self.assertEqual(pathlib.Path(f"/proc/{process.pid}/comm").read_text().strip(), pathlib.Path(BINARY).name[:15])


class Stops(CliTest):
    def test_a_stop_is_left_out_of_the_times_and_named(self):
        process = self.start("run", "--model", "lenet5", "--batch", "16", "--threads", "1", "--min-time", "2.5", *known_peaks(),
                             "--meters", "off", "-o", self.out)
        self.case_of(process)
        time.sleep(1)  # well into the timed steps
        stops, seconds = 3, 0.5
        for _ in range(stops):  # one of them may meet a moment between two blocks of steps, and changes no step
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGCONT)
            time.sleep(0.2)
        table, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 0, errors)
        timing = load(self.out.read_text())["runs"][0]["timing"]
        self.assertIn(len(timing["stopped_steps"]), range(1, stops + 1))
        self.assertLess(max(timing["step_seconds"]), seconds)
        self.assertRegex(" ".join(table.split()), "the process was stopped by a signal during [1-3] steps? of lenet5")


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
class Quota(Surroundings):
    """One of two CPUs, in control groups that this test makes: version 1 or 2, whichever this machine has."""

    def setUp(self):
        super().setUp()
        for root, file, value in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000"), ("/sys/fs/cgroup", "cpu.max", "100000 100000")):
            self.root = pathlib.Path(root)
            self.outer = self.root / f"epochbench-{os.getpid()}"
            self.inner = self.outer / "inner"
            try:
                self.inner.mkdir(parents=True)
            except OSError:
                continue
            self.addCleanup(lambda groups=(self.inner, self.outer): [group.rmdir() for group in groups])
            if (self.outer / file).exists():
                (self.outer / file).write_text(value)
                self.limit, self.value = self.outer / file, value
                return
        self.skipTest("no control group with a quota can be made here")

    def in_group(self, group, *arguments, **options):
        return self.result({}, *arguments, preexec_fn=lambda: (group / "cgroup.procs").write_text("0"), **options)

    def test_threads_are_those_of_the_quota_of_the_group_or_around_it(self):
        for group in (self.outer, self.inner):
            self.assertEqual(self.in_group(group)["runs"][0]["device"]["threads"], 1)

    @unittest.skipIf(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode, "no mount namespaces here")
    def test_where_only_this_part_of_the_hierarchy_is_mounted(self):
        mounted = ("unshare", "-m", "sh", "-c", f'mount --bind "{self.outer}" "{self.root}" && exec "$0" "$@"')
        self.assertEqual(self.in_group(self.inner, before=mounted)["runs"][0]["device"]["threads"], 1)

    def test_a_quota_below_one_cpu_is_noted(self):
        self.limit.write_text(self.value.replace("100000", "50000", 1))
        self.assertEqual(self.in_group(self.inner)["runs"][0]["device"]["threads"], 1)
        self.assertIn("note: the quota of this control group is 0.5 CPUs, so threads stand still for part of each period; raise the quota",
                      self.done.stderr)

    def test_more_threads_than_the_quota_is_noted(self):
        self.assertEqual(self.in_group(self.inner, "--threads", "2")["runs"][0]["device"]["threads"], 2)
        self.assertIn("--threads 2: the quota of this control group is 1 CPU", self.done.stderr)
