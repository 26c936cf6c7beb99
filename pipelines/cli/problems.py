"""Problems that the user can mend."""


class Problem(Exception):
    """One sentence: what, where, what to do."""
