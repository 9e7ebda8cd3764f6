"""What the package's functions, methods and attributes return, for `stubs.py`: whatever is not named here returns an array."""

# Functions of the package and of its modules, and methods of arrays.
RETURNS = {
    "allclose": "builtins.bool", "array_equal": "builtins.bool", "can_cast": "builtins.bool", "isdtype": "builtins.bool", "broadcast_arrays": "list[Array]", "meshgrid": "list[Array]",
    "nonzero": "tuple[Array, ...]", "unstack": "tuple[Array, ...]", "split": "list[Array]", "result_type": "dtype",
    "fallbacks": "dict[tuple[str, str, int], int]", "get_runtime": "Runtime", "install": "None", "gpu_kernel": "Any",
    "histogram": "tuple[Array, Array]", "unique": "Any", "list_devices": "list[device]",
    "unique_all": "_UniqueAllResult", "unique_counts": "_UniqueCountsResult", "unique_inverse": "_UniqueInverseResult",
}
# Functions whose result depends on what they are given: all that follows the name, once for each case.
OVERLOADS = {
    "gpu": ["(function: _F, *, device: _t.DeviceLike | None = None) -> _F",
            "(function: None = None, *, device: _t.DeviceLike | None = None) -> Callable[[_F], _F]"],
}
VARIABLES = "_F = TypeVar(\"_F\", bound=Callable[..., Any])\n\n"
METHODS = {
    "explain": "str", "nonzero": "tuple[Array, ...]", "tolist": "Any", "item": "Any", "tobytes": "bytes", "fill": "None", "sort": "None", "numpy": "Any",
    "dump": "None", "dumps": "bytes", "partition": "None", "put": "None", "tofile": "None",
    "dtype": "_dtype", "shape": "tuple[int, ...]", "ndim": "int", "size": "int", "itemsize": "int", "nbytes": "int", "device": "_device",
    "base": "Array | None", "flags": "Any", "flat": "Any", "strides": "tuple[int, ...]",
}
# Methods of arrays with underscores, in the order of the data model.
SPECIAL = {
    "__repr__": "str", "__str__": "str", "__format__": "str", "_repr_html_": "str", "__hash__": "int", "__bool__": "builtins.bool",
    "__float__": "float", "__complex__": "complex", "__int__": "int", "__index__": "int", "__round__": "Any", "__len__": "int",
    "__iter__": "Iterator[Array]", "__contains__": "builtins.bool", "__getitem__": "Array", "__setitem__": "None", "__copy__": "Array",
    "__deepcopy__": "Array", "__reduce__": "tuple[Any, ...]", "__array__": "Any", "__dlpack__": "Any", "__dlpack_device__": "tuple[int, int]",
    "__cuda_array_interface__": "dict[str, Any]", "__array_namespace__": "Any", "__array_ufunc__": "Any", "__array_function__": "Any",
}
ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()

# Classes of the package.
DTYPE = {"name": "str", "itemsize": "int", "kind": "str", "str": "str", "dtype": "Any", "promote": "_dtype"}
DEVICE = {"type": "str"}
RUNTIME = {
    "backend": "str", "device_count": "int", "gpu": "_Accelerators | None", "is_available": "builtins.bool", "settings": "list[tuple[str, str, str]]",
    "stats": "dict[str, int]", "memory_stats": "dict[str, dict[str, Any]]", "utilization": "dict[str, Any]", "can_allocate": "builtins.bool",
    "trim": "None", "on_pressure": "_PressureWatch",
}
INFO = {
    "capabilities": "dict[str, Any]", "default_device": "_device", "devices": "list[_device]", "default_dtypes": "dict[str, _dtype]",
    "dtypes": "dict[str, _dtype]",
}
FINFO = {
    "bits": "int", "eps": "float", "max": "float", "min": "float", "smallest_normal": "float", "tiny": "float", "smallest_subnormal": "float",
    "resolution": "float", "dtype": "_dtype",
}
IINFO = {"bits": "int", "min": "int", "max": "int", "dtype": "_dtype"}
PROFILE = {
    "summary": "str", "bottlenecks": "list[dict[str, Any]]", "html": "str | None", "scope": "Any", "export_json": "None", "export_chrome": "None",
    "export_speedscope": "None", "export_folded": "None", "export_prometheus": "None",
}
RECORDING = [
    ("__call__", ", *args: Any, **kwargs: Any", "Any"), ("__get__", ", instance: Any, owner: Any = ...", "Any"), ("__enter__", "", "profile"),
    ("__exit__", ", *why: Any", "builtins.bool"),
]

# Functions of the modules.
LINALG = {
    "eig": "EigResult", "eigh": "EighResult", "lstsq": "tuple[Array, Array, Array, Array]", "qr": "QRResult", "slogdet": "SlogdetResult",
    "svd": "SVDResult",
}
RANDOM = {"default_rng": "Generator", "seed": "None", "shuffle": "None", "random": "Array", "choice": "Array"}
GENERATOR = {"shuffle": "None"}
KEY = {"split": "list[Key]", "fold": "Key"}
MEMORY = {
    "stats": "dict[str, dict[str, Any]]", "peak": "int", "can_allocate": "bool", "trim": "None", "on_pressure": "_PressureWatch",
}
EVENTS = {"set_level": "int", "flush": "None"}
RAY = {"batch_rows": "int", "row_bytes": "int", "map_batches": "Any"}
CONFIG = {"init": "Runtime", "explain": "str", "builder": "ConfigBuilder", "runtime": "Runtime", "build": "Config"}
# Classes of the modules that are `with` blocks: their special methods, as `native_class` takes them.
BLOCKS = {"Config": [("__enter__", "", "Runtime"), ("__exit__", ", *why: Any", "bool")]}

# Classes of `crossover.hrr`.
HRR = {
    "Space": {
        "model": "str", "d": "int", "width": "int", "dtype": "_dtype", "seed": "int", "inverse_exact": "Exact", "unbind_exact": "Exact",
        "cleanup": "list[tuple[int, float] | None]",
        "top_k": "list[list[tuple[int, float]]]", "factor": "list[Factors]", "retrieval_probability": "float", "capacity": "int",
    },
    "ItemMemory": {
        "open": "ItemMemory", "map": "ItemMemory", "salvage": "tuple[ItemMemory, list[str]]", "space": "Space", "capacity": "int", "names": "list[str]",
        "add": "None", "remove": "None", "save": "None", "to_device": "None", "query": "list[tuple[str, float] | None]",
        "top_k": "list[list[tuple[str, float]]]", "kept": "_dtype | None",
    },
    "AssociativeMemory": {
        "space": "Space", "store": "None", "store_vectors": "None", "forget": "None", "recall": "Any",
        "reliability": "dict[str, Any]", "open": "AssociativeMemory", "map": "AssociativeMemory", "salvage": "tuple[AssociativeMemory, list[str]]", "save": "None", "to_device": "None",
    },
    "Exact": {"zeros": "list[tuple[int, int]]", "gain": "float"},
    "Factors": {"indices": "list[int]", "similarity": "float", "rounds": "int", "is_found": "bool"},
    "State": {"open": "State", "map": "State", "save": "None", "to_device": "State", "names": "list[str]"},
    "Store": {
        "create": "Store", "open": "Store", "append": "None", "read": "tuple[dict[str, str], dict[str, Array]]", "history": "list[dict[str, Any]]",
        "kind": "str", "notes": "dict[str, str]", "hash": "str", "version": "int", "verify": "list[str]",
        "map": "tuple[dict[str, str], dict[str, Array]]",
        "salvage": "tuple[list[tuple[str, dict[str, str], dict[str, Array]]], list[str]]",
    },
}

# Those of `crossover.embed`; `-> Any` in the package is what these say here.
EMBED = {
    "Sinusoid": {"frequencies": "list[float]"},
    "EmbedConfig": {
        "vocabulary": "int", "dimensions": "int", "layout": "str", "base": "float", "scale": "float", "phase": "float", "shift": "float",
        "temperature": "float", "relative": "int | None", "precision": "str", "device": "Any", "fusion": "bool", "seed": "int", "embedder": "Embedder",
    },
    "Embedder": {
        "with_vocabulary": "Embedder", "with_dimensions": "Embedder", "with_precision": "Embedder", "with_relative": "Embedder", "recut": "Embedder",
        "load": "Embedder", "relative": "Array | None", "config": "dict[str, Any]", "info": "dict[str, Any]", "benchmark": "dict[str, float]",
        "advise": "dict[str, Any]", "vocabulary": "int", "dimensions": "int", "save": "None",
    },
    "Table": {"write": "None", "columns": "int", "dtype": "_dtype", "verify": "None", "stats": "dict[str, float]"},
    "Tokenizer": {
        "from_json": "Tokenizer", "train": "Tokenizer", "with_padding": "Tokenizer", "with_truncation": "Tokenizer", "whole": "Tokenizer",
        "vocabulary": "int", "special": "list[tuple[str, int]]", "id": "int | None", "token": "str | None", "encode": "list[int]",
        "encode_batch": "tuple[Array, Array]", "decode": "Any", "to_json": "str", "save": "None",
    },
    "TextEmbedder": {"tokenizer": "Tokenizer", "embedder": "Embedder", "embed": "tuple[Array, Array]", "save": "None", "load": "TextEmbedder"},
}
LATTICE = {
    "Lattice": {
        "sizes": "list[int]", "periodic": "bool", "vertex": "int", "coordinates": "list[int]", "neighbours": "list[int]", "distance": "int",
        "shortest_path": "list[int] | None", "route": "tuple[list[int], float] | None", "shortest_paths": "list[list[int] | None]",
        "distances": "list[int]", "distance_fields": "list[Array]", "analyze_structure": "dict[str, Any]",
    },
    "Scratch": {
        "bytes": "Any", "xor": "None", "add": "None", "swap": "None", "write": "Any", "finish": "dict[str, Any]",
    },
}
LATTICE_FUNCTIONS = {"walsh_hadamard": "Array", "xor_convolve": "Array", "xor_convolve_integers": "Array", "xor_in_place": "None", "xor_transform": "Array"}
