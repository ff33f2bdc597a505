"""Launchers of clusters, and ranks where the system lacks what they are used to."""
import errno
import os
import pathlib
import shutil
import subprocess
import unittest

from support import BINARY, TIMEOUT_SECONDS, CliTest, known_peaks, load
from surroundings import SHORT, can_mount, can_refuse, mounted, refuse

HAS_RANKS = (bool(shutil.which("mpirun")) and pathlib.Path(BINARY).with_name("epochbench-mpi").exists()
             and len(os.sched_getaffinity(0)) > 1)
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Copies(CliTest):
    def test_one_of_several_copies_measures_nothing(self):
        for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"):
            for call in (["run", *SHORT], ["sweep", "--model", "mlp", "--over", "batch", "--values", "1"],
                         ["compare", "--interleave", BINARY, BINARY]):
                with self.subTest(variable, call=call[0]):
                    done = self.call(*call, env={**os.environ, variable: "2"})
                    self.assert_refused(done, 2, "2 copies", variable, "start it once", "--ranks 2")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_only_copy_runs(self):
        alone = {"OMPI_COMM_WORLD_SIZE": "1", "SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "0", "WORLD_SIZE": "1"}
        self.succeed("run", *SHORT, *known_peaks(), "-o", self.out, env={**os.environ, **alone})


@unittest.skipUnless(HAS_RANKS, "needs mpirun, epochbench-mpi and two CPUs")
class RankHosts(CliTest):
    def run_ranks(self, *arguments, before=(), environment={}, **options):
        self.done = subprocess.run([*before, BINARY, "run", "--model", "mlp:width=256", *SHORT[2:], *known_peaks(), "--ranks", "2", "--overwrite", "-o", self.out, *arguments],
                                   capture_output=True, text=True, cwd=self.folder, timeout=TIMEOUT_SECONDS,
                                   env={**os.environ, **AS_ROOT, **environment}, **options)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        run = load(self.out.read_text())["runs"][0]
        self.assertEqual((run["status"], run["ranks"]["count"]), ("ok", 2))

    @unittest.skipUnless(can_refuse(), "system calls cannot be refused here (seccomp)")
    def test_without_reading_the_memory_of_others(self):
        self.run_ranks(preexec_fn=refuse(errno.EPERM, "process_vm_readv", "process_vm_writev", "ptrace"))
        self.assertNotIn("Read -1", self.done.stderr)

    @unittest.skipUnless(can_mount(), "needs mount namespaces")
    def test_with_little_shared_memory(self):
        self.run_ranks(before=mounted("mount -t tmpfs -o size=3m none /dev/shm"))
        self.assertIn("note: /dev/shm has room for 3", self.done.stderr)

    @unittest.skipUnless(can_mount(), "needs mount namespaces")
    def test_without_proc(self):
        self.run_ranks(before=mounted("mount -t tmpfs none /proc"))

    def test_in_a_job_of_a_batch_system(self):
        """As in a container that a job starts: its variables are there, and neither its commands nor its machines."""
        hosts = self.folder / "hosts"
        hosts.write_text("node17 1 all.q UNDEFINED\n")
        slurm = {"SLURM_JOB_ID": "7", "SLURM_JOBID": "7", "SLURM_NODELIST": "node17", "SLURM_JOB_NODELIST": "node17", "SLURM_NNODES": "1",
                 "SLURM_TASKS_PER_NODE": "1", "SLURM_NTASKS": "1", "SLURM_CPUS_ON_NODE": "2"}
        for name, environment in (("Slurm", slurm), ("Grid Engine", {"JOB_ID": "7", "PE_HOSTFILE": str(hosts), "ARC": "x", "SGE_ROOT": "/sge"}),
                                  ("hosts of the administrator", {"OMPI_MCA_orte_default_hostfile": str(hosts)})):
            with self.subTest(name):
                self.run_ranks(environment=environment)

    def test_where_open_mpi_marks_output(self):
        self.run_ranks(environment={"OMPI_MCA_orte_tag_output": "1", "OMPI_MCA_orte_timestamp_output": "1"})

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
    def test_of_a_user_without_name_and_home(self):
        for program in ("epochbench", "epochbench-mpi"):
            shutil.copy(pathlib.Path(BINARY).with_name(program), self.folder)
        self.folder.chmod(0o777)
        environment = {key: value for key, value in os.environ.items() if key not in ("HOME", "USER", "LOGNAME", "TMPDIR")}
        done = subprocess.run([self.folder / "epochbench", "run", *SHORT, "--ranks", "2", "-o", self.out], capture_output=True, text=True,
                              cwd=self.folder, timeout=TIMEOUT_SECONDS, user=1000680000, group=0, extra_groups=[], env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
