"""The checker: random steps, and one report of what would make learning fail."""

from puffer_core.check.report import Finding, Report
from puffer_core.check.runner import check_env

__all__ = ["Finding", "Report", "check_env"]
