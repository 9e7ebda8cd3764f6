"""NumPy's and SciPy's counterparts of linear algebra and Fourier transforms: results within a bound.

Decompositions are compared by what they promise, since vectors and signs are free; the bounds are those of
docs/exactness.md.
"""

import numpy as np
import scipy.fft

from judge import Difference, is_complex, is_float, real_of, unit, wide
from numeric import TINY, floating, flush


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def epsilon(x):
    return unit(x.dtype)


def in_double(x):
    return x.astype(np.complex128 if is_complex(x.dtype) else np.float64)


def size_of(x):
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1)))


def stable(x):
    """The bound of docs/exactness.md for a decomposition of x, with room for the other side's own error."""
    n = max(x.shape[-2:])
    return 16 * n * np.sqrt(n) * epsilon(x) * size_of(in_double(x))


def near(judge, got, truth, bound, what=""):
    """Matrices at a distance in the Frobenius norm."""
    if got.shape != truth.shape:
        raise Difference(f"{what} shape is {got.shape}, not {truth.shape}")
    judge.elements += got.size
    share = np.max(size_of(got - truth) / np.maximum(bound, TINY), initial=0)
    if not share <= 1:
        raise Difference(f"{what} is {share:.3g} times the bound away")
    judge.worst = max(judge.worst, float(share))


def unitary(judge, q, x, what):
    n = q.shape[-1]
    near(judge, adjoint(q) @ q, np.broadcast_to(np.eye(n), q.shape[:-2] + (n, n)), 16 * max(q.shape) ** 1.5 * epsilon(x), what)


def rebuilt(judge, parts, x):
    near(judge, parts, in_double(x), stable(x), "the product")


def typed(judge, got, dtype):
    if got.dtype != dtype:
        raise Difference(f"dtype is {got.dtype}, not {dtype}")


def conditioned(function):
    """Results that a well-conditioned matrix determines: compared with the peer's, by the condition."""

    def peer(judge, case, p):
        x, got = case.operands[0], case.results[0]
        typed(judge, got, x.dtype)
        truth = np.asarray(function(*(in_double(o) for o in case.operands), p))
        n = max(x.shape[-2:])
        condition = np.max(np.linalg.cond(in_double(x)), initial=1.0)
        size = np.max(np.abs(truth), initial=0.0)
        judge.within(got, truth, 32 * n * np.sqrt(n) * epsilon(x) * condition * size)

    return peer


def det(judge, case, p):
    x, got = case.operands[0], case.results[0]
    typed(judge, got, x.dtype)
    many = in_double(x)
    hadamard = np.prod(np.sqrt(np.sum(np.abs(many) ** 2, axis=-1)), axis=-1)
    judge.within(got, np.asarray(np.linalg.det(many)), 32 * x.shape[-1] ** 2 * epsilon(x) * hadamard)


def slogdet(judge, case, p):
    x = case.operands[0]
    sign, log = np.linalg.slogdet(in_double(x))
    typed(judge, case.results[0], x.dtype)
    bound = 64 * x.shape[-1] ** 2 * epsilon(x) * np.max(np.linalg.cond(in_double(x)))
    judge.within(case.results[0], np.asarray(sign), bound)
    judge.within(case.results[1], np.asarray(log), bound * (1 + np.abs(log)))


def qr(judge, case, p):
    x, (q, r) = case.operands[0], map(in_double, case.results)
    unitary(judge, q, x, "Q")
    rebuilt(judge, q @ r, x)
    if np.any(np.tril(r, -1)):
        raise Difference("R is not upper triangular")
    peer = np.linalg.qr(in_double(x), mode="complete" if q.shape[-1] != min(x.shape[-2:]) else "reduced")
    if peer[0].shape != q.shape or peer[1].shape != r.shape:
        raise Difference(f"shapes are {q.shape}, {r.shape}, not {peer[0].shape}, {peer[1].shape}")


def svd(judge, case, p):
    x, (u, s, v) = case.operands[0], case.results
    k = min(x.shape[-2:])
    truth = np.linalg.svd(in_double(x), compute_uv=False)
    typed(judge, s, real_of(x.dtype))
    judge.within(s, truth, np.broadcast_to(stable(x)[..., None], truth.shape))
    u, s, v = in_double(u), in_double(s), in_double(v)
    unitary(judge, u, x, "U")
    unitary(judge, adjoint(v), x, "V")
    rebuilt(judge, (u[..., :k] * s[..., None, :]) @ v[..., :k, :], x)


def values(function):
    def peer(judge, case, p):
        x = case.operands[0]
        truth = np.asarray(function(in_double(x)))
        typed(judge, case.results[0], real_of(x.dtype))
        judge.within(case.results[0], truth, np.broadcast_to(stable(x)[..., None], truth.shape))

    return peer


def eigh(judge, case, p):
    x, (w, v) = case.operands[0], case.results
    truth = np.linalg.eigvalsh(in_double(x))
    judge.within(w, truth, np.broadcast_to(stable(x)[..., None], truth.shape))
    w, v = in_double(w), in_double(v)
    unitary(judge, v, x, "V")
    rebuilt(judge, (v * w[..., None, :]) @ adjoint(v), x)


def eigenvalues(judge, x, w):
    """Each is an eigenvalue of a matrix nearby, and together they have the trace."""
    many, n = in_double(x), x.shape[-1]
    for value in np.moveaxis(w, -1, 0):
        least = np.linalg.svd(many - value[..., None, None] * np.eye(n), compute_uv=False)[..., -1]
        share = np.max(least / np.maximum(stable(x), TINY), initial=0)
        if not share <= 4:
            raise Difference(f"no eigenvalue of a matrix nearby: {share:.3g} times the bound")
    trace = np.trace(many, axis1=-2, axis2=-1)
    if np.any(np.abs(np.sum(w, axis=-1) - trace) > n * stable(x)):
        raise Difference("the eigenvalues do not add up to the trace")
    judge.elements += w.size


def eigvals(judge, case, p):
    x, w = case.operands[0], case.results[0]
    typed(judge, w, np.dtype(np.complex64 if unit(x.dtype) > 1e-10 else np.complex128))
    eigenvalues(judge, x, in_double(w))


def eig(judge, case, p):
    x, w, v = case.operands[0], *map(in_double, case.results)
    eigenvalues(judge, x, w)
    near(judge, in_double(x) @ v, v * w[..., None, :], 8 * stable(x) * np.maximum(size_of(v), 1), "A V")


def triangular(upper):
    def call(x, p):
        factor = np.linalg.cholesky(x)
        return adjoint(factor) if upper else factor

    return conditioned(call)


def pinv_deficient(judge, case, p):
    """The operand is exact, so its small singular values are those of rounding alone."""
    x, got = case.operands[0], case.results[0]
    typed(judge, got, x.dtype)
    many = in_double(x)
    s = np.linalg.svd(many, compute_uv=False)
    n = max(x.shape[-2:])
    kept = s > n * np.finfo(np.float64).eps * 8 * s[..., :1]
    least = np.where(kept, s, np.inf).min(axis=-1)
    condition = np.max(np.where(np.isfinite(least), s[..., 0] / least, 1.0), initial=1.0)
    if not condition < 1e3:
        return judge.note("ill_conditioned")
    truth = np.linalg.pinv(many, rcond=1e-9)
    size = np.max(np.abs(truth), initial=0.0)
    judge.within(got, truth, 32 * n * np.sqrt(n) * epsilon(x) * condition**2 * size)


def lstsq(judge, case, p):
    a, b = case.operands
    condition = np.max(np.linalg.cond(in_double(a)), initial=1.0)
    got = case.results[0]
    typed(judge, got, a.dtype)
    if not condition < 1e3:
        return judge.note("ill_conditioned")
    # NumPy's takes no batches; a right side with one axis serves all.
    places = list(np.ndindex(a.shape[:-2]))
    right = (lambda at: in_double(b)) if b.ndim == 1 else (lambda at: in_double(b[at]))
    solved = [np.linalg.lstsq(in_double(a[at]), right(at), rcond=None)[0] for at in places]
    truth = np.reshape(solved, a.shape[:-2] + solved[0].shape)
    size = np.max(np.abs(truth), initial=0) + np.max(np.abs(in_double(b)), initial=0) * condition
    judge.within(got, truth, 64 * max(a.shape) ** 1.5 * epsilon(a) * condition * size)


def rank(judge, case, p):
    x, got = case.operands[0], case.results[0]
    s = np.linalg.svd(in_double(x), compute_uv=False)
    threshold = max(x.shape[-2:]) * np.finfo(real_of(x.dtype)).eps * s[..., :1]
    want = np.count_nonzero(s > threshold, axis=-1)
    # A singular value within a factor of the threshold may fall on either side.
    unsure = np.any((s > threshold / 8) & (s < threshold * 8) & (s > 0), axis=-1)
    judge.note("ill_conditioned", np.count_nonzero(unsure))
    judge.exact(got, np.asarray(want, np.int64), where=~unsure)


def matrix_norm(judge, case, p):
    x, got = case.operands[0], case.results[0]
    order = p["order"] if p["order"] in ("fro", "nuc") else float(p["order"])
    truth = np.asarray(np.linalg.norm(in_double(x), ord=order, axis=(-2, -1), keepdims=p["keepdims"]))
    typed(judge, got, real_of(x.dtype))
    bound = np.reshape(stable(x), truth.shape)
    judge.within(got, truth, bound)


def transform(function, several, real):
    def peer(judge, case, p):
        x, got = case.operands[0], case.results[0]
        operand = x.astype(np.float32) if x.dtype.itemsize == 2 and is_float(x.dtype) else floating(x)
        single = unit(operand.dtype) > 1e-10
        want = np.dtype(np.float32 if single else np.float64) if real else np.dtype(np.complex64 if single else np.complex128)
        typed(judge, got, want)
        if several:
            truth = function(wide(operand), s=p["lengths"], axes=p["axes"], norm=p["norm"])
            points = int(np.prod(p["lengths"]))
        else:
            truth = function(wide(operand), n=p["length"], axis=p["axis"], norm=p["norm"])
            points = truth.shape[p["axis"]] * 2
        if got.shape != truth.shape:
            raise Difference(f"shape is {got.shape}, not {truth.shape}")
        judge.elements += got.size
        # The bound is one of vectors; that of all lines together follows from it. A real result drops a part.
        scale = np.linalg.norm(np.asarray(wide(operand)).ravel()) * np.sqrt(points)
        scale *= {"forward": 1, "backward": 1, "ortho": 1}[p["norm"]]
        size = max(float(np.linalg.norm(np.asarray(truth).ravel())), 0.0)
        shape_scale = size if not real else max(size, float(scale) * normalisation(p, points, function))
        bound = unit(operand.dtype) * (4 * np.log2(max(points, 2)) + 8) * shape_scale
        distance = float(np.linalg.norm(np.asarray(got.astype(truth.dtype) - truth).ravel()))
        if not distance <= bound + flush(operand.dtype):
            raise Difference(f"{distance / max(bound, TINY):.3g} times the bound away")
        judge.worst = max(judge.worst, distance / max(bound, TINY) if bound else 0.0)

    return peer


def normalisation(p, points, function):
    """The factor that a transform back to real numbers applies."""
    inverse = function in (scipy.fft.irfft, scipy.fft.irfft2, scipy.fft.irfftn)
    divides = p["norm"] == "backward" if inverse else p["norm"] == "forward"
    if p["norm"] == "ortho":
        return points**-0.5
    return 1.0 / points if divides else 1.0


# One line per operation; a test of the worker reads the names.
PEERS = {
    "cholesky": triangular(False),
    "cholesky_upper": triangular(True),
    "det": det,
    "eig": eig,
    "eigh": eigh,
    "eigvals": eigvals,
    "eigvalsh": values(np.linalg.eigvalsh),
    "inv": conditioned(lambda x, p: np.linalg.inv(x)),
    "lstsq": lstsq,
    "matrix_norm": matrix_norm,
    "matrix_power": conditioned(lambda x, p: np.linalg.matrix_power(x, p["power"])),
    "matrix_rank": rank,
    "pinv": conditioned(lambda x, p: np.linalg.pinv(x)),
    "pinv_deficient": pinv_deficient,
    "qr": qr,
    "qr_complete": qr,
    "slogdet": slogdet,
    "solve": conditioned(lambda a, b, p: np.linalg.solve(a, b) if b.ndim > 1 else np.linalg.solve(a, b[:, None])[..., 0]),
    "svd": svd,
    "svd_full": svd,
    "svdvals": values(lambda x: np.linalg.svd(x, compute_uv=False)),
    "fft": transform(scipy.fft.fft, False, False),
    "fft2": transform(scipy.fft.fft2, True, False),
    "fftn": transform(scipy.fft.fftn, True, False),
    "hfft": transform(scipy.fft.hfft, False, True),
    "ifft": transform(scipy.fft.ifft, False, False),
    "ifft2": transform(scipy.fft.ifft2, True, False),
    "ifftn": transform(scipy.fft.ifftn, True, False),
    "ihfft": transform(scipy.fft.ihfft, False, False),
    "irfft": transform(scipy.fft.irfft, False, True),
    "irfft2": transform(scipy.fft.irfft2, True, True),
    "irfftn": transform(scipy.fft.irfftn, True, True),
    "rfft": transform(scipy.fft.rfft, False, False),
    "rfft2": transform(scipy.fft.rfft2, True, False),
    "rfftn": transform(scipy.fft.rfftn, True, False),
}


def check(judge, case, entry):
    """One case of these families."""
    if case.error is not None:
        raise Difference(f"refused: {case.error}")
    PEERS[entry["name"]](judge, case, case.parameters)
