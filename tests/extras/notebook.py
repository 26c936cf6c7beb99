"""The guide's notebook, run by a real kernel. `python -m tests.extras.notebook`, in `.venv-extras`, renews what it shows."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.support.guide import ROOT, copy_of_the_repository, environment

NAME = Path("pipelines/guide/notebook.ipynb")
# A kernel of another Python says here which, and that is no change of the notebook.
LANGUAGE = {"name": "python"}


def read(path: Path) -> Any:
    notebook: Any = nbformat.read(path, as_version=4)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return notebook  # pyright: ignore[reportUnknownVariableType]


def executed(place: Path) -> Any:
    """The notebook, run from its first cell in a copy of the repository. Raises CellExecutionError."""
    copy = copy_of_the_repository(place)
    notebook, folder = read(copy / NAME), (copy / NAME).parent
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, record_timing=False, timeout=600, coalesce_streams=True, resources=resources)
    client.execute(env=environment(copy, home=copy / "data"))
    notebook.metadata.language_info = LANGUAGE
    return notebook  # pyright: ignore[reportUnknownVariableType]


def printed(notebook: Any) -> Iterator[str]:
    """What each cell printed or showed, as text; of a picture, that it is one. Warnings are of the machine that gives them."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                continue
            data = output.get("data", {})
            yield "a picture" if "image/png" in data else output.get("text") or data["text/plain"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        nbformat.write(executed(Path(scratch) / "copy"), ROOT / NAME)  # pyright: ignore[reportUnknownMemberType]
    sys.stdout.write(f"Renewed {NAME}.\n")
