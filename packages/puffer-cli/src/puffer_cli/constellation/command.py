"""What `puffer constellation` does."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path
from typing import Any

from puffer_cli.constellation import dataset, export, projection
from puffer_cli.constellation.columns import unpack, write_whole
from puffer_cli.constellation.index import Index, cache_path
from puffer_cli.constellation.serve import Server
from puffer_cli.report import to_json
from puffer_core.errors import APIUsageError


def run(options: argparse.Namespace) -> int:
    """Index, then serve, export or draw; return the exit code."""
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
