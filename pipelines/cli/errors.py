"""Errors whose messages are for the user."""


class Problem(Exception):
    """One sentence: what, where, what to do."""


def user_errors() -> tuple[type[Exception], ...]:
    """The errors that end a command with their message alone."""
    # Imported only when a command failed, because the modules take time that `amemgym --help` does not have.
    from assets.llm.ports import EndpointError
    from pipelines.resources.storage.errors import StoreError

    return Problem, EndpointError, StoreError
