"""The vocabulary of a package's code, by text and by syntax tree: no invented name may be in it."""

import ast
from functools import lru_cache
from typing import NamedTuple

from assets.code_qa.packages.imports import parse_file
from assets.code_qa.packages.reading import read_package
from assets.code_qa.records.sources import CodeSources
from assets.recipe.code_qa import PackageSpec
from assets.text.words import words_of


class CodeVocabulary(NamedTuple):
    """Folded words of all source text; constants of the syntax tree as text; identifiers, each also without underscores."""

    words: frozenset[str]
    constants: frozenset[str]
    names: frozenset[str]

    def has(self, text: str) -> bool:
        """Return True where the code holds a name, a number or a word, in any of the three ways."""
        words = words_of(text)
        return text in self.constants or text in self.names or (len(words) == 1 and words[0] in self.words)


def code_vocabulary(sources: CodeSources, packages: tuple[PackageSpec, ...]) -> CodeVocabulary:
    """Return the vocabulary of the whole package that a question is about; `packages` are those of the recipe.

    Raises LookupError where the recipe has no such package, and RecipeError where its files are others than the record's.
    """
    for spec in packages:
        if spec.name == sources.package.name:
            return _vocabulary(spec.model_copy(update={"content": sources.package.content}).model_dump_json())
    raise LookupError(f"the package {sources.package.name}")


@lru_cache(maxsize=32)
def _vocabulary(spec_json: str) -> CodeVocabulary:
    words: set[str] = set()
    constants: set[str] = set()
    names: set[str] = set()
    for file in read_package(PackageSpec.model_validate_json(spec_json)).files:
        words.update(words_of(file.text))
        for node in ast.walk(parse_file(file.text)):
            match node:
                case ast.Constant(value=value):
                    constants.update((str(value), repr(value)))
                case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    names.add(name)
                case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.alias(name=name):
                    names.add(name)
                case _:
                    pass
    joined = {name.replace("_", "") for name in names}
    return CodeVocabulary(frozenset(words), frozenset(constants), frozenset(names | joined))
