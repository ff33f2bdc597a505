"""The parent's side of the case protocol (src/worker/protocol.h): one process that is asked and answers, or whose end is told.

Standard library only. It knows no model and decides nothing.
"""

import json
import os
import select
import signal
import subprocess
import time

PROTOCOL = 1
TICK_SECONDS = 1.0  # between two looks at what may end a wait: seldom enough to disturb no step


class CaseEnded(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class CaseProcess:
    def __init__(self, command, environment=None, patience=None, interrupted=lambda: False):
        """environment: of the process, or None for this one's. patience: seconds to wait for one answer, or None. What
        `interrupted` tells ends a wait for a preparation as KeyboardInterrupt; steps are waited for, so that they count.

        The process has a session of its own: what interrupts this one leaves it to its parent, and its helpers end with it."""
        self.patience, self.interrupted, self.pending = patience, interrupted, b""
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
                                        start_new_session=True)

    def ask(self, command, **fields):
        try:
            self.process.stdin.write(json.dumps({"command": command, **fields}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer tells why
        line = self.line(command)
        try:
            answer = json.loads(line)
            event = answer["event"]
        except (ValueError, KeyError, TypeError):
            raise CaseEnded("failed", f"the case's process answered {command} with {line[:60]!r}") from None
        if event == "error":
            raise CaseEnded(answer["status"], answer["message"])
        return answer

    def line(self, command):
        begin = time.monotonic()
        while b"\n" not in self.pending:
            if self.interrupted() and command == "prepare":
                raise KeyboardInterrupt
            if self.patience and time.monotonic() - begin > self.patience:
                raise CaseEnded("failed", f"hung: the case's process did not answer {command} within {self.patience:g} s")
            if not select.select([self.process.stdout], [], [], min(TICK_SECONDS, self.patience or TICK_SECONDS))[0]:
                continue
            received = os.read(self.process.stdout.fileno(), 1 << 16)
            if not received:
                raise CaseEnded("failed", f"the case's process ended without an answer to {command}, {self.farewell()}")
            self.pending += received
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode(errors="replace")

    def farewell(self):
        code = self.process.wait()
        return f"with {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # a command that nobody has read
