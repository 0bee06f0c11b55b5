"""Write a view that needs no server: a folder for any web server, or one file for `file://`."""

from __future__ import annotations

import base64
import gzip
import hashlib
from pathlib import Path

from puffer_cli.constellation import assets
from puffer_cli.constellation.columns import write_whole
from puffer_cli.constellation.dataset import Dataset
from puffer_core.errors import APIUsageError

# Of the curves in one file, before compression: such a file is opened whole.
SINGLE_CURVES = 8 << 20


def export(dataset: Dataset, target: Path) -> None:
    """Write `target`: one file if its name ends in .html, else a folder.

    Raises:
        APIUsageError: the folder holds other things already.
    """
    if target.suffix.lower() in (".html", ".htm"):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, single_file(dataset).encode())
    else:
        _folder(dataset, target)


def _folder(dataset: Dataset, target: Path) -> None:
    if target.is_dir() and any(target.iterdir()) and not (target / "data.bin.gz").exists():
        raise APIUsageError(f"{target} holds other files; name a new or empty folder.")
    (target / "page").mkdir(parents=True, exist_ok=True)
    for name, content in assets.files().items():
        if name == "index.html":
            content = content.replace(b'src="data.bin"', b'src="data.bin.gz"')
        write_whole(target / name, content)
    write_whole(target / "data.bin.gz", _compress(dataset.data))
    for k, curve in enumerate(dataset.curves):
        write_whole(target / f"curve-{k}.bin.gz", _compress(curve))


def single_file(dataset: Dataset) -> str:
    """The text of an HTML file that holds everything.

    Its content security policy allows the one script in it and no request at all.
    """
    files = assets.files()
    script = assets.bundle()
    embedded = {
        "data.bin.gz": _compress(dataset.data),
        **{f"curve-{k}.bin.gz": _compress(curve) for k, curve in enumerate(dataset.curves)},
        "style.css": files["page/style.css"],
    }
    if "page/core.wasm" in files:
        embedded["core.wasm"] = files["page/core.wasm"]
    blocks = "\n".join(
        f'<script type="text/plain" data-name="{name}">{base64.b64encode(content).decode()}'
        "</script>"
        for name, content in embedded.items()
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; "
        "style-src 'unsafe-inline'; img-src blob: data:; base-uri 'none'; form-action 'none'"
    )
    page = files["index.html"].decode()
    head, _, rest = page.partition("<!-- policy -->")
    _, _, rest = rest.partition("<!-- /policy -->")
    page = f'{head}<meta http-equiv="Content-Security-Policy" content="{policy}">{rest}'
    tag = '<script type="module" src="page/constellation.js"></script>'
    assert tag in page
    page = page.replace('src="data.bin"', 'src="data.bin.gz"')
    return page.replace(tag, f"{blocks}\n<script>{script}</script>")


def _compress(content: bytes) -> bytes:
    return gzip.compress(content, 6, mtime=0)
