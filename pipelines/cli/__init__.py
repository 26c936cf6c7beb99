"""The command line. Ctrl-C and SIGTERM are one sentence, from before the first import on."""

import os
import signal
import sys
from types import FrameType

from assets.stop_signals import INTERRUPTED, STOP_SIGNALS

STOPPED = "amemgym: stopped; everything finished so far is kept, run the same command to go on."
WHOLE = 1000  # characters of a command's summary in a list, more than any has: click cuts them to one line
UNREAD = 141  # of one whose output nobody reads any more, as `head` leaves it; that of SIGPIPE in every shell


def stop_at_once(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    """End the process where there is nothing to finish: before a command has begun, and when it is over."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"\n{STOPPED}\n".encode())
    os._exit(INTERRUPTED)


def leave_at_once_when_stopped() -> None:
    """From here on a signal ends the process at once. One that is ignored stays so, as in the background of a shell."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, stop_at_once)


def raise_when_stopped() -> None:
    """From here on a signal is a KeyboardInterrupt: there is something to finish."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is stop_at_once:
            signal.signal(number, signal.default_int_handler)
