"""Peers. Each module offers `engines(threads) -> list[Engine]`; an engine knows the best forms of each workload.

A form is a function of no arguments that does the whole job once and returns something `numpy.asarray` accepts,
complete when it returns. peer.py tries all forms of an engine and keeps the fastest.
"""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

Form = Callable[[], Any]


@dataclass
class Engine:
    """One column of the table."""

    # A name that ends in `-out` writes into an output made beforehand instead of returning a new array.
    name: str
    version: str
    # Workload name -> inputs -> forms by name; a missing workload means that this peer has no natural form.
    forms: dict[str, Callable[[dict[str, np.ndarray]], dict[str, Form]]]
