"""The array object: making one, reading it, writing through views."""

import copy
import pickle

import numpy as np
import pytest

import crossover as xo
from crossover import _native


def test_numbers_and_sequences_become_arrays_of_numpys_dtypes():
    for value in (True, 3, 2.5, 1 + 2j, [1, 2], [[1.0], [2]], [True, False], (1, 2.0, 3j), [], [[], []], range(4), 2**63):
        ours, theirs = xo.asarray(value), np.asarray(value)
        assert ours.shape == theirs.shape
        assert ours.dtype.name == theirs.dtype.name
        assert np.array_equal(np.asarray(ours), theirs)


def test_lists_of_arrays_are_stacked():
    rows = [xo.asarray([1.0, 2.0]), xo.asarray([3.0, 4.0])]
    assert xo.asarray(rows).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert xo.asarray([np.float32(1.5), np.float32(2.5)]).dtype == xo.float32


def test_ragged_sequences_and_foreign_objects_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        xo.asarray([[1, 2], [3]])
    with pytest.raises(ValueError, match="different lengths or depths"):
        xo.asarray([1, [2]])
    with pytest.raises(TypeError):
        xo.asarray("text")
    with pytest.raises(OverflowError):
        xo.asarray([300], dtype=xo.int8)
    with pytest.raises(OverflowError):
        xo.asarray(2**70)


@pytest.mark.parametrize("dtype", ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy_arrays_survive_the_round_trip_however_they_lie(dtype, rng):
    base = (rng.random((4, 6, 5)) * 100).astype(dtype)
    for view in (base, base.T, base[::-1, ::2], base[1:, 3], base[..., ::-3], base[:0], np.broadcast_to(base[0], (3, 6, 5))):
        back = np.asarray(xo.asarray(view))
        assert back.dtype == view.dtype
        assert np.array_equal(back, view)
    swapped = base.astype(base.dtype.newbyteorder(">"))
    assert np.array_equal(np.asarray(xo.asarray(swapped)), base)


def test_structured_and_text_arrays_are_refused_by_name():
    with pytest.raises(TypeError, match="astype"):
        xo.asarray(np.array(["a", "b"]))
    packed = np.zeros(3, dtype=[("a", "u1"), ("b", "f8")])
    packed["b"] = [1, 2, 3]
    assert xo.asarray(packed["b"]).tolist() == [1.0, 2.0, 3.0]


def test_numpy_looks_at_our_memory_and_cannot_write_it():
    x = xo.asarray([1.0, 2.0, 3.0])
    seen = np.asarray(x)
    assert not seen.flags.writeable
    assert np.asarray(x).__array_interface__["data"] == seen.__array_interface__["data"]
    x[0] = 9.0
    assert seen[0] == 1.0, "what somebody looks at does not change"
    own = np.array(x)
    own[1] = 7.0
    assert x.tolist() == [9.0, 2.0, 3.0]


def test_what_numpy_owns_is_copied():
    theirs = np.zeros(3)
    ours = xo.asarray(theirs)
    theirs[0] = 5
    assert ours.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="copy"):
        xo.asarray([1.0, 2.0], copy=False)


def test_rows_are_views():
    a = xo.reshape(xo.arange(6), (2, 3))
    for row in a:
        row += 1
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]
    a[:, 1][...] = 0
    a.T[2] += a.T[0]
    assert a.tolist() == [[1, 0, 4], [4, 0, 10]]


def test_assignment_follows_numpy(rng):
    theirs = rng.integers(0, 100, (5, 6))
    ours = xo.asarray(theirs)
    steps = [
        ((slice(1, 4), slice(None, None, 2)), 7),
        ((Ellipsis, 0), np.arange(5)),
        (([0, 2], [1, 1]), [50, 60]),
        ((theirs > 50,), -1),
        ((slice(None, None, -1), 3), np.arange(5) * 10),
        ((2,), theirs[3]),
    ]
    for key, value in steps:
        expected = theirs.copy()
        expected[key] = value
        ours[tuple(xo.asarray(part) if isinstance(part, np.ndarray) else part for part in key)] = value
        assert np.array_equal(np.asarray(ours), expected)
        theirs = expected


def test_values_made_before_an_assignment_keep_theirs():
    x = xo.asarray([1, 2, 3])
    before, view = x + 10, x[1:]
    x[1] = 100
    assert before.tolist() == [11, 12, 13]
    assert view.tolist() == [100, 3]
    assert (x is not x.copy()) and x.copy().tolist() == x.tolist()


def test_in_place_operators_keep_the_array_and_its_dtype():
    x = xo.asarray([1.0, 2.0])
    alias = x
    x += 1
    x *= xo.asarray([2.0, 3.0])
    x **= 2
    assert alias is x and x.tolist() == [16.0, 81.0]
    y = xo.asarray([1, 2])
    with pytest.raises(TypeError, match="float64"):
        y += 0.5
    with pytest.raises(ValueError, match=r"\[2, 2\]"):
        y += xo.ones((2, 2), dtype=xo.int64)
    with pytest.raises(TypeError):
        xo.asarray([1], dtype=xo.uint8).__iadd__(xo.asarray([1], dtype=xo.int16))


KEYS = [
    0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(10, 2), Ellipsis, None, (0, 1), (Ellipsis, 0), (None, 1, None),
    (slice(None), [0, 2]), [1, 1, 0], ([0, 1], slice(None), [1, 0]), (0, [1, 2]), True, False, (slice(0, 2), None, -1), [], np.int64(1),
    np.array([True, False, True]), (slice(None), np.array([[0, 1], [2, 3]])), np.array(1), (Ellipsis,), (),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_follows_numpy(key, rng):
    theirs = rng.integers(0, 100, (3, 4, 5))
    assert np.array_equal(np.asarray(xo.asarray(theirs)[key]), theirs[key])


@pytest.mark.parametrize("key", [3, -4, (0, 0, 0, 0), 1.5, "a", (Ellipsis, Ellipsis), [5], np.zeros(2, bool)], ids=str)
def test_bad_keys_are_index_errors(key):
    with pytest.raises(IndexError):
        xo.zeros((3, 4))[key]


def test_arrays_of_one_element_become_numbers():
    assert int(xo.asarray(3)) == 3 and float(xo.asarray(2)) == 2.0 and complex(xo.asarray(1.5)) == 1.5
    assert bool(xo.asarray(0.0)) is False and bool(xo.asarray([float("nan")])) is True
    assert [10, 20][xo.asarray(1)] == 20
    assert xo.asarray([[7]]).item() == 7 and xo.asarray([1, 2, 3]).item(1) == 2
    with pytest.raises(TypeError):
        float(xo.asarray([1.0, 2.0]))
    with pytest.raises(TypeError):
        float(xo.asarray(1j))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(xo.asarray([1, 2]))
    with pytest.raises(TypeError):
        [1, 2][xo.asarray(1.0)]
    with pytest.raises(TypeError):
        len(xo.asarray(1))
    with pytest.raises(TypeError):
        iter(xo.asarray(1))


def test_pickle_and_copy_make_arrays_of_their_own():
    for x in (xo.reshape(xo.arange(6.0), (2, 3)).T, xo.asarray([True, False]), xo.asarray(1 + 2j), xo.zeros((0, 3))):
        for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            assert other.dtype == x.dtype and other.shape == x.shape and other.tolist() == x.tolist()
    x = xo.asarray([1, 2])
    twin = copy.deepcopy(x)
    x[0] = 9
    assert twin.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(xo.float32)) == xo.float32
    assert pickle.loads(pickle.dumps(xo.device("cpu"))) == "cpu"


@pytest.mark.parametrize(
    "value",
    [[1.0, 2.5], [[1, -20], [300, 4]], [True, False], [1e10, 1.0], [1 + 2j], 3.0, [], [[0.1, 1000.0]], list(range(2000))],
    ids=lambda value: str(value)[:20],
)
def test_repr_is_numpys(value):
    ours, theirs = repr(xo.asarray(value)), repr(np.asarray(value))
    # NumPy says the shape of what it abbreviates since 2.2.
    assert ours == theirs or (np.lib.NumpyVersion(np.__version__) < "2.2.0" and ours.replace(", shape=(2000,)", "") == theirs)
    assert str(xo.asarray(value)) == str(np.asarray(value))


def test_repr_names_other_dtypes_as_numpy_does():
    x = np.asarray([1.5, 2.0], dtype=np.float32)
    assert repr(xo.asarray(x)) == repr(x)


def test_dtypes_compare_with_numpys_and_have_names():
    assert xo.float32 == np.float32 == xo.asarray([1], dtype="f4").dtype
    assert xo.int64 == int and xo.float64 == "float64" and xo.bool != xo.int8
    assert len({xo.int8, xo.asarray([1], dtype=np.int8).dtype}) == 1
    with pytest.raises(TypeError, match="not a dtype"):
        xo.zeros(3, dtype="decimal")


def test_numbers_on_either_side_take_the_arrays_dtype():
    x = xo.asarray([1, 2], dtype=xo.int8)
    assert (x + 1).dtype == xo.int8 and (1 - x).tolist() == [0, -1] and (x / 2).dtype == xo.float64
    assert (2.0 ** xo.asarray([1, 2], dtype=xo.float32)).dtype == xo.float32
    assert (x > 1000).tolist() == [False, False]
    with pytest.raises(OverflowError, match="1000"):
        x + 1000
    with pytest.raises(ValueError, match="negative"):
        x**-1


def test_unknown_operands_are_left_to_the_other_side():
    class Other:
        def __radd__(self, other):
            return "reflected"

    assert xo.ones(3) + Other() == "reflected"
    with pytest.raises(TypeError):
        xo.ones(3) + object()
    assert (xo.ones(3) == None).tolist() == [False] * 3 and (xo.ones(3) != None).tolist() == [True] * 3  # noqa: E711
    assert (xo.ones(2) == "ones").tolist() == [False] * 2 and (xo.ones(()) == None).shape == ()  # noqa: E711
    with pytest.raises(TypeError):
        xo.ones(3) < None


def test_what_cannot_be_computed_raises_when_it_is_printed():
    # Without `xo.linalg`, which computes at once, as NumPy does.
    singular = _native.inv(xo.zeros((2, 2)))
    for look in (repr, str, lambda x: x.tolist(), lambda x: x._repr_html_()):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            look(singular)


def test_errors_show_shapes_and_are_of_numpys_kind():
    with pytest.raises(ValueError, match=r"\[2\] and \[3\]"):
        xo.ones(2) + xo.ones(3)
    with pytest.raises(np.exceptions.AxisError, match="axis 2"):
        xo.sum(xo.ones((2, 2)), axis=2)
    with pytest.raises(np.linalg.LinAlgError):
        xo.linalg.inv(xo.zeros((2, 2)))
    with pytest.raises(TypeError, match="bool"):
        -xo.asarray([True])
    with pytest.raises(ValueError):
        xo.reshape(xo.ones(6), (4, 2))
    with pytest.raises(xo.exceptions.DeviceError, match="cuda:99"):
        xo.ones(3).to_device("cuda:99")
    with pytest.raises(ValueError, match="not a device"):
        xo.device("tpu")
