"""Boxoban: its rules on paper, and that a search solves the levels."""

from collections import deque

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

UP, DOWN, LEFT, RIGHT = range(4)
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
BORDER, PITCH = 5, 20
WALL, BOX, TARGET = range(3)


def number(row, column):
    return (row + BORDER) * PITCH + column + BORDER


def make(rows, **arguments):
    """A level: # wall, $ box, . target, * both, @ agent, + agent on a target."""
    boxes = "".join(rows).count("$") + "".join(rows).count("*")
    size = len(rows)
    env = OceanEnv("boxoban", 1, **{"size": size, "boxes": boxes, "step_cost": 0, **arguments})
    env.reset(seed=0)
    s = c_state(env)
    s.there = 0
    for row in range(size):
        for column in range(size):
            letter, cell = rows[row][column], number(row, column)
            s.planes[WALL][cell] = letter == "#"
            s.planes[BOX][cell] = letter in "$*"
            s.planes[TARGET][cell] = letter in ".*+"
            s.there += letter == "*"
            if letter in "@+":
                s.agent = cell
    return env, s


def level(env, index=0):
    """The rows of a level."""
    s, size = c_state(env, index), env.arguments["size"]
    rows = []
    for row in range(size):
        line = ""
        for column in range(size):
            cell = number(row, column)
            wall, box, target = (s.planes[plane][cell] for plane in range(3))
            here = s.agent == cell
            line += "#" if wall else " .$*@+"[target + 2 * box + 4 * here]
        rows.append(line)
    return rows


def step(env, *actions):
    """(sum of rewards, ended, infos) of these moves."""
    total = 0.0
    for action in actions:
        _, rewards, terminals, _, infos = env.step(np.array([action], np.int32))
        total += float(rewards[0])
    return total, bool(terminals[0]), infos


ROOM = [
    "########",
    "#      #",
    "#      #",
    "#  @   #",
    "#      #",
    "# $  . #",
    "#      #",
    "########",
]


@pytest.mark.parametrize("action", range(4))
def test_the_agent_walks(action):
    env, s = make(ROOM)
    step(env, action)
    row, column = STEPS[action]
    assert s.agent == number(3 + row, 3 + column)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#@$ . $#", "# @$. $#"),  # pushed
        ("#@$$. ##", "#@$$. ##"),  # two boxes are too many
        ("#@$#. $#", "#@$#. $#"),  # a wall behind it
        ("#@# $. #", "#@# $. #"),  # a wall
        ("#@ $ . #", "# @$ . #"),
        ("#@.$   #", "# +$   #"),
        ("#@*$.  #", "#@*$.  #"),
    ],
)
def test_a_move_to_the_right(before, after):
    env, _ = make([*ROOM[:4], before, *["#      #"] * 2, ROOM[7]], boxes=6)
    c_state(env).agent = number(4, before.index("@"))
    rows = level(env)
    assert rows[4] == before
    step(env, RIGHT)
    assert level(env)[4] == after


def test_pushes_in_all_directions():
    rows = [
        "########",
        "#      #",
        "#  $   #",
        "# $@$  #",
        "#  $   #",
        "# .    #",
        "#      #",
        "########",
    ]
    for action, (row, column) in enumerate(STEPS):
        env, s = make(rows)
        step(env, action)
        assert s.agent == number(3 + row, 3 + column)
        assert s.planes[BOX][number(3 + 2 * row, 3 + 2 * column)] == 1
        assert sum(s.planes[BOX]) == 4


def test_rewards_and_the_end():
    rows = [
        "########",
        "#      #",
        "#@$. $.#",
        "#      #",
        "#      #",
        "#      #",
        "#      #",
        "########",
    ]
    env, s = make(rows, reward_box=0.25, step_cost=0.125)
    assert step(env, RIGHT)[:2] == (0.25 - 0.125, False)  # onto the target
    assert s.there == 1
    assert step(env, RIGHT)[:2] == (-0.25 - 0.125, False)  # and beyond it, before the other box
    assert step(env, RIGHT)[:2] == (-0.125, False)  # two in a row
    env, s = make(rows, reward_box=0.25, step_cost=0.125)
    step(env, RIGHT, UP, RIGHT, RIGHT, DOWN)  # behind the other box, at (2, 4)
    total, ended, infos = step(env, RIGHT)
    assert (total, ended) == (0.25 + 1 - 0.125, True)
    assert (infos[0]["score"][0], infos[0]["perf"][0]) == (1, 1)
    assert infos[0]["episode_length"][0] == 6


def test_what_is_left_undone():
    rows = [
        "########",
        "#@     #",
        "#  * $.#",
        "#      #",
        "#      #",
        "#      #",
        "#      #",
        "########",
    ]
    env, _ = make(rows, max_steps=2)
    *_, infos = step(env, RIGHT, RIGHT)
    assert env.truncations[0]
    assert (infos[0]["score"][0], infos[0]["perf"][0]) == (0.5, 0)


@pytest.mark.parametrize("view", [1, 4, 6])
def test_the_observation_is_the_square_round_the_agent(view):
    env = OceanEnv("boxoban", 20, size=9, boxes=3, view=view)
    env.reset(seed=1)
    generator = np.random.default_rng(2)
    for _ in range(30):
        for i in range(20):
            rows = np.array([list(row) for row in level(env, i)])
            ((row, column),) = np.argwhere((rows == "@") | (rows == "+")).tolist()
            for plane, letters, beyond in ((0, "#", 1), (1, "$*", 0), (2, ".*+", 0)):
                padded = np.pad(np.isin(rows, list(letters)), view, constant_values=beyond)
                seen = padded[row : row + 2 * view + 1, column : column + 2 * view + 1]
                assert (env.observations[i, plane] == seen).all()
        env.step(generator.integers(0, 4, 20))


def solve(rows):
    """Pushes of a shortest solution, by breadth-first search; None: there is none."""
    cells = {(r, c): letter for r, row in enumerate(rows) for c, letter in enumerate(row)}
    free = {cell for cell, letter in cells.items() if letter != "#"}
    targets = frozenset(cell for cell, letter in cells.items() if letter in ".*+")
    boxes = frozenset(cell for cell, letter in cells.items() if letter in "$*")
    (agent,) = (cell for cell, letter in cells.items() if letter in "@+")
    queue, seen = deque([(agent, boxes, 0)]), {(agent, boxes)}
    while queue:
        (r, c), boxes, pushes = queue.popleft()
        if boxes == targets:
            return pushes
        for dr, dc in STEPS:
            to, beyond, moved, pushed = (r + dr, c + dc), (r + 2 * dr, c + 2 * dc), boxes, 0
            if to not in free:
                continue
            if to in boxes:
                if beyond not in free or beyond in boxes:
                    continue
                moved, pushed = boxes - {to} | {beyond}, 1
            if (to, moved) not in seen:
                seen.add((to, moved))
                queue.append((to, moved, pushes + pushed))
    return None


@pytest.mark.parametrize(
    ("arguments", "count"),
    [({}, 60), ({"size": 6, "boxes": 3, "walls": 0.3, "pulls": 40}, 20), ({"boxes": 1}, 40)],
)
def test_levels_can_be_solved(arguments, count):
    env = OceanEnv("boxoban", count, **arguments)
    env.reset(seed=3)
    found = set()
    for i in range(count):
        rows = level(env, i)
        text = "".join(rows)
        assert text.count("$") + text.count("*") == env.arguments["boxes"]
        assert text.count(".") + text.count("*") + text.count("+") == env.arguments["boxes"]
        assert text.count("$") > 0
        assert c_state(env, i).there == text.count("*")
        pushes = solve(rows)
        assert pushes is not None, rows
        found.add(text)
        assert pushes >= 1
    assert len(found) > 0.9 * count


def test_what_is_cut_off_is_wall():
    """All that is no wall hangs together, boxes aside."""
    env = OceanEnv("boxoban", 50, size=10, walls=0.4)
    env.reset(seed=6)
    for i in range(50):
        rows = level(env, i)
        inside = {(r, c) for r in range(10) for c in range(10) if rows[r][c] != "#"}
        reached = {min(inside)}
        waiting = [*reached]
        while waiting:
            r, c = waiting.pop()
            new = {(r + dr, c + dc) for dr, dc in STEPS} & inside - reached
            reached |= new
            waiting += new
        assert reached == inside


def test_a_solution_by_hand_is_found():
    """Negative control: the search sees what cannot be solved."""
    rows = [
        "########",
        "#$     #",
        "#      #",
        "#  @   #",
        "#      #",
        "# .    #",
        "#      #",
        "########",
    ]
    assert solve(rows) is None  # a box in a corner
    assert solve(ROOM) == 3


def test_arguments_shape_the_levels():
    """Inner walls of an open warehouse: none; the boxes' way to their targets grows with pulls."""
    inner = {}
    for walls in (0.0, 0.3):
        env = OceanEnv("boxoban", 100, size=10, walls=walls)
        env.reset(seed=4)
        inner[walls] = np.mean(["".join(level(env, i)).count("#") for i in range(100)])
    assert inner[0.0] == 36
    assert inner[0.3] > 36 + 0.2 * 64
    pushes = {}
    for pulls in (1, 16):
        env = OceanEnv("boxoban", 40, boxes=1, pulls=pulls)
        env.reset(seed=5)
        pushes[pulls] = np.mean([solve(level(env, i)) for i in range(40)])
    assert 1 <= pushes[1] < 1.3  # the shortest way may take a push more
    assert pushes[16] > 2
