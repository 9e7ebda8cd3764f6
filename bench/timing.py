"""Taking turns: every engine of a workload is sampled round after round, so that all see the same machine."""

import statistics
import time
from dataclasses import dataclass, field
from typing import Callable

from machine import Disturbance

# A sample lasts at least this long, so that the clock and the loop around it do not count.
SAMPLE_SECONDS = 2e-3
# Where other engines cannot be stopped between turns, their threads spin for some milliseconds; let them fall asleep.
REST_SECONDS = 15e-3
# Untimed work before each sample, to wake the engine's own threads and fill the caches again.
WARM_SECONDS = 4e-3
FEWEST_ROUNDS = 15
# Core time is counted in ticks of 10 ms; over this long they say something.
BLOCK_SECONDS = 0.3
# Share of all core time used by other programs above which a block is measured again.
DISTURBED = 0.05
MOST_ROUNDS = 200


@dataclass
class Contestant:
    """One engine with its chosen form."""

    name: str
    form: str
    # Runs the work `count` times, returns seconds per iteration.
    run: Callable[[int], float]
    reuses_output: bool = False
    # Distance from the reference, in units of the tolerance.
    error: float = 0.0
    count: int = 1
    estimate: float = 0.0
    samples: list[float] = field(default_factory=list)

    def calibrate(self) -> None:
        """Warms up, then chooses how many iterations make one sample."""
        began = time.perf_counter()
        runs = 0
        while runs < 3 or (time.perf_counter() - began < 0.2 and runs < 1000):
            self.estimate = self.run(1)
            runs += 1
        self.estimate = min(self.estimate, self.run(max(1, int(1e-4 / max(self.estimate, 1e-9)))))
        self.count = max(1, round(SAMPLE_SECONDS / max(self.estimate, 1e-9)))

    def sample(self) -> None:
        time.sleep(REST_SECONDS)
        self.run(max(1, round(WARM_SECONDS / max(self.estimate, 1e-9))))
        self.samples.append(self.run(self.count))

    def summary(self) -> dict:
        ordered = sorted(self.samples)
        at = lambda fraction: ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]
        return {
            "form": self.form,
            "reuses_output": self.reuses_output,
            "error_in_tolerances": self.error,
            "median_s": statistics.median(ordered),
            "p10_s": at(0.1),
            "p90_s": at(0.9),
            "min_s": ordered[0],
            "samples": len(ordered),
            "iterations_per_sample": self.count,
        }


def one_round(peers: list[Contestant], ours: Contestant | None, number: int) -> None:
    """Peer 1, ours, peer 2, ours, …"""
    # Turning the order round each time keeps one engine from always following the same other one.
    for peer in peers if number % 2 == 0 else reversed(peers):
        peer.sample()
        if ours:
            ours.sample()
    if not peers and ours:
        ours.sample()


def take_turns(peers: list[Contestant], ours: Contestant | None, budget_s: float, pids: list[int]) -> dict:
    """Rounds until each engine had its budget. Blocks of rounds during which other programs were busy are measured
    again, up to three times the budget; returns how that went."""
    everyone = peers + ([ours] if ours else [])
    for contestant in everyone:
        contestant.calibrate()
    budget_s *= len(everyone)
    whole = Disturbance(pids)
    began = time.perf_counter()
    rounds, kept, disturbed = 0, 0, {c.name: [] for c in everyone}
    while kept < MOST_ROUNDS:
        spent = time.perf_counter() - began
        if (kept >= FEWEST_ROUNDS and spent > budget_s) or (rounds >= FEWEST_ROUNDS and spent > 3 * budget_s):
            break
        block, watch, first = time.perf_counter(), Disturbance(pids), rounds
        marks = [len(c.samples) for c in everyone]
        while time.perf_counter() - block < BLOCK_SECONDS:
            one_round(peers, ours, rounds)
            rounds += 1
        if (watch.fraction() or 0.0) <= DISTURBED:
            kept += rounds - first
            continue
        for contestant, mark in zip(everyone, marks):
            disturbed[contestant.name] += contestant.samples[mark:]
            del contestant.samples[mark:]
    if kept < FEWEST_ROUNDS:
        # Too few quiet moments to choose from: use all and say so.
        for contestant in everyone:
            contestant.samples += disturbed[contestant.name]
    return {"rounds": rounds, "quiet_rounds": kept, "other_programs_core_share": whole.fraction()}
