"""Commands of a long check. Each one has a limit and leaves a stamp, whatever happens to it, so that a later call continues
where one stopped. Commands that passed do not run again; those that were cut off continue after everything else, and then those
that failed, hung or ended their call are repeated.

Independent of devices and epochbench; scripts/lib/gpu_plan.py and cpu_plan.py list the commands.
"""

import datetime
import json
import os
import pathlib
import signal
import subprocess
import time

GRACE_SECONDS = 5  # between asking a command to end and killing it
CUT_OFF = ("stopped", "partial")  # by the end of a call or a budget: they progress if they have time
TO_REPEAT = ("failed", "begun")  # they may fail again, or take the call down again
UNFINISHED = CUT_OFF + TO_REPEAT


class Partial(Exception):
    """Raised by a judge: the command worked, but a later call has to continue it."""


class Command:
    """argv: a list, or a function of the seconds left in this call that returns one and may raise LookupError. It may take
    `limit` seconds, and begins if `expected` are left. judge: (log) -> complaints. explain: () -> complaints, if the exit
    code is not 0; if there is none, the last line of output. out: a file for standard output, which otherwise goes to the log.
    here: () -> bool, for a command that makes something on this machine only, such as a program: it runs before a command that
    needs it if `here` is false. absent: why it cannot run on this machine."""

    def __init__(self, name, argv, limit, expected, judge=None, out=None, needs=(), here=None, absent=None, core=False, explain=None):
        self.name, self.argv, self.limit, self.expected, self.judge, self.out = name, argv, limit, expected, judge, out
        self.needs, self.here, self.absent, self.core, self.explain = needs, here, absent, core, explain

    def arguments(self, left):
        return [str(argument) for argument in (self.argv(left) if callable(self.argv) else self.argv)]


class Stamps:
    """One file per command: its status (begun, passed, partial, failed or stopped), seconds, attempts and complaints."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def read(self, name):
        try:
            return json.loads((self.folder / f"{name}.json").read_text())
        except FileNotFoundError:
            return None

    def status(self, name):
        stamp = self.read(name)
        return stamp["status"] if stamp else None

    def write(self, name, stamp):
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f".{name}.new"
        new.write_text(json.dumps(stamp, indent=1) + "\n")
        new.replace(self.folder / f"{name}.json")


class Runner:
    """Runs commands until `budget` seconds after its construction. save() is called whenever a stamp has changed."""

    def __init__(self, folder, budget, environment, say, save=lambda: None, clock=time.monotonic):
        self.folder, self.clock = pathlib.Path(folder), clock
        self.end = clock() + budget
        self.environment, self.say, self.save = environment, say, save
        self.stamps = Stamps(self.folder / "stamps")
        self.began = False  # whether a command has begun in this call
        self.left_out = {}  # name -> why it has not run
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)

    def left(self):
        return self.end - self.clock()

    def run(self, commands, available):
        """available: all commands, among them those that others need."""
        by_name = {command.name: command for command in available}
        for _ in range(2):  # what a failed build held up gets a second chance before anything is repeated
            self.round(commands, by_name, lambda status: status is None)
            if any(reason.startswith("needs about") for reason in self.left_out.values()):
                return
        for statuses in (CUT_OFF, TO_REPEAT):
            self.round(commands, by_name, lambda status: status in statuses)

    def round(self, commands, by_name, wanted):
        refused = set()  # what others need and did not get in this round
        for command in commands:
            if command.here() if command.here else not wanted(self.stamps.status(command.name)):
                continue
            self.left_out.pop(command.name, None)
            if command.absent:
                self.left_out[command.name] = command.absent
            elif self.prepare(command, by_name, refused):
                self.attempt(command)

    def prepare(self, command, by_name, refused):
        """Makes what the command needs on this machine; returns whether all of it is there."""
        for name in command.needs:
            need = by_name[name]
            if need.here():
                continue
            if name not in refused:
                self.left_out.pop(name, None)
                if self.prepare(need, by_name, refused) and self.attempt(need):
                    continue
                refused.add(name)
            self.left_out[command.name] = self.left_out.get(name, f"needs {name}, which did not pass")
            return False
        return True

    def fits(self, command, stamp):
        """A call that has done nothing yet begins any command, so that every call makes progress."""
        expected = command.expected
        if stamp and stamp["status"] == "stopped":  # more than the time in which it did not end
            expected = min(command.limit, max(expected, 2 * stamp["seconds"]))
        if self.left() >= expected or (not self.began and self.left() > 0):
            return True
        self.left_out[command.name] = f"needs about {expected:.0f} s, and {max(0, self.left()):.0f} s were left"
        return False

    def attempt(self, command):
        """Runs a command, and returns whether it passed."""
        stamp = self.stamps.read(command.name)
        if not self.fits(command, stamp):
            return False
        self.began |= not (command.here and stamp and stamp["status"] == "passed")  # not by building again
        self.say(f"{command.name}: begins, about {command.expected:.0f} s; {self.left():.0f} s of this call are left")
        begin = self.clock()
        stamp = {"status": "begun", "attempts": (stamp["attempts"] if stamp else 0) + 1, "seconds": 0,
                 "began": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "complaints": []}
        self.stamp(command, stamp)
        status, complaints = "stopped", ["interrupted by a signal"]
        try:
            status, complaints = self.verdict(command)
        finally:
            stamp.update(status=status, seconds=round(self.clock() - begin, 1), complaints=complaints)
            self.stamp(command, stamp)
        self.say(f"{command.name}: {'FAILED' if status == 'failed' else status} in {stamp['seconds']:.0f} s")
        for complaint in complaints:
            self.say(f"  {complaint}")
        return status == "passed"

    def stamp(self, command, stamp):
        self.stamps.write(command.name, stamp)
        self.save()

    def verdict(self, command):
        log = self.folder / "logs" / f"{command.name}.log"
        seconds = min(command.limit, self.left())
        try:
            argv = command.arguments(self.left())
            code = self.execute(argv, log, command.out, seconds)
            if code is None and seconds < command.limit:
                return "stopped", [f"had {seconds:.0f} s until the end of the call"]
            if code is None:
                return "failed", [f"longer than {command.limit} s: {' '.join(argv)} (see {log.name})"]
            if code != 0:
                reasons = command.explain() if command.explain else []
                return "failed", reasons or [f"exit code {code}: {last_line(log) or ' '.join(argv)} (see {log.name})"]
            complaints = command.judge(log) if command.judge else []
        except Partial as rest:
            return "partial", [str(rest)]
        except Exception as error:  # what cannot be judged has failed, whatever the reason
            return "failed", [f"{type(error).__name__}: {error}"]
        return ("failed" if complaints else "passed"), complaints

    def execute(self, argv, log, out, seconds):
        """The exit code, 127 if the program does not exist, None if it was ended after `seconds`."""
        end = time.monotonic() + seconds
        with open(log, "ab") as errors, open(out or os.devnull, "wb") as output:
            errors.write(f"$ {' '.join(argv)}\n".encode())
            errors.flush()
            try:
                process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output if out else errors, stderr=errors,
                                           env=self.environment, start_new_session=True)
            except OSError as error:
                errors.write(f"{error}\n".encode())
                return 127
        try:
            return process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_group(process)


def last_line(log):
    """The last line that the command printed, which is mostly the reason; empty if it printed nothing."""
    lines = log.read_text(errors="replace").splitlines()
    said = [line.strip() for line in lines[-50:] if line.strip()]
    return said[-1][:300] if said and not said[-1].startswith("$ ") else ""


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
