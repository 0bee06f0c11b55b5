"""How a training run fails when numbers do."""


class DivergedError(RuntimeError):
    """The policy or its updates are not finite any more."""


class NonFiniteError(FloatingPointError, RuntimeError):
    """An environment returned a number that is not finite."""
