"""What can be wrong with a release."""


class ReleaseError(ValueError):
    """A release that cannot be written or found as asked; the message is one sentence that says what to do."""
