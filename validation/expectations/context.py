"""Contexts of Great Expectations, which this module imports: that takes two seconds and 140 MB, so others import it late.

The library would compile the templates of Data Docs anew for each kind of page of each report. Views share them here.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import great_expectations
import yaml
from great_expectations.data_context.data_context.context_factory import set_context
from great_expectations.render.view.view import DefaultJinjaIndexPageView, DefaultJinjaPageView

from validation.expectations.project import CONFIGURATION

# The library's annotations are only partly known to type checkers.
gx: Any = great_expectations
ENVIRONMENT: Any = DefaultJinjaPageView().env


class PageView(DefaultJinjaPageView):
    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.env = ENVIRONMENT


class IndexView(PageView, DefaultJinjaIndexPageView):
    """The same for the list of pages."""


@contextmanager
def open_project(project: Path) -> Generator[Any]:
    """Yield the context of a project. Its file does not name our views: others open it with the library alone."""
    configuration: dict[str, Any] = yaml.safe_load((project / CONFIGURATION).read_bytes())
    view = {"module_name": __name__, "class_name": "PageView"}
    site = configuration["data_docs_sites"]["local_site"]
    site["site_section_builders"] = {"expectations": {"view": view}, "validations": {"view": view}}
    site["site_index_builder"]["view"] = {**view, "class_name": "IndexView"}
    try:
        yield gx.get_context(mode="file", project_config=configuration, context_root_dir=str(project))
    finally:
        set_context(None)  # otherwise context and tables stay in memory until the next one comes
