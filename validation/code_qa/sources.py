"""Rules about the packages that questions are about."""

from collections.abc import Iterator

import dagster as dg

from assets.code_qa.packages.licenses import is_permissive
from assets.code_qa.packages.reading import read_package, text_digest
from assets.code_qa.records.sources import CodeSources
from assets.engine.benchmark import Benchmark
from assets.recipe.code_qa import PackageRecipe
from assets.records.base import duplicates
from validation.memory_items.benchmark import source_check
from validation.rules import Rule, expect


def packages_are_pinned(sources: CodeSources, recipe: PackageRecipe) -> Iterator[str]:
    """The recipe names the package in this version, and where it was resolved, with these files."""
    package = sources.package
    for pin in recipe.packages:
        if (pin.name, pin.version) == (package.name, package.version):
            # A pin has no content until the recipe is resolved.
            if pin.content and pin.content != package.content:
                yield f"the files of {package.name} are not those of the recipe"
            return
    yield f"the recipe does not pin {package.name} {package.version}"


def licenses_are_permissive(sources: CodeSources, _: PackageRecipe) -> Iterator[str]:
    package = sources.package
    yield from expect(is_permissive(package.license), f"{package.name} is under {package.license}")


def files_are_whole(sources: CodeSources, _: PackageRecipe) -> Iterator[str]:
    for path in duplicates([file.path for file in sources.files]):
        yield f"{path} is there twice"
    for file in sources.files:
        if text_digest(file.text) != file.content:
            yield f"{file.path} does not have its digest"


def symbols_stand_in_files(sources: CodeSources, _: PackageRecipe) -> Iterator[str]:
    texts: dict[str, list[str]] = {}
    for file in sources.files:
        texts[file.path] = list(map(str.strip, file.text.split("\n")))
    functions: set[str] = set()
    for symbol in sources.symbols:
        # Without spaces at the ends, because a method is indented in its file alone.
        lines = list(map(str.strip, symbol.source.split("\n")))
        first = symbol.line - 1
        if texts.get(symbol.path, [])[first : first + len(lines)] != lines:
            yield f"{symbol.symbol_id} does not stand in line {symbol.line} of {symbol.path}"
        if symbol.kind == "function":
            functions.add(symbol.symbol_id)
    for target in sources.targets:
        if target not in functions:
            yield f"{target} is called, and is no function of the symbols"


PACKAGES = "packages"  # the asset check of all these rules
RULES = (
    Rule("packages_are_pinned", "Every package is one that the recipe pins.", packages_are_pinned, check=PACKAGES),
    Rule(
        "licenses_are_permissive",
        "Every package has a license that allows its code to be passed on.",
        licenses_are_permissive,
        check=PACKAGES,
    ),
    Rule("files_are_whole", "Every file has its digest.", files_are_whole, check=PACKAGES),
    Rule("symbols_stand_in_files", "Every symbol stands in its file.", symbols_stand_in_files, check=PACKAGES),
)


def packages_check(benchmark: Benchmark) -> dg.AssetChecksDefinition:
    """Return the check that packages have the version, the license and the files that the recipe was resolved with."""
    return source_check(benchmark, noun="package", read=_read_packages)


def _read_packages(recipe: PackageRecipe) -> int:
    for spec in recipe.packages:
        read_package(spec)
    return len(recipe.packages)
