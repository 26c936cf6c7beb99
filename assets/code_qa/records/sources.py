"""Packages that questions are about: which ones a recipe pins, and their files and symbols as they were read."""

from typing import Literal

from pydantic import Field

from assets.memory_items.tasks import TaskRecord
from assets.recipe.document_tasks import Operation
from assets.records.base import Name, Record, Text
from assets.records.paths import PythonPath

SymbolKind = Literal["function", "class", "constant"]
Origin = Literal["installed", "path"]


class CodePackage(Record):
    """A package as it was read; `content` is sha256 over the paths and texts of its files, in order of their paths."""

    name: Name = Field(description="the distribution's name")
    version: Name = Field(description="its version")
    license: Text = Field(description="its license, as an SPDX expression")
    origin: Origin = Field(description="installed, or from a path of the recipe")
    content: Name = Field(description="digest of its files")


class CodeFile(Record):
    """One Python file of a package. Paths are relative to the folder from which the package is imported."""

    path: PythonPath = Field(description="its path, such as packaging/version.py")
    module: Name = Field(description="the name by which it is imported")
    text: str = Field(description="its text, with line feeds alone")
    content: Name = Field(description="sha256 of its text")


class CodeSymbol(Record):
    """A function, class or constant at the top level of a module."""

    symbol_id: Name = Field(description="module and name, as in packaging.version.parse")
    kind: SymbolKind = Field(description="function, class or constant")
    path: PythonPath = Field(description="the file in which it is defined")
    line: int = Field(description="its first line, from 1, decorators included")
    signature: Text = Field(description="its first line of code without a body, such as def parse(version: str) -> Version")
    source: Text = Field(description="its lines; of a long one the first ones")

    @property
    def module(self) -> str:
        return self.symbol_id.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.symbol_id.rpartition(".")[2]


class CallExample(Record):
    """A call with literals that the package shows: in a docstring, in its docs or tests, or in its own code."""

    symbol_id: Name = Field(description="the function that is called")
    arguments: tuple[Text, ...] = Field(description="literals, in order; keywords as name=literal")


class CodeSources(TaskRecord):
    """The package that a question is about. `targets` are ids of the functions of which behaviours are looked for.

    `files` are those that calling the targets takes: their modules, and all of the package that these import.
    """

    package: CodePackage = Field(description="the package, pinned")
    files: tuple[CodeFile, ...] = Field(description="the files that calling the targets takes, in order of paths")
    symbols: tuple[CodeSymbol, ...] = Field(description="public symbols of the package's modules, in order of their ids")
    targets: tuple[Name, ...] = Field(description="ids of functions that are called")
    examples: tuple[CallExample, ...] = Field(
        default=(), description="calls that the package shows of functions of these modules"
    )
    operation: Operation = Field(default="follow", description="what is asked of the facts")
    rival_first: bool = Field(default=False, description="whether what does not count comes first where notes disagree")

    def symbol(self, symbol_id: str) -> CodeSymbol:
        """The symbol of this id. Raises LookupError."""
        for symbol in self.symbols:
            if symbol.symbol_id == symbol_id:
                return symbol
        raise LookupError(f"the symbol {symbol_id}")
