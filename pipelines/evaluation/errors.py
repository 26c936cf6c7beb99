"""Problems of an evaluation that the user can mend."""


class EvaluationError(ValueError):
    """One sentence: what, where, what to do."""
