"""Functions in more digits than NumPy and SciPy have them: erf and erfc in long double."""

import numpy as np

ROOT_PI = np.sqrt(np.arccos(np.longdouble(-1)))


def exp_minus_square(x):
    """exp(-x*x), with the square split so that its rounding does not show."""
    high = x.astype(np.float32).astype(np.longdouble)
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def erf(x):
    """For |x| < 2.5 by its series, in which nothing cancels; else from erfc."""
    x = np.asarray(x, np.longdouble)
    inner = np.where(np.abs(x) < 2.5, x, 0)
    term = total = inner
    for n in range(1, 90):
        term = term * 2 * inner * inner / (2 * n + 1)
        total = total + term
    series = 2 / ROOT_PI * exp_minus_square(inner) * total
    return np.where(np.abs(x) < 2.5, np.where(x == 0, x, series), np.sign(x) * (1 - tail(np.abs(x))))


def erfc(x):
    """For x > 1 by its continued fraction; else from erf."""
    x = np.asarray(x, np.longdouble)
    return np.where(x > 1.0, tail(np.abs(x)), 1 - erf(np.minimum(x, 1.0)))


def tail(x):
    """erfc for x >= 1, by Lentz's continued fraction evaluated from its end."""
    at = np.clip(np.where(np.isnan(x), 1, x), 1, 200)
    fraction = at
    for k in range(400, 0, -1):
        fraction = at + (np.longdouble(k) / 2) / fraction
    value = exp_minus_square(at) / (ROOT_PI * fraction)
    return np.where(np.isnan(x), x, value)
