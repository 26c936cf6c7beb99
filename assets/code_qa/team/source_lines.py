"""What a note quotes of a function: its signature, docstring, and lines that decide something."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from assets.code_qa.packages.symbols import Function, function_in
from assets.code_qa.records.sources import CodeFile, CodeSources, CodeSymbol
from prompts.fence import neutralize_brackets

MOST_LETTERS = 80  # of a line that is quoted
NO_DOC = "nothing at all"


class SourceWords(NamedTuple):
    """Words of a function. `lines` are quoted with their places; there is at least one."""

    signature: str
    doc: str
    lines: tuple[str, ...]


def source_words(sources: CodeSources, symbol: CodeSymbol) -> SourceWords:
    """Return what may be quoted of a function of the sources."""
    file = next(candidate for candidate in sources.files if candidate.path == symbol.path)
    function = function_in(file, symbol.name)
    name = f"`{symbol.name}`"
    # Marks of code would read as code of the note.
    doc = (ast.get_docstring(function) or "").partition("\n")[0].replace("`", "'").strip().removesuffix(".")
    lines = tuple(_deciding_lines(function, file))
    return SourceWords(
        signature=f"`{symbol.signature}`" if _is_plain(symbol.signature) else name,
        doc=f'"{neutralize_brackets(doc)}"' if doc else NO_DOC,
        lines=lines or (f"{name} ({file.path}, line {function.lineno})",),
    )


def _deciding_lines(function: Function, file: CodeFile) -> Iterator[str]:
    """Yield lines of conditions and loops, whose outcome no line alone gives away, each with its place."""
    lines = file.text.split("\n")
    numbers: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.While | ast.For):
            numbers.add(node.lineno)
    for number in sorted(numbers):
        line = lines[number - 1].strip()
        if _is_plain(line) and len(line) <= MOST_LETTERS:
            yield f"`{line}` ({file.path}, line {number})"


def _is_plain(text: str) -> bool:
    return "`" not in text and "{" not in text and neutralize_brackets(text) == text
