"""Reference pages as Markdown, read off what they describe: commands, recipe fields, assets, records."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from typer.main import get_command

from assets.engine.benchmark import Benchmark
from assets.recipe.config_schema import recipe_fields
from assets.recipe.registry import RECIPE_TYPES
from assets.records.base import Record
from dataset_card.card.fields import field_rows
from pipelines.benchmarks import BENCHMARKS
from pipelines.cli.main import app, load_command, panels

Cells = Sequence[str]
MARKUP = re.compile(r"[\\`*_|<>\[\]]")
JSON = (
    "Commands that print a table have `--json`: one JSON document on standard output, and nothing else there. "
    "Notices, progress and errors are on standard error, and the exit status is the same. "
    "Each option names the keys of the document, or of each row of a list. A key keeps its name and meaning; new ones may come."
)


def commands_page() -> str:
    """Return every command with its arguments and options, in the order of the help."""
    # Commands of typer, whose annotations are only partly known to type checkers.
    group: Any = get_command(app)
    context = group.make_context("amemgym", ["--help"], resilient_parsing=True)
    lines = ["# Commands", "", "`amemgym COMMAND --help` prints the same text.", "", JSON, ""]
    for panel, names in panels().items():
        lines += [f"## {panel}", ""]
        for name in names:
            lines += _command(load_command(name), name, context=context)
    return "\n".join(lines)


def _command(command: Any, name: str, *, context: Any) -> Iterator[str]:
    inner = command.context_class(command, info_name=name, parent=context)
    yield from (f"### amemgym {name}", "", _help(command), "")
    subcommands = getattr(command, "commands", {})
    if not subcommands:
        yield from _usage(command, inner)
        yield from _parameters(command, inner)
    for below, subcommand in subcommands.items():
        deeper = subcommand.context_class(subcommand, info_name=below, parent=inner)
        yield from _usage(subcommand, deeper)
        yield from (_help(subcommand), "")
        yield from _parameters(subcommand, deeper)


def _help(command: Any) -> str:
    return " ".join((command.help or "").split())


def _usage(command: Any, context: Any) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{context.command_path} {usage}".strip(), "```", "")


def _parameters(command: Any, context: Any) -> Iterator[str]:
    rows: list[Cells] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        # Hidden parameters have no record.
        if record and not record[0].startswith("--help"):
            rows.append((_code(record[0]), _plain(record[1])))
    if rows:
        yield from table(("argument or option", "meaning"), rows)


def recipe_page() -> str:
    """Return every field that a recipe may set, by benchmark."""
    lines = ["# Recipe fields", "", "What a recipe file, `--set` and the launchpad of the asset `recipe` may say.", ""]
    for benchmark, kind in RECIPE_TYPES.items():
        rows: list[Cells] = []
        for field in recipe_fields(kind):
            rows.append(
                (_code(field.path), _plain(field.meaning), field.kind, field.unit, _plain(field.range), _plain(field.default))
            )
        lines += [f"## {benchmark}", "", *table(("field", "meaning", "kind", "unit", "range", "default"), rows)]
    return "\n".join(lines)


def assets_page() -> str:
    """Return the stages of every benchmark with what they need, make and ask, and the tables of its releases."""
    lines = ["# Assets and tables", ""]
    for entry in BENCHMARKS.values():
        rows: list[Cells] = []
        for stage in entry.benchmark.stages:
            needs = ", ".join(_code(need.name) for need in stage.direct_needs)
            prompts = ", ".join(map(_code, stage.prompts))
            rows.append((_code(stage.name), _plain(stage.description.description), needs, prompts))
        lines += [f"## {entry.benchmark.name}", "", *table(("asset", "makes", "from", "prompts"), rows)]
        lines += _tables(entry.benchmark)
    return "\n".join(lines)


def _tables(benchmark: Benchmark) -> Iterator[str]:
    for name, flat in benchmark.tables.items():
        meaning = (flat.row.__doc__ or "").partition("\n")[0]
        yield from (f"### Table `{name}` of {benchmark.name}", "")
        yield from (f"{meaning} Key: {', '.join(map(_code, flat.key))}.", "")
        yield from _fields("column", flat.row)


def _fields(head: str, record: type[Record]) -> list[str]:
    rows = [(_code(row.name), row.kind, _plain(row.meaning)) for row in field_rows(record)]
    return table((head, "type", "meaning"), rows)


def records_page() -> str:
    """Return the fields of a finished item of every benchmark: a row of the nested Parquet."""
    lines = ["# Records", "", "One row of a release's nested Parquet is everything about one item.", ""]
    for entry in BENCHMARKS.values():
        benchmark = entry.benchmark
        lines += [f"## {benchmark.name}: one {benchmark.noun}", "", *_fields("field", benchmark.final.record)]
    return "\n".join(lines)


def table(head: Cells, rows: Sequence[Cells]) -> list[str]:
    """Return the lines of a table of Markdown, and an empty one; cells hold Markdown."""
    lines: list[str] = []
    for cells in (head, ["---"] * len(head), *rows):
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _code(words: str) -> str:
    return f"`{words}`"


def _plain(words: str) -> str:
    """Return words that stay words in a cell."""
    return " ".join(MARKUP.sub(r"\\\g<0>", words).split())


# By title: where a page lies in the site, and what writes it.
PAGES = {
    "Commands": ("reference/commands.md", commands_page),
    "Recipe fields": ("reference/recipe.md", recipe_page),
    "Assets and tables": ("reference/assets.md", assets_page),
    "Records": ("reference/records.md", records_page),
}
