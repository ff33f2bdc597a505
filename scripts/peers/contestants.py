"""Those who take turns: processes of epochbench and PyTorch that hold the same case, and one that measures the peak.

All wait for a word on their standard input, with threads asleep, so that whoever has the turn has the machine.
"""

import math
import os
import sys

from case_process import PROTOCOL, CaseEnded, CaseProcess

TURN_SECONDS = 0.05   # a short step's turn: long beside the caches that the others have filled, short beside interference
PAUSE_SECONDS = 0.01  # between two turns, where threads spin: three times as long as they do
MOST_STEPS = 4096     # of a block, for epochbench's runner
OURS = "epochbench"
OF_LIBRARIES = ("OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_")


def environment(threads, bind, spin):
    """The same for all: so many threads, one a core or where the system likes. An idle thread sleeps at once, or first spins
    for some milliseconds, as in `epochbench run`: longer than a gap within a step, and over before the next turn."""
    waiting = {"GOMP_SPINCOUNT": "50000", "KMP_BLOCKTIME": "3"} if spin else {
        "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
    binding = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"} if bind else {"OMP_PROC_BIND": "false"}
    return {**clean_environment(), "OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false", **waiting, **binding}


def clean_environment():
    return {key: value for key, value in os.environ.items() if not key.startswith(OF_LIBRARIES)}


def steps_of_turn(step_seconds):
    return max(1, min(MOST_STEPS, math.ceil(TURN_SECONDS / step_seconds)))


class Contestant:
    """label: in the table. ended: (status, message) once it has left the game."""

    def __init__(self, label, name, device):
        self.label, self.name, self.device = label, name, device
        self.process = self.ready = self.result = self.ended = None
        self.steps, self.warm, self.timed = 1, [], []

    def guarded(self, act):
        """What `act` returns, or None where it ends this contestant, which the others survive."""
        if self.ended:
            return None
        try:
            return act()
        except CaseEnded as ended:
            self.ended = ended.status, str(ended)
            self.leave()
            return None

    def enter(self, command, spec, **how):
        """Prepares and warms up; then the number of steps a turn is fixed."""
        def act():
            self.process = CaseProcess(command, **how)
            self.ready = self.process.ask("prepare", protocol=PROTOCOL, case=spec)
            for what, here, there in (("parameters", self.ready.get("parameters", spec["parameters"]), spec["parameters"]),
                                      ("threads", self.ready["device"]["threads"], spec["threads"])):
                if here != there:
                    raise CaseEnded("failed", f"it has {here} {what}, and the case {there}: not the same workload")
            self.process.ask("begin_epoch", epoch=0)
            self.warm_up(spec["warmup"])
            self.warm_up(self.steps)
        self.guarded(act)

    def warm_up(self, steps):
        block = self.process.ask("warm_up", steps=steps)
        self.warm.append(block)
        self.steps = steps_of_turn(block["wall_seconds"] / steps)

    def take_turn(self, timed):
        return self.guarded(lambda: self.process.ask("step" if timed else "warm_up", steps=self.steps))

    def finish(self):
        self.result = self.guarded(lambda: self.process.ask("finish", profile=False))
        self.leave()

    def leave(self):
        if self.process:
            self.process.end()
            self.process = None


class Peak:
    """The machine's own peak, in bursts that take turns with the steps."""
    label = "peak"

    def __init__(self, binary, precision, threads):
        self.process = CaseProcess([binary, "case"], clean_environment())  # its threads place themselves
        self.question = {"protocol": PROTOCOL, "precision": precision, "threads": threads, "seconds": TURN_SECONDS}
        self.bursts = []

    def take_turn(self, timed):
        if not self.process:
            return None
        try:
            burst = self.process.ask("burst", **self.question)["flops_per_second"]
        except CaseEnded as ended:
            print(f"take_turns: the peak of this machine is not measured any more: {ended}", file=sys.stderr)
            self.leave()
            return None
        if timed and burst is not None:
            self.bursts.append(burst)
        return None

    def leave(self):
        if self.process:
            self.process.end()
            self.process = None
