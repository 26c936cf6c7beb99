"""The entry point of `amemgym`, which is also `python -m pipelines`."""

from pipelines.cli import leave_at_once_when_stopped, open_standard_streams


def amemgym() -> None:
    """Run the command of the command line."""
    open_standard_streams()
    leave_at_once_when_stopped()
    from pipelines.cli.main import main  # late: importing takes long enough to be interrupted

    main()


if __name__ == "__main__":
    amemgym()
