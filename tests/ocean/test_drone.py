"""Drone: its mechanics on paper, targets, gates and ends."""

import math

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv

STEP, G = 0.02, 9.81
OFF, FULL = np.full(4, -1.0), np.full(4, 1.0)


class Drone:
    """One drone of a world by names of its State: `drone.x`, `drone.motors(...)`."""

    def __init__(self, env, index=0):
        vars(self)["world"] = c_state(env)
        vars(self)["flock"] = self.world.flocks[index // 8]
        vars(self)["lane"] = index % 8

    def __getattr__(self, name):
        return getattr(self.flock, name)[self.lane]

    def __setattr__(self, name, value):
        getattr(self.flock, name)[self.lane] = value

    def motors(self, *thrusts):
        for motor, thrust in enumerate(thrusts):
            self.flock.motors[motor][self.lane] = thrust


def make(task="hover", **arguments):
    """One level drone at rest 2 m below its target, without drag or rewards but what is given."""
    rewards = dict.fromkeys(("reward_progress", "reward_crash", "reward_hover", "reward_gate"), 0)
    env = OceanEnv("drone", 1, task=task, **{"num_drones": 1, "drag": 0, **rewards, **arguments})
    env.reset(seed=0)
    drone = Drone(env)
    for name in ("x", "y", "vx", "vy", "vz", "wx", "wy", "wz", "qx", "qy", "qz", "tx", "ty"):
        setattr(drone, name, 0)
    drone.qw, drone.z, drone.tz, drone.distance = 1, 4, 6, 2
    return env, drone


def step(env, action, times=1):
    """(sum of rewards, ended, infos) of so many steps of the first drone; others fall."""
    total = 0.0
    actions = np.full(env.actions.shape, -1, np.float32)
    actions[0] = action
    for _ in range(times):
        _, rewards, terminals, _, infos = env.step(actions)
        total += float(rewards[0])
        if terminals[0]:
            return total, True, infos
    return total, False, infos


def test_free_fall_and_drag():
    env, drone = make()
    drone.motors(0, 0, 0, 0)
    step(env, 9 * OFF, 20)  # beyond the bound
    assert drone.vz == pytest.approx(-G * 0.4, rel=1e-5)
    assert drone.z == pytest.approx(4 - G * STEP**2 * 20 * 21 / 2, rel=1e-5)
    env, drone = make(drag=0.5)
    drone.motors(0, 0, 0, 0)
    drone.vx = 3
    step(env, OFF, 10)
    assert drone.vx == pytest.approx(3 * (1 - 0.5 * STEP) ** 10, rel=1e-5)


@pytest.mark.parametrize("ratio", [2.0, 4.0])
def test_weight_and_thrust_balance(ratio):
    """All motors at 1 / ratio, which is the command 2 / ratio - 1, carry the drone."""
    env, drone = make(thrust_to_weight=ratio)
    drone.motors(*[1 / ratio] * 4)
    step(env, np.full(4, 2 / ratio - 1), 30)
    assert (drone.z, drone.vz) == pytest.approx((4, 0), abs=1e-5)
    drone.motors(1, 1, 1, 1)
    step(env, 9 * FULL)  # beyond the bound
    assert drone.vz == pytest.approx((ratio - 1) * G * STEP, rel=1e-4)


def test_motors_follow_their_commands():
    env, drone = make(motor_lag=0.1)
    drone.motors(0, 0, 0, 0)
    step(env, [-1, 0, 1, -0.5], 5)
    share = 1 - (1 - STEP / 0.1) ** 5
    thrusts = [drone.flock.motors[motor][0] for motor in range(4)]
    assert thrusts == pytest.approx([0, 0.5 * share, share, 0.25 * share], abs=1e-6)
    assert env.observations[0, 18:] == pytest.approx(thrusts)


@pytest.mark.parametrize(
    ("motors", "turn"),  # 0 front right, 1 front left, 2 rear left, 3 rear right
    [
        ((0, 1, 1, 0), (1, 0, 0)),  # left up: rolls about the front
        ((0, 0, 1, 1), (0, 1, 0)),  # rear up: the nose goes down
        ((1, 0, 1, 0), (0, 0, 0.25)),
        ((1, 1, 1, 1), (0, 0, 0)),
    ],
)
def test_unequal_motors_turn(motors, turn):
    env, drone = make(agility=10)
    drone.motors(*motors)
    step(env, 2 * np.array(motors) - 1)
    spin = [10 * STEP * each for each in turn]
    assert [drone.wx, drone.wy, drone.wz] == pytest.approx(spin, abs=1e-6)
    length = math.hypot(1, *(STEP / 2 * each for each in spin))
    expected = [1 / length, *(STEP / 2 * each / length for each in spin)]
    assert [drone.qw, drone.qx, drone.qy, drone.qz] == pytest.approx(expected, abs=1e-6)


def test_spin_slows_and_turns_its_axis():
    env, drone = make()
    drone.motors(0, 0, 0, 0)
    drone.wx, drone.wy, drone.wz = 2, 1, 3
    step(env, OFF)
    slow = 1 - 3 * STEP
    expected = [2 * slow - STEP * 0.8 * 1 * 3, slow + STEP * 0.8 * 2 * 3, 3 * slow]
    assert [drone.wx, drone.wy, drone.wz] == pytest.approx(expected, rel=1e-5)


def tilt(drone, axis, angle):
    drone.qw, drone.qx, drone.qy, drone.qz = math.cos(angle / 2), 0, 0, 0
    setattr(drone, axis, math.sin(angle / 2))


@pytest.mark.parametrize(
    ("axis", "direction"),
    [("qx", (0, -math.sin(0.6), math.cos(0.6))), ("qy", (math.sin(0.6), 0, math.cos(0.6)))],
)
def test_thrust_goes_along_the_own_upright(axis, direction):
    env, drone = make(thrust_to_weight=3)
    tilt(drone, axis, 0.6)
    drone.motors(1, 1, 1, 1)
    step(env, FULL)
    expected = 3 * G * STEP * np.array(direction) - [0, 0, G * STEP]
    assert [drone.vx, drone.vy, drone.vz] == pytest.approx(expected, abs=1e-5)


def test_the_observation_is_in_own_axes():
    """A quarter turn to the left: the world's x is to the right, its y in front."""
    env, drone = make()
    tilt(drone, "qz", math.pi / 2)
    drone.motors(0.5, 0.5, 0.5, 0.5)
    drone.tx, drone.ty, drone.tz = 1, 2, 5
    drone.ux, drone.uy, drone.uz = -1, 0, 4
    drone.nx = 1
    drone.vx, drone.vy = 3, -1
    step(env, np.zeros(4))
    x, y = 3 * STEP, -1 * STEP
    expected = [2 - y, -(1 - x), 1, -1, -3, 0]
    np.testing.assert_allclose(5 * env.observations[0, :6], expected, atol=1e-5)
    np.testing.assert_allclose(env.observations[0, 6:12], [0, 0, 1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(env.observations[0, 12:15], [0, -1, 0], atol=1e-6)
    np.testing.assert_allclose(5 * env.observations[0, 15:18], [-y, 1 + x, 0], atol=1e-5)


def test_up_and_spin_in_own_axes():
    env, drone = make()
    tilt(drone, "qx", 0.5)
    drone.motors(0, 0, 0, 0)
    drone.wz = 2
    step(env, OFF)
    # within a step the drone turns about its own z axis only
    assert env.observations[0, 8] == pytest.approx(math.cos(0.5), abs=1e-5)
    assert math.hypot(*env.observations[0, 6:8]) == pytest.approx(math.sin(0.5), abs=1e-5)
    assert env.observations[0, 11] == pytest.approx(0.2 * (1 - 3 * STEP))


def test_rewards_of_hovering():
    env, drone = make(reward_progress=2, reward_hover=0.1)
    drone.motors(0.5, 0.5, 0.5, 0.5)
    drone.vz = 5
    total, _, _ = step(env, np.zeros(4))
    assert total == pytest.approx(2 * 5 * STEP + 0.1 / (1 + (2 * (2 - 5 * STEP)) ** 2), rel=1e-4)


def test_time_near_the_point():
    """30 steps away, 70 there of 100: 1.4 s in all, and the second half whole."""
    env, drone = make(max_steps=100)
    drone.motors(0.5, 0.5, 0.5, 0.5)
    for away, steps, perf, score in ((30, 70, 1, 1.4), (70, 30, 0.6, 0.6)):
        drone.z, drone.tz = 4, 6
        drone.vz = drone.vx = drone.vy = drone.x = drone.y = drone.tx = drone.ty = 0
        drone.qw, drone.qx, drone.qy, drone.qz = 1, 0, 0, 0
        step(env, np.zeros(4), away)
        drone.tz = 4.29
        *_, infos = step(env, np.zeros(4), steps)
        assert env.truncations[0]
        assert infos[0]["perf"][0] == pytest.approx(perf)
        assert infos[0]["score"][0] == pytest.approx(score)
        assert infos[0]["crashed"][0] == 0


def test_beyond_the_distance_is_not_near():
    env, drone = make(max_steps=2)
    drone.motors(0.5, 0.5, 0.5, 0.5)
    drone.tz = 4.31
    *_, infos = step(env, np.zeros(4), 2)
    assert infos[0]["score"][0] == 0


@pytest.mark.parametrize("task", ["hover", "race"])
@pytest.mark.parametrize(
    ("name", "speed", "place", "crash"),
    [
        ("x", "vx", 11.9, True),
        ("x", "vx", -11.9, True),
        ("y", "vy", 11.9, True),
        ("y", "vy", -11.9, True),
        ("z", "vz", 11.9, True),
        ("z", "vz", 0.1, True),
        ("x", "vx", 11.7, False),
        ("z", "vz", 0.3, False),
    ],
)
def test_leaving_the_space_is_a_crash(task, name, speed, place, crash):
    env, drone = make(task, num_drones=9, reward_crash=-0.5)
    drone.motors(0.5, 0.5, 0.5, 0.5)
    setattr(drone, name, place)
    setattr(drone, speed, math.copysign(10, place - (6 if name == "z" else 0)))
    other = Drone(env, 8)
    total, ended, infos = step(env, np.zeros(4))
    assert ended == crash
    assert total == (-0.5 if crash else 0)
    assert env.terminals.tolist() == [crash, *[False] * 8]
    assert other.ticks == 1
    if crash:
        assert (infos[0]["crashed"][0], infos[0]["perf"][0]) == (1, 0)
        assert drone.ticks == 0  # it has begun again


def race(**arguments):
    """A drone at rest 0.1 m before gate 3, which stands at (0, 0, 4) and looks to x."""
    env, drone = make("race", **arguments)
    gate = drone.world.gates[3]
    gate.x, gate.y, gate.z, gate.nx, gate.ny = 0, 0, 4, 1, 0
    drone.gate, drone.tz, drone.nx, drone.ny, drone.nz = 3, 4, 1, 0, 0
    drone.x, drone.ahead, drone.distance = -0.1, -0.1, 0.1
    drone.motors(0.5, 0.5, 0.5, 0.5)
    return env, drone


@pytest.mark.parametrize(
    ("start", "speed", "passes"),
    [
        ((-0.1, 0, 4), 10, True),
        ((-0.1, 0.6, 4), 10, True),  # 0.1 behind the plane, 0.6 aside: 0.61
        ((-0.1, 0.8, 4), 10, False),  # beyond the ring of 0.7
        ((-0.1, 0, 4.8), 10, False),
        ((-0.3, 0, 4), 10, False),  # not yet there
        ((0.1, 0, 4), -10, False),  # from behind
        ((0.1, 0, 4), 10, False),  # beyond it already
    ],
)
def test_flying_through_a_gate(start, speed, passes):
    env, drone = race(gate_radius=0.7, reward_gate=0.6, num_gates=5)
    drone.x, drone.y, drone.z = start
    drone.ahead, drone.vx = start[0], speed
    total, ended, _ = step(env, np.zeros(4))
    assert total == pytest.approx(0.6 if passes else 0)
    assert not ended
    assert (drone.passed, drone.gate) == ((1, 4) if passes else (0, 3))
    if passes:
        here, after = drone.world.gates[4], drone.world.gates[0]
        assert (drone.tx, drone.ty, drone.tz) == (here.x, here.y, here.z)
        assert (drone.nx, drone.ny, drone.ux, drone.uz) == (here.nx, here.ny, after.x, after.z)
        distance = math.dist((drone.x, drone.y, drone.z), (here.x, here.y, here.z))
        assert drone.distance == pytest.approx(distance, rel=1e-5)


def test_the_last_gate_finishes():
    env, drone = race(num_gates=5)
    drone.passed, drone.vx = 4, 10
    _, ended, infos = step(env, np.zeros(4))
    assert ended
    assert (infos[0]["score"][0], infos[0]["perf"][0], infos[0]["crashed"][0]) == (5, 1, 0)


def test_unfinished_races_count_their_gates():
    env, drone = race(num_gates=8, max_steps=2)
    drone.passed = 2
    *_, infos = step(env, np.zeros(4), 2)
    assert env.truncations[0]
    assert (infos[0]["score"][0], infos[0]["perf"][0]) == (2, 2 / 8)


@pytest.mark.parametrize("count", [4, 10, 16])
def test_the_course_is_a_ring_in_the_space(count):
    env = OceanEnv("drone", 200, num_gates=count, num_drones=1)
    env.reset(seed=1)
    for i in range(200):
        gates = c_state(env, i).gates
        for k in range(count):
            gate, last, after = gates[k], gates[(k - 1) % count], gates[(k + 1) % count]
            assert 4 <= math.hypot(gate.x, gate.y) <= 8.001
            assert 3 <= gate.z <= 7
            way = math.dist((last.x, last.y), (after.x, after.y))
            assert gate.nx == pytest.approx((after.x - last.x) / way, abs=1e-5)
            assert gate.ny == pytest.approx((after.y - last.y) / way, abs=1e-5)


def test_drones_begin_before_a_gate_of_the_course():
    env = OceanEnv("drone", 50, num_drones=10)
    env.reset(seed=2)
    seen = set()
    for i in range(50):
        for k in range(10):
            drone, gates = Drone(env, k), c_state(env, i).gates
            vars(drone)["flock"] = c_state(env, i).flocks[k // 8]
            gate = gates[drone.gate]
            seen.add(drone.gate)
            assert -3.8 <= drone.ahead <= -0.7
            assert math.dist((drone.tx, drone.ty, drone.tz), (gate.x, gate.y, gate.z)) == 0
            quaternion = (drone.qw, drone.qx, drone.qy, drone.qz)
            assert math.hypot(*quaternion) == pytest.approx(1, abs=1e-5)
    assert seen == {*range(10)}
