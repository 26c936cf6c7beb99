"""A release as an environment to train or test agents in: a folder with the data and copies of the modules that it needs.

The environment plays the user: it says what was said or read, turn by turn, then asks or requests, and rewards what is right.
"""

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from assets.records.base import Record
from assets.reporting.plurals import counted
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.export.documents import Export, exported_view
from pipelines.export.folders import PAGE, write_files

FILES = Path(__file__).with_name("environment_files")
MODULES = "pipelines.export.environment_files"
# What a folder's server or environment plays: `episodes.py` of the folder names it.
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
dependencies = [{needs}, "pydantic>=2", "python-dateutil>=2.9"]
{scripts}
[tool.setuptools]
packages = [{packages}]
package-dir = {{ {folders} }}

[tool.setuptools.package-data]
"*" = ["*.jsonl"]
"""
MANIFEST = """\
spec_version: 1
name: amemgym_memory
version: {version}
type: space
runtime: fastapi
app: server.app:app
port: 8000
validation:
  reward: {{range: [0.0, 1.0], oracle_tolerance: 0.0, floor_margin: 0.1}}
  resources: {{cpu: 1.0, memory_mb: 1024, disk_mb: 512, episode_timeout_s: 600.0}}
  capabilities:
    verifier: {{kind: reward_channel}}
  types: {{tags: [memory, dialogue]}}
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
OPENENV_PAGE = """\
# {name} for OpenEnv

{episode}

    pip install .
    server --port 8000

`reset(index=N)` begins episode N, `reset(seed=S)` one by chance.

Tried with openenv 0.10.0. Digest of the data set: `{digest}`.
"""


def write_verifiers(tasks: BenchmarkTasks, folder: Path) -> list[str]:
    """Write a package with a taskset and its environment for verifiers, and say where it is."""
    export = exported_view(tasks)
    files = _data(export, PACKAGE)
    files[f"{PACKAGE}/__init__.py"] = (FILES / "verifiers_environment.py").read_bytes()
    files["pyproject.toml"] = _project(tasks, needs="verifiers>=0.4,<0.5", packages={PACKAGE: PACKAGE})
    files[PAGE] = _page(VERIFIERS_PAGE, tasks, export)
    return _write_tasks(tasks, export, folder, files)


def write_openenv(tasks: BenchmarkTasks, folder: Path) -> list[str]:
    """Write a server of OpenEnv, and say where it is."""
    export = exported_view(tasks)
    server = f"{PACKAGE}.server"
    files = _data(export, "server")
    files["server/app.py"] = (FILES / "openenv_server.py").read_bytes()
    files["server/__init__.py"] = b""
    files["__init__.py"] = b""
    files["openenv.yaml"] = MANIFEST.format(version=VERSION).encode()
    files["pyproject.toml"] = _project(
        tasks,
        needs="openenv>=0.10,<0.11",
        packages={PACKAGE: ".", server: "server"},
        scripts=f'\n[project.scripts]\nserver = "{server}.app:main"\n',
    )
    files[PAGE] = _page(OPENENV_PAGE, tasks, export)
    return _write_tasks(tasks, export, folder, files)


def _project(tasks: BenchmarkTasks, *, needs: str, packages: Mapping[str, str], scripts: str = "") -> bytes:
    """Return the project's file. `packages`: by name, the folder of each."""
    names = ", ".join(f'"{name}"' for name in packages)
    folders = ", ".join(f'"{name}" = "{folder}"' for name, folder in packages.items())
    project = PROJECT.format(
        name=tasks.info.name, version=VERSION, needs=f'"{needs}"', scripts=scripts, packages=names, folders=folders
    )
    return project.encode()


def _write_tasks(tasks: BenchmarkTasks, export: Export, folder: Path, files: Mapping[str, bytes]) -> list[str]:
    write_files(folder, files)
    episodes = counted(len(export.questions or export.dialogues), "episode")
    return [f"{episodes} of {tasks.info.name} in {folder}; {PAGE} says how to run them.", export.lost]


def _data(export: Export, place: str) -> dict[str, bytes]:
    """Return the data, and the modules that read it and grade."""
    files = {f"{place}/documents.jsonl": _lines(export.documents)}
    if export.dialogues:
        files[f"{place}/dialogues.jsonl"] = _lines(export.dialogues)
        module, episode = "acted_episodes", "ActedEpisode"
    else:
        files[f"{place}/questions.jsonl"] = _lines(export.questions)
        module, episode = "question_episodes", "QuestionEpisode"
    files[f"{place}/episodes.py"] = PLAYED.format(module=module, episode=episode).encode()
    for name, source in copied_modules(f"{MODULES}.{module}").items():
        files[f"{place}/{name.rpartition('.')[2]}.py"] = source.encode()
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


def _page(template: str, tasks: BenchmarkTasks, export: Export) -> bytes:
    episode = (ACTED_EPISODE if export.dialogues else EPISODE).format(lost=export.lost)
    return template.format(name=tasks.info.name, episode=episode, digest=tasks.info.digest).encode()
