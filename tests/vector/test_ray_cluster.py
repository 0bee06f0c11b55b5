"""Where actors run, what they may ask for, nodes that die, and whose runtime it is."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest
from local_ray import actors, add_node, wait_until

from puffer_core import APIUsageError
from puffer_vector import WorkerError, make

pytestmark = pytest.mark.usefixtures("cluster", "no_actor_is_left")


@pytest.fixture
def located(clock):
    """A creator whose environments tell their node when they are reset."""

    def creator(buf=None, seed=0):
        class Located(clock):
            def reset(self, seed=None):
                import ray

                super().reset(seed)
                return self.observations, [{"node": ray.get_runtime_context().get_node_id()}]

        return Located(buf=buf, seed=seed)

    return creator


def nodes_of(creator, **how):
    """The node of each of two actors."""
    vecenv = make(creator, num_envs=2, num_workers=2, backend="Ray", **how)
    nodes = [info["node"] for info in vecenv.reset()[1]]
    vecenv.close()
    return nodes


def golden_node():
    import ray

    (node,) = [node for node in ray.nodes() if node["Alive"] and "gold" in node["Resources"]]
    return node["NodeID"]


@pytest.mark.slow
def test_placement(located):
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    for strategy in ("SPREAD", "STRICT_SPREAD"):
        assert len({*nodes_of(located, placement_strategy=strategy)}) == 2
    assert len({*nodes_of(located, placement_strategy="STRICT_PACK")}) == 1
    golden = golden_node()
    assert nodes_of(located, resources={"gold": 0.5}) == [golden] * 2
    strategy = NodeAffinitySchedulingStrategy(golden, soft=False)
    assert nodes_of(located, num_cpus=0.25, placement_strategy=strategy) == [golden] * 2


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"num_workers": 8},
            r"asked 8 CPU for 8 workers with 1 CPU each .*have 4 CPU .*on 2 nodes",
        ),
        ({"num_workers": 3, "num_cpus": 1.25}, r"asked 3.75 CPU .*have 4 CPU"),  # one a node
        ({"num_workers": 4, "placement_strategy": "STRICT_SPREAD"}, "asked 4 CPU .*have 4 CPU"),
        ({"num_workers": 3, "placement_strategy": "STRICT_PACK"}, "asked 3 CPU .*have 4 CPU"),
        ({"num_workers": 1, "num_cpus": 3}, r"asked 3 CPU .*have 4 CPU"),  # on no single node
        ({"num_workers": 1, "num_gpus": 1}, r"asked 1 CPU, 1 GPU .*have 4 CPU .*, 0 GPU"),
        ({"num_workers": 2, "resources": {"gold": 1}}, r"2 gold .*have .*1 gold \(1 free\)"),
        ({"num_workers": 1, "resources": {"tin": 1}}, r"1 tin .*have .*0 tin"),
    ],
)
def test_more_than_the_cluster_has_is_an_error_at_once(clock, how, words):
    with pytest.raises(APIUsageError, match=words):
        make(clock, num_envs=24, backend="Ray", **how)


def test_what_others_use_is_waited_for_but_not_for_ever(clock):
    import ray

    @ray.remote(num_cpus=2)
    class Other:
        def ready(self):
            return True

    others = [Other.remote() for _ in range(2)]
    ray.get([other.ready.remote() for other in others])
    with pytest.raises(APIUsageError, match=r"asked 1 CPU .*have 4 CPU \(0 free\)"):
        make(clock, num_workers=1, backend="Ray", start_timeout=1)
    timer = threading.Timer(0.5, ray.kill, (others[0],))
    timer.start()
    vecenv = make(clock, num_workers=1, backend="Ray", start_timeout=60)
    vecenv.close()
    timer.join()
    ray.kill(others[1])


def test_an_actor_that_cannot_be_placed(clock):
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nowhere = NodeAffinitySchedulingStrategy("ab" * 28, soft=False)
    with pytest.raises(WorkerError, match=r"Worker 0 .*failed|did not start"):
        make(clock, backend="Ray", placement_strategy=nowhere, start_timeout=20)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"placement_strategy": "CLOSE"}, "placement_strategy must be one of PACK, SPREAD"),
        ({"num_cpus": 0}, "give some, such as num_cpus=0.1"),
        ({"num_cpus": -1}, "CPU must be a number of at least 0, got -1"),
        ({"resources": {"CPU": 1}}, "as num_cpus and num_gpus"),
        ({"start_timeout": 0}, "start_timeout must be a number of seconds above 0"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"on_error": "ignore"}, "'raise' or 'restart', got 'ignore'"),
        ({"context": "spawn"}, "Ray takes no context: it is for Multiprocessing"),
        ({"num_cpu": 1}, "did you mean num_cpus"),
        ({"num_workers": 3}, "num_workers=3 must divide num_envs=4"),
        ({"address": "127.0.0.1:9"}, "connected to the Ray cluster 127.0.0.1:"),
    ],
)
def test_keywords(clock, how, words):
    with pytest.raises(APIUsageError, match=words):
        make(clock, num_envs=4, backend="Ray", **how)


def test_as_many_workers_as_are_free(clock):
    import ray

    assert wait_until(lambda: ray.available_resources().get("CPU") == 4)
    vecenv = make(clock, num_envs=12, backend="Ray", num_cpus=0.75)
    assert len(vecenv._spans) == 4  # two on each node; 4 / 0.75 would be 5
    vecenv.close()


@pytest.fixture
def third(cluster):
    """A node more, with two units of tin, to be killed."""
    node = add_node(cluster, resources={"tin": 2})
    yield node
    if node in cluster.list_all_nodes():
        cluster.remove_node(node, allow_graceful=False)


def test_a_node_that_dies_during_recv(clock, cluster, third):
    main = os.getpid()

    def creator(buf=None, seed=0):  # the second step never ends
        fault = None if os.getpid() == main else "hang"
        return clock(buf=buf, seed=seed, fault=fault, at=("step", (seed, 2)))

    vecenv = make(creator, num_envs=2, num_workers=2, backend="Ray", resources={"tin": 1})
    vecenv.reset()
    vecenv.step([0] * 4)
    vecenv.send([0] * 4)
    threading.Timer(0.5, cluster.remove_node, (third,), {"allow_graceful": False}).start()
    with pytest.raises(WorkerError, match=r"Worker [01] .*on node 127.0.0.1 .*during step 2"):
        vecenv.recv()
    with pytest.raises(APIUsageError, match="cannot be used any more"):
        vecenv.recv()


@pytest.mark.slow
def test_actors_of_a_dead_node_are_restarted_on_another(located, cluster, third, caplog):
    vecenv = make(located, num_envs=3, num_workers=3, backend="Ray", on_error="restart",
                  placement_strategy="STRICT_SPREAD", start_timeout=60)  # fmt: skip
    before = [info["node"] for info in vecenv.reset()[1]]
    assert len({*before}) == 3
    lost = before.index(third.node_id)
    cluster.remove_node(third, allow_graceful=False)
    spare = add_node(cluster)
    try:
        *_, truncations, infos = vecenv.step([0] * 6)
        assert truncations.reshape(3, 2).tolist() == [[i == lost] * 2 for i in range(3)]
        (began,) = [info["node"] for info in infos if "node" in info]
        assert began == spare.node_id
        assert not vecenv.step([0] * 6)[3].any()
        assert all(f"Worker {lost} " in record.getMessage() for record in caplog.records)
    finally:
        vecenv.close()
        cluster.remove_node(spare, allow_graceful=False)


def run(source, **environment):
    """Run a program of its own, with the creator `cartpole`; return what it printed."""
    begin = """
        import gymnasium, os, ray, sys, time
        from puffer_core import GymnasiumPufferEnv
        from puffer_vector import make

        def cartpole(buf=None, seed=0):
            return GymnasiumPufferEnv(gymnasium.make("CartPole-v1"), buf=buf, seed=seed)
    """
    program = textwrap.dedent(begin) + textwrap.dedent(source)
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
def test_a_runtime_that_was_begun_here_ends_with_the_last_vectorizer():
    result = run("""
        first = make(cartpole, backend="Ray", num_cpus=0.1)
        second = make(cartpole, backend="Ray", num_cpus=0.1)
        first.close()
        assert ray.is_initialized()
        second.reset()
        second.close()
        assert not ray.is_initialized()
        ray.init(address="local", include_dashboard=False, num_cpus=1)  # the user's own
        third = make(cartpole, backend="Ray")
        third.close()
        assert ray.is_initialized()
        print("done")
    """)
    assert result.stdout.endswith("done\n"), result.stderr


@pytest.mark.parametrize("by", ["keyword", "variable"])
def test_by_address(cluster, by):
    address = cluster.address
    result = run(
        f"""
        vecenv = make(cartpole, backend="Ray", num_envs=2, num_workers=2, resources={{"gold": 0.5}},
                      address={address if by == "keyword" else None!r})
        vecenv.reset()
        print(ray.get_runtime_context().gcs_address)
        vecenv.close()
        assert not ray.is_initialized()
        """,
        **({} if by == "keyword" else {"RAY_ADDRESS": address}),
    )
    assert result.stdout.endswith(f"{address}\n"), result.stderr
    import ray

    # The cluster lives on; a third node, of a test before, may not be forgotten yet.
    assert sum(node["Alive"] for node in ray.nodes()) >= 2


def test_an_address_where_nobody_listens():
    result = run("""make(cartpole, backend="Ray", address="127.0.0.1:9")""")
    assert "APIUsageError: Ray at 127.0.0.1:9: [Errno 111] Connection refused" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit()", "raise ValueError"])
def test_no_actor_outlives_the_program(cluster, end):
    run(f"""
        vecenv = make(cartpole, backend="Ray", address={cluster.address!r}, num_envs=2)
        vecenv.async_reset()
        {end}
    """)
    assert wait_until(lambda: not actors())


@pytest.mark.slow
def test_ctrl_c_while_waiting(cluster):
    result = run(f"""
        import signal, threading
        vecenv = make(cartpole, backend="Ray", address={cluster.address!r}, num_envs=2)
        vecenv.reset()
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                vecenv.step([0, 0])
        except KeyboardInterrupt:
            print("interrupted")
        vecenv.reset()
        vecenv.close()
        print("closed")
    """)
    assert result.stdout.endswith("interrupted\nclosed\n"), result.stderr
