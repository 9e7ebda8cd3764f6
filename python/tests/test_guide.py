"""The examples of a GPU guide written for another library, with only the import changed: they run, and return what NumPy and SciPy return.

Sizes are smaller where the guide's are a benchmark's. Random draws agree in distribution.
"""

import importlib.util
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import ndimage

import crossover as veda

HAS_PAR = hasattr(veda, "par_iter")
needs_par = pytest.mark.skipif(not HAS_PAR, reason="this build has no par_iter")


@pytest.fixture(autouse=True)
def own_runtime():
    """The runtime of everybody, afterwards."""
    yield
    veda._native.share_runtime(None)


def test_automatic_offload():
    config = veda.Config.builder().gpu(True).build()
    veda.init(config)

    @veda.gpu
    def matrix_multiply(A, B):
        """Automatically uses GPU if beneficial."""
        return A @ B

    A_small = np.ones((10, 10))
    B_small = np.ones((10, 10))
    C_small = matrix_multiply(A_small, B_small)
    assert np.array_equal(C_small, A_small @ B_small)
    A_large = np.ones((500, 500))
    B_large = np.ones((500, 500))
    C_large = matrix_multiply(A_large, B_large)
    assert type(C_large) is np.ndarray and np.array_equal(C_large, np.full((500, 500), 500.0))


def test_vector_add():
    @veda.gpu
    def vector_add(a, b):
        # Works with NumPy or CuPy arrays
        return a + b

    result = vector_add(np.array([1, 2, 3]), np.array([4, 5, 6]))
    assert result.tolist() == [5, 7, 9]


NUMBA = """
import numpy as np
import crossover as veda
from numba import cuda

@veda.gpu_kernel
@cuda.jit
def add_kernel(a, b, result):
    idx = cuda.grid(1)
    if idx < result.size:
        result[idx] = a[idx] + b[idx]

result = np.zeros(300)
add_kernel(np.arange(300.0), np.ones(300), result)
print(result.sum())
"""


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="Numba is not installed here")
def test_numba_cuda():
    # Numba's simulator, which needs no GPU, is switched on before it is imported.
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    ran = subprocess.run([sys.executable, "-c", NUMBA], capture_output=True, text=True, env=environment)
    assert ran.stdout == "45150.0\n", ran.stderr


@needs_par
def test_many_matrices(rng):
    matrices = [rng.random((20, 20)) for _ in range(10)]

    @veda.gpu
    def process_matrix(M):
        # Eigenvalue decomposition on GPU
        return np.linalg.eigvals(M)

    eigenvalues = veda.par_iter(matrices)\
        .gpu_map(process_matrix)\
        .collect()
    for found, matrix in zip(eigenvalues, matrices):
        expected = np.linalg.eigvals(matrix)
        assert np.allclose(np.sort_complex(np.asarray(found)), np.sort_complex(expected))


def test_devices_by_number():
    @veda.gpu(device=0)
    def process_on_gpu_0(data):
        return data * 2

    @veda.gpu(device=1)
    def process_on_gpu_1(data):
        return data ** 2

    data, count = np.arange(4.0), veda.get_runtime().device_count
    for number, function, expected in ((0, process_on_gpu_0, data * 2), (1, process_on_gpu_1, data**2)):
        if number < count:
            assert np.array_equal(function(data), expected)
        else:
            with pytest.raises(veda.exceptions.DeviceError, match=f"cuda:{number}"):
                function(data)


def test_batches_and_numbers():
    @veda.gpu
    def add_small(a, b):
        return a + b

    result = add_small(5, 3)  # Runs on CPU anyway
    assert result == 8

    @veda.gpu
    def process_batch(batch):
        return [item ** 2 for item in batch]

    large_batch = np.arange(1_000)
    results = process_batch(large_batch)
    assert isinstance(results, list) and np.array_equal(results, large_batch**2)


def test_steps_and_their_fusion():
    @veda.gpu
    def step1(data):
        return data * 2

    @veda.gpu
    def step2(data):
        return data + 1

    @veda.gpu
    def fused(data):
        return (data * 2) + 1

    data = np.linspace(0, 1, 10_000)
    assert np.array_equal(step2(step1(data)), data * 2 + 1) and np.array_equal(fused(data), data * 2 + 1)


def test_numpy_compatible_code(rng):
    @veda.gpu
    def efficient_operation(X):
        # All NumPy operations work on GPU
        mean = X.mean(axis=0)
        std = X.std(axis=0)
        normalized = (X - mean) / std
        return normalized @ normalized.T

    X = rng.normal(size=(40, 30))
    normalized = (X - X.mean(0)) / X.std(0)
    assert np.allclose(efficient_operation(X), normalized @ normalized.T)


def test_memory_and_backend_are_told(capsys):
    runtime = veda.get_runtime()
    if runtime.gpu:
        stats = runtime.gpu.get_memory_stats()
        print(f"Used: {stats['used_mb']:.1f} MB")
        print(f"Free: {stats['free_mb']:.1f} MB")
        print(f"Total: {stats['total_mb']:.1f} MB")

        utilization = runtime.gpu.get_utilization()
        print(f"GPU Utilization: {utilization:.1f}%")
    if runtime.gpu:
        print(f"Backend: {runtime.gpu.backend}")
        print(f"Devices: {runtime.gpu.device_count}")
        print(f"Available: {runtime.gpu.is_available()}")
    else:
        print("GPU not available")
    said = capsys.readouterr().out
    assert ("Utilization" in said) if runtime.device_count else (said == "GPU not available\n")


def test_force_cpu_execution():
    config = veda.Config.builder().gpu(False).build()
    veda.init(config)

    @veda.gpu
    def twice(data):
        return data * 2

    assert twice(np.ones(5)).tolist() == [2.0] * 5
    assert veda.get_runtime().device_count == 0 and not veda.get_runtime().gpu


def test_profile_gpu_operations(rng, capsys):
    @veda.gpu
    def gpu_operation(data):
        return data @ data.T

    data = rng.random((300, 300))

    start = time.perf_counter()
    result = gpu_operation(data)
    gpu_time = time.perf_counter() - start

    start = time.perf_counter()
    result_cpu = data @ data.T
    cpu_time = time.perf_counter() - start

    print(f"GPU: {gpu_time:.3f}s")
    print(f"CPU: {cpu_time:.3f}s")
    print(f"Speedup: {cpu_time / gpu_time:.2f}x")
    assert np.allclose(result, result_cpu) and "Speedup" in capsys.readouterr().out


@veda.gpu
def apply_filter(image, kernel):
    from scipy.ndimage import convolve
    return convolve(image, kernel)


def test_image_processing(rng):
    image, kernel = rng.random((32, 40)), rng.random((3, 5))
    assert np.allclose(apply_filter(image, kernel), ndimage.convolve(image, kernel))


@needs_par
def test_many_images(rng):
    images, gaussian_kernel = [rng.random((16, 16)) for _ in range(5)], rng.random((3, 3))
    filtered = veda.par_iter(images)\
        .gpu_map(lambda img: apply_filter(img, gaussian_kernel))\
        .collect()
    for found, image in zip(filtered, images):
        assert np.allclose(np.asarray(found), ndimage.convolve(image, gaussian_kernel))


def test_machine_learning(rng):
    @veda.gpu
    def train_step(X, y, weights):
        # Forward pass
        predictions = X @ weights

        # Loss
        loss = ((predictions - y) ** 2).mean()

        # Gradient
        grad = 2 * X.T @ (predictions - y) / len(y)

        return loss, grad

    X_train, weights, learning_rate, losses = rng.normal(size=(200, 5)), np.zeros(5), 0.1, []
    y_train = X_train @ np.arange(5.0)
    for epoch in range(50):
        loss, grad = train_step(X_train, y_train, weights)
        weights -= learning_rate * grad
        losses.append(loss)
    assert np.allclose(weights, np.arange(5.0), atol=1e-2) and losses[-1] < 1e-3 < losses[0]


def test_scientific_computing():
    @veda.gpu
    def monte_carlo_pi(n_samples):
        import numpy as np

        # Generate random points
        x = np.random.random(n_samples)
        y = np.random.random(n_samples)

        # Check if inside circle
        inside = (x**2 + y**2) <= 1.0

        # Estimate pi
        pi_estimate = 4.0 * inside.sum() / n_samples
        return pi_estimate

    pi = monte_carlo_pi(1_000_000)
    assert abs(pi - np.pi) < 0.01
