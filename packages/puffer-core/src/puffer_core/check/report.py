"""What a check found: findings, collected once each, and the report of them all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from puffer_core.check.catalogue import CATALOGUE, SEVERITIES, Severity

WIDTH = 160  # longest value shown


@dataclass
class Finding:
    """One thing that is wrong, or worth knowing.

    Attributes:
        code: Stable name of the kind, a key of `puffer_core.check.catalogue.CATALOGUE`.
        severity: "error" (learning breaks), "warning" (probably not meant) or "note".
        what: The kind in words.
        evidence: What was seen, with values.
        path: Where, such as `observation["position"]`; empty if it has no place.
        step: Steps taken when it was first seen; 0 is the first reset, None no step.
        count: How often it was seen.
        remedy: What to do.
    """

    code: str
    severity: Severity
    what: str
    evidence: str
    path: str
    step: int | None
    count: int
    remedy: str

    def __str__(self) -> str:
        place = f" {self.path}" if self.path else ""
        step = "" if self.step is None else f" at step {self.step}"
        times = f" ({self.count} times)" if self.count > 1 else ""
        return (
            f"{self.severity} [{self.code}]{place}{step}{times}: {self.what}: {self.evidence}\n"
            f"    {self.remedy}"
        )


class Findings:
    """Collects findings; the same code at the same path is one finding with a count."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def add(
        self,
        code: str,
        evidence: str,
        path: str = "",
        step: int | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Add a finding, or count it again.

        Args:
            code: A key of the catalogue.
            evidence: What was seen; the first time's is kept, until a worse one comes.
            path: Where.
            step: Steps taken so far.
            severity: In place of the catalogue's, where the evidence makes it better or worse.
        """
        kind = CATALOGUE[code]
        severity = severity or kind.severity
        known = self._found.get((code, path))
        if known and SEVERITIES.index(known.severity) <= SEVERITIES.index(severity):
            known.count += 1
            return
        count = known.count + 1 if known else 1
        self._found[code, path] = Finding(
            code, severity, kind.what, evidence, path, step, count, kind.remedy
        )

    def discard(self, code: str) -> None:
        """Take back all findings of a code, where a better one says the same."""
        self._found = {key: value for key, value in self._found.items() if key[0] != code}

    def __iter__(self) -> Iterator[Finding]:
        """The findings, errors first, in the order they were found."""
        return iter(sorted(self._found.values(), key=lambda f: SEVERITIES.index(f.severity)))

    def __contains__(self, code: str) -> bool:
        return any(finding.code == code for finding in self._found.values())


@dataclass
class Report:
    """The result of `check_env`.

    Attributes:
        name: Of the environment.
        kind: "Gymnasium", "PettingZoo", "PufferEnv" or "" if it could not be created.
        findings: Errors first.
        steps: Random steps taken in the main run, with those in search of an end.
        episodes: Ends of episodes seen in them, of all agents that were followed.
        seconds: Wall-clock time of the whole check.
    """

    name: str
    kind: str
    findings: list[Finding]
    steps: int
    episodes: int
    seconds: float

    @property
    def errors(self) -> list[Finding]:
        """The findings that break learning."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and strings."""
        return {**dataclasses.asdict(self), "ok": self.ok}

    def __str__(self) -> str:
        head = (
            f"{self.name} ({self.kind or 'not created'}): {self.steps:,} steps, "
            f"{self.episodes:,} episodes, {self.seconds:.1f} s; {self.summary()}"
        )
        return "\n".join([head, *(str(finding) for finding in self.findings)])

    def summary(self) -> str:
        """How many findings of each severity, in words."""
        counts = {
            severity: sum(finding.severity == severity for finding in self.findings)
            for severity in SEVERITIES
        }
        words = [f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items() if n]
        return ", ".join(words) or "nothing found"


def show(value: object) -> str:
    """A value for evidence: one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
