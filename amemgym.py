"""The one name that an installation takes. It holds the project's folders, which are importable in the program's own processes.

In a checkout this is a file beside the folders. In a wheel it is the package around them, so that a project which has an
`assets` or a `prompts` of its own keeps that name.
"""

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (pathlib takes time before every command)


def main() -> None:
    """Run the command of the command line."""
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)
        # For the processes that the program starts, such as Dagster's.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (FOLDER, os.environ.get("PYTHONPATH"))))
    from pipelines.__main__ import amemgym  # the folder is on the path only now

    amemgym()
