"""`puffer constellation`: look at many runs in the browser, or write what is seen to files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from puffer_cli.parser import whole

if TYPE_CHECKING:
    from puffer_cli.constellation import dataset, projection
    from puffer_cli.constellation.index import Index

HELP = "look at many runs in the browser; write the view as files; draw a PNG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUNS",
        help="folders of runs, studies, CSV, Parquet, JSON lines, logs (default: runs)",
    )
    parser.add_argument(
        "--rows",
        choices=("runs", "points"),
        default="runs",
        help="a row for each run (default), or for each point of its log",
    )
    parser.add_argument(
        "--projection",
        choices=("pca", "tsne", "none"),
        default="pca",
        help="of the settings to a plane (default: pca)",
    )
    for name, metavar, text in (
        ("export", "PATH", "write the view: a folder, or one file if the name ends in .html"),
        ("png", "FILE", "draw --y over --x, without a browser"),
        ("x", "COLUMN", "of --png"),
        ("y", "COLUMN", "of --png"),
        ("color", "COLUMN", "of --png"),
    ):
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    parser.add_argument("--port", type=whole, metavar="N", help="of the server (default: any)")
    for name, text in (
        ("no-browser", "print the address only"),
        ("no-cache", "read everything anew, and keep nothing"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=text)


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Index, then serve, export or draw."""
    from puffer_cli.constellation.index import Index, cache_path
    from puffer_cli.report import to_json

    _check(options)
    roots = options.runs or ["runs"]
    index = Index(roots, None if options.no_cache else cache_path(roots))
    index.refresh()
    index.save()
    if options.export or options.png:
        document = _write(index, options)
        print(to_json(document) if options.json else _text(document))
        return 0
    return _serve(index, options)


def _check(options: argparse.Namespace) -> None:
    from puffer_core.errors import APIUsageError

    if options.export and options.png:
        raise APIUsageError("give --export or --png, not both.")
    if options.png and not (options.x and options.y):
        raise APIUsageError("--png needs --x COLUMN and --y COLUMN.")
    for name in ("x", "y", "color"):
        if getattr(options, name) and not options.png:
            raise APIUsageError(f"--{name} is of --png; in the page, choose the columns there.")
    if (options.export or options.png) and (options.port is not None or options.no_browser):
        raise APIUsageError("--port and --no-browser are of the server, not of --export or --png.")
    if options.port is not None and not 0 <= options.port < 65536:
        raise APIUsageError(f"--port must be from 0 to 65535, got {options.port}.")


def _write(index: Index, options: argparse.Namespace) -> dict[str, Any]:
    from puffer_cli.constellation import dataset, export
    from puffer_cli.constellation.columns import unpack, write_whole

    single = bool(options.export) and Path(options.export).suffix.lower() in (".html", ".htm")
    limit = export.SINGLE_CURVES if single else None
    kind: projection.Kind = "none" if options.png else options.projection
    data = dataset.build(index, options.rows, kind, curve_bytes=limit)
    document: dict[str, Any] = {"rows": data.rows, "skipped": index.left_out()}
    if options.export:
        target = Path(options.export)
        export.export(data, target)
        return {"written": str(target), **document}
    from puffer_cli.constellation import png

    tables, _ = unpack(data.data)
    picture, shown = png.draw(tables["rows"], options.x, options.y, options.color)
    target = Path(options.png)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, picture)
    return {"written": str(target), **document, **shown}


def _text(document: dict[str, Any]) -> str:
    lines = [f"{document['written']}: {document['rows']:,} rows"]
    if document["skipped"]:
        lines.append(f"{len(document['skipped']):,} left out; --json lists them")
    return "\n".join(lines)


def _serve(index: Index, options: argparse.Namespace) -> int:
    import webbrowser

    from puffer_cli.constellation import dataset
    from puffer_cli.constellation.serve import Server
    from puffer_cli.report import to_json

    def build() -> dataset.Dataset:
        return dataset.build(index, options.rows, options.projection, live=True)

    server = Server(build(), options.port or 0)
    server.start()
    document = {"url": server.url, "rows": index.runs.rows, "skipped": index.left_out()}
    print(to_json(document) if options.json else server.url, flush=True)
    if not options.json:
        left_out = len(index.left_out())
        note = f", {left_out:,} left out" if left_out else ""
        print(f"{index.runs.rows:,} runs{note}; Ctrl-C ends", file=sys.stderr)
    if not options.no_browser:
        webbrowser.open(server.url)
    try:
        server.follow(lambda: build() if index.refresh() else None)
    except KeyboardInterrupt:  # the usual end
        pass
    finally:
        server.close()
        index.save()
    return 0
