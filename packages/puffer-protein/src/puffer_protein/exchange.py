"""Studies as CSV, JSON lines and Parquet, and results of other tools as trials.

Exports have one row a trial: the columns of the table `trial`, and `values` spread out. Imports
take those files, and exports of Weights & Biases sweeps (CSV or JSON), where the columns of
parameters, score and cost are named by the caller.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from puffer_protein.errors import SweepError
from puffer_protein.parameters import CATEGORICAL
from puffer_protein.space import Space
from puffer_protein.study import COLUMNS, FINISHED, Study, Trial

FORMATS = (".csv", ".json", ".jsonl", ".parquet")
# States of Weights & Biases.
STATES = {"finished": "done", "crashed": "failed", "failed": "failed", "killed": "failed"}


def row_of(trial: Trial) -> dict[str, Any]:
    """A trial as one flat row."""
    row = {name: getattr(trial, name) for name in COLUMNS if name != "values"}
    return row | trial.values


def export(study: Study, path: Path | str) -> None:
    """Write all trials to a file whose suffix says the format; `.json` holds curves as well.

    Raises:
        SweepError: another suffix, or Parquet without pyarrow.
    """
    path, trials = Path(path), study.trials()
    names = [*(name for name in COLUMNS if name != "values"), *study.space.names]
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(row_of(trial) for trial in trials)
    elif path.suffix in (".json", ".jsonl"):
        rows = [row_of(trial) | {"curve": trial.curve} for trial in trials]
        whole = path.suffix == ".json"
        text = json.dumps(rows, indent=1) if whole else "\n".join(map(json.dumps, rows))
        path.write_text(text + "\n", encoding="utf-8")
    elif path.suffix == ".parquet":
        arrow, parquet = _arrow()
        rows = [{name: row_of(trial).get(name) for name in names} for trial in trials]
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    else:
        raise SweepError(f"{path}: expected a suffix of {', '.join(FORMATS)}.")


def read_rows(path: Path | str) -> list[dict[str, Any]]:
    """The rows of a CSV, JSON, JSON-lines or Parquet file, nested tables with dotted names.

    Raises:
        SweepError: another suffix, or not what the suffix says.
    """
    path = Path(path)
    try:
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        elif path.suffix == ".json":
            rows = json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        elif path.suffix == ".parquet":
            rows = _arrow()[1].read_table(path).to_pylist()
        else:
            raise SweepError(f"{path}: expected a suffix of {', '.join(FORMATS)}.")
        return [dict(_flat(row)) for row in rows]
    except (OSError, ValueError, AttributeError) as error:
        if isinstance(error, SweepError):
            raise
        raise SweepError(f"cannot read {path}: {error}.") from error


def import_rows(
    study: Study,
    rows: Iterable[Mapping[str, Any]],
    score: str = "score",
    cost: str = "cost",
    state: str = "state",
) -> int:
    """Add rows as finished trials ("imported"); rows without a result are left out.

    Args:
        study: that takes them.
        rows: with a column for each parameter, by its dotted name, or its last part where that is
            one parameter's alone; extra columns are ignored.
        score: the column of the score.
        cost: the column of the cost, e.g. "Runtime" or "_runtime".
        state: the column of the state; without one, rows with a score count as done.

    Returns:
        How many trials were added.

    Raises:
        SweepError: a row without one of the parameters, or a value that is none.
    """
    added = 0
    for number, row in enumerate(rows, 1):
        result, spent = _number(row.get(score)), _number(row.get(cost))
        status = str(row.get(state) or "done")
        status = STATES.get(status.lower(), status)
        if status not in FINISHED or spent is None or (result is None and status == "done"):
            continue
        try:
            values = _values(study.space, row)
            study.add(
                values, "imported", status, result, spent, row.get("curve") or (), row.get("error")
            )
        except SweepError as error:
            raise SweepError(f"row {number}: {error}") from None
        added += 1
    return added


def _values(space: Space, row: Mapping[str, Any]) -> dict[str, Any]:
    """The native values of a row; texts become what the parameter holds."""
    values = {}
    for name, parameter in space.parameters.items():
        short = name.rpartition(".")[2]
        unique = sum(other.rpartition(".")[2] == short for other in space.names) == 1
        found = row.get(name, row.get(short) if unique else None)
        if found is None or found == "":
            continue  # `encode` says so if the parameter has an effect
        if parameter.kind == CATEGORICAL:
            spelled = {str(choice): choice for choice in parameter.choices}
            values[name] = spelled.get(str(found), found)
        else:
            number = _number(found)
            if number is None:
                raise SweepError(f"{name}: expected a number, got {found!r}.")
            values[name] = round(number) if parameter.whole else number
    return values


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _flat(row: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise SweepError(
            "Parquet needs pyarrow: pip install 'puffer-protein[parquet]', or use CSV or JSON."
        ) from None
    return pyarrow, pyarrow.parquet
