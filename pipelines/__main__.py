"""The entry point of `amemgym`, which is also `python -m pipelines`."""

import signal

from pipelines.cli import stop_at_once


def amemgym() -> None:
    """Run the command of the command line."""
    # Not where it is ignored, as by a shell for what runs in the background.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop_at_once)
    from pipelines.cli.main import main  # late: importing takes long enough to be interrupted

    main()


if __name__ == "__main__":
    amemgym()
