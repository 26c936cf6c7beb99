"""The signals that stop a process. Imports nothing heavy, because the command line reads it before anything else."""

import signal

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what `kill` and supervisors send
INTERRUPTED = 130  # the exit status of a process that one of them ended
