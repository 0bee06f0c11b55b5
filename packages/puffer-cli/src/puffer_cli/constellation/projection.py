"""Project the settings to a plane, so that runs with like settings lie together."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from puffer_cli.constellation.columns import Table
from puffer_core.errors import APIUsageError

Kind = Literal["pca", "tsne", "none"]
MAX_TSNE = 20_000  # rows; more take many minutes
SAMPLE = 20_000  # rows that the axes are found from

Floats = npt.NDArray[np.float64]


def project(table: Table, kind: Kind) -> dict[str, Floats]:
    """Coordinates of each row, by name of the new column; empty if fewer than two columns vary.

    Settings (results where there are none) are spread by rank, so that a logarithmic one counts
    like a linear one, and standardised; a missing value is a mean one. "pca" gives the three
    principal components, "tsne" the two dimensions of t-SNE beside them.

    Raises:
        APIUsageError: t-SNE without scikit-learn, or of too many rows.
    """
    features = _features(table)
    if features.shape[1] < 2 or features.shape[0] < 3:
        return {}
    some = features[:: max(1, len(features) // SAMPLE)]
    _, _, axes = np.linalg.svd(some, full_matrices=False)
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])[:, None]  # one sign
    components = features @ axes[:3].T
    columns = {f"pca {k + 1}": components[:, k] for k in range(components.shape[1])}
    if kind == "tsne":
        columns |= _tsne(features)
    return columns


def _features(table: Table) -> Floats:
    numbers = {n: c for n, c in table.columns.items() if c.labels is None}
    settings = [n for n, c in numbers.items() if c.meta.get("group") == "setting"]
    columns = []
    for name in settings or numbers:
        values = np.where(numbers[name].valid, numbers[name].values, np.nan)
        known = np.isfinite(values)
        distinct, place = np.unique(values[known], return_inverse=True)
        if len(distinct) < 2:
            continue
        ranks = place.astype(np.float64)
        column = np.zeros(len(values))
        column[known] = (ranks - ranks.mean()) / ranks.std()
        columns.append(column)
    return np.stack(columns, 1) if columns else np.zeros((table.rows, 0))


def _tsne(features: Floats) -> dict[str, Floats]:
    if len(features) > MAX_TSNE:
        raise APIUsageError(
            f"t-SNE of {len(features):,} rows takes too long; at most {MAX_TSNE:,}: use pca."
        )
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise APIUsageError(
            "t-SNE needs scikit-learn: pip install 'puffer-cli[projection]', or use pca."
        ) from None
    perplexity = min(30.0, (len(features) - 1) / 3)
    plane = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(features)
    return {f"t-sne {k + 1}": plane[:, k].astype(np.float64) for k in range(2)}
