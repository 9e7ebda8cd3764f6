"""What all tests share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Random numbers that are the same in every run."""
    return np.random.default_rng(7)
