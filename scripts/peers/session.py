"""One repetition of one case: who takes part, the rounds, and the runs that come of them.

It knows no file and prints no table. A round counts once all who are still there have had their turn.
"""

import pathlib
import random
import sys
import time

import contestants
import peer_results
import workloads

FEWEST_ROUNDS = 6  # that an interval needs


def say(line):
    print(f"take_turns: {line}", file=sys.stderr, flush=True)


class Session:
    def __init__(self, options, python, info, interrupted, workload, data, precision, repetition):
        """options: of take_turns. python: that has PyTorch. interrupted: tells whether somebody wants an end."""
        self.options, self.interrupted = options, interrupted
        self.workload, self.precision, self.repetition = workload, precision, repetition
        # Why epochbench's own process does not take part, or None.
        self.refusal = workloads.ask(options.binary, "plan", "--model", workload["model"], "--batch", str(workload["batch"]),
                                     "--precision", precision, "--device", "cpu")[1]
        self.commands, self.players = [], []
        here = pathlib.Path(__file__).resolve().parent
        self.add(contestants.OURS, "cpu", [options.binary, "case"], info, data)
        for mode in options.compile:
            label = "PyTorch eager" if mode == "eager" else "PyTorch compile" if mode == "default" else f"PyTorch {mode}"
            self.add(label, "pytorch", [python, here / "pytorch_case", "--compile", mode], info, data,
                     compile=mode if mode != "eager" else None)
        self.order = random.Random(f"{options.seed} {workload['model']} {workload['batch']} {precision} {repetition}")
        self.peak, self.rounds, self.seconds = None, 0, 0.0

    def add(self, label, backend, command, info, data, **named):
        options = self.options
        name = workloads.run_name(
            self.workload, backend, self.precision, data, bind="no" if options.unbound else None,
            threads=options.threads if options.threads != options.threads_by_default else None,
            wait="spin" if options.spin else None,
            warmup=options.warmup if options.warmup != workloads.WARM_UP_BY_DEFAULT else None, **named)
        device = {"backend": backend, "name": info["cpu"]["model"], "threads": options.threads, "isa": None}
        self.commands.append(command)
        self.players.append(contestants.Contestant(label, name, device))

    def kept(self, runs):
        """Whether an earlier call has left these runs of the case: turns belong together, so all are measured or none."""
        found = [runs.get((player.name, self.repetition)) for player in self.players]
        return all(run and run.get("turns") and run["workload"] == self.workload and
                   (run["status"] == "ok" or (run["status"] == "skipped" and self.refusal)) for run in found)

    def take(self):
        begin = time.monotonic()
        self.peak = contestants.Peak(self.options.binary, self.precision, self.options.threads)
        try:
            self.prepare()
            for _ in range(self.options.drop):
                self.round(timed=False)
            while not self.enough():
                self.round(timed=True)
            for player in self.players:
                player.finish()
        except KeyboardInterrupt:  # no round is whole
            for player in self.players:
                player.ended = player.ended or ("interrupted", "interrupted before the first round")
        finally:
            for player in (*self.players, self.peak):
                player.leave()
        self.seconds = time.monotonic() - begin

    def prepare(self):
        if self.refusal:
            self.players[0].ended = "skipped", self.refusal.removeprefix("epochbench: ")
        all_alike = contestants.environment(self.options.threads, not self.options.unbound, self.options.spin)
        for player, command in zip(self.players, self.commands):
            spec = workloads.case(player.name, self.repetition, self.workload, "cpu", self.precision, self.options.threads,
                                  self.options.warmup)
            say(f"{player.name}: prepares")
            player.enter(command, spec, environment=all_alike, patience=self.options.patience, interrupted=self.interrupted)
            if player.ended:
                say(f"{player.name}: {': '.join(player.ended)}")
            if self.interrupted():
                raise KeyboardInterrupt
        say("all are warm and take turns")

    def round(self, timed):
        """A turn of each that is still there; it counts once all have had theirs."""
        turn_of = [player for player in self.players if not player.ended] + [self.peak]
        self.order.shuffle(turn_of)
        blocks = []
        for player in turn_of:
            if self.options.spin:
                time.sleep(contestants.PAUSE_SECONDS)
            if self.interrupted():
                break
            blocks.append((player, player.take_turn(timed)))
        else:
            for player, block in blocks:
                if block:
                    (player.timed if timed else player.warm).append(block)
            self.rounds += timed
        if self.interrupted() and not self.rounds:
            raise KeyboardInterrupt

    def enough(self):
        if self.interrupted() or all(player.ended for player in self.players):
            return True
        if self.options.rounds:
            return self.rounds >= self.options.rounds
        spent = sum(block["wall_seconds"] for player in self.players for block in player.timed)
        return self.rounds >= FEWEST_ROUNDS and spent >= self.options.min_time

    def runs(self):
        return [self.run(player) for player in self.players]

    def run(self, player):
        peak = max(self.peak.bursts, default=None)
        told = {"contestant": player.label, "steps": player.steps, "dropped_rounds": self.options.drop,
                "order_seed": self.options.seed, "bound": not self.options.unbound, "spinning": self.options.spin,
                "peak_flops_per_second": peak, "peak_bursts_flops_per_second": self.peak.bursts}
        device = player.device
        if player.ready and device["backend"] == "cpu":
            device = player.ready["device"]
        status, message = player.ended or ("ok", None)
        groups = None
        if status == "ok":
            warm_up = {"warmup": sum(len(block["seconds"]) for block in player.warm)}
            stopped_by = "steps" if self.options.rounds and self.rounds == self.options.rounds else "time"
            groups = peer_results.measured(warm_up, self.workload, player.ready, (player.warm, player.timed), player.result,
                                           peak, stopped_by, self.seconds)
            if self.interrupted():
                message = f"interrupted after {self.rounds} rounds, which count"
        run = peer_results.run(player.name, self.repetition, self.workload, device, self.precision, status, message, groups)
        return {**run, "turns": told}
