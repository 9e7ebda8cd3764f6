"""Random expressions agree with NumPy; `expressions.py` runs as many as one likes."""

import pytest

import expressions


@pytest.mark.parametrize("block", range(6))
def test_random_expressions_agree_with_numpy(block):
    assert expressions.run(50, first=50 * block) > 50
