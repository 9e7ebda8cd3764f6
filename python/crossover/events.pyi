"""Written by python/tools/stubs.py."""


from . import _typing as _t

def flush() -> None:
    """Hands over what has been said since the last call that computed."""

def set_level(level: int | _t.Level) -> int:
    """From this level of `logging` on, events are handed over: a number, or 'debug', 'info', 'warning', …, or 'trace', which is 5. Returns the level before."""
