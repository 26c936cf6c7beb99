"""Reports of errors that nobody foresaw, written where their user finds them and without secrets and folders."""

import os
import tempfile
import time
import traceback
from pathlib import Path


class StepFailed(Exception):
    """An error of a Dagster step that nobody foresaw, with Dagster's description. `kind`: the name of the error's class."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def report_crash(error: BaseException) -> str:
    """Write a report of an error that nobody foresaw, and return a sentence: where the report is, and that nothing is lost."""
    # Imported only when a command failed, because the modules take time that `amemgym --help` does not have.
    from pipelines.redaction import shareable

    kind = error.kind if isinstance(error, StepFailed) else type(error).__name__
    report = shareable("".join(traceback.format_exception(error)))
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    return (
        f"a defect of this program ended the command ({kind}). The report is in {_write_report(report, name=name)}; "
        "everything finished so far is kept, and the same command goes on from there."
    )


def _write_report(report: str, *, name: str) -> Path:
    """Write the report in the data folder, or, where that cannot be, among temporary files; return its path."""
    from pipelines.home import home  # late, as above

    for folder in (home().root / "crashes", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(report, encoding="utf-8", errors="replace")
        except OSError:
            continue
        return folder / name
    return Path(os.devnull)
