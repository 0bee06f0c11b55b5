"""The one exception of the package."""


class SweepError(ValueError):
    """Something was asked for that cannot be; the message says what was expected and got."""
