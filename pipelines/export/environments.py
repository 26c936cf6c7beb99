"""A release as an environment to train or test agents in: a folder with the data and copies of the modules that it needs.

The environment plays the user: it says what was said or read, turn by turn, then asks or requests, and rewards what is right.
"""

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from assets.records.base import Record
from assets.reporting.plurals import counted
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.export.documents import Export, exported_view
from pipelines.export.folders import PAGE, write_files

FILES = Path(__file__).with_name("environment_files")
MODULES = "pipelines.export.environment_files"
# What a folder's environment plays: `episodes.py` of the folder names it.
PLAYED = "from .{module} import {episode} as Episode\nfrom .{module} import read_episodes as read_episodes\n"
OWN_IMPORT = re.compile(r"^from ((?:assets|pipelines)[.\w]+) import", re.MULTILINE)
PACKAGE = "amemgym_memory"
VERSION = "0.1.0"
PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "amemgym-memory"
version = "{version}"
description = "{name}: tasks that need what was said or read many turns before"
requires-python = ">=3.11"
dependencies = ["verifiers>=0.4,<0.5", "pydantic>=2", "python-dateutil>=2.9"]

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
"*" = ["*.jsonl"]
"""
EPISODE = (
    "An episode is one question. The environment says what was said or read before it, a turn at a time, and then asks. "
    "The reply to that earns 1 where its one line `ANSWER: ...` is right, and 0 otherwise. {lost}"
)
ACTED_EPISODE = (
    "An episode is one request. The environment says the sessions before it, a turn at a time, then the request with the "
    "company's rules and tools. From then on each reply is one action as JSON, met with what came of it, until the agent "
    "finishes. The end earns 1 where the company's rows and what the customer was told are right, and 0 otherwise. {lost}"
)
VERIFIERS_PAGE = """\
# {name} for verifiers

{episode}

    pip install .
    vf-eval amemgym-memory -m MODEL -r 1 --select.limit 2 --no-push

Tried with verifiers 0.4.0. Digest of the data set: `{digest}`.
"""


def write_verifiers(tasks: BenchmarkTasks, folder: Path) -> list[str]:
    """Write a package with a taskset and its environment for verifiers, and say where it is."""
    export = exported_view(tasks)
    files = _data(export)
    files[f"{PACKAGE}/__init__.py"] = (FILES / "verifiers_environment.py").read_bytes()
    files["pyproject.toml"] = PROJECT.format(name=tasks.info.name, version=VERSION, package=PACKAGE).encode()
    episode = (ACTED_EPISODE if export.dialogues else EPISODE).format(lost=export.lost)
    files[PAGE] = VERIFIERS_PAGE.format(name=tasks.info.name, episode=episode, digest=tasks.info.digest).encode()
    write_files(folder, files)
    episodes = counted(len(export.questions or export.dialogues), "episode")
    return [f"{episodes} of {tasks.info.name} in {folder}; {PAGE} says how to run them.", export.lost]


def _data(export: Export) -> dict[str, bytes]:
    """Return the data, and the modules that read it and grade."""
    files = {f"{PACKAGE}/documents.jsonl": _lines(export.documents)}
    if export.dialogues:
        files[f"{PACKAGE}/dialogues.jsonl"] = _lines(export.dialogues)
        module, episode = "acted_episodes", "ActedEpisode"
    else:
        files[f"{PACKAGE}/questions.jsonl"] = _lines(export.questions)
        module, episode = "question_episodes", "QuestionEpisode"
    files[f"{PACKAGE}/episodes.py"] = PLAYED.format(module=module, episode=episode).encode()
    for name, source in copied_modules(f"{MODULES}.{module}").items():
        files[f"{PACKAGE}/{name.rpartition('.')[2]}.py"] = source.encode()
    return files


def copied_modules(first: str) -> dict[str, str]:
    """Return the source of this module and of all of ours that it needs, by name; they import each other from one folder."""
    sources: dict[str, str] = {}
    waiting = [first]
    while waiting:
        module = waiting.pop()
        spec = find_spec(module)
        if module in sources or spec is None or spec.origin is None:
            continue
        source = Path(spec.origin).read_text(encoding="utf-8")
        waiting += OWN_IMPORT.findall(source)
        sources[module] = OWN_IMPORT.sub(lambda found: f"from .{found[1].rpartition('.')[2]} import", source)
    return sources


def _lines(rows: Iterable[Record]) -> bytes:
    return "".join(f"{row.model_dump_json()}\n" for row in rows).encode()
