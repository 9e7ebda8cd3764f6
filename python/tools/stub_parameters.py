"""What the package's functions take, for `stubs.py`: by the name of the parameter, and where that is not enough by where it stands.

A parameter that may be left out as None is given that by `stubs.py`. Names with `_t.` are those of `python/crossover/_typing.pyi`.
"""

# By name, wherever nothing below says otherwise.
NAMES = {
    "_t.ArrayLike": "x x1 x2 a b v m a1 a2 ar q xp fp condition indices repeats weights sorter prepend append kernel other value fill_value min max loc scale "
    "lam low high bound key items queries vectors values keys positions tokens data obstacles vector table compact sequence rows ary bins obj object array",
    "SupportsIndex": "axis axis1 axis2 n num k offset decimals ndmin minlength n_rows n_cols digits d size sizes seed length dimensions vocabulary relative "
    "hot_rows batch iterations position memory rounds times place capacity pairs number width columns rows_ count goal start stop vertex to id workers "
    "retries top_n row_bytes free nbytes threads",
    "builtins.bool": "keepdims equal_nan include_initial descending stable endpoint density return_index return_inverse return_counts upper full_matrices hermitian "
    "replace fusion periodic relax report everything zeroed special copy subok",
    "float": "rtol atol ddof correction rcond exponent threshold wanted base phase shift temperature num_cpus num_gpus",
    "str": "name text token kind operation subscripts out modulo order casting spec",
    "_t.Scalar": "step",
    "_t.Shape": "shape repetitions s source destination",
    "_t.Axes": "axes",
    "_t.DTypeLike": "dtype type from_ output",
    "_t.DeviceLike": "device",
    "_t.Path": "folder path",
    "_t.Names": "names",
    "_t.FftNorm": "norm",
    "_t.PadWidth": "pad_width",
    "_t.Search": "method",
    "_t.Layout": "layout",
    "_t.EmbedPrecision": "precision",
    "_t.Model": "model",
    "_t.Nested[_t.ArrayLike]": "arrays tup codebooks parts",
    "Literal['left', 'right']": "side",
    "Literal['xy', 'ij']": "indexing",
    "Sequence[str]": "texts",
    "Sequence[SupportsIndex]": "coordinates sources",
    "Mapping[str, str]": "notes",
    "tuple[float, float]": "range",
    "Any": "args kwargs settings why stream max_version dl_device api_version ufunc method_ inputs func types _memo instance owner",
    "Callable[..., Any]": "function fn callback",
}

# Reductions over several axes; others work along one.
SEVERAL = "all any amax amin max min mean prod ptp std sum var count_nonzero logsumexp expand_dims squeeze flip roll nanmax nanmean nanmin nansum " \
    "linalg.vector_norm linalg.norm Array.all Array.any Array.max Array.min Array.mean Array.prod Array.ptp Array.std Array.sum Array.var Array.squeeze"

# By place: the module (none for the package), the class, the function, the parameter.
PLACES = {
    **{f"{where}.axis": "_t.Axes" for where in SEVERAL.split()},
    "Array.__contains__.key": "object", "Array.__getitem__.key": "_t.Key", "Array.__setitem__.key": "_t.Key",
    "Array.__array_ufunc__.method": "str", "Array.__array_ufunc__.out": "Any", "Array.__array_function__.args": "Any",
    "Array.astype.order": "Literal['C', 'F', 'A', 'K']", "Array.astype.casting": "Literal['no', 'equiv', 'safe', 'same_kind', 'unsafe']",
    "Array.item.at": "_t.Shape", "Array.transpose.axes": "_t.Axes | None",
    "arange.start": "_t.Scalar", "arange.stop": "_t.Scalar", "linspace.start": "_t.Scalar", "linspace.stop": "_t.Scalar",
    "broadcast_arrays.arrays": "_t.ArrayLike", "meshgrid.arrays": "_t.ArrayLike", "einsum.operands": "_t.ArrayLike",
    "can_cast.from_": "_t.DTypeLike | Array", "can_cast.to": "_t.DTypeLike", "isdtype.kind": "_t.DTypeLike | _t.DTypeKind | tuple[_t.DTypeLike, ...]",
    "__array_namespace_info__.dtypes.kind": "_t.DTypeKind | tuple[_t.DTypeKind, ...]", "result_type.arrays_and_dtypes": "_t.DTypeLike | _t.ArrayLike",
    "dtype.promote.other": "_t.DTypeLike", "device.name": "_t.DeviceLike", "pad.constant_values": "_t.Scalar", "roll.shift": "_t.Shape",
    "convolve.mode": "_t.Part", "correlate.mode": "_t.Part", "pad.mode": "_t.PadMode",
    "split.indices_or_sections": "_t.ArrayLike", "tensordot.axes": "SupportsIndex | Sequence[SupportsIndex | Sequence[SupportsIndex]]",
    "permute_dims.axes": "_t.Shape", "transpose.axes": "Sequence[SupportsIndex]", "finfo.type": "_t.DTypeLike | Array", "iinfo.type": "_t.DTypeLike | Array",
    "gpu_kernel.source": "str | Callable[..., Any]", "gpu_kernel.shape": "Callable[..., Any]", "gpu_kernel.grid": "Callable[..., Any]",
    # Modules.
    "config.init.config": "Config", "config.explain.array": "_t.ArrayLike",
    "config.ConfigBuilder.device.value": "_t.DeviceLike", "config.ConfigBuilder.threads.value": "int", "config.ConfigBuilder.memory_limit.value": "float",
    "config.ConfigBuilder.memory_budget.value": "int", "config.ConfigBuilder.threshold_small.value": "int",
    "config.ConfigBuilder.precision.value": "Literal['exact', 'tf32']",
    **{f"config.ConfigBuilder.{name}.value": "builtins.bool"
       for name in ("gpu", "fusion", "eager", "refuse_nan", "deterministic", "memory_growth", "profiling")},
    "events.set_level.level": "int | _t.Level",
    "fft.fftfreq.d": "float", "fft.rfftfreq.d": "float",
    "linalg.matrix_rank.rtol": "_t.ArrayLike", "linalg.pinv.rtol": "_t.ArrayLike", "linalg.qr.mode": "Literal['reduced', 'complete']",
    "linalg.matrix_norm.ord": "_t.MatrixOrder", "linalg.norm.ord": "_t.MatrixOrder", "linalg.vector_norm.ord": "float", "linalg.cond.p": "_t.MatrixOrder",
    "signal.convolve.mode": "_t.Part", "signal.correlate.mode": "_t.Part", "signal.convolve.boundary": "_t.Boundary", "signal.correlate.boundary": "_t.Boundary",
    "signal.convolve.fillvalue": "_t.Number", "signal.correlate.fillvalue": "_t.Number",
    "signal.convolve.method": "Literal['auto', 'direct', 'fft']", "signal.correlate.method": "Literal['auto', 'direct', 'fft']",
    "random.Generator.key": "Key", "random.Generator.gamma.shape": "_t.ArrayLike", "random.Generator.shuffle.x": "Array | list[Any]",
    "random.shuffle.x": "Array | list[Any]", "random.default_rng.seed": "SupportsIndex | Sequence[int] | Key | Generator | _t.SupportsArray",
    "random.seed.seed": "SupportsIndex | Sequence[int]",
    **{f"random.{where}.size": "_t.Shape" for where in (
        "Generator.choice Generator.exponential Generator.gamma Generator.integers Generator.normal Generator.poisson Generator.random Generator.standard_normal "
        "Generator.uniform choice exponential normal poisson randint random standard_normal uniform").split()},
    "random.rand.shape": "SupportsIndex", "random.randn.shape": "SupportsIndex",
    "ray.row_bytes.data": "_t.ArrayLike | list[Any]", "ray.map_batches.data": "_t.ArrayLike | list[Any]", "ray.map_batches.batch_size": "int | Literal['auto']",
    "ray.batch_rows.rows": "SupportsIndex",
    "embed.EmbedConfig.scale": "float", "embed.Embedder.scale": "float", "embed.Sinusoid.scale": "float", "embed.Sinusoid.grid.rows": "SupportsIndex",
    "embed.Sinusoid.rotate.pairs": "_t.Pairs", "embed.rotary.pairs": "_t.Pairs", "embed.Embedder.recut.parts": "Sequence[Sequence[SupportsIndex]]",
    "embed.Tokenizer.train.special": "Sequence[str]", "embed.TextEmbedder.tokenizer": "Tokenizer", "embed.TextEmbedder.embedder": "Embedder",
    "hrr.Space.multi_bind.vectors": "_t.Nested[_t.ArrayLike]", "hrr.Space.record.pairs": "Sequence[tuple[_t.ArrayLike, _t.ArrayLike]]",
    "hrr.Space.retrieval_probability.items": "SupportsIndex", "hrr.Space.capacity.items": "SupportsIndex",
    "hrr.ItemMemory.space": "Space", "hrr.AssociativeMemory.space": "Space", "hrr.AssociativeMemory.sum": "_t.ArrayLike",
    **{f"hrr.AssociativeMemory.{name}.items": "ItemMemory" for name in ("recall", "reliability", "store")},
    "hrr.AssociativeMemory.recall.key": "_t.Names", "hrr.AssociativeMemory.store.key": "_t.Names", "hrr.AssociativeMemory.store.value": "_t.Names",
    "hrr.Store.append.arrays": "Mapping[str, _t.ArrayLike]", "hrr.State.__setitem__.value": "Any", "hrr.Embedder.seed": "SupportsIndex",
    "lattice.Lattice.sizes": "Sequence[SupportsIndex]", "lattice.Lattice.shortest_paths.pairs": "Sequence[tuple[SupportsIndex, SupportsIndex]]",
    "lattice.Lattice.distances.pairs": "Sequence[tuple[SupportsIndex, SupportsIndex]]", "lattice.Scratch.memory": "Any", "lattice.xor_in_place.memory": "Any",
}

BY_NAME = {name: kind for kind, names in NAMES.items() for name in names.split()}


def of(where, name):
    """The type of a parameter of a function, method or class, such as `fft` of the module `fft`: `fft.fft`."""
    kind = PLACES.get(f"{where}.{name}") or BY_NAME.get(name)
    if kind is None:
        raise SystemExit(f"what {name} of {where} takes is not in python/tools/stub_parameters.py")
    return kind
