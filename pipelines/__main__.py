"""The entry point of `amemgym`, which is also `python -m pipelines`."""

import gc

from pipelines.cli import leave_at_once_when_stopped


def amemgym() -> None:
    """Run the command of the command line."""
    leave_at_once_when_stopped()
    # Libraries make millions of objects that stay. Looking through them as often as Python does takes a tenth of a demo.
    gc.set_threshold(50_000, 20, 100)
    from pipelines.cli.main import main  # late: importing takes long enough to be interrupted

    main()


if __name__ == "__main__":
    amemgym()
