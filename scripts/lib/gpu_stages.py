"""Stages of a long check: each has commands, a time limit and a stamp, so that a later call continues where one stopped.

Independent of GPUs and epochbench; scripts/check_gpu defines the stages.
"""

import os
import pathlib
import signal
import subprocess
import time

GRACE_SECONDS = 5  # between asking a command to end and killing it


class Command:
    """argv; out: a file for standard output, which otherwise goes to the log; may_fail: its exit code is not judged."""

    def __init__(self, *argv, out=None, may_fail=False):
        self.argv = [str(argument) for argument in argv]
        self.out, self.may_fail = out, may_fail


class Stage:
    """limit_seconds: per command; only the budget limits the whole stage. commands: () -> list of Command, called when the stage
    begins, because it may need results of earlier stages. judge: () -> list of complaints, called after the commands. always:
    runs in every call and has no stamp."""

    def __init__(self, name, limit_seconds, commands, judge=lambda: [], always=False):
        self.name, self.limit_seconds, self.commands, self.judge, self.always = name, limit_seconds, commands, judge, always


class OutOfTime(Exception):
    pass


class Runner:
    """Runs stages within a budget, counted from its construction. state[name]: done, earlier, left, or a list of complaints."""

    def __init__(self, folder, budget_seconds, environment, say):
        self.folder = pathlib.Path(folder)
        self.end = time.monotonic() + budget_seconds
        self.environment, self.say = environment, say
        self.state = {}
        for part in ("logs", "stamps"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)

    def left(self):
        return self.end - time.monotonic()

    def run(self, stage):
        stamp = self.folder / "stamps" / stage.name
        if stamp.exists() and not stage.always:
            self.state[stage.name] = "earlier"
            return
        if self.left() <= 0:
            self.state[stage.name] = "left"
            return
        begin = time.monotonic()
        try:
            complaints = self.commands(stage) or stage.judge()
        except OutOfTime:
            self.state[stage.name] = "left"
            self.say(f"{stage.name}: stopped, time limit reached")
            return
        seconds = time.monotonic() - begin
        self.state[stage.name] = complaints or "done"
        if not complaints and not stage.always:
            stamp.write_text(f"{seconds:.1f} s\n")
        self.say(f"{stage.name}: {'FAILED' if complaints else 'done'} in {seconds:.0f} s")
        for complaint in complaints:
            self.say(f"  {complaint}")

    def commands(self, stage):
        """Runs all commands, even if one fails, and returns complaints."""
        complaints = []
        for number, command in enumerate(stage.commands()):
            log = self.folder / "logs" / f"{stage.name}-{number}.log"
            code = self.execute(command, log, min(time.monotonic() + stage.limit_seconds, self.end))
            if code is None and self.left() <= 0:
                raise OutOfTime
            if code is None:
                complaints.append(f"longer than {stage.limit_seconds} s: {' '.join(command.argv)} (see {log})")
            elif code != 0 and not command.may_fail:
                complaints.append(f"exit code {code}: {' '.join(command.argv)} (see {log})")
        return complaints

    def execute(self, command, log, end):
        """The exit code, 127 if the program does not exist, None if it was killed at `end`."""
        with open(log, "wb") as errors, open(command.out or os.devnull, "wb") as out:
            errors.write(f"$ {' '.join(command.argv)}\n".encode())
            errors.flush()
            try:
                process = subprocess.Popen(command.argv, stdin=subprocess.DEVNULL, stdout=out if command.out else errors,
                                           stderr=errors, env=self.environment, start_new_session=True)
            except OSError as error:
                errors.write(f"{error}\n".encode())
                return 127
        try:
            return process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.end_group(process)

    @staticmethod
    def end_group(process):
        """Ends the command and its descendants: first with an interrupt, so that epochbench saves its results."""
        for sign in (signal.SIGINT, signal.SIGKILL):
            if process.poll() is None or sign == signal.SIGKILL:
                try:
                    os.killpg(process.pid, sign)
                except ProcessLookupError:
                    return
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                pass
