"""Threads share one heap: what one has freed is another's to use, and memory does not grow with the threads that read."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
import pipelines

meeting = threading.Barrier(4)

def allocate():
    meeting.wait()
    kept = [bytes(1000) for _ in range(100)]
    meeting.wait()

threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
c = ctypes.CDLL(None)
c.malloc_info(0, ctypes.c_void_p.in_dll(c, "stdout"))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other systems have other heaps")
def test_threads_that_allocate_at_once_share_one_heap() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.count("<heap nr=") == 1
