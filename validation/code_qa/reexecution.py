"""Calls made again from released files, by other code than the one that found their results."""

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(__file__).with_name("recalling.py")
SECONDS = 120  # for all calls of one package


class ToldCall(NamedTuple):
    """A call as it is written, whether it returns or raises, and the literal or the name of the exception."""

    call: str
    outcome: str
    result: str


def false_calls(calls: Sequence[ToldCall], texts: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each call that comes to something else than told; `texts` are a package's files by path."""
    reports = _made_again(calls, texts)
    for told, report in zip(calls, reports, strict=False):
        if report:
            yield f"{told.call} is told to come to {told.result}, and {report}"
    if len(reports) < len(calls):
        yield f"{calls[len(reports)].call} cannot be made again: it ended the process, or took longer than {SECONDS} seconds"


def _made_again(calls: Iterable[ToldCall], texts: Mapping[str, str]) -> list[str]:
    """What each call came to, where that is something else; fewer than calls where one of them ended the process."""
    lines = "\n".join(json.dumps(call._asdict()) for call in calls)
    with tempfile.TemporaryDirectory(prefix="calls-") as folder:
        archive = Path(folder) / "package.zip"
        with zipfile.ZipFile(archive, "w") as written:
            for path, text in sorted(texts.items()):
                written.writestr(path, text)
        try:
            made = subprocess.run(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(PROGRAM), str(archive)],
                input=lines.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"TZ": "UTC"},
                timeout=SECONDS,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired as late:
            made = late.stdout or b""
    return [str(json.loads(line)) for line in made.split(b"\n")[:-1]]


def digest_of(text: str) -> str:
    """sha256 of a file's text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
