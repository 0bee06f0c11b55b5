import math

import gymnasium
import pytest
import torch

from puffer_cuda.cells import GRU, LSTM
from puffer_cuda.encoders import FlatEncoder
from puffer_cuda.networks import MLP, MinGRU, layer_init


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_one_mingru_step_on_paper():
    network = MinGRU(1, 1)
    with torch.no_grad():
        network.layers[0].linear.weight.copy_(torch.tensor([[2.0], [1.0], [-1.0]]))
    y, (state,) = network.forward_eval(torch.tensor([[0.5]]), (torch.tensor([[[3.0]]]),))
    z, p = sigmoid(0.5), sigmoid(-0.5)
    expected_state = (1 - z) * 3 + z * (1.0 + 0.5)  # u = 1 >= 0, so the candidate is u + 1/2
    assert state.item() == pytest.approx(expected_state, rel=1e-6)
    assert y.item() == pytest.approx(p * expected_state + (1 - p) * 0.5, rel=1e-6)
    _, (state,) = network.forward_eval(torch.tensor([[-0.5]]), (torch.tensor([[[3.0]]]),))
    z = sigmoid(-0.5)
    assert state.item() == pytest.approx((1 - z) * 3 + z * sigmoid(-1.0), rel=1e-6)  # u = -1 < 0


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("time", [1, 2, 7, 64, 65])
def test_a_segment_is_its_steps(time, layers):
    torch.manual_seed(time)
    network = MinGRU(16, layers).double()
    x = torch.randn(4, time, 16, dtype=torch.float64)
    starts = torch.rand(4, time) < 0.2
    initial = torch.randn(4, layers, 16, dtype=torch.float64)
    whole = network(x, (initial,), starts)
    state, steps = initial, []
    for t in range(time):
        state = state.masked_fill(starts[:, t, None, None], 0)
        y, (state,) = network.forward_eval(x[:, t], (state,))
        steps.append(y)
    torch.testing.assert_close(whole, torch.stack(steps, 1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("network", [LSTM, GRU])
def test_cells_against_torch(network):
    # Without episode starts a segment is what torch's own multi-layer module computes.
    torch.manual_seed(0)
    ours = network(8, 2)
    theirs = (torch.nn.LSTM if network is LSTM else torch.nn.GRU)(8, 8, 2, batch_first=True)
    for layer, cell in enumerate(ours.cells):
        for name, parameter in cell.named_parameters():
            torch.nn.init.normal_(parameter)
            getattr(theirs, f"{name}_l{layer}").data.copy_(parameter.data)
    x = torch.randn(3, 9, 8)
    state = ours.initial_state(3, torch.device("cpu"))
    got = ours(x, state, torch.zeros(3, 9, dtype=torch.bool))
    torch.testing.assert_close(got, theirs(x)[0])
    # and an episode start in the middle is a segment of its own
    starts = torch.zeros(3, 9, dtype=torch.bool)
    starts[:, 4] = True
    parts = torch.cat((theirs(x[:, :4])[0], theirs(x[:, 4:])[0]), 1)
    torch.testing.assert_close(ours(x, state, starts), parts)


def test_mlp_layers_and_no_state():
    torch.manual_seed(0)
    network = MLP(8, 2)
    x = torch.randn(3, 5, 8)
    expected = x
    for layer in network.layers:
        expected = (expected @ layer.weight.T + layer.bias).clamp(min=0)
    torch.testing.assert_close(network(x, (), torch.zeros(3, 5, dtype=torch.bool)), expected)
    assert network.initial_state(3, torch.device("cpu")) == ()


def test_tanh_and_an_encoder_that_has_it_too():
    network, x = MLP(8, 1, "tanh"), torch.randn(3, 8)
    got, _ = network.forward_eval(x, ())
    torch.testing.assert_close(got, torch.tanh(x @ network.layers[0].weight.T))
    encoder = FlatEncoder(gymnasium.spaces.Box(-1, 1, (8,)), 4, "tanh")
    torch.testing.assert_close(encoder(x), torch.tanh(x @ encoder.linear.weight.T))


def test_layer_init():
    layer = layer_init(torch.nn.Linear(6, 4), 3.0, 0.5)
    gram = layer.weight @ layer.weight.T
    torch.testing.assert_close(gram, 9 * torch.eye(4), rtol=0, atol=1e-5)
    assert layer.bias.tolist() == [0.5] * 4
