"""How a command's process ends: with all that was left to be done at the end, and without taking itself apart.

Python takes down every imported module object by object, for a second and a half after a run, and nobody gains by it.
"""

import atexit
import os
import sys


class Ending:
    """Ends the process with `status`, once whatever a command left to be done at its end is done; None: Python's own end.

    Build it before anything else of the program runs: what is registered first comes last.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        atexit.register(self._leave)

    def _leave(self) -> None:
        if self.status is None:
            return
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(self.status)
