"""The server: this machine only, a fixed list of paths, news of changes."""

import http.client
import json
import threading

import pytest

from puffer_cli.constellation import dataset, serve
from puffer_cli.constellation.index import Index


@pytest.fixture
def index(runs):
    index = Index([runs])
    index.refresh()
    return index


@pytest.fixture
def server(index):
    server = serve.Server(dataset.build(index, live=True))
    server.start()
    yield server
    server.close()


def get(server, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        headers = {"Host": host} if host else {}
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


def token(server):
    return server.url.split("/")[3]


def test_it_listens_on_loopback_only(server):
    assert server._http.server_address[0] == "127.0.0.1"
    assert len(token(server)) >= 20


def test_pages_and_data(server):
    path = f"/{token(server)}/"
    status, body, headers = get(server, path)
    assert status == 200
    assert b"<puffer-constellation" in body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "Access-Control-Allow-Origin" not in headers
    assert get(server, path + "page/core.js")[2]["Content-Type"].startswith("text/javascript")
    assert get(server, path + "data.bin")[1][:8] == b"PUFSTAR1"
    assert get(server, path + "data.bin", method="HEAD")[1] == b""


@pytest.mark.parametrize(
    "path",
    [
        "/", "/wrong/", "/TOKEN", "/TOKEN/../etc/passwd", "/TOKEN/page/../../serve.py",
        "/TOKEN/%2e%2e/serve.py", "/TOKEN//etc/passwd", "/TOKEN/page/", "/TOKEN/log.jsonl",
        "/TOKEN/page%2fcore.js", "/%C3%A9/",
    ],
)  # fmt: skip
def test_nothing_else_is_there(server, path):
    path = path.replace("TOKEN", token(server))
    wanted = 200 if path == f"/{token(server)}" else 404
    assert get(server, path)[0] == wanted


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:80", "127.0.0.1:1"])
def test_other_hosts_are_refused(server, host):
    assert get(server, f"/{token(server)}/", host=host)[0] == 403


def test_only_reading(server):
    assert get(server, f"/{token(server)}/", method="POST")[0] == 501


def test_an_old_version_of_a_curve_is_refused(server, index):
    path = f"/{token(server)}/curve-0.bin?version="
    assert get(server, path + str(index.version))[0] == 200
    assert get(server, path + "77")[0] == 409


def test_events_tell_of_each_version(server, index, runs):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", f"/{token(server)}/events")
    response = connection.getresponse()
    line = response.readline()
    assert json.loads(line.removeprefix(b"data: ")) == {"version": index.version}
    response.readline()
    with (runs / "squared" / "run-1" / "log.jsonl").open("a") as file:
        file.write('{"agent_steps": 5, "environment/score": 0.9}\n')
    assert index.refresh()
    server.set(dataset.build(index))
    line = response.readline()
    assert json.loads(line.removeprefix(b"data: ")) == {"version": index.version}
    connection.close()


def test_listeners_are_bounded(server):
    open_ones = []
    for k in range(serve.MAX_LISTENERS + 1):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", f"/{token(server)}/events")
        status = connection.getresponse().status
        assert status == (200 if k < serve.MAX_LISTENERS else 503)
        open_ones.append(connection)
    for connection in open_ones:
        connection.close()


def test_follow_serves_what_changes_and_ends(server, index, runs):
    before = server._version
    seen = threading.Event()

    def update():
        if server._version != before:
            seen.set()
        return dataset.build(index) if index.refresh() else None

    thread = threading.Thread(target=server.follow, args=(update, 0.01))
    thread.start()
    with (runs / "squared" / "run-1" / "log.jsonl").open("a") as file:
        file.write('{"agent_steps": 5}\n')
    assert seen.wait(20)
    with server._changed:
        server._closed = True
    thread.join(20)
    assert not thread.is_alive()
