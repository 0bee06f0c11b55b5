import subprocess
import sys

import numpy as np
import pytest
import torch

from puffer_cuda.muon import COEFFICIENTS, Muon, orthogonalize


def reference_orthogonalize(matrix):
    """Newton-Schulz in float64, as published: X <- a X + b (X X^T) X + c (X X^T)^2 X."""
    x = matrix.astype(np.float64)
    transposed = x.shape[0] > x.shape[1]
    if transposed:
        x = x.T
    x = x / np.linalg.norm(x)
    for a, b, c in COEFFICIENTS:
        gram = x @ x.T
        x = a * x + b * gram @ x + c * gram @ gram @ x
    return x.T if transposed else x


SHAPES = [(1, 1), (1, 7), (7, 1), (5, 5), (32, 8), (8, 32), (96, 32)]


@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonalize(shape):
    matrix = np.random.default_rng(0).normal(size=shape)
    got = orthogonalize(torch.tensor(matrix, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(got, reference_orthogonalize(matrix), atol=2e-5)
    # and what it is for: the singular vectors stay, the singular values come near 1
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    inner = u.T @ got @ vt.T
    assert np.all(np.abs(np.diag(inner) - 1) < 0.35)
    assert np.abs(inner - np.diag(np.diag(inner))).max() < 1e-4


@pytest.mark.parametrize("shape", SHAPES)
def test_three_updates_of_a_matrix(shape):
    rng = np.random.default_rng(1)
    weight = rng.normal(size=shape)
    parameter = torch.nn.Parameter(torch.tensor(weight, dtype=torch.float32))
    optimizer = Muon([parameter], lr=0.1, momentum=0.9, weight_decay=0.05)
    momentum = np.zeros(shape)
    for _ in range(3):
        gradient = rng.normal(size=shape)
        parameter.grad = torch.tensor(gradient, dtype=torch.float32)
        optimizer.step()
        momentum = 0.9 * momentum + gradient
        update = reference_orthogonalize(gradient + 0.9 * momentum)
        weight = weight * (1 - 0.1 * 0.05)
        weight = weight - 0.1 * np.sqrt(max(1, shape[0] / shape[1])) * update
    np.testing.assert_allclose(parameter.detach().numpy(), weight, atol=2e-5)


def test_vectors_take_adamw_steps():
    ours = torch.nn.Parameter(torch.linspace(-1, 1, 7))
    theirs = torch.nn.Parameter(ours.detach().clone())
    muon = Muon([ours], lr=0.1, adamw_ratio=0.2, betas=(0.9, 0.99), eps=1e-8)
    adamw = torch.optim.AdamW([theirs], lr=0.02, betas=(0.9, 0.99), eps=1e-8, weight_decay=0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        ours.grad = torch.randn(7, generator=generator)
        theirs.grad = ours.grad.clone()
        muon.step()
        adamw.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def test_convolutions_are_matrices_and_missing_gradients_are_left_alone():
    kernel = torch.nn.Parameter(torch.zeros(4, 3, 2, 2))
    idle = torch.nn.Parameter(torch.ones(2, 2))
    kernel.grad = torch.randn(4, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    Muon([kernel, idle], lr=1.0, momentum=0.0).step()
    expected = -reference_orthogonalize(kernel.grad.flatten(1).numpy())
    np.testing.assert_allclose(kernel.detach().flatten(1).numpy(), expected, atol=2e-5)
    assert torch.equal(idle, torch.ones(2, 2))


def test_a_dead_unit_leaves_no_denormal_numbers():
    parameter = torch.nn.Parameter(torch.zeros(4, 3))
    optimizer = Muon([parameter], lr=0.1, momentum=0.9)
    parameter.grad = torch.ones(4, 3)
    for _ in range(1200):  # 0.9^1200 is 1e-55, long below what float32 can hold
        optimizer.step()
        parameter.grad = torch.ones(4, 3)
        parameter.grad[2] = 0
        momentum = optimizer.state[parameter]["momentum"].abs()
        assert not ((momentum > 0) & (momentum < torch.finfo(torch.float32).tiny)).any()
    assert not momentum[2].any()


def test_rows_that_are_nothing_beside_the_others_change_nothing():
    matrix = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    matrix[1] = 0
    faint = matrix.clone()
    faint[1] = 1e-20
    assert torch.equal(orthogonalize(faint), orthogonalize(matrix))


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_optimizers_do_not_import_the_compiler(kind):
    """torch._dynamo takes longer to import than torch itself."""
    code = (
        "import sys, torch\nfrom puffer_cuda.config import TrainConfig\n"
        "from puffer_cuda.optimizer import make_optimizer\n"
        f"config = TrainConfig(optimizer={kind!r})\n"
        "optimizer = make_optimizer(config, [torch.nn.Parameter(torch.ones(2))])\n"
        "optimizer.load_state_dict(optimizer.state_dict())\n"
        "print('torch._dynamo' in sys.modules)"
    )
    line = [sys.executable, "-c", code]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == "False\n"
