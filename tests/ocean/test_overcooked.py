"""Overcooked: its rules on paper, in the galley.

##O#D##      row 0: onions in column 2, dishes in column 4
#     #
P     S      row 2: a pot in column 0, the window in column 6
#     #
###P###      row 4: a pot in column 3
#######
"""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

STAY, UP, DOWN, LEFT, RIGHT, USE = range(6)
NONE, ONION, DISH, SOUP = range(4)
WIDTH = 7
CORNER = (3, 5)  # of the cook that stays


def world(*cooks, **arguments):
    """The galley with cooks at (row, column), all facing up; its State."""
    env = OceanEnv("overcooked", 1, num_cooks=len(cooks), **arguments)
    env.reset(seed=0)
    s = c_state(env)
    for cell in range(42):
        s.occupied[cell] = False
    for i, (row, column) in enumerate(cooks):
        s.cooks[i].cell, s.cooks[i].facing = row * WIDTH + column, 0
        s.occupied[row * WIDTH + column] = True
    return env, s


def step(env, *actions):
    return env.step(np.array(actions, np.int32))


def play(env, *actions):
    """The rewards of the first cook, that does these one after the other, and of the second."""
    rewards = [step(env, action, STAY)[1].tolist() for action in actions]
    return [own for own, _ in rewards], [other for _, other in rewards]


def place(s, i=0):
    return s.cooks[i].cell // WIDTH, s.cooks[i].cell % WIDTH


@pytest.mark.parametrize(
    ("action", "facing", "there"),
    [(UP, 0, (1, 3)), (DOWN, 1, (3, 3)), (LEFT, 2, (2, 2)), (RIGHT, 3, (2, 4))],
)
def test_a_cook_turns_and_walks(action, facing, there):
    env, s = world((2, 3), CORNER)
    play(env, action)
    assert (s.cooks[0].facing, place(s)) == (facing, there)
    play(env, STAY)
    assert place(s) == there


@pytest.mark.parametrize(("start", "action"), [((1, 1), UP), ((1, 1), LEFT), ((3, 3), DOWN)])
def test_counters_and_pots_are_in_the_way(start, action):
    env, s = world(start, CORNER)
    play(env, action)
    assert (place(s), s.cooks[0].facing) == (start, action - 1)


def test_cooks_are_in_each_others_way_in_their_order():
    env, s = world((2, 2), (2, 3))
    step(env, RIGHT, RIGHT)
    assert (place(s), place(s, 1)) == ((2, 2), (2, 4))
    assert s.cooks[0].facing == 3


@pytest.mark.parametrize(("column", "item"), [(2, ONION), (4, DISH)])
def test_boxes_fill_empty_hands_alone(column, item):
    env, s = world((1, column), CORNER)
    play(env, USE)
    assert s.cooks[0].holds == item
    s.cooks[0].holds = SOUP
    play(env, USE)
    assert s.cooks[0].holds == SOUP


def test_a_counter_holds_one_thing():
    env, s = world((1, 3), CORNER)  # below a counter
    play(env, USE)
    assert s.cooks[0].holds == NONE
    s.cooks[0].holds = ONION
    play(env, USE)
    assert (s.cooks[0].holds, s.items[3]) == (NONE, ONION)
    s.cooks[0].holds = DISH
    play(env, USE)  # there is no room
    assert (s.cooks[0].holds, s.items[3]) == (DISH, ONION)
    s.cooks[0].holds = NONE
    play(env, USE)
    assert (s.cooks[0].holds, s.items[3]) == (ONION, NONE)


def test_a_soup_from_the_onion_to_the_window():
    env, s = world(
        (1, 2), CORNER, cook_time=10, reward_onion=0.2, reward_soup=0.4, reward_serve=0.8
    )
    fetch = [UP, USE, DOWN, LEFT, LEFT, USE, RIGHT, UP]  # from (1, 2) to (2, 1) and back
    for k in range(3):
        own, other = play(env, *fetch)
        assert own == pytest.approx([0, 0, 0, 0, 0, 0.2, 0, 0])
        assert not any(other)
        assert s.pots[0].onions == k + 1
    assert s.pots[0].left == 8  # two steps after the third onion
    play(env, RIGHT, RIGHT, UP, USE)  # (1, 4): a dish
    assert s.cooks[0].holds == DISH
    play(env, DOWN, LEFT, LEFT)
    assert s.pots[0].left == 1
    own, _ = play(env, LEFT, LEFT, USE)  # (2, 1)
    assert own == pytest.approx([0, 0, 0.4])
    assert (s.cooks[0].holds, s.pots[0].onions) == (SOUP, 0)
    own, other = play(env, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, USE)
    assert own == other == pytest.approx([0, 0, 0, 0, 0, 0.8])
    assert (s.score, s.cooks[0].holds) == (1, NONE)


def test_a_soup_that_still_cooks_stays_in_the_pot():
    env, s = world((2, 1), CORNER)
    s.cooks[0].facing, s.cooks[0].holds = 2, DISH
    s.pots[0].onions, s.pots[0].left = 3, 2
    own, _ = play(env, USE)
    assert (own, s.cooks[0].holds, s.pots[0].left) == ([0], DISH, 1)
    own, _ = play(env, USE)  # it is done now
    assert (own, s.cooks[0].holds) == ([pytest.approx(0.3)], SOUP)


@pytest.mark.parametrize(("onions", "holds"), [(3, ONION), (2, DISH), (0, SOUP)])
def test_what_a_pot_does_not_take(onions, holds):
    env, s = world((3, 3), CORNER)
    s.cooks[0].facing, s.cooks[0].holds, s.pots[1].onions = 1, holds, onions
    own, _ = play(env, USE)
    assert (own, s.cooks[0].holds, s.pots[1].onions) == ([0], holds, onions)


def test_the_window_takes_soups_alone():
    env, s = world((2, 5), CORNER)
    s.cooks[0].facing, s.cooks[0].holds = 3, DISH
    own, _ = play(env, USE)
    assert (own, s.cooks[0].holds, s.score) == ([0], DISH, 0)


def test_the_observation_on_paper():
    env, s = world((2, 3), (1, 4), cook_time=10)
    s.cooks[0].holds, s.cooks[1].holds = ONION, SOUP
    s.pots[0].onions, s.pots[1].onions, s.pots[1].left = 2, 3, 6
    s.items[1 * WIDTH + 6] = DISH  # a counter
    play(env, RIGHT)  # to (2, 4), below the other
    eighths = [4, 2]  # its place
    nearest = [-2, -2, 0, -2, 2, 0]  # onions, dishes, window
    expected = [0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, *(k / 8 for k in eighths)]
    expected += [0] * 8  # it faces floor
    expected += [k / 8 for k in nearest]
    expected += [-4 / 8, 0, 2 / 3, 0, 0, -1 / 8, 2 / 8, 1, 0.5, 0]
    expected += [0, -1 / 8, 0, 0, 1]
    np.testing.assert_allclose(env.observations[0], expected, atol=1e-6)
    play(env, RIGHT)  # to (2, 5): the dish on the counter, 2 away, is nearer than the box, 3 away
    np.testing.assert_allclose(env.observations[0, 23:25], [1 / 8, -1 / 8])
    play(env, RIGHT)  # it faces the window
    assert env.observations[0, 13:21].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    play(env, UP, RIGHT)  # (1, 5), it faces the counter with the dish
    assert env.observations[0, 13:21].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    s.pots[1].left = 1
    play(env, LEFT)
    assert env.observations[0, 34:37].tolist() == [1, 0, 1]  # done


def test_the_others_come_in_the_order_of_numbers_from_the_own_one_on():
    env, s = world((1, 1), (2, 3), (3, 5))
    for i, item in enumerate((ONION, DISH, SOUP)):
        s.cooks[i].holds = item
    step(env, STAY, STAY, STAY)
    third, first = [2 / 8, 1 / 8, 0, 0, 1], [-2 / 8, -1 / 8, 1, 0, 0]
    np.testing.assert_allclose(env.observations[1, 37:], third + first)


def test_perf_is_the_share_of_a_soup_in_40_steps():
    env, s = world((2, 3), CORNER, max_steps=100)
    s.score = 2
    for _ in range(100):
        *_, infos = step(env, STAY, STAY)
    assert env.truncations.all()
    assert infos[0]["score"].tolist() == [2, 2]
    assert infos[0]["perf"].tolist() == [2 / 5, 2 / 5]


@pytest.mark.parametrize("kitchen", ["galley", "island", "divided"])
def test_the_kitchens_can_be_worked_in(kitchen):
    """All places can be faced from a cell that a cook reaches, or from the other room."""
    env = OceanEnv("overcooked", 1, kitchen=kitchen, num_cooks=4)
    env.reset(seed=0)
    s = c_state(env)
    plan = np.array([s.plan[k].decode() for k in range(42)]).reshape(6, 7)
    assert sorted({*plan.ravel()}) == [" ", "#", "D", "O", "P", "S"]
    assert (plan == "P").sum() == 2
    border = np.concatenate([plan[0], plan[-1], plan[:, 0], plan[:, -1]])
    assert " " not in border
    starts = [place(s, i) for i in range(4)]
    assert len({*starts}) == 4
    reached = {*starts}
    for _ in range(42):
        for r, c in [*reached]:
            sides = [(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]
            reached |= {side for side in sides if plan[side] == " "}
    faced = {(r + a, c + b) for r, c in reached for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))}
    for sign in "ODPS":
        assert {*map(tuple, np.argwhere(plan == sign).tolist())} <= faced


def test_nothing_is_lost():
    env = OceanEnv("overcooked", 1, kitchen="divided", num_cooks=4, max_steps=5000, cook_time=5)
    env.reset(seed=1)
    s = c_state(env)
    rng = np.random.default_rng(2)
    onions = put = 0
    for _ in range(4999):
        held = [s.cooks[i].holds for i in range(4)]
        lying = sum(s.items[k] == ONION for k in range(42))
        cells = [s.cooks[i].cell for i in range(4)]
        rewards = step(env, *rng.choice(6, 4, p=[0.05, 0.18, 0.18, 0.18, 0.18, 0.23]))[1]
        now = [s.cooks[i].holds for i in range(4)]
        put += int(np.isclose(rewards % 1, 0.1).sum())
        taken = now.count(ONION) + sum(s.items[k] == ONION for k in range(42))
        onions += max(0, taken - held.count(ONION) - lying)
        assert len({s.cooks[i].cell for i in range(4)}) == 4
        assert sum(s.occupied[k] for k in range(42)) == 4
        assert all(s.occupied[s.cooks[i].cell] for i in range(4))
        assert all(abs(s.cooks[i].cell - cells[i]) in (0, 1, 7) for i in range(4))
    assert put > 3
    assert onions >= put
