"""Stage `cr_sources`: the package that each repair is of, read as for code questions."""

from dataclasses import replace

from assets.code_qa.sources import CODE_SOURCES

CR_SOURCES = replace(CODE_SOURCES, name="cr_sources")
