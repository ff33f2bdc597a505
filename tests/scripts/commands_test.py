"""The runner of commands behind scripts/check_gpu and scripts/check_cpu, with real processes."""

import os
import pathlib
import select
import sys
import unittest

from in_folder import FolderTest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

from commands import Command, Runner  # noqa: E402


class RealCommands(FolderTest):
    def run_commands(self, *commands, budget=60):
        runner = Runner(self.folder, budget, None, lambda *texts: None)
        runner.run(list(commands), list(commands))
        return runner.stamps

    def test_one_that_hangs_is_ended_and_stamped(self):
        stamps = self.run_commands(Command("hangs", ["sleep", "30"], 0.5, 0), Command("next", ["true"], 9, 0))
        self.assertEqual((stamps.status("hangs"), stamps.read("hangs")["attempts"], stamps.status("next")), ("failed", 2, "passed"))
        self.assertIn("longer than 0.5 s: sleep 30", stamps.read("hangs")["complaints"][0])

    def test_the_end_of_the_call_stops_one_and_the_next_call_gives_it_twice_the_time(self):
        command = Command("long", ["sleep", "30"], 20, 0)
        stamps = self.run_commands(command, budget=1)
        self.assertEqual(stamps.status("long"), "stopped")
        runner = Runner(self.folder, 1.5, None, lambda *texts: None)
        runner.began = True
        self.assertFalse(runner.fits(command, stamps.read("long")))
        self.assertIn("needs about 2 s", runner.left_out["long"])

    def test_what_was_cut_off_goes_on_before_what_failed(self):
        order = []

        def judge(name, fails):
            def of(log):
                order.append(name)
                return ["no"] if fails else []
            return of

        names = ("failed", "begun", "stopped", "partial", "new")
        commands = [Command(name, ["true"], 9, 0, judge(name, name == "failed")) for name in names]
        stamps = Runner(self.folder, 60, None, lambda *texts: None).stamps
        for command in commands[:-1]:
            stamps.write(command.name, {"status": command.name, "seconds": 1, "attempts": 1, "complaints": []})
        self.run_commands(*commands)
        self.assertEqual(order, ["new", "stopped", "partial", "failed", "begun"])

    def test_a_build_that_each_call_repeats_does_not_take_the_turn_of_a_command(self):
        commands = [Command("build", ["true"], 9, 0, here=lambda: False), Command("long", ["true"], 90, 80, needs=("build",))]
        for status in ("build", "long"):  # the first call has built, so only the second one begins what does not fit
            runner = Runner(self.folder, 30, None, lambda *texts: None)
            runner.run(commands[1:], commands)
            self.assertEqual(runner.stamps.status(status), "passed")
            self.assertEqual("long" in runner.left_out, status == "build")

    def test_a_missing_program_and_a_judge_that_breaks_are_failures(self):
        def broken(log):
            raise KeyError("runs")
        stamps = self.run_commands(Command("missing", ["/no/such/program"], 9, 0), Command("broken", ["true"], 9, 0, broken),
                                   Command("unknown", lambda left: {}["batch"], 9, 0))
        self.assertIn("exit code 127: [Errno 2] No such file or directory", stamps.read("missing")["complaints"][0])
        self.assertEqual(stamps.read("broken")["complaints"], ["KeyError: 'runs'"])
        self.assertEqual(stamps.status("unknown"), "failed")

    def test_a_failure_is_reported_by_what_was_said_last(self):
        stamps = self.run_commands(Command("fails", ["sh", "-c", "echo begin; echo 'no device' >&2; exit 3"], 9, 0),
                                   Command("silent", ["false"], 9, 0))
        self.assertEqual(stamps.read("fails")["complaints"], ["exit code 3: no device (see fails.log)"])
        self.assertEqual(stamps.read("silent")["complaints"], ["exit code 1: false (see silent.log)"])

    def test_a_command_may_explain_its_failure(self):
        stamps = self.run_commands(Command("fails", ["false"], 9, 0, explain=lambda: ["two tests failed"]),
                                   Command("cannot", ["false"], 9, 0, explain=lambda: []))
        self.assertEqual(stamps.read("fails")["complaints"], ["two tests failed"])
        self.assertEqual(stamps.read("cannot")["complaints"], ["exit code 1: false (see cannot.log)"])

    def test_progress_names_the_command_and_the_time_left(self):
        said = []
        Runner(self.folder, 60, None, said.append).run([Command("first", ["true"], 9, 2)], [])
        self.assertRegex(said[0], r"^first: begins, about 2 s; (59|60) s of this call are left$")
        self.assertEqual(said[1], "first: passed in 0 s")

    def test_descendants_end_too(self):
        held = self.folder / "held"  # a pipe that ends with the last process that writes to it
        os.mkfifo(held)
        pipe = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, pipe)
        script = f"(trap '' INT; echo begun; exec sleep 30) > {held} & sleep 30"
        self.run_commands(Command("parent", ["sh", "-c", script], 0.5, 0))
        said = []
        while not said or said[-1]:
            self.assertTrue(select.select([pipe], [], [], 10)[0], "a descendant lives on")
            said.append(os.read(pipe, 100))
        self.assertIn(b"begun", said[0])


if __name__ == "__main__":
    unittest.main()
