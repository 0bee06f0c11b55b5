"""Common-pool resource: its rules on paper, growth by statistics, and the tragedy.

The small field: 16 x 16 cells, one patch with its middle at row 8, column 8.
"""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

STAY, UP, DOWN, LEFT, RIGHT = range(5)
RIPE, BARE, GREEN, TAKEN = 2, 0, -1, -2
BORDER = 7
PATCH = [(8 + r, 8 + c) for r in range(-2, 3) for c in range(abs(r) - 2, 3 - abs(r))]


def number(s, row, column):
    return (row + BORDER) * s.pitch + column + BORDER


def world(agents, ripe=(), green=(), **arguments):
    """A small field with what is given by (row, column), where nothing grows; its State."""
    arguments = {"growth": 0, "ripening": 0.001, "shared": 0, **arguments}
    env = OceanEnv("cpr", 1, width=16, height=16, spacing=16, num_agents=len(agents), **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for row in range(16):
        for column in range(16):
            s.board[number(s, row, column)] = BARE
    for kind, places in ((RIPE, ripe), (GREEN, green)):
        for row, column in places:
            s.board[number(s, row, column)] = kind
    s.plants = len(ripe) + len(green)
    for i, (row, column) in enumerate(agents):
        s.agents[i] = number(s, row, column)
        s.board[s.agents[i]] = TAKEN
    return env, s


def step(env, *actions):
    return env.step(np.array(actions, np.int32))


def kinds(s):
    return [s.board[number(s, *place)] for place in PATCH]


def places(s, env):
    cells = [s.agents[i] for i in range(env.num_agents)]
    return [(cell // s.pitch - BORDER, cell % s.pitch - BORDER) for cell in cells]


def test_the_patches():
    env = OceanEnv("cpr", 1, width=24, height=17, spacing=8)
    env.reset(seed=0)
    s = c_state(env)
    cells = [s.places[k] for k in range(s.num_places)]
    found = [(cell // s.pitch - BORDER, cell % s.pitch - BORDER) for cell in cells]
    expected = [
        (r - 8 + 4 + 8 * i, c - 8 + 4 + 8 * j) for i in (0, 1) for j in range(3) for r, c in PATCH
    ]
    assert len(PATCH) == 13
    assert sorted(found) == sorted(expected)
    assert s.plants == sum(s.board[cell] == RIPE for cell in cells)
    assert 20 < s.plants < 60  # half of 78


@pytest.mark.parametrize(
    ("action", "place"),
    [(STAY, (3, 3)), (UP, (2, 3)), (DOWN, (4, 3)), (LEFT, (3, 2)), (RIGHT, (3, 4))],
)
def test_an_agent_moves(action, place):
    env, s = world([(3, 3)], ripe=PATCH)
    step(env, action)
    assert places(s, env) == [place]


@pytest.mark.parametrize(
    ("start", "action"), [((0, 5), UP), ((15, 5), DOWN), ((5, 0), LEFT), ((5, 15), RIGHT)]
)
def test_the_edge_is_in_the_way(start, action):
    env, s = world([start], ripe=PATCH)
    step(env, action)
    assert places(s, env) == [start]


def test_agents_are_in_each_others_way_in_their_order():
    env, s = world([(3, 3), (3, 4)], ripe=PATCH)
    step(env, RIGHT, RIGHT)
    assert places(s, env) == [(3, 3), (3, 5)]


def test_a_ripe_place_is_harvested_and_bare():
    env, s = world([(5, 8)], ripe=[(6, 8), (8, 8)], reward_fruit=0.5)
    assert step(env, DOWN)[1].tolist() == [0.5]
    assert (s.scores[0], s.total, s.plants) == (1, 1, 1)
    assert step(env, DOWN)[1].tolist() == [0]
    assert s.board[number(s, 6, 8)] == BARE


def test_a_green_place_is_trampled():
    env, s = world([(5, 8)], ripe=[(8, 8)], green=[(6, 8)], reward_trample=-0.25)
    assert step(env, DOWN)[1].tolist() == [-0.25]
    assert (s.scores[0], s.plants) == (0, 1)


def test_a_share_of_a_fruit_is_for_all():
    agents = [(5, 8), (0, 0), (0, 2), (0, 4)]
    env, _ = world(agents, ripe=[(6, 8), (8, 8)], reward_fruit=0.5, shared=0.4)
    own, all_get = 0.5 * 0.6, 0.5 * 0.4 / 4
    expected = [own + all_get, all_get, all_get, all_get]
    assert step(env, DOWN, STAY, STAY, STAY)[1].tolist() == pytest.approx(expected)


def test_the_last_plant_ends_the_episode():
    env, _ = world([(5, 8), (0, 0)], ripe=[(6, 8)])
    _, _, terminals, _, infos = step(env, DOWN, STAY)
    assert terminals.tolist() == [True, True]
    assert infos[0]["score"].tolist() == [1, 0]


def test_nothing_grows_without_ripe_places_near():
    env, s = world([(0, 0)], ripe=[(6, 8)], growth=1, max_steps=10**6)
    step(env, STAY)
    # within 2 steps of (6, 8) are only these; at most 1 of 12 ripe: probability 1/12 each
    near = {(7, 7), (7, 8), (7, 9), (8, 8)}
    for _ in range(300):
        s.board[number(s, 7, 8)] = s.board[number(s, 7, 7)] = BARE
        s.board[number(s, 7, 9)] = s.board[number(s, 8, 8)] = BARE
        step(env, STAY)
        grown = {place for place, kind in zip(PATCH, kinds(s), strict=True) if kind != BARE}
        assert grown <= near | {(6, 8)}


@pytest.mark.parametrize(("ripe", "n"), [([(8, 8)], 1), ([p for p in PATCH if p != (8, 9)], 7)])
def test_how_fast_bare_places_turn_green(ripe, n):
    """Near (8, 9) are (7, 8), (7, 9), (8, 7), (8, 8), (8, 10), (9, 8), (9, 9)."""
    env, s = world([(0, 0)], ripe=ripe, growth=0.6, max_steps=10**6)
    trials, count = 6000, 0
    for _ in range(trials):
        step(env, STAY)
        count += s.board[number(s, 8, 9)] == GREEN
        for place in PATCH:
            s.board[number(s, *place)] = RIPE if place in ripe else BARE
    p = 0.6 * n / 12
    assert count / trials == pytest.approx(p, abs=4 * (p * (1 - p) / trials) ** 0.5)


def test_how_fast_green_places_ripen():
    env, s = world([(0, 0)], green=PATCH, ripening=0.25, max_steps=10**6)
    count = 0
    for _ in range(500):
        step(env, STAY)
        count += kinds(s).count(RIPE)
        for place in PATCH:
            s.board[number(s, *place)] = GREEN
    assert count / 6500 == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / 6500) ** 0.5)


def test_nothing_grows_below_an_agent():
    env, s = world([(8, 8)], ripe=[p for p in PATCH if p != (8, 8)], growth=1)
    for _ in range(50):
        step(env, STAY)
    assert s.plants == 12
    assert s.board[number(s, 8, 8)] == TAKEN


def test_perf_is_the_share_of_the_best_yield():
    """With growth = 8 ripening the best shares are 1/4: 1/4 + 1/4 + 8/16 = 1."""
    env, s = world([(0, 0), (0, 2)], ripe=PATCH, growth=0.4, ripening=0.05, max_steps=10)
    s.total = 2
    for _ in range(10):
        *_, infos = step(env, STAY, STAY)
    assert env.truncations.all()
    assert infos[0]["perf"].tolist() == pytest.approx([2 / (10 * 13 * 0.4 / 16)] * 2)


@pytest.mark.parametrize("vision", [1, 4, 7])
def test_the_observation_is_the_square_round_the_agent(vision):
    env = OceanEnv("cpr", 1, vision=vision, num_agents=6)
    env.reset(seed=1)
    s = c_state(env)
    rng = np.random.default_rng(2)
    for _ in range(300):
        step(env, *rng.integers(0, 5, 6))
        cells = np.array([s.board[k] for k in range(s.pitch * (24 + 2 * BORDER))])
        board = cells.reshape(-1, s.pitch)
        assert (board > 0).sum() + (board == GREEN).sum() == s.plants
        for i, (row, column) in enumerate(places(s, env)):
            rows, columns = (
                slice(k + BORDER - vision, k + BORDER + vision + 1) for k in (row, column)
            )
            assert (env.observations[i] == board[rows, columns]).all()


def harvest(view, least):
    """Steps to the side where a ripe place is that has so many ripe ones near, or stays."""
    middle = view.shape[0] // 2
    for action, (down, right) in enumerate([(-1, 0), (1, 0), (0, -1), (0, 1)], start=1):
        row, column = middle + down, middle + right
        near = [
            view[row + r, column + c] == RIPE
            for r in range(-2, 3)
            for c in range(-2, 3)
            if 0 < abs(r) + abs(c) <= 2
        ]
        if view[row, column] == RIPE and sum(near) >= least:
            return action
    return STAY


def test_greed_is_the_ruin_of_the_commons():
    """Four who stand in a patch and take what they can, or leave at least three ripe ones near."""
    fruits = {}
    for least in (0, 3):
        agents = [(6, 8), (8, 6), (8, 10), (10, 8)]
        env, s = world(agents, ripe=PATCH, growth=0.2, ripening=0.05, max_steps=2000)
        for _ in range(1500):
            step(env, *[harvest(view, least) for view in env.observations])
            if env.terminals[0]:
                break
            fruits[least] = s.total
    assert fruits[3] > 3 * fruits[0]
