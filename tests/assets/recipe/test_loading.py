"""A recipe names what is wrong with it, splits its users without overlap, and is identified by what decides its rows."""

import math
import re
import subprocess
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.entry_points import points_of
from assets.recipe import loading
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.config_schema import recipe_fields
from assets.recipe.loading import build_recipe, expect_recipe, how_to_remake, load_recipe, variants
from assets.recipe.recipe import RecipeError, units
from assets.recipe.registry import RECIPE_TYPES
from tests.support.commands import clean_environment
from tests.support.small import small_recipe


def test_the_papers_variants_have_the_papers_numbers() -> None:
    assert variants()[0] == "demo"
    base, extra = (expect_recipe(load_recipe(name), AMemGymRecipe) for name in ("base-paper", "extra-paper"))
    numbers = [(r.num_periods, r.num_states_per_question, 2 * r.num_rounds_update) for r in (base, extra)]
    assert numbers == [(10, 2, 4), (20, 3, 10)]
    assert (base.num_users, base.num_questions, base.start_date) == (20, 10, date(2020, 10, 1))


def test_an_unknown_variant_is_told_with_those_there_are() -> None:
    with pytest.raises(RecipeError, match=r"no recipe 'bas' .*there are base, "):
        load_recipe("bas")


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"num_user": 3}, r"there is no field 'num_user'\. Did you mean 'num_users'\?"),
        ({"gates.vote": 3}, r"there is no field 'gates\.vote'\. Did you mean 'votes'\?"),
        ({"models.writer.temprature": 0.1}, r"'models\.writer\.temprature'\. Did you mean 'temperature'\?"),
        ({"vote": 3}, r"there is no field 'vote'\. Did you mean 'gates\.votes'\?"),
        ({"qqq": 1}, r"there is no field 'qqq'\.$"),
        ({"num_users": 0}, r"num_users is 0, and has to be 1 or more\.$"),
        ({"num_users": "many"}, r"num_users is 'many', and has to be a whole number\.$"),
        ({"start_date": "soon"}, r"start_date is 'soon', and has to be a date such as 2020-10-01\.$"),
        ({"budget.max_cost_usd": -1}, r"budget\.max_cost_usd is -1, and has to be more than 0(\.0)?\.$"),
        ({"seed.x": 1}, r"'seed\.x' cannot be set: 'seed' is not a group of fields"),
        ({"language": "tlh"}, r"language is 'tlh', and has to be "),
        ({"gates.votes_needed": 4}, r"gates\.votes_needed is 4, but gates\.votes is only 2\."),
        ({"pool.strategy": "stratified"}, r"pool\.columns names the strata"),
        ({"pool.columns": ["sex"]}, r"pool\.columns names the strata"),
        ({"pool.strategy": "sql"}, r"pool\.query holds the SQL"),
        ({"pool.query": "SELECT uuid FROM pool"}, r"pool\.query holds the SQL"),
        ({"min_variants_per_question": 10}, r"min_variants_per_question is 10, .* only 9 variants"),
        ({"num_periods": 14}, r"num_periods 14 .* needs at least 28 changes, .* allow at most 24"),
        ({"balanced_options": 3}, r"balanced_options is 3, and has to be 4(\.0)? or more\.$"),
        ({"balanced_options": 6}, r"balanced_options is 6; with 2 states per question give 7 or more"),
        ({"balanced_options": 7.5, "num_choices_per_state": 2}, r"balanced_options needs 3 choices per state or more"),
        (
            {"balanced_options": 7, "num_states_per_question": 3},
            r"balanced_options is 7; with 3 states per question give 8 or more, or one of the values tells",
        ),
        (
            {"num_questions": 1, "num_periods": 1, "num_changes_per_period": 4},
            r"num_periods 1 .* needs at least 3 changes, .* allow at most 2",
        ),
    ],
)
def test_a_field_that_cannot_be_is_named(overrides: dict[str, object], told: str) -> None:
    seed = {"seed": 1} if "seed.x" in overrides else {}
    with pytest.raises(RecipeError, match=told):
        load_recipe("demo", {**seed, **overrides})


# A value of each kind that no field takes, as a recipe file holds it, and the whole of what is said of it.
WRONG = {
    "null": ("seed: null", "seed is null, and has to be a whole number."),
    "a text for a whole number": ("seed: many", "seed is 'many', and has to be a whole number."),
    "a part of a whole number": ("seed: 1.5", "seed is 1.5, and has to be a whole number."),
    "no end": ("budget: {max_cost_usd: .inf}", "budget.max_cost_usd is inf, and has to be a finite number."),
    "no whole number's end": ("seed: .inf", "seed is inf, and has to be a finite number."),
    "no number": ("golden_changes: .nan", "golden_changes is nan, and has to be 1 or less."),
    "a text for a number": ("golden_changes: half", "golden_changes is 'half', and has to be a number."),
    "a list for a number": ("golden_changes: [1]", "golden_changes is [1], and has to be a number."),
    "too little": ("seed: -1", "seed is -1, and has to be 0 or more."),
    "too little of a number": ("budget: {max_cost_usd: 0}", "budget.max_cost_usd is 0, and has to be more than 0."),
    "too much": ("num_periods: 300", "num_periods is 300, and has to be 200 or less."),
    "neither true nor false": ("audit: {enabled: maybe}", "audit.enabled is 'maybe', and has to be true or false."),
    "a list for true or false": ("audit: {enabled: []}", "audit.enabled is [], and has to be true or false."),
    "no date": ("start_date: soon", "start_date is 'soon', and has to be a date such as 2020-10-01."),
    "no day of any month": ('start_date: "2020-02-30"', "start_date is '2020-02-30', and has to be a date such as 2020-10-01."),
    "a time of a day": (
        "start_date: 2020-10-01 10:00:00",
        "start_date is 2020-10-01 10:00:00, and has to be a date such as 2020-10-01.",
    ),
    "a list for a date": ("start_date: []", "start_date is [], and has to be a date such as 2020-10-01."),
    "a number for a text": ("pool: {license: 4}", "pool.license is 4, and has to be a text; write it in quotes."),
    "null for a text": ("pool: {license: null}", "pool.license is null, and has to be a text."),
    "an empty text": ('models: {writer: {model: " "}}', "models.writer.model is ' ', and has to be a text that is not empty."),
    "a long text": (
        f"models: {{writer: {{model: {'x' * 201}}}}}",
        f"models.writer.model is '{'x' * 76}..., and has to be a text of 200 characters at most.",
    ),
    "a text for a list": ("exclude_ids: ada", "exclude_ids is 'ada', and has to be a list."),
    "a number in a list of texts": ("exclude_ids: [4]", "exclude_ids.0 is 4, and has to be a text; write it in quotes."),
    "a list for a group": ("gates: []", "gates is [], and has to be a group of fields."),
    "a text for a group of names": ("again: ada", "again is 'ada', and has to be a group of fields."),
    "a number for a name": ("again: {7: {events: 1}}", "a name in again is 7, and has to be a text; write it in quotes."),
    "a word of others": (
        "models: {judge: {transport: pigeon}}",
        "models.judge.transport is 'pigeon', and has to be 'live' or 'batch'.",
    ),
    "a number for a field": ("7: 8", "there is no field '7'."),
    "a number for a field of a group": ("gates: {7: 8}", "there is no field 'gates.7'."),
    "a benchmark that is none": ("benchmark: null", "there is no benchmark null; there are amemgym"),
}


@pytest.mark.parametrize(("content", "told"), WRONG.values(), ids=WRONG)
def test_a_value_of_a_wrong_kind_is_told_in_one_plain_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, told: str
) -> None:
    (tmp_path / "own.yaml").write_text(content)
    monkeypatch.setattr(loading, "RECIPES", tmp_path)
    with pytest.raises(RecipeError) as error:
        load_recipe("own")
    assert str(error.value).startswith(f"Recipe 'own': {told}")


ANYTHING: list[object] = [
    None,
    True,
    -1,
    1.5,
    10**30,
    math.inf,
    math.nan,
    "",
    "x",
    "x" * 300,
    date(1, 1, 1),
    datetime(2020, 1, 1, 3),
    b"x",
]
NESTED: list[object] = [[], [None], [[]], {}, {1: 2}, {"x": None}, {"all": {"x": 1}}, {"all": {"events": "x"}}]


def told_of(value: object, *, field: str, benchmark: str) -> str:
    """What is said of a recipe with this value; nothing where it is taken."""
    for name in reversed(field.split(".")):
        value = {name: value}
    try:
        build_recipe({"variant": "own", "benchmark": benchmark, **cast(dict[str, object], value)})
    except RecipeError as error:
        return str(error)
    return ""


# Of the installed ones: other tests' own are there when their modules were imported before this.
@pytest.mark.parametrize("name", sorted(point.name for point in points_of(RECIPE_TYPES.group)))
def test_no_field_is_told_in_the_words_of_the_library(name: str) -> None:
    fields = [one.path for one in recipe_fields(RECIPE_TYPES[name])]
    told = {told_of(value, field=field, benchmark=name) for field in fields for value in (*ANYTHING, *NESTED)}
    assert len(told) > len(fields)
    assert not [sentence for sentence in told if re.search("(?i)input|should have|required|unable to", sentence)]


def test_fields_of_documents_are_not_told_as_if_their_items_were_users() -> None:
    fields = recipe_fields(RECIPE_TYPES["session_questions"])
    told = [f"{field.meaning} {field.unit}".lower().replace("users or tasks", "") for field in fields]
    assert [words for words in told if "user" in words or "persona" in words] == []


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(RecipeError, match=r"Recipe 'mine': seed is -1, .*'num_user'"):
        build_recipe({"variant": "mine", "num_user": 1, "seed": -1})


def test_a_dotted_override_keeps_the_rest_of_its_group() -> None:
    recipe = load_recipe("base", {"models.writer.model": "tiny", "gates.votes": 3, "num_users": 5})
    spec = load_recipe("base").models.writer
    assert recipe.models.writer == spec.model_copy(update={"model": "tiny"})
    assert recipe.models.judge == load_recipe("base").models.judge
    assert (recipe.gates.votes, recipe.gates.max_refinements, recipe.num_items) == (3, 3, 5)


@given(
    num_users=st.integers(1, 60),
    num_reserve=st.integers(0, 20),
    users_per_shard=st.none() | st.integers(1, 70),
)
def test_work_units_share_out_all_users_once_and_their_reserves_do_not_overlap(**counts: Any) -> None:
    recipe = small_recipe(**counts)
    shares = units(recipe)
    assert [position for unit in shares for position in unit.items] == list(range(recipe.num_users))
    assert set(Counter(position for unit in shares for position in unit.positions).values()) == {1}
    reserve = [position for unit in shares for position in unit.reserve]
    assert len(reserve) >= recipe.num_reserve
    assert all(position >= recipe.num_users for position in reserve)
    assert len({unit.key for unit in shares}) == len(shares)


def test_an_unsharded_variant_is_one_unit_of_its_own_name() -> None:
    (unit,) = units(small_recipe(num_users=3, num_reserve=2))
    assert (unit.key, unit.variant, unit.positions) == ("small", "small", (0, 1, 2, 3, 4))


def test_shards_are_numbered() -> None:
    assert [unit.key for unit in units(small_recipe(num_users=3, users_per_shard=2))] == ["small-0000", "small-0001"]


def other(recipe: AMemGymRecipe, overrides: dict[str, Any]) -> AMemGymRecipe:
    fields = recipe.model_dump()
    for name, value in overrides.items():
        fields[name] = {**fields[name], **value} if isinstance(value, dict) else value
    return AMemGymRecipe.model_validate(fields)


WHICH_USERS = [
    {"num_users": 3},
    {"num_reserve": 3},
    {"users_per_shard": 1},
    {"exclude_ids": ("a",)},
    {"pool": {"content": "ab"}},
    {"variant": "tiny"},
]
WHAT_OF_THEM = [
    {"seed": 7},
    {"sample": 1},
    {"gates": {"max_reasks": 2}},
    {"models": {"judge": {"model": "other"}}},
    {"language": "zh"},
    {"num_questions": 2},
    {"start_date": date(2021, 1, 1)},
]


@pytest.mark.parametrize("change", [*WHICH_USERS, *WHAT_OF_THEM], ids=str)
def test_every_change_of_a_recipe_gives_it_another_fingerprint(change: dict[str, Any]) -> None:
    assert other(small_recipe(), change).fingerprint != small_recipe().fingerprint


def test_where_the_pool_lies_changes_no_fingerprint() -> None:
    moved = other(small_recipe(), {"pool": {"paths": ("/elsewhere/*.parquet",)}})
    assert (moved.fingerprint, moved.item_fingerprint) == (small_recipe().fingerprint, small_recipe().item_fingerprint)


@pytest.mark.parametrize("change", WHICH_USERS, ids=str)
def test_which_users_there_are_does_not_change_what_is_made_of_each(change: dict[str, Any]) -> None:
    assert other(small_recipe(), change).item_fingerprint == small_recipe().item_fingerprint


@pytest.mark.parametrize("change", WHAT_OF_THEM, ids=str)
def test_what_decides_a_users_records_changes_the_users_fingerprint(change: dict[str, Any]) -> None:
    assert other(small_recipe(), change).item_fingerprint != small_recipe().item_fingerprint


def test_creative_prompts_are_asked_at_the_creative_temperature() -> None:
    models = small_recipe().models
    assert (models.writer.temperature_for("creative"), models.writer.temperature_for("steady")) == (1.0, 0.2)
    assert models.for_role("judge").temperature_for("creative") == 0.0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"num_users: 3\nnum_users: 30\n", "the field 'num_users' is given twice"),
        (b"num_users: 1:30\n", "1:30 would be read as a number to the base of 60"),
        (b"num_users: 010\n", "010 would be read as a number to the base of 8"),
        (b"num_users: 100000000000000000000\n", "num_users is 100000000000000000000, and has to be [0-9]+ or less"),
        (b"seed: 100000000000000000000\n", "seed is 100000000000000000000, and has to be less than [0-9]+"),
        (b"num_users: true\n", "num_users is true, which is no number"),
        (b"gates:\n  votes: true\n", r"gates\.votes is true, which is no number"),
        (b"start_date: 2020-13-45\n", "start_date is '2020-13-45', and has to be a date such as 2020-10-01"),
        (b"language: \xff\n", "it is not UTF-8"),
        (b"x: &x [1]\ny: [" + b"*x, " * 200 + b"]\n", "more than 100 aliases"),
        (b"x: " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
    ],
    ids=["twice", "base 60", "base 8", "many", "seed", "true", "true in a group", "no date", "no UTF-8", "aliases", "deep"],
)
def test_a_file_that_says_something_else_than_it_seems_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, told: str
) -> None:
    (tmp_path / "own.yaml").write_bytes(content)
    monkeypatch.setattr(loading, "RECIPES", tmp_path)
    with pytest.raises(RecipeError, match=told):
        load_recipe("own")


@pytest.mark.parametrize("name", ["my variant", ".hidden", "größer", "v1..2", "v1.lock", "tables", "versions.json"])
def test_a_name_that_no_release_can_have_is_refused_when_the_recipe_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / f"{name}.yaml").write_text("num_users: 2\n")
    monkeypatch.setattr(loading, "RECIPES", tmp_path)
    with pytest.raises(RecipeError, match=f"{re.escape(repr(name))} cannot (name a folder|be published)"):
        load_recipe(name)


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        ("OWN", "Did you mean 'own'?"),
        ("recipes/own.yaml", "Did you mean 'own'?"),
        ("other", "The file other.yml is not read: rename it to other.yaml."),
        ("quite-another", "there are own."),
    ],
)
def test_a_name_that_is_nearly_right_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str, told: str) -> None:
    for name in ("own.yaml", "other.yml"):
        (tmp_path / name).write_text("num_users: 2\n")
    monkeypatch.setattr(loading, "RECIPES", tmp_path)
    with pytest.raises(RecipeError, match=f"{re.escape(told)}$"):
        load_recipe(variant)


def test_one_bad_file_leaves_the_other_variants_alone(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("num_users: [")
    (tmp_path / "good.yaml").write_text("num_users: 2\n")
    code = (
        "from assets.recipe.partitions import partitions_of\n"
        "print(*(list(partitions_of(name).units) for name in ('amemgym', 'other')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(AMEMGYM_RECIPES=str(tmp_path)), capture_output=True, text=True
    )
    assert found.stdout == "['good'] []\n", found.stderr
    assert found.stderr.count("Recipe bad.yaml cannot be read") == 1


@pytest.mark.parametrize("unit", ["demo", "demo-0003", "demo-12345"])
def test_a_terminal_makes_the_whole_variant_of_a_work_unit_again(unit: str) -> None:
    assert how_to_remake("answers", unit).endswith(f"'answers' of '{unit}' again, or in a terminal: amemgym generate demo")
