"""The report as one page: everything in it, nothing asked of the network, no text of a run taken for markup."""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.page_data import board_data, run_data, user_data
from pipelines.experiments.compare import Comparison

FILES = Path(__file__).parent / "page_files"
SCRIPTS = ("base", "charts", "board", "run", "browse", "start")
# What could end a script element, or a line of JavaScript.
ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def run_page(run: FinishedRun, dataset: Dataset) -> str:
    """One run with every dialogue, memory and answer. Each user's texts are a block, parsed when it is first looked at."""
    blocks = {f"user-{place}": user_data(run, episode) for place, episode in enumerate(dataset.episodes)}
    return page(f"{run.manifest.assistant.name} on {run.manifest.dataset}", {"data": run_data(run, dataset), **blocks})


def board_page(comparison: Comparison, *, pages: Mapping[str, str]) -> str:
    """Several runs side by side; `pages` are the addresses of their own pages, by run id."""
    data = board_data(comparison, pages=pages)
    return page(str(data["title"]), {"data": data})


def page(title: str, blocks: Mapping[str, object], *, scripts: tuple[str, ...] = SCRIPTS) -> str:
    """A page of these blocks of data, drawn by these scripts of `page_files`, the last of which starts."""
    style, script = _files(scripts)
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            blocks={name: embedded(content) for name, content in blocks.items()},
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )


def embedded(content: object) -> str:
    """JSON that can stand in a script element, whatever texts it holds."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPED)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _files(scripts: tuple[str, ...]) -> tuple[str, str]:
    texts = [(FILES / f"{name}.js").read_text(encoding="utf-8") for name in scripts]
    return (FILES / "page.css").read_text(encoding="utf-8"), "\n".join(texts)


@cache
def _templates() -> Environment:
    # JSON, style and script are escaped or ours; the title is escaped by the template.
    return Environment(loader=FileSystemLoader(FILES), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
