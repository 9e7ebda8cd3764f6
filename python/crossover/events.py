"""What the library says while it works, by Python's `logging`.

Events go to the logger `crossover` and those below it: `crossover.fallback` when the host does what a GPU could not, `crossover.memory`,
`crossover.transfer`, `crossover.plan`, `crossover.launch`. Warnings are handed over from the start; `set_level` asks for more. They are handed
over by the next call that computes something, with the thread and the time of that call.
"""

import logging

from . import _native

_LOGGER = logging.getLogger("crossover")
_LOGGER.addHandler(logging.NullHandler())


def set_level(level):
    """From this level of `logging` on, events are handed over: a number, or 'debug', 'info', 'warning', …, or 'trace', which is 5. Returns the level before.

    >>> before = xo.events.set_level("info")
    >>> xo.events.set_level(before)
    20
    """
    if isinstance(level, str):
        name = level.upper()
        level = 5 if name == "TRACE" else getattr(logging, name, None)
    if not isinstance(level, int) or not 0 <= level <= 255:
        raise ValueError("a level is a number from 0 to 255, or 'trace', 'debug', 'info', 'warning', 'error', 'critical'")
    return _native.log_level(level)


def flush():
    """Hands over what has been said since the last call that computed.

    >>> xo.events.flush()
    """
    _native.flush_log()


def _tell(lines, lost):
    """Called by the native half: (name, level, text) each, and how many did not find room."""
    for name, level, text in lines:
        logging.getLogger(name).log(level, "%s", text)
    if lost:
        _LOGGER.warning("%d more events found no room", lost)
