"""The command line. From before the first import, Ctrl-C and SIGTERM end it with one sentence and no traceback."""

import os
import signal
import sys
from types import FrameType

from assets.stop_signals import INTERRUPTED, STOP_SIGNALS

STOPPED = "amemgym: stopped; everything finished so far is kept, run the same command to go on."
WHOLE = 1000  # characters of a summary in the command list; more than any has, so that click never cuts one
UNREAD = 141  # exit status if the reader of the output is gone, as after `| head`; shells use it for SIGPIPE


def stop_at_once(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    """End the process at once. For the times before a command has begun and after it has ended."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"\n{STOPPED}\n".encode())
    os._exit(INTERRUPTED)


def open_standard_streams() -> None:
    """Open /dev/null for each standard stream that is closed, as under some supervisors; else a file would take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the system gives the least number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def leave_at_once_when_stopped() -> None:
    """Make stop signals end the process at once. An ignored signal stays ignored, as in a shell's background job."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, stop_at_once)


def raise_when_stopped() -> None:
    """Make stop signals raise KeyboardInterrupt, so that the running command can finish its work."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is stop_at_once:
            signal.signal(number, signal.default_int_handler)


def flush_output(status: int) -> int:
    """Flush the output, and return the status, or UNREAD if the reader of the output is gone."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # Without this, Python would flush again at exit and print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return status
