"""The entry point of `amemgym`, which is also `python -m pipelines`."""

import atexit
import os

from pipelines.cli import flush_output, leave_at_once_when_stopped, open_standard_streams


def amemgym() -> None:
    """Run the command of the command line."""
    open_standard_streams()
    leave_at_once_when_stopped()
    status = 1  # of an error that ends the process

    def leave() -> None:
        os._exit(flush_output(status))

    # Registered first, it is called last. Python would then take down every module, which takes up to two seconds.
    atexit.register(leave)
    from pipelines.cli.main import main  # late: importing takes long enough to be interrupted

    status = main()


if __name__ == "__main__":
    amemgym()
