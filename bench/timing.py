"""Taking turns: every engine of a workload is sampled round after round, so that all see the same machine."""

import statistics
import time
from dataclasses import dataclass, field
from typing import Callable

# A sample lasts at least this long, so that the clock and the loop around it do not count.
SAMPLE_SECONDS = 2e-3
# The other engines' threads spin for some milliseconds after their work; let them fall asleep before the next turn.
REST_SECONDS = 15e-3
# Untimed work before each sample, to wake the engine's own threads and fill the caches again.
WARM_SECONDS = 4e-3
FEWEST_ROUNDS = 15
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


def take_turns(peers: list[Contestant], ours: Contestant | None, budget_s: float) -> int:
    """Rounds of peer 1, ours, peer 2, ours, … until each engine had its budget. Returns the rounds run."""
    everyone = peers + ([ours] if ours else [])
    for contestant in everyone:
        contestant.calibrate()
    began = time.perf_counter()
    rounds = 0
    while rounds < MOST_ROUNDS:
        if rounds >= FEWEST_ROUNDS and time.perf_counter() - began > budget_s * len(everyone):
            break
        # Turning the order round each time keeps one engine from always following the same other one.
        for peer in peers if rounds % 2 == 0 else reversed(peers):
            peer.sample()
            if ours:
                ours.sample()
        if not peers and ours:
            ours.sample()
        rounds += 1
    return rounds
