"""The page of one annotator: everything in it, nothing asked of the network but of the server it came from, if any."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipelines.evaluation.report.page import embedded
from pipelines.experiments.annotation.records import AnswerSheet, Study
from pipelines.experiments.annotation.study import dealt
from pipelines.experiments.annotation.units import guide

FILES = Path(__file__).parent / "page_files"
SCRIPTS = ("keep", "show")


def annotation_page(study: Study, sheet: AnswerSheet) -> str:
    """A file that works from a server and from a disk alike. It holds no key, no label, no source, and no answer."""
    title = str(guide(study.kind)["title"])
    data = {
        "title": title,
        "task": str(guide(study.kind)["task"]),
        "annotator": sheet.annotator,
        "study_digest": sheet.study_digest,
        "sheet": sheet.model_dump(mode="json", exclude={"answers"}),
        "tasks": [task.model_dump(mode="json") for task in dealt(study, sheet)],
    }
    style, script = _files()
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            data=embedded(data),
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _files() -> tuple[str, str]:
    scripts = [(FILES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return (FILES / "page.css").read_text(encoding="utf-8"), "\n".join(scripts)


@cache
def _templates() -> Environment:
    # JSON, style and script are escaped or ours; the title is escaped by the template.
    return Environment(loader=FileSystemLoader(FILES), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
