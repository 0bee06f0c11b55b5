"""The page in Chromium: what it counts equals numpy, what it shows survives, nothing leaves it."""

import base64
import functools
import http.server
import io
import json
import os
import shutil
import threading
import time

import numpy as np
import pytest
from PIL import Image
from run_folders import write_run

from puffer_cli.constellation import assets, dataset, export, serve
from puffer_cli.constellation.index import Index

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium (apt install chromium)")

FLAGS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip
ELEMENT = "document.querySelector('puffer-constellation')"
MODEL = f"{ELEMENT}.model"
RUNS, POINTS = 60, 12


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def data():
    """Columns of the runs that the page shows, as they are written."""
    g = np.random.default_rng(0)
    rate = 10 ** g.uniform(-4, -1, RUNS)
    return {
        "rate": rate,
        "gamma": g.uniform(0.8, 0.999, RUNS),
        "score": np.where(np.arange(RUNS) % 20 == 7, np.nan, 1 - np.abs(np.log10(rate) + 2.5) / 2),
        "uptime": g.uniform(1, 1000, RUNS),
        "env": np.array(["squared", "breakout", "cartpole"])[np.arange(RUNS) % 3],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("runs")
    for k in range(RUNS):
        points = [
            {
                "agent_steps": 1000 * (i + 1),
                "uptime": data["uptime"][k] * (i + 1) / POINTS,
                "environment/score": data["score"][k] * (i + 1) / POINTS,
            }
            for i in range(POINTS)
        ]
        settings = {"train.learning_rate": data["rate"][k], "train.gamma": data["gamma"][k]}
        env = data["env"][k]
        write_run(root / env / f"run-{k:02}", settings, points, env)
    return root


@pytest.fixture(scope="module")
def index(folder):
    index = Index([folder])
    index.refresh()
    return index


@pytest.fixture(scope="module")
def server(index):
    server = serve.Server(dataset.build(index, live=True))
    server.start()
    yield server
    server.close()


@pytest.fixture
def new_page(browser):
    """A function that opens an address; at the end, nothing went wrong and nothing left."""
    contexts, errors, requests = [], [], []

    def open_page(url, expect_errors=False, **options):
        options = {"viewport": {"width": 1440, "height": 1000}, **options}
        script = options.pop("script", None)
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        page.set_default_timeout(60_000)
        page.on("request", lambda request: requests.append(request.url))
        if not expect_errors:
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda m: note(errors, m))
        page.goto(url)
        until(page, f"Boolean({ELEMENT}?.ready)")
        page.evaluate(f"{ELEMENT}.ready")
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
    local = ("http://127.0.0.1:", "file:///", "data:", "blob:")
    assert [url for url in requests if not url.startswith(local)] == []


@pytest.fixture
def page(new_page, server):
    return new_page(server.url)


def note(errors, message):
    stale = "409" in message.text  # the curve of a version that was just replaced
    if message.type == "error" and not stale:
        errors.append(message.text)


def until(page, condition, about="''"):
    """Wait for a condition. (Playwright's own waiting evaluates text, which the page forbids.)"""
    end = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not within a minute: {condition}: {page.evaluate(about)}"
        page.wait_for_timeout(20)


def settle(page):
    """Wait until everything is drawn."""
    waiting = f"{MODEL}.views.filter((view) => view.shown && view.pending.size)"
    idle = f"!{MODEL} || (!{MODEL}.requested && !{MODEL}.moving && !{waiting}.length)"
    about = f"[{MODEL}.requested, {MODEL}.moving, document.visibilityState, "
    about += f"{waiting}.map((view) => [view.element.className, ...view.pending])]"
    until(page, idle, about)


def count(page):
    return page.evaluate(f"{MODEL}.count")


def set_state(page, **patch):
    page.evaluate(f"patch => {ELEMENT}.state.set(patch)", patch)
    settle(page)


def box_of(page, selector, nth=0):
    element = page.locator(selector).nth(nth)
    element.scroll_into_view_if_needed()
    return element.bounding_box()


def drag(page, start, end, keys=()):
    for key in keys:
        page.keyboard.down(key)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()
    for key in keys:
        page.keyboard.up(key)
    settle(page)


def column(page, name):
    """Values of a column as the page holds them."""
    script = f"""name => {{
        const column = {MODEL}.column(name);
        return Array.from({MODEL}.raw(column).a, (v) => Number.isNaN(v) ? null : v);
    }}"""
    return np.array(page.evaluate(script, name), np.float64)


def test_it_loads_and_shows_what_there_is(page, index):
    assert page.locator(".count-of").inner_text() == f"{RUNS} of {RUNS} runs"
    assert page.locator(".panel:visible").count() == 7  # all but the pins
    assert "3 of these have no finite score" in page.locator(".notices").inner_text()
    names = page.locator(".filter-head .name").all_inner_texts()
    assert {"learning_rate", "gamma", "score", "env"} <= set(names)
    wanted = "webassembly" if "page/core.wasm" in assets.files() else "javascript"
    assert page.evaluate(f"{MODEL}.core.name") == wanted


def test_a_brush_counts_as_numpy_does(page):
    bars = '[data-name="train.learning_rate"] .bars'
    box = box_of(page, bars)
    y = box["y"] + box["height"] / 2
    drag(page, (box["x"] + 0.3 * box["width"], y), (box["x"] + 0.7 * box["width"], y))
    limits = page.evaluate(f"{ELEMENT}.state.now.filters")["train.learning_rate"]
    rate = column(page, "train.learning_rate").astype(np.float32)
    rows = (rate >= np.float32(limits["low"])) & (rate <= np.float32(limits["high"]))
    assert 0 < rows.sum() < RUNS
    assert count(page) == rows.sum()
    assert page.locator(".count-of strong").inner_text() == str(rows.sum())
    # the column's own histogram shows all rows, every other one those that pass
    script = f"name => Array.from({MODEL}.counts.get(name))"
    assert sum(page.evaluate(script, "train.learning_rate")) == RUNS
    counts = page.evaluate(script, "train.gamma")
    gamma = column(page, "train.gamma")
    place = (gamma - gamma.min()) * (64 / (gamma.max() - gamma.min()))
    bins = np.minimum(place.astype(int), 63)
    np.testing.assert_array_equal(counts, np.bincount(bins[rows], minlength=65))

    page.locator('[data-name="train.learning_rate"] .icon[aria-pressed]').click()
    settle(page)
    assert count(page) == RUNS - rows.sum()
    page.keyboard.press("Control+z")
    settle(page)
    assert count(page) == rows.sum()


def test_a_second_drag_moves_the_brush(page):
    box = box_of(page, '[data-name="train.gamma"] .bars')
    y, at = box["y"] + 10, lambda share: box["x"] + share * box["width"]
    drag(page, (at(0.2), y), (at(0.5), y))
    before = page.evaluate(f"{ELEMENT}.state.now.filters")["train.gamma"]
    drag(page, (at(0.35), y), (at(0.55), y))
    after = page.evaluate(f"{ELEMENT}.state.now.filters")["train.gamma"]
    assert after["high"] - after["low"] == pytest.approx(before["high"] - before["low"], rel=1e-4)
    assert after["low"] > before["low"]


def test_categories_keyboard_and_typed_limits(page, data):
    page.locator('[data-name="env"] .toggle', has_text="squared").click()
    settle(page)
    assert count(page) == (data["env"] != "squared").sum()
    handle = page.locator('[data-name="train.gamma"] .handle.low')
    handle.focus()
    page.keyboard.press("PageUp")
    settle(page)
    low = page.evaluate(f"{ELEMENT}.state.now.filters")["train.gamma"]["low"]
    gamma = data["gamma"].astype(np.float32)
    expected = (gamma >= np.float32(low)) & (data["env"] != "squared")
    assert gamma.min() < low
    assert count(page) == expected.sum()
    field = page.locator('[data-name="train.gamma"] .end').nth(1)
    field.fill("0.9")
    field.press("Enter")
    settle(page)
    assert count(page) == (expected & (gamma <= np.float32(0.9))).sum()
    page.locator(".active-filters .text").click()
    settle(page)
    assert count(page) == RUNS


def test_search_finds_names(page):
    page.keyboard.press("/")
    page.keyboard.type("cartpole run-1")
    until(page, f"{ELEMENT}.state.now.search === 'cartpole run-1'")
    settle(page)
    wanted = [k for k in range(10, 20) if k % 3 == 2]
    assert count(page) == len(wanted)


def test_a_box_selects_what_lies_in_it_in_all_views(page):
    box = box_of(page, '[data-panel="a"] .plot')
    start = (box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
    end = (box["x"] + 0.8 * box["width"], box["y"] + 0.6 * box["height"])
    drag(page, start, end, ["Shift"])
    (lasso,) = page.evaluate(f"{ELEMENT}.state.now.lassos")
    corners = np.array(lasso["points"])
    x, y = column(page, "uptime"), column(page, "environment/score")
    x = np.log10(x) if lasso["xs"] == "log" else x
    (x0, y0), (x1, y1) = corners.min(0), corners.max(0)
    inside = (x > x0) & (x < x1) & (y > y0) & (y < y1)
    assert 0 < inside.sum() < RUNS
    assert count(page) == inside.sum()
    page.locator('[data-panel="table"]').scroll_into_view_if_needed()
    page.wait_for_timeout(100)  # until it is noticed on screen
    settle(page)
    rows = page.locator('[data-panel="table"] h2').inner_text()
    assert rows == f"{inside.sum()} runs"


def test_front_and_best_under_a_budget(page):
    cost, score = column(page, "uptime"), column(page, "environment/score")
    worse = (cost[:, None] >= cost) & (score[:, None] <= score)
    strictly = (cost[:, None] > cost) | (score[:, None] < score)
    front = np.flatnonzero(~(worse & strictly).any(1) & np.isfinite(score))
    rows = page.evaluate(f"Array.from({MODEL}.frontRows())")
    assert sorted(rows) == front.tolist()
    set_state(page, budget=100)
    affordable = np.where((cost <= 100) & np.isfinite(score), score, -np.inf)
    best = affordable.argmax()
    title = page.evaluate(f"row => {MODEL}.title(row)", int(best))
    assert title in page.locator(".answer").get_attribute("title")
    assert page.locator('[data-panel="a"] line.budget').count() == 1


def test_curves_are_of_all_points_and_no_group_changes_another(page, data):
    set_state(page, color="env")
    page.locator('[data-panel="curves"]').scroll_into_view_if_needed()
    until(page, f"{ELEMENT}.views.curves.means?.size === 3")
    labels = page.evaluate(f"{MODEL}.column('env').labels")
    script = f"code => {ELEMENT}.views.curves.means.get(code).map(([, y]) => y)"
    code = labels.index("cartpole")
    before = page.evaluate(script, code)
    scores = data["score"][data["env"] == "cartpole"]
    share = np.arange(1, POINTS + 1) / POINTS
    points = (scores[np.isfinite(scores)][:, None] * share).astype(np.float32)
    np.testing.assert_allclose(before, points.astype(float).mean(0), rtol=1e-12)
    set_state(page, filters={"env": {"off": ["squared"]}})
    until(page, f"{ELEMENT}.views.curves.means?.size === 2")
    assert page.evaluate(script, code) == before


def test_importance_is_spearmans(page):
    stats = pytest.importorskip("scipy.stats")
    rate, score = column(page, "train.learning_rate"), column(page, "environment/score")
    known = np.isfinite(score)
    expected = stats.spearmanr(rate[known], score[known]).statistic
    script = f"""{ELEMENT}.views.importance.correlations({MODEL}.column("environment/score"))
        .find(({{column}}) => column.name === "train.learning_rate").rho"""
    assert page.evaluate(script) == pytest.approx(expected, abs=1e-6)


def test_hover_and_pins(page):
    row = 3
    script = f"""row => {{
        const view = {ELEMENT}.views.a, g = view.g, box = view.plot.getBoundingClientRect();
        return [box.left + g.box.left + g.px.block.a[row] * g.sx + g.ox,
                box.top + g.box.top + g.py.block.a[row] * g.sy + g.oy];
    }}"""
    x, y = page.evaluate(script, row)
    page.mouse.move(x, y)
    settle(page)
    assert page.evaluate(f"{MODEL}.hover") == row
    title = page.evaluate(f"{MODEL}.title({row})")
    assert page.locator(".tip.shown strong").inner_text() == title
    for panel in ("a", "b", "cloud"):
        assert page.locator(f'[data-panel="{panel}"] circle.hover').count() == 1
    page.mouse.click(x, y)
    set_state(page, pins=[row, 4])
    panel = page.locator('[data-panel="pins"]')
    assert title in panel.inner_text()
    rows = panel.locator("tbody tr.differ th").all_inner_texts()
    assert "train.learning_rate" in rows
    assert "agent_steps" not in rows  # the same in both
    script = "([row, form]) => import(`${location.href.split('#')[0]}page/details.js`).then("
    script += f"(m) => m.settingsText({MODEL}, row, form))"
    settings = json.loads(page.evaluate(script, [row, "json"]))
    assert settings["train.gamma"] == pytest.approx(column(page, "train.gamma")[row], rel=1e-6)
    assert page.evaluate(script, [row, "ini"]).startswith("[train]\nlearning_rate = ")
    assert page.evaluate(script, [row, "flags"]).startswith("--train.learning-rate ")


def test_keyboard_steps_through_points_and_zooms(page):
    page.locator('[data-panel="a"] .plot').focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    order = np.argsort(column(page, "uptime"))
    assert page.evaluate(f"{MODEL}.hover") == order[1]
    page.keyboard.press("Enter")
    page.keyboard.press("+")
    settle(page)
    state = page.evaluate(f"{ELEMENT}.state.now")
    assert state["pins"] == [order[1]]
    low, high = state["a"]["zoom"]["x"]
    assert high - low > 0
    page.keyboard.press("0")
    settle(page)
    assert "zoom" not in page.evaluate(f"{ELEMENT}.state.now.a")


def test_the_address_restores_the_view(page, new_page):
    set_state(
        page, filters={"env": {"off": ["squared"]}}, color="env", theme="dark",
        a={"x": "train.gamma", "y": "environment/score"}, pins=[5],
    )  # fmt: skip
    seen = count(page)
    again = new_page(page.url)
    assert count(again) == seen
    assert again.evaluate(f"{ELEMENT}.state.now") == page.evaluate(f"{ELEMENT}.state.now")
    page.keyboard.press("r")
    settle(page)
    assert count(page) == RUNS
    assert "filters" not in page.url


@pytest.mark.parametrize("hash_", ["%7B", "null", '{"a":5,"pins":["x"],"cost":"gone","axes":7}'])
def test_a_strange_address_is_no_harm(new_page, server, hash_):
    page = new_page(f"{server.url}#{hash_}")
    assert count(page) == RUNS


def test_parameters_of_a_frame(new_page, server):
    page = new_page(f"{server.url}?x=train.gamma&color=env&panels=a,table&bare=1&theme=dark")
    assert page.locator(".panel:visible").count() == 2
    assert page.evaluate(f"{ELEMENT}.state.now.a.x") == "train.gamma"
    assert not page.locator(".bar").first.is_visible()


def test_new_rows_come_without_losing_the_view(page, server, index, folder):
    zoom = {"x": [0, 2], "y": [0, 1]}
    set_state(page, a={"x": "uptime", "y": "environment/score", "zoom": zoom}, pins=[2])
    run = folder / "squared" / "run-99"
    try:
        write_run(run, {"train.learning_rate": 0.5}, [{"uptime": 1, "environment/score": 1}])
        assert index.refresh()
        server.set(dataset.build(index, live=True))
        until(page, f"{MODEL}.n === {RUNS + 1}")
        settle(page)
        assert count(page) == RUNS + 1
        state = page.evaluate(f"{ELEMENT}.state.now")
        assert state["a"]["zoom"] == zoom
        assert state["pins"] == [2]
    finally:
        shutil.rmtree(run)
        index.refresh()
        server.set(dataset.build(index, live=True))


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"filters": {"train.gamma": {"low": 0.9, "high": None}}, "draw": "solid"},
        {
            "color": "env",
            "size": "uptime",
            "shape": "env",
            "filters": {"env": {"off": ["squared"]}},
        },
        {
            "a": {"x": "uptime", "y": "train.gamma", "zoom": {"x": [2, 2.8], "y": [0.85, 0.95]}},
            "scales": {"uptime": "log", "train.gamma": "linear"},
        },
    ],
)
def test_a_graphics_card_draws_the_same_pixels(new_page, server, state):
    """By software that only pretends to be one; so the points are compared, not the speed."""
    pictures = []
    for renderer in ("pixels", "webgl2"):
        page = new_page(f"{server.url}?renderer={renderer}")
        if renderer == "webgl2" and not page.evaluate(f"Boolean({MODEL}.card)"):
            pytest.skip("this Chromium has no WebGL2")
        set_state(page, **state)
        pictures.append({view: picture(page, view) for view in ("a", "b", "cloud")})
    for view, drawn in pictures[0].items():
        assert len(np.unique(drawn)) > 1
        difference = np.abs(drawn.astype(int) - pictures[1][view])
        assert difference.max() <= 2  # the card rounds colours that mix by itself
        assert (difference > 0).mean() < 0.01


def picture(page, view):
    data = page.evaluate(f"{ELEMENT}.views.{view}.canvas.toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data.split(",")[1]))))


def test_without_webassembly_the_pixels_are_the_same(page, new_page, server):
    plain = new_page(server.url, script="delete globalThis.WebAssembly")
    assert plain.evaluate(f"{MODEL}.core.name") == "javascript"
    np.testing.assert_array_equal(picture(plain, "a"), picture(page, "a"))


@pytest.mark.parametrize("form", ["file", "folder"])
def test_an_export_needs_no_server_of_ours(new_page, index, tmp_path, form, data):
    exported = dataset.build(index)
    if form == "file":
        target = tmp_path / "view.html"
        export.export(exported, target)
        page = new_page(target.as_uri())
        look(page)
        return
    export.export(exported, tmp_path / "deep" / "er")
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            page = new_page(f"http://127.0.0.1:{site.server_address[1]}/deep/er/")
            look(page)
        finally:
            site.shutdown()


def look(page):
    assert count(page) == RUNS
    page.locator('[data-panel="curves"]').scroll_into_view_if_needed()
    until(page, f"{ELEMENT}.views.curves.means?.size > 0")
    set_state(page, filters={"env": {"off": ["squared", "breakout"]}})
    assert count(page) == RUNS // 3


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_saving(page, tmp_path):
    set_state(page, filters={"env": {"off": ["squared"]}})
    with page.expect_download() as waiting:
        page.locator('[aria-label="Save the rows that pass as CSV"]').click()
    lines = waiting.value.path().read_text().splitlines()
    assert len(lines) == 1 + RUNS * 2 // 3
    assert "train.learning_rate" in lines[0].split(",")
    for form, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        page.locator('[data-panel="a"] .menu summary').click()
        with page.expect_download() as waiting:
            page.locator('[data-panel="a"] .menu button', has_text=form).click()
        assert waiting.value.path().read_bytes().startswith(start)


def test_hostile_names_are_only_text(new_page, tmp_path):
    name = "<img src=x onerror=window.hit=1>"
    for k in range(3):
        settings = {name: k, "__proto__": k, "constructor": f"</script>{k}"}
        point = {"score": k, "uptime": k}
        write_run(tmp_path / "r" / name / f"{name} {k}", settings, [point], name)
    index = Index([tmp_path / "r"])
    index.refresh()
    target = tmp_path / "view.html"
    export.export(dataset.build(index), target)
    page = new_page(target.as_uri())
    set_state(page, pins=[0, 1], color="env")
    assert page.locator(".app img").count() == 0
    assert page.evaluate("window.hit") is None
    assert name in page.locator('[data-panel="pins"]').inner_text()
    set_state(page, filters={name: {"low": 1, "high": None}})
    assert count(page) == 2


def test_data_that_cannot_be_read_says_so(new_page, index, tmp_path):
    export.export(dataset.build(index), tmp_path / "site")
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "site"))
    (tmp_path / "site" / "data.bin.gz").write_bytes(b"<html>not found</html>")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        page = new_page(f"http://127.0.0.1:{site.server_address[1]}/", expect_errors=True)
        assert "could not be shown" in page.locator('[role="alert"]').inner_text()
        site.shutdown()


@pytest.mark.parametrize("content", ["", '{"a": null}\n', '{"a": 1}\n', '{"a": NaN}\n{"a": "x"}\n'])
def test_next_to_nothing_is_shown_without_error(new_page, tmp_path, content):
    (tmp_path / "t.jsonl").write_text(content)
    index = Index([tmp_path])
    index.refresh()
    export.export(dataset.build(index), tmp_path / "view.html")
    page = new_page((tmp_path / "view.html").as_uri())
    assert count(page) == content.count("\n")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1440, 2500])
def test_it_fits_and_axe_finds_nothing_serious(new_page, server, width, theme):
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed")
    # axe itself styles the page, which the page forbids: not an error of ours
    size = {"width": width, "height": 1000}
    page = new_page(server.url, expect_errors=True, viewport=size, color_scheme=theme)
    set_state(page, filters={"env": {"off": ["squared"]}}, pins=[4, 5])
    for selector in ("document.scrollingElement", f"{ELEMENT}.shadowRoot.querySelector('.views')"):
        assert page.evaluate(f"{selector}.scrollWidth <= {selector}.clientWidth")
    page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [
        (v["id"], [node["html"][:200] for node in v["nodes"][:3]])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_forced_colours(new_page, server):
    page = new_page(server.url, forced_colors="active")
    set_state(page, filters={"env": {"off": ["squared"]}})
    assert count(page) == RUNS * 2 // 3


@pytest.mark.slow
def test_a_frame_visits_no_more_rows_than_it_must(new_page, tmp_path):
    """100,000 rows: a step of a brush filters once, counts what is on screen, draws two plots."""
    g = np.random.default_rng(0)
    n, index = 100_000, Index([])
    index.runs.append([{f"c{k}": 0.0 for k in range(30)}] * n)
    for k in range(30):
        index.runs.columns[f"c{k}"].values = g.normal(size=n)
    target = tmp_path / "view.html"
    export.export(dataset.build(index), target)
    page = new_page(f"{target.as_uri()}?panels=a,b")
    visible = page.evaluate(f"{ELEMENT}.filters.visible.size")
    page.evaluate(f"{MODEL}.stats.rows = {MODEL}.stats.points = 0")
    set_state(page, filters={"c3": {"low": -1, "high": 1}})
    stats = page.evaluate(f"{MODEL}.stats")
    assert stats["rows"] <= n * (1 + visible)
    assert stats["points"] == 2 * count(page)
    heap = page.evaluate(f"{MODEL}.matrix.memory.buffer.byteLength")
    assert heap <= 60e6
