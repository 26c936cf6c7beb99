"""Problems of a study that the user can mend."""


class AnnotationError(Exception):
    """One sentence: what, where, what to do."""
