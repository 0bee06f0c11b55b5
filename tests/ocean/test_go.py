"""Go: whole games beside a slow reference, known positions on paper, and the script's moves."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

FREE = 2
PITCH = 10


class Game:
    """The rules by flood fill on a dict: point -> 0, 1 or FREE; positions compared as they are."""

    def __init__(self, size):
        self.size = size
        self.board = {(r, c): FREE for r in range(size) for c in range(size)}
        self.seen = {tuple(self.board.values())}

    def sides(self, point):
        r, c = point
        return [p for p in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)) if p in self.board]

    def region(self, board, start):
        """(points of one colour around a point, points beside them)."""
        inside, rim, waiting = {start}, set(), [start]
        while waiting:
            for point in self.sides(waiting.pop()):
                if board[point] != board[start]:
                    rim.add(point)
                elif point not in inside:
                    inside.add(point)
                    waiting.append(point)
        return inside, rim

    def liberties(self, board, start):
        return {point for point in self.region(board, start)[1] if board[point] == FREE}

    def after(self, player, point):
        """The board after a move, or None where it is forbidden."""
        if self.board[point] != FREE:
            return None
        board = {**self.board, point: player}
        for side in self.sides(point):
            if board[side] == 1 - player and not self.liberties(board, side):
                for stone in self.region(board, side)[0]:
                    board[stone] = FREE
        if not self.liberties(board, point) or tuple(board.values()) in self.seen:
            return None
        return board

    def play(self, player, point):
        self.board = self.after(player, point)
        self.seen.add(tuple(self.board.values()))

    def points(self, player):
        """Stones and the free regions that touch this player's stones only."""
        total = 0
        for point, owner in self.board.items():
            if owner == FREE:
                colours = {self.board[rim] for rim in self.region(self.board, point)[1]}
                total += colours == {player}
            total += owner == player
        return total

    def in_danger(self, player):
        return [
            owner == player and len(self.liberties(self.board, point)) == 1
            for point, owner in self.board.items()
        ]


def owners(env, size, index=0):
    """The board in the State, row by row."""
    s = c_state(env, index)
    words = [[s.stones[p][0] | s.stones[p][1] << 64 for p in (0, 1)]]
    found = []
    for r in range(size):
        for c in range(size):
            bits = [words[0][p] >> (PITCH * r + c) & 1 for p in (0, 1)]
            found.append(0 if bits[0] else 1 if bits[1] else FREE)
    return found


@pytest.mark.parametrize(
    ("size", "games"),
    [(5, 20), (7, 6), (9, 2), pytest.param(5, 2000, marks=pytest.mark.slow)],
)
def test_random_games_beside_the_reference(size, games):
    """Long games, whose players hardly ever pass, fill and empty the board many times."""
    cells, komi = size * size, 2.0
    env = OceanEnv("go", 1, opponent="self", size=size, komi=komi, max_moves=300)
    env.reset(seed=size)
    generator, results, repeated = np.random.default_rng(size), set(), 0
    for _ in range(games):
        game, moves, passes = Game(size), 0, 0
        first = c_state(env).first
        assert c_state(env).mover == first
        while True:
            mover = (first + moves) % 2
            legal = [game.after(mover, point) is not None for point in game.board]
            repeated += sum(
                owner == FREE and not allowed and Unseen(game).after(mover, point) is not None
                for (point, owner), allowed in zip(game.board.items(), legal, strict=True)
            )
            assert env.action_masks[mover].tolist() == [*legal, True]
            assert env.action_masks[1 - mover].tolist() == [False] * cells + [True]
            assert owners(env, size) == [*game.board.values()]
            for agent in (0, 1):
                planes = env.observations[agent, :-3].reshape(4, cells)
                board = np.array([*game.board.values()])
                assert (planes[0] == (board == agent)).all()
                assert (planes[1] == (board == 1 - agent)).all()
                assert planes[2].tolist() == game.in_danger(agent)
                assert planes[3].tolist() == game.in_danger(1 - agent)
                flags = env.observations[agent, -3:].tolist()
                assert flags == [mover == agent, passes > 0, first == agent]
            action = int(generator.integers(cells + 1)) if generator.random() < 0.9 else 0
            expected = action
            while expected < cells and not legal[expected]:
                expected += 1
            other = int(generator.integers(cells + 1))  # who is not on turn may say anything
            env.step(np.where(np.arange(2) == mover, action, other))
            moves += 1
            passes = passes + 1 if expected == cells else 0
            if expected < cells:
                game.play(mover, divmod(expected, size))
            over = passes == 2 or moves == 300
            assert env.terminals.tolist() == [over, over]
            if over:
                break
            assert not env.rewards.any()
        lead = game.points(first) - game.points(1 - first) - komi
        result = np.sign(lead) + 0.5 * lead / cells
        expected_rewards = [result, -result] if first == 0 else [-result, result]
        np.testing.assert_allclose(env.rewards, expected_rewards, atol=1e-6)
        results.add(float(np.sign(lead)))
    assert results
    assert size > 5 or repeated > 5  # superko has forbidden something


class Unseen(Game):
    """The same board without a past."""

    def __init__(self, game):
        self.size, self.board, self.seen = game.size, game.board, set()


def start(rows, mover=0, first=0, **arguments):
    """A self-play environment with this board: X are agent 0's stones, O agent 1's."""
    size = len(rows)
    env = OceanEnv("go", 1, **{"opponent": "self", "size": size, "komi": 0.5, **arguments})
    env.reset(seed=0)
    while c_state(env).moves or c_state(env).first != first:
        env.reset()
    s = c_state(env)
    game = Game(size)
    for (r, c), letter in zip(game.board, "".join(rows), strict=True):
        if letter == ".":
            continue
        player, bit = "XO".index(letter), PITCH * r + c
        game.board[r, c] = player
        s.stones[player][bit // 64] |= 1 << bit % 64
    for (r, c), owner in game.board.items():
        bit = PITCH * r + c
        if owner != FREE and len(game.liberties(game.board, (r, c))) == 1:
            s.danger[owner][bit // 64] |= 1 << bit % 64
    s.mover = mover
    return env


def refresh(env, cell=None):
    """A pass of who is on turn, so that masks show the board; or a move."""
    mover, cells = c_state(env).mover, env.action_masks.shape[1] - 1
    action = cells if cell is None else cell
    return env.step(np.where(np.arange(2) == mover, action, cells))[-1]


def board(env):
    size = env.arguments["size"]
    letters = "".join("XO."[owner] for owner in owners(env, size))
    return [letters[size * r : size * (r + 1)] for r in range(size)]


def test_a_chain_without_liberty_is_taken():
    env = start(["OXX..", "OOX..", "OX...", ".....", "....."], mover=1)
    refresh(env)
    refresh(env, 15)
    assert board(env) == [".XX..", "..X..", ".X...", "X....", "....."]


def test_two_chains_are_taken_at_once():
    env = start(["XO.OX", ".XXX.", ".....", ".....", "....."], mover=1)
    refresh(env)
    refresh(env, 2)
    assert board(env) == ["X.X.X", ".XXX.", ".....", ".....", "....."]


def test_suicide_is_forbidden():
    env = start([".X...", "X....", ".....", ".....", "....."])
    refresh(env)
    assert not env.action_masks[1, 0]
    refresh(env, 24)
    assert env.action_masks[0, 0]
    env = start(["OX...", ".X...", "X....", ".....", "....."])  # two stones without a liberty
    refresh(env)
    assert not env.action_masks[1, 5]
    refresh(env, 24)
    assert env.action_masks[0, 5]


def test_what_takes_is_no_suicide():
    env = start([".XO..", "XO...", "O....", ".....", "....."])
    refresh(env)
    refresh(env, 0)
    assert board(env) == ["O.O..", ".O...", "O....", ".....", "....."]


def test_a_ko_may_not_be_taken_back_at_once():
    env = start([".XO..", "X..O.", ".XO..", ".....", "....."])
    refresh(env, 7)
    refresh(env, 6)  # O takes it
    assert board(env)[1] == "XO.O."
    assert not env.action_masks[0, 7]
    refresh(env, 24)
    refresh(env, 20)
    assert env.action_masks[0, 7]  # the rest of the board has changed
    refresh(env, 7)
    assert board(env)[1] == "X.XO."


AREA = ["..X.O", "XXXOO", "....O", "OOOOO", "....."]


@pytest.mark.parametrize("first", [0, 1])
def test_area_on_paper(first):
    """X: 4 stones and 2 points; O: 9 stones and 5 points; 5 points touch both, or are open.

    Row 0: X has (0, 0), (0, 1); (0, 3) touches both. Row 2: (2, 0) to (2, 3) touch both. Row 4 is
    O's.
    """
    env = start(AREA, mover=first, first=first, komi=3, reward_margin=1)
    refresh(env)
    (info,) = refresh(env)
    lead = 6 - 14 - (3 if first == 0 else -3)
    assert info["margin"].tolist() == [lead, -lead]
    assert info["perf"].tolist() == [0, 1]
    np.testing.assert_allclose(env.rewards, [-1 + lead / 25, 1 - lead / 25], rtol=1e-6)


def test_komi_decides():
    for komi, result in ((-1, 1.0), (0, 0.5), (1, 0.0)):
        env = start(["....."] * 5, komi=komi)
        refresh(env)
        (info,) = refresh(env)
        assert info["score"].tolist() == [result, 1 - result]
        assert info["margin"].tolist() == [-komi, komi]


def test_max_moves_end_a_game():
    """Agent 0 has two stones of three, and the rest touches both colours."""
    env = start(["....."] * 5, max_moves=3, komi=0.5)
    for cell in (0, 1, 2):
        assert not env.terminals.any()
        infos = refresh(env, cell)
    assert env.terminals.all()
    assert infos[0]["episode_length"].tolist() == [3, 3]
    assert infos[0]["margin"].tolist() == [2 - 1 - 0.5, 1 - 2 + 0.5]


def put(env, stones, index=0):
    """Set up the stones of another environment in a game in which the agent begins."""
    s, other = c_state(env, index), c_state(stones)
    for player in (0, 1):
        for word in (0, 1):
            s.stones[player][word] = other.stones[player][word]
            s.danger[player][word] = other.danger[player][word]


def begun(env):
    """Reset until the agent begins."""
    env.reset()
    while c_state(env).moves:
        env.reset()


def scripted(rows, cell, **arguments):
    """What a thinking script answers to the agent's move, of 40 tries: cells, "pass", "end"."""
    answers, stones = set(), start(rows)
    env = OceanEnv("go", 1, **{"strength": 1.0, "size": len(rows), "komi": 0.5, **arguments})
    for _ in range(40):
        begun(env)
        put(env, stones)
        before = owners(env, len(rows))
        env.step(np.array([cell]))
        after = owners(env, len(rows))
        new = [k for k in range(len(after)) if after[k] == 1 and before[k] != 1]
        answers.add("end" if env.terminals[0] else new[0] if new else "pass")
    return answers


def test_the_script_takes_first():
    rows = ["X....", "O....", ".....", "..OX.", "...O."]
    assert scripted(rows, 12) == {1}


def test_the_script_saves_what_it_can():
    rows = [".....", ".XO..", "..X..", ".....", "....."]
    # after X at (0, 2) the stone at (1, 2) has one liberty, (1, 3), with free points around
    assert scripted(rows, 2) == {8}


def test_the_script_plays_beside_the_agent():
    rows = ["....."] * 5
    assert scripted(rows, 12) == {7, 11, 13, 17}


EYES = [".O.OX", "OOOO.", ".....", ".....", "....."]


def test_the_script_fills_no_eyes():
    """(0, 0) and (0, 2) are O's eyes, in which a random script has no interest either."""
    for strength in (0.0, 1.0):
        assert not scripted(EYES, 24, strength=strength) & {0, 2, "pass"}


def test_the_script_passes_when_only_eyes_are_left():
    rows = [".O.OX", "OOOOX", "XXXXX", "X.X.X", "XXXX."]
    assert scripted(rows, 16) == {"pass"}


def test_the_script_ends_what_it_has_won():
    rows = ["XXX..", ".....", ".....", ".....", "....."]  # X has the board: 25 points
    assert scripted(rows, 25, komi=30) == {"end"}
    assert "end" not in scripted(rows, 25, komi=20)


def test_strength_and_start():
    """A random script takes the stone at (0, 0) with one of its 22 moves only."""
    taken, stones = [], start(["X....", "O....", ".....", ".....", "....."])
    for strength in (0.0, 1.0):
        env = OceanEnv("go", 1200, size=5, strength=strength)
        observations, _ = env.reset(seed=3)
        first = np.flatnonzero(observations[:, -1])
        assert 520 <= len(first) <= 680  # 600, standard deviation 17
        for i in first:
            put(env, stones, int(i))
        env.step(np.full(1200, 24))
        gone = sum(not c_state(env, int(i)).stones[0][0] & 1 for i in first)
        taken.append(gone / len(first))
    assert taken[1] == 1
    assert 0.015 <= taken[0] <= 0.08  # 1 / 22 = 0.045, standard deviation 0.009
