"""SciPy: transforms with workers, convolutions and decompositions. Elementwise work is NumPy's."""

import scipy
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal

from engines import Engine


def forms(threads):
    return {
        "fft_rows": lambda i: {
            "fft": lambda: scipy.fft.fft(i["x"]),
            "fft workers": lambda: scipy.fft.fft(i["x"], workers=threads),
        },
        "fft_2d": lambda i: {
            "fft2": lambda: scipy.fft.fft2(i["x"]),
            "fft2 workers": lambda: scipy.fft.fft2(i["x"], workers=threads),
        },
        "convolve": lambda i: {
            "fftconvolve": lambda: scipy.signal.fftconvolve(i["x"], i["k"], mode="same"),
            "oaconvolve": lambda: scipy.signal.oaconvolve(i["x"], i["k"], mode="same"),
            "ndimage": lambda: scipy.ndimage.convolve(i["x"], i["k"], mode="constant"),
        },
        "eigvals": lambda i: {"eigvals": lambda: (scipy.linalg.eigvals(i["a"], check_finite=False) ** 2).sum().real},
        "eigh": lambda i: {"eigh": lambda: scipy.linalg.eigh(i["a"], driver="evd", check_finite=False)[0]},
        "svd": lambda i: {"svd": lambda: scipy.linalg.svd(i["a"], full_matrices=False, check_finite=False)[1]},
        "solve": lambda i: {"solve": lambda: scipy.linalg.solve(i["a"], i["b"], check_finite=False)},
    }


def engines(threads):
    return [Engine("scipy", scipy.__version__, forms(threads))]
