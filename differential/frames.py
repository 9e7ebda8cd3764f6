"""Cases as the worker writes them: a length, a header in JSON, and the bytes of its arrays."""

import json
import struct
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

DTYPES = {
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
BF16 = DTYPES["bf16"]


@dataclass
class Case:
    """Operands, parameters, and what Crossover made of them; `error` is set where it refused."""

    index: int
    operands: list
    parameters: dict
    results: list = field(default_factory=list)
    error: str | None = None


def read(stream):
    """Cases until the stream ends."""
    while head := stream.read(8):
        lengths = struct.unpack("<II", head)
        header = json.loads(stream.read(lengths[0]))
        data = stream.read(lengths[1])
        arrays, offset = [], 0
        kinds = header["operands"] + header.get("results", [])
        for name, shape in kinds:
            dtype = DTYPES[name]
            count = int(np.prod(shape, dtype=np.int64))
            arrays.append(np.frombuffer(data, dtype, count, offset).reshape(shape))
            offset += count * dtype.itemsize
        given = len(header["operands"])
        yield Case(header["index"], arrays[:given], header["parameters"], arrays[given:], header.get("error"))
