"""Writes the files of this folder with the libraries that define their formats.

python3 -m venv venv && venv/bin/pip install numpy==2.4.6 ml_dtypes safetensors
venv/bin/python crates/crossover-io/tests/golden/make.py

Every array is 0, 1, 2, ... converted to its dtype, so that the tests know what to expect from name and shape alone.
"""

import io
import pathlib
import warnings

import ml_dtypes
import numpy as np
import safetensors.numpy

HERE = pathlib.Path(__file__).parent
DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}


def ramp(name, shape):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(DTYPES[name])


def main():
    for name in DTYPES:
        np.save(HERE / f"{name}.npy", ramp(name, (2, 3)))
        if name not in ("bf16",):
            big = ramp(name, (2, 3))
            np.save(HERE / f"{name}-big.npy", big.astype(big.dtype.newbyteorder(">")))
    np.save(HERE / "f32-scalar.npy", np.array(0, np.float32))
    np.save(HERE / "i64-empty.npy", np.zeros((0, 3), np.int64))
    np.save(HERE / "i32-fortran.npy", np.asfortranarray(ramp("i32", (2, 3, 2))))
    np.save(HERE / "u8-axes.npy", ramp("u8", (1,) * 31 + (2,)))
    for version in ((1, 0), (2, 0), (3, 0)):
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.lib.format.write_array(file, ramp("f64", (4,)), version)
        (HERE / f"f64-version-{version[0]}.npy").write_bytes(file.getvalue())
    arrays = {name: ramp(name, (2, 3)) for name in ("bool", "i16", "f32", "c128")}
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays, **{"folder/u8": ramp("u8", (100,))})
    tensors = {name: ramp(name, (2, 3)) for name in DTYPES if name not in ("c64", "c128")}
    tensors["i64-empty"] = np.zeros((0, 3), np.int64)
    tensors["f32-scalar"] = np.array(0, np.float32)
    safetensors.numpy.save_file(tensors, HERE / "all.safetensors", {"made by": "safetensors"})
    refused = np.zeros(2, [("a", "<f4"), ("b", "<i2")])
    np.save(HERE / "refused-records.npy", refused)
    np.save(HERE / "refused-text.npy", np.array(["a", "bc"]))
    np.save(HERE / "refused-dates.npy", np.array(["2020-01-01"], "datetime64[ns]"))


main()
