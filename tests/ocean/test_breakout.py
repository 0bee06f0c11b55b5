"""Breakout: rules worked out on paper, and games played to the end."""

import itertools
import math

import numpy as np
import pytest

from puffer_ocean import OceanEnv
from puffer_ocean.library import contract

STAY, LEFT, RIGHT = range(3)
POINTS = [7, 7, 4, 4, 1, 1]
DEAD_ZONE = 20 / 576  # observation 4 is the ball's lead over the paddle in field widths


def snapshot(env, i=0):
    """What `render` writes of one environment, and the velocity from its observation."""
    out = np.zeros(5 + 108, np.float32)
    env._library.functions.render(env._vec, i, contract().from_buffer("float[]", out))
    paddle_x, paddle_width, ball_x, ball_y, balls = out[:5].tolist()
    vx, vy = (512 * env.observations[i, 5:7].astype(float)).tolist()
    return {
        "paddle_x": paddle_x,
        "paddle_width": paddle_width,
        "x": ball_x,
        "y": ball_y,
        "balls": int(balls),
        "vx": vx,
        "vy": vy,
        "speed": math.hypot(vx, vy),
        "wall": out[5:].reshape(6, 18) == 1,
    }


def begin(seed=1, **arguments):
    env = OceanEnv("breakout", **{"frameskip": 1, **arguments})
    env.reset(seed=seed)
    return env


def step_all(env, action):
    return env.step(np.full(env.actions.shape, action))


def follow(observations):
    """Keep the paddle within 20 pixels of the ball."""
    lead = observations[:, 4]
    return np.where(np.abs(lead) < DEAD_ZONE, STAY, np.where(lead > 0, RIGHT, LEFT))


def trace(seed, ticks, policy=follow, **arguments):
    """Snapshots before and after each tick of one environment, with reward and end."""
    env = begin(seed, max_steps=0, **arguments)
    before = snapshot(env)
    for _ in range(ticks):
        env.step(policy(env.observations))
        ended = bool(env.terminals[0])
        after = snapshot(env)
        yield before, after, float(env.rewards[0]), ended
        before = after


def aim(seed):
    """A policy for one environment that hits with all parts of the paddle, and may miss."""
    generator = np.random.default_rng(seed)
    goal = [0.0]

    def play(observations):
        if observations[0, 6] < 0:
            goal[0] = generator.uniform(-44, 44) / 576
        lead = observations[:, 4] - goal[0]
        return np.where(np.abs(lead) < 6 / 576, STAY, np.where(lead > 0, RIGHT, LEFT))

    return play


def paddle_hit(before, after):
    """The ball turned upwards below the wall of bricks."""
    return before["vy"] > 0 and after["vy"] < 0 and after["y"] > 200


def test_the_first_tick_launches_the_ball_and_ignores_the_action():
    env = begin(num_envs=4000)
    step_all(env, RIGHT)
    state = snapshot(env)
    assert (state["paddle_x"], state["x"], state["y"]) == (257, 272, 135)
    vx, vy = 512 * env.observations[:, 5].astype(float), 512 * env.observations[:, 6].astype(float)
    np.testing.assert_allclose(np.abs(vx), 256 * math.sin(math.pi / 3.25), rtol=1e-6)
    np.testing.assert_allclose(vy, 256 * math.cos(math.pi / 3.25), rtol=1e-6)
    assert abs((vx > 0).sum() - 2000) < 5 * math.sqrt(1000)
    step_all(env, RIGHT)
    assert snapshot(env)["paddle_x"] == pytest.approx(257 + 620 / 60)
    assert snapshot(env)["y"] == pytest.approx(135 + 256 * math.cos(math.pi / 3.25) / 60)


@pytest.mark.parametrize(("action", "sign", "limit"), [(LEFT, -1, 0), (RIGHT, 1, 576 - 62)])
def test_the_paddle_moves_620_pixels_a_second_up_to_the_walls(action, sign, limit):
    env = begin()
    step_all(env, STAY)
    for t in range(1, 40):
        step_all(env, action)
        travelled = min(t * 620 / 60, 257)
        assert snapshot(env)["paddle_x"] == pytest.approx(257 + sign * travelled, abs=1e-3)
    assert snapshot(env)["paddle_x"] == limit
    step_all(env, STAY)
    assert snapshot(env)["paddle_x"] == limit


@pytest.mark.parametrize(("speed", "used"), [(0.5, 0.5), (-0.25, -0.25), (3, 1), (-9, -1), (0, 0)])
def test_a_continuous_action_is_a_share_of_the_speed(speed, used):
    env = begin(continuous=True)
    step_all(env, speed)
    step_all(env, speed)
    assert snapshot(env)["paddle_x"] == pytest.approx(257 + used * 620 / 60)


def test_side_walls_reflect_at_the_contact_position():
    hits = {0: 0, 576 - 32: 0}
    for before, after, reward, _ in trace(2, 6000):
        away = before["x"] + before["vx"] / 60
        if reward or before["vy"] != after["vy"] or 0 <= away <= 576 - 32:
            continue
        wall = 0 if away < 0 else 576 - 32
        time = (wall - before["x"]) / before["vx"]
        assert after["x"] == pytest.approx(wall, abs=1e-4)
        assert after["y"] == pytest.approx(before["y"] + before["vy"] * time, abs=1e-3)
        assert after["vx"] == -before["vx"]
        hits[wall] += 1
    assert min(hits.values()) > 2


def test_the_back_wall_reflects_and_halves_the_paddle_until_the_next_ball():
    # a follower that gives up some time after its paddle was halved
    patience = itertools.count()

    def play(observations):
        halved = observations[0, 1] == 0.5
        return np.array([RIGHT]) if halved and next(patience) > 1200 else follow(observations)

    halved = restored = again = 0
    furthest = 0.0
    for before, after, _, ended in trace(3, 20_000, play):
        assert not ended
        if after["paddle_width"] == 31:
            furthest = max(furthest, after["paddle_x"])
        if before["vy"] < 0 and after["y"] < 1e-3 and after["vy"] > 0:
            assert after["vy"] == -before["vy"]
            assert after["vx"] == before["vx"]
            assert after["paddle_width"] == 31
            if before["paddle_width"] == 62:
                halved += 1
                moved = (after["paddle_x"] + 15.5) - (before["paddle_x"] + 31)
                assert min(abs(moved - step * 620 / 60) for step in (-1, 0, 1)) < 1e-3
            else:
                again += 1  # it is halved once
        elif after["paddle_width"] != before["paddle_width"]:
            assert (before["paddle_width"], after["paddle_width"]) == (31, 62)
            assert after["balls"] == before["balls"] - 1
            restored += 1
        if restored:
            break
    assert (halved, restored) == (1, 1)
    assert again
    assert furthest == 576 - 31


def test_the_paddle_turns_the_ball_by_the_place_of_the_hit():
    angles = []
    for before, after, _, ended in trace(5, 6000, aim(4)):
        if ended or not paddle_hit(before, after):
            continue
        assert after["y"] == pytest.approx(330 - 8 - 10 - 32, abs=1e-4)
        offset = (after["x"] + 16) - (after["paddle_x"] + after["paddle_width"] / 2)
        angle = math.atan2(after["vx"], -after["vy"])
        reach = (after["paddle_width"] + 32) / 2
        assert angle == pytest.approx(offset / reach * math.pi / 4, abs=1e-5)
        angles.append(angle)
    assert len(angles) > 30
    assert -math.pi / 4 < min(angles) < -0.6
    assert 0.6 < max(angles) < math.pi / 4


def test_speed_grows_every_four_hits_and_jumps_with_the_upper_rows():
    seen, jumps, losses = set(), 0, 0
    for seed in range(8):
        hits, expected = 0, 256
        for before, after, _, ended in trace(seed, 4000, aim(seed)):
            if ended:
                break
            if after["speed"] == 0:  # lost: the next ball begins anew
                hits, expected, losses = 0, 256, losses + 1
                continue
            if paddle_hit(before, after):
                hits += 1
                expected = min(expected + 64, 448) if hits % 4 == 0 else expected
            if (before["wall"] & ~after["wall"])[:3].any():
                jumps += expected < 448
                expected = 448
            assert after["speed"] == pytest.approx(expected, rel=1e-5)
            seen.add(expected)
    assert jumps
    assert losses
    assert seen == {256, 320, 384, 448}


def test_points_by_row():
    rows = set()
    for before, after, reward, ended in trace(7, 8000):
        if ended:
            break
        broken = np.argwhere(before["wall"] & ~after["wall"])
        assert len(broken) <= 1
        assert reward == sum(POINTS[row] for row, _ in broken)
        rows.update(broken[:, 0].tolist())
    assert rows == set(range(6))


def test_six_balls_in_all():
    env = begin(8, max_steps=0)
    launches = losses = 0
    for _ in range(3000):
        moving = env.observations[0, 6] != 0
        balls = snapshot(env)["balls"]
        assert balls == 5 - losses
        assert env.observations[0, 8] == np.float32(balls / 5)
        infos = step_all(env, LEFT)[-1]
        launches += not moving
        if env.terminals[0]:
            break
        losses += moving and env.observations[0, 6] == 0
    assert (launches, losses) == (6, 5)
    assert env.final_observations[0, 8] == 0
    assert snapshot(env)["balls"] == 5
    assert infos[0]["score"] == infos[0]["episode_return"]
    assert infos[0]["perf"] == infos[0]["score"] / 864


@pytest.mark.parametrize("frameskip", [1, 4])
def test_a_perfect_game_is_two_walls_and_864_points(frameskip):
    env = begin(9, num_envs=6, max_steps=0, frameskip=frameskip)
    score, rebuilt = np.zeros(6), np.zeros(6, int)
    perfect = 0
    for _ in range(120_000 // frameskip):
        standing = env.observations[:, 10:].sum(axis=1)
        infos = env.step(follow(env.observations))[-1]
        ended = env.terminals
        after = np.where(ended[:, None], env.final_observations, env.observations)
        grown = after[:, 10:].sum(axis=1) > standing
        assert (score[grown] == 432).all()
        if frameskip == 1:
            assert (after[grown, 10:] == 1).all()
            assert (after[grown, 6] < 0).all()  # just hit by the paddle
            assert not env.rewards[grown].any()
        rebuilt += grown
        score += env.rewards
        np.testing.assert_allclose(after[:, 9], score / 864, rtol=1e-6)
        if ended.any():
            (info,) = infos
            assert info["episode_return"].tolist() == score[ended].tolist()
            assert info["score"].tolist() == score[ended].tolist()
            full = ended & (score == 864)
            assert (rebuilt[full] == 1).all()
            assert not after[full, 10:].any()
            perfect += full.sum()
            score[ended] = rebuilt[ended] = 0
        assert not env.truncations.any()
        assert score.max() < 864
        if perfect >= 3:
            break
    assert perfect >= 3


@pytest.mark.parametrize("frameskip", [2, 5, 16])
def test_a_step_is_frameskip_ticks_and_its_reward_their_sum(frameskip):
    fine, coarse = begin(10, num_envs=8), begin(10, num_envs=8, frameskip=frameskip)
    alive, rewards = np.ones(8, bool), 0
    for _ in range(1200 // frameskip):
        actions = follow(coarse.observations)
        coarse.step(actions)
        total = np.zeros(8, np.float32)
        for _ in range(frameskip):
            fine.step(actions)
            total += np.where(alive, fine.rewards, 0)
            alive &= ~fine.terminals
        alive &= ~coarse.terminals
        assert (coarse.rewards[alive] == total[alive]).all()
        assert coarse.observations[alive].tobytes() == fine.observations[alive].tobytes()
        rewards += coarse.rewards[alive].sum()
    assert rewards > 30


@pytest.mark.parametrize("frameskip", [2, 5, 16])
def test_an_episode_may_end_between_the_frames_of_a_step(frameskip):
    """The step with the last tick ends it, and no tick of it comes after."""
    ends, returns = [], []
    for frames in (1, frameskip):
        env = begin(14, num_envs=12, frameskip=frames, max_steps=0)
        end, score = np.zeros(12, int), np.zeros(12)
        for t in range(1, 3000 // frames):
            infos = step_all(env, LEFT)[-1]
            for info in infos:
                first = end[info["agent_id"]] == 0
                rows = info["agent_id"][first]
                end[rows], score[rows] = t, info["episode_return"][first]
        ends.append(end)
        returns.append(score.tolist())
    assert ends[0].all()
    assert (ends[0] % frameskip > 0).any()
    assert ends[1].tolist() == np.ceil(ends[0] / frameskip).tolist()
    assert returns[0] == returns[1]


def test_max_steps_counts_agent_steps_and_zero_means_never():
    env = begin(11, num_envs=3, frameskip=4, max_steps=7)
    for t in range(1, 15):
        infos = step_all(env, STAY)[-1]
        assert env.truncations.tolist() == [t % 7 == 0] * 3
        assert not env.terminals.any()
    assert infos[0]["episode_length"].tolist() == [7] * 3
    env = begin(11, num_envs=3, max_steps=0)
    for _ in range(300):
        step_all(env, STAY)
        assert not env.truncations.any()


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("frameskip", [1, 4, 16])
def test_observations_stay_within_their_space(continuous, frameskip):
    env = begin(12, num_envs=16, frameskip=frameskip, continuous=continuous, max_steps=300)
    generator = np.random.default_rng(13)
    low, high = env.single_observation_space.low, env.single_observation_space.high
    for t in range(1500):
        moves = follow(env.observations) if t % 500 < 400 else generator.integers(3, size=16)
        speed = np.array([0, -1, 1])[moves][:, None] * generator.uniform(0.5, 1)
        env.step(speed.astype(np.float32) if continuous else moves)
        for rows in (env.observations, env.final_observations):
            assert (rows >= low).all()
            assert (rows <= high).all()


def test_the_first_observation_on_paper():
    env = begin()
    paddle, ball_y = 0, 2 * (330 / 2 - 30) / 330 - 1  # upper edge
    expected = [paddle, 1, 0, ball_y, 0, 0, 0, 0, 1, 0] + [1] * 108
    np.testing.assert_allclose(env.observations[0], expected, rtol=1e-6)


def test_games_differ_only_by_launches():
    launched = [begin(seed) for seed in range(20)]
    sides = [step_all(env, STAY)[0][0, 5] > 0 for env in launched]
    assert any(a != b for a, b in itertools.pairwise(sides))
