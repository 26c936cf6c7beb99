"""The entries of benchmarks: all that they name is there, and nothing of it is imported before it is used."""

import subprocess
import sys
from dataclasses import fields
from pkgutil import resolve_name

import pytest

from assets.recipe.registry import RECIPE_TYPES
from pipelines.benchmarks import BENCHMARKS, benchmark_of_asset
from pipelines.embedded.app import writers_of

TEXTS = ("asks", "files", "prefix", "shared_prompts")
NAMED = [field.name for field in fields(BENCHMARKS["amemgym"]) if field.name not in TEXTS]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_everything_that_an_entry_names_is_there(name: str) -> None:
    entry = BENCHMARKS[name]
    for field in NAMED:
        place = getattr(entry, field)
        assert not place or resolve_name(place) is not None
    assert (entry.benchmark.name, entry.benchmark.prefix) == (name, entry.prefix)
    for asset in (*entry.benchmark.stage_names, f"{entry.prefix}recipe"):
        assert benchmark_of_asset(asset) is entry.benchmark
    assert entry.benchmark is entry.validation.benchmark is entry.release.benchmark
    assert RECIPE_TYPES[name] is entry.benchmark.recipe
    assert entry.record is entry.benchmark.final.record


@pytest.mark.parametrize("name", [name for name, entry in BENCHMARKS.items() if entry.writers])
def test_the_embedded_model_finds_each_writer_by_its_prompt(name: str) -> None:
    for prompt, write in resolve_name(BENCHMARKS[name].writers).items():
        assert write in writers_of(prompt)


def test_listing_benchmarks_and_reading_a_recipe_imports_no_stage() -> None:
    program = (
        "import sys; from pipelines.benchmarks import BENCHMARKS; from assets.recipe.loading import load_recipe, variants;"
        "list(BENCHMARKS.values()); list(map(load_recipe, variants()));"
        "print([name for name in sys.modules if name.endswith('.pipeline') or name == 'dagster'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_whoever_asks_for_one_memory_or_prompt_loads_no_other() -> None:
    program = (
        "import sys;"
        "from pipelines.embedded.app import writers_of; from pipelines.memories.kinds import embeds;"
        "from pipelines.memories.registry import find_memory;"
        "embeds(find_memory('bm25').kind); writers_of('memories/update_notes');"
        "others = ('built_in.mem0', 'built_in.nemori', 'memories.services', 'embedded.deep_research', 'embedded.code_qa');"
        "print([name for name in sys.modules if name.endswith(others)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
