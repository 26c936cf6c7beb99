"""A process that writes to a store of kept work, to be raced and killed."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WRITER = """
import asyncio, sys
from pathlib import Path
from pipelines.resources.cache.reply_cache import SqlRecordCache

async def one(work, name, number):
    await work.put(f"{name}-{number}", name.encode() * 500)
    await work.put(f"shared-{number}", name.encode())
    print(f"{name}-{number}", flush=True)

async def main(path, name, count):
    work = SqlRecordCache(Path(path))
    print("ready", flush=True)
    sys.stdin.readline()
    for start in range(0, count, 20):
        await asyncio.gather(*(one(work, name, number) for number in range(start, min(start + 20, count))))
    work.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def writer(path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def release(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def told(process: "subprocess.Popen[str]", lines: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(lines)]
