"""What the library says, in Python's `logging`."""

import logging

import pytest

import crossover as xo


@pytest.fixture
def level():
    """The level as it was, afterwards."""
    before = xo.events.set_level("warning")
    yield
    xo.events.set_level(before)


def test_plans_are_logged_when_asked_for(level, caplog):
    caplog.set_level(5, logger="crossover")
    xo.exp(xo.ones(1237)).eval()
    assert not [record for record in caplog.records if record.name == "crossover.plan"]
    xo.events.set_level("debug")
    (xo.exp(xo.ones(1238)) * 3).eval()
    found = [record for record in caplog.records if record.name == "crossover.plan"]
    assert found and found[0].levelno == logging.DEBUG and "planned" in found[0].getMessage()
    xo.events.set_level("trace")
    (xo.exp(xo.ones(1238)) * 3).eval()
    assert [record for record in caplog.records if record.name == "crossover.launch" and record.levelno == 5]


def test_events_that_find_no_room_are_counted(level, caplog):
    xo.events._tell([("crossover.memory", logging.WARNING, "spilled bytes=7")], 3)
    xo.events.flush()
    assert [record.getMessage() for record in caplog.records] == ["spilled bytes=7", "3 more events found no room"]


def test_levels_that_there_are_not_are_refused():
    for wrong in ("loud", -1, 1000, 1.5):
        with pytest.raises(ValueError, match="a level is"):
            xo.events.set_level(wrong)
