"""The error of an evaluation that its user can mend."""


class EvaluationError(ValueError):
    """An evaluation cannot go on. The message is one sentence: what is wrong, where, and what to do."""
