"""The command line. Ctrl-C is one sentence, from before the first import on."""

import os
import signal
import sys
from types import FrameType

STOPPED = "amemgym: stopped; everything finished so far is kept, run the same command to go on."
INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended
UNREAD = 141  # of one whose output nobody reads any more, as `head` leaves it; that of SIGPIPE in every shell


def stop_at_once(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    """End the process where there is nothing to finish: before a command has begun, and when it is over."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"\n{STOPPED}\n".encode())
    os._exit(INTERRUPTED)
