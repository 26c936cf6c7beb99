"""Errors whose messages are for the user."""

from assets.records.readable import without_controls
from pipelines.redaction import without_logins


class Problem(Exception):
    """One sentence: what, where, what to do."""


class StoreError(OSError):
    """A database, folder or object store cannot be used; one sentence names it and says what to do."""


class EvaluationError(Problem, ValueError):
    """An evaluation cannot go on. The message is one sentence: what is wrong, where, and what to do."""


def user_errors() -> tuple[type[Exception], ...]:
    """The errors that end a command with one sentence."""
    # Imported only when a command failed, because the modules take time that `amemgym --help` does not have.
    from assets.entry_points import EntryPointError
    from assets.llm.ports import EndpointError
    from assets.recipe.recipe import RecipeError

    # Among the errors of the system are those of our stores.
    return Problem, EntryPointError, EndpointError, RecipeError, OSError


def sentence_of(error: Exception) -> str:
    """Return the sentence for the user about one of these errors. Our own are sentences; those of the system name a file."""
    if isinstance(error, OSError) and error.strerror:
        # Of a renaming it is the new name that the user knows.
        place = error.filename2 or error.filename or "A file or an address"
        sentence = f"{place} cannot be used ({error.strerror}); mend that and run the command again, what is finished is kept."
    else:
        sentence = without_controls(str(error))
    return without_logins(sentence)
