"""Errors whose messages are for the user, and reports of those that nobody foresaw."""

import os
import tempfile
import time
import traceback
from pathlib import Path

SECRET_WORDS, SECRET_LENGTH = ("KEY", "TOKEN", "SECRET", "PASSWORD", "DATABASE", "STORE"), 6


class Problem(Exception):
    """One sentence: what, where, what to do."""


class Stopped(Problem):
    """The sentence of a run that a signal ended."""


def user_errors() -> tuple[type[Exception], ...]:
    """The errors that end a command with one sentence."""
    # Imported only when a command failed, because the modules take time that `amemgym --help` does not have.
    from assets.llm.ports import EndpointError
    from assets.recipe.loading import RecipeError

    # Among the errors of the system are those of our stores.
    return Problem, EndpointError, RecipeError, OSError


def sentence_of(error: Exception) -> str:
    """What the user reads of one of these errors. Our own are sentences; those of the system name a file."""
    if isinstance(error, OSError) and error.strerror:
        place = error.filename or "A file or an address"
        return f"{place} cannot be used ({error.strerror}); mend that and run the command again, what is finished is kept."
    return str(error)


def report_crash(error: BaseException) -> str:
    """Write a report of an error that nobody foresaw; the sentence that says where it lies and what is safe."""
    report = "".join(traceback.format_exception(error))
    for name, value in os.environ.items():
        if len(value) >= SECRET_LENGTH and any(word in name for word in SECRET_WORDS):
            report = report.replace(value, "[hidden]")
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    return (
        f"a defect of this program ended the command ({type(error).__name__}). The report is in {_written(report, name=name)}; "
        "everything finished so far is kept, and the same command goes on from there."
    )


def _written(report: str, *, name: str) -> Path:
    """Where the report was written: in the data folder, or, where that cannot be, among temporary files."""
    from pipelines.home import home

    for folder in (home().root / "crashes", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(report, encoding="utf-8", errors="replace")
        except OSError:
            continue
        return folder / name
    return Path(os.devnull)
