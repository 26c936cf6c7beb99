"""The sample is a function of seed and pool content, and a pool that cannot give it is told in one sentence."""

import csv
import gzip
import json
import resource
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.amemgym.personas import pool_query
from assets.amemgym.personas.pool_files import OWN_POOL, pool_digest, pool_files
from assets.amemgym.personas.sampling import sample_personas
from assets.recipe.amemgym import PoolSpec
from assets.recipe.recipe import RecipeError
from tests.support.small import persona, persona_row, small_recipe

OWN_SQL = pytest.mark.slow  # it runs in a process
Rows = Sequence[dict[str, object]]
TWENTY = [persona_row(number, sex="Female" if number % 4 else "Male") for number in range(20)]


def jsonl(path: Path, rows: Rows = TWENTY) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def parquet(path: Path, rows: Rows = TWENTY) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)  # pyright: ignore[reportUnknownMemberType]
    return path


def drawn(*files: Path, count: int = 5, pool: dict[str, Any] | None = None, **changes: Any) -> list[str]:
    recipe = small_recipe(pool=PoolSpec.model_validate(pool or {}), **changes)
    return [one.user_id for one in sample_personas(recipe, files, count=count)]


def test_a_persona_comes_out_of_the_pool_as_it_went_in(tmp_path: Path) -> None:
    (one,) = sample_personas(small_recipe(), [jsonl(tmp_path / "p.jsonl", [persona_row(3)])], count=1)
    assert one == persona(3)


def test_the_order_of_rows_and_files_does_not_matter(tmp_path: Path) -> None:
    whole = drawn(jsonl(tmp_path / "whole.jsonl"))
    turned = drawn(jsonl(tmp_path / "turned.jsonl", TWENTY[::-1]))
    halves = [jsonl(tmp_path / "a.jsonl", TWENTY[:10]), jsonl(tmp_path / "b.jsonl", TWENTY[10:])]
    assert whole == turned == drawn(*halves) == drawn(*halves[::-1])


@pytest.mark.parametrize("strategy", [{}, {"strategy": "stratified", "columns": ["sex"]}], ids=["uniform", "stratified"])
def test_a_larger_sample_only_adds_to_a_smaller_one(tmp_path: Path, strategy: dict[str, Any]) -> None:
    pool = jsonl(tmp_path / "p.jsonl")
    assert drawn(pool, count=12, pool=strategy)[:5] == drawn(pool, count=5, pool=strategy)


@pytest.mark.parametrize("make", [jsonl, parquet], ids=["jsonl", "parquet"])
def test_a_work_unit_is_given_the_personas_that_the_whole_sample_has_at_its_positions(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    recipe, files = small_recipe(), [make(tmp_path / f"pool.{make.__name__}")]
    whole = list(sample_personas(recipe, files, count=12))
    assert list(sample_personas(recipe, files, count=12, positions=[3, 4, 11])) == [whole[3], whole[4], whole[11]]


def test_another_seed_draws_another_sample(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "p.jsonl")
    assert drawn(pool, seed=1) != drawn(pool, seed=2)
    assert sorted(drawn(pool, count=20, seed=1)) == sorted(drawn(pool, count=20, seed=2))


@pytest.mark.parametrize("make", [jsonl, parquet], ids=["jsonl", "parquet"])
def test_excluded_personas_leave_the_order_of_the_others(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    pool = make(tmp_path / "p.parquet") if make is parquet else make(tmp_path / "p.jsonl")
    before = drawn(pool, count=5)
    assert drawn(pool, count=3, exclude_ids=(before[1], before[3], "nobody")) == [before[0], before[2], before[4]]


def test_strata_are_drawn_in_proportion_to_their_sizes(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "p.jsonl")
    men = {str(row["uuid"]) for row in TWENTY if row["sex"] == "Male"}
    for count in (4, 8, 12):
        found = drawn(pool, count=count, pool={"strategy": "stratified", "columns": ["sex"]})
        assert len(men.intersection(found)) == count // 4


@OWN_SQL
@pytest.mark.parametrize("end", [" -- and nobody else", ";\n"], ids=["a comment", "a semicolon"])
def test_the_recipes_own_sql_says_who_is_eligible(tmp_path: Path, end: str) -> None:
    query = f"SELECT uuid FROM pool WHERE sex = 'Male'{end}"
    found = drawn(jsonl(tmp_path / "p.jsonl"), pool={"strategy": "sql", "query": query})
    assert Counter(found) == Counter(str(row["uuid"]) for row in TWENTY if row["sex"] == "Male")


@OWN_SQL
def test_the_recipes_own_sql_sees_further_columns_too(tmp_path: Path) -> None:
    rows = [{**row, "height": number, "note": None} for number, row in enumerate(TWENTY)]
    query = "SELECT uuid FROM pool WHERE height = 3 AND age > 20 AND note IS NULL"
    assert drawn(jsonl(tmp_path / "p.jsonl", rows), count=1, pool={"strategy": "sql", "query": query}) == [rows[3]["uuid"]]


@OWN_SQL
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT content AS uuid FROM read_text('{secret}')", r"pool\.query must select uuid .*may not read"),
        ("SELECT uuid FROM pool) ; COPY pool TO '{secret}' ; SELECT (1", r"pool\.query must select uuid"),
        ("SELECT age FROM pool", r"pool\.query must select uuid .*uuid"),
        ("SELECT uuid WHERE", r"pool\.query must select uuid .*is no SQL"),
        ("SELECT uuid FROM pool; COPY pool TO '{secret}'", "in one SELECT and nothing else"),
        ("SELECT uuid FROM (SELECT * FROM read_ndjson('{pool}'))", "may not read"),
        ("SELECT 'nobody' AS uuid FROM pool", "offers only 0"),
        ("SELECT NULL AS uuid FROM pool", "offers only 0"),
    ],
    ids=[
        "reads a file",
        "writes a file",
        "no uuid",
        "no SQL",
        "second statement",
        "the pool's file",
        "unknown",
        "null",
    ],
)
def test_sql_that_reaches_beyond_the_pool_is_refused(tmp_path: Path, query: str, told: str) -> None:
    pool = jsonl(tmp_path / "p.jsonl")
    before = pool.read_bytes()
    secret = tmp_path / "secret.txt"
    secret.write_text("mine", encoding="utf-8")
    sql = query.replace("{secret}", str(secret)).replace("{pool}", str(pool))
    with pytest.raises(RecipeError, match=told):
        drawn(pool, count=1, pool={"strategy": "sql", "query": sql})
    assert secret.read_text(encoding="utf-8") == "mine"
    assert pool.read_bytes() == before


@OWN_SQL
def test_sql_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_query, "SQL_SECONDS", 5.0)
    query = "SELECT range::VARCHAR AS uuid FROM range(99999999999) ORDER BY random()"
    with pytest.raises(RecipeError, match=r"more (memory )?than"):
        drawn(jsonl(tmp_path / "p.jsonl"), count=1, pool={"strategy": "sql", "query": query})


@OWN_SQL
@pytest.mark.parametrize("value", ["repeat('x', 1000000000)", "repeat(uuid, 2000000)"], ids=["one", "many"])
def test_large_values_made_inside_the_sql_take_little_memory(tmp_path: Path, value: str) -> None:
    query = f"SELECT uuid FROM pool WHERE length({value}) > 3"
    before, of_others = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    with pytest.raises(RecipeError, match=r"pool\.query needs more memory than it may have"):
        drawn(jsonl(tmp_path / "p.jsonl"), count=1, pool={"strategy": "sql", "query": query})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"
    # The most of all processes that have ended, also of earlier tests.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(of_others, 1_200_000)


@OWN_SQL
def test_a_second_statement_cannot_overwrite_the_pool(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "p.jsonl")
    before = pool.read_bytes()
    query = f"SELECT uuid FROM pool) ; COPY (SELECT 1) TO '{pool}' ; SELECT * FROM (SELECT uuid FROM pool"
    with pytest.raises(RecipeError, match=r"pool\.query must select uuid"):
        drawn(pool, count=1, pool={"strategy": "sql", "query": query})
    assert pool.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"age": -4}, "has age = -4, which no person has"),
        ({"age": 121}, "has age = 121, which no person has"),
        ({"city": "Rome\0"}, r"has the unusable character U\+0000 in city"),
        ({"city": "Rome\x1b[2J"}, r"has the unusable character U\+001B in city"),
        ({"skills_and_expertise_list": r"['baking \x07']"}, r"has the unusable character U\+0007 in skills_and_expertise_list"),
        ({"city": "R\ufffdme"}, r"has the unusable character U\+FFFD in city"),
        ({"uuid": "../../etc"}, "has no usable uuid"),
        ({"uuid": "all"}, "has no usable uuid"),
        ({"uuid": "a\nb"}, "has no usable uuid"),
    ],
)
def test_rows_that_no_persona_can_have_are_refused(tmp_path: Path, changes: dict[str, object], told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        drawn(jsonl(tmp_path / "p.jsonl", [{**persona_row(1), **changes}]), count=1)


@pytest.mark.parametrize("make", [jsonl, parquet], ids=["jsonl", "parquet"])
def test_one_id_with_two_different_rows_is_refused(tmp_path: Path, make: Callable[[Path, Rows], Path]) -> None:
    rows = [persona_row(1), {**persona_row(1), "city": "Elsewhere"}]
    with pytest.raises(RecipeError, match="is in the pool twice, with different city"):
        drawn(make(tmp_path / f"p.{make.__name__}", rows), count=1)


@pytest.mark.parametrize(
    "strategy", [{}, {"strategy": "stratified", "columns": ["sex", "city"]}], ids=["uniform", "stratified"]
)
def test_parquet_and_jsonl_give_the_same_personas(tmp_path: Path, strategy: dict[str, Any]) -> None:
    recipe = small_recipe(pool=PoolSpec.model_validate(strategy))
    halves = [parquet(tmp_path / "a.parquet", TWENTY[:7]), parquet(tmp_path / "b.parquet", TWENTY[7:])]
    lines = sample_personas(recipe, [jsonl(tmp_path / "p.jsonl")], count=8)
    assert list(sample_personas(recipe, halves, count=8)) == list(lines)


def test_uuids_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    rows = [persona_row(number, uuid=f"5F0C0000-0000-4000-8000-{number:012X}") for number in range(20)]
    found = drawn(jsonl(tmp_path / "p.jsonl", rows))
    assert found == drawn(parquet(tmp_path / "p.parquet", rows))
    assert set(found) <= {str(row["uuid"]) for row in rows}


@pytest.mark.parametrize(
    ("missing", "told"),
    [(["sex"], "the column 'sex'"), (["sex", "persona"], "the columns 'persona', 'sex'")],
)
def test_missing_columns_are_named_all_at_once(tmp_path: Path, missing: list[str], told: str) -> None:
    rows = [{name: value for name, value in TWENTY[0].items() if name not in missing}]
    with pytest.raises(RecipeError, match=rf"pool p\.jsonl lacks {told}\. The pool needs"):
        drawn(jsonl(tmp_path / "p.jsonl", rows), count=1)


def test_a_set_of_another_country_needs_no_state_nor_field_of_study(tmp_path: Path) -> None:
    other = {"bachelors_field", "city", "state", "zipcode"}
    rows = [{name: value for name, value in row.items() if name not in other} for row in TWENTY]
    (found,) = sample_personas(small_recipe(), [parquet(tmp_path / "p.parquet", rows)], count=1)
    assert {getattr(found, name) for name in other} == {""}


def packed(path: Path) -> Path:
    path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def marked(path: Path) -> Path:
    path.write_bytes(BOM_UTF8 + path.read_bytes())
    return path


def json_list(path: Path) -> Path:
    path.write_text(json.dumps(list(TWENTY), indent=1), encoding="utf-8")
    return path


def csv_table(path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(TWENTY[0]))
        writer.writeheader()
        writer.writerows(TWENTY)
    return path


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("PEOPLE.PARQUET", [parquet]),
        ("people.pq", [parquet]),
        ("people", [parquet]),
        ("people", [jsonl]),
        ("people.json", [json_list]),
        ("people.csv", [csv_table]),
        ("p.jsonl", [jsonl, marked]),
        ("people.csv", [csv_table, marked]),
        ("p.jsonl", [jsonl, packed]),
        ("p.parquet.gz", [parquet, packed]),
        ("p.json", [json_list, marked, packed]),
    ],
)
def test_a_pools_form_is_read_from_its_first_bytes(tmp_path: Path, name: str, steps: list[Callable[[Path], Path]]) -> None:
    plain = list(sample_personas(small_recipe(), [jsonl(tmp_path / "plain.jsonl")], count=5))
    for write in steps:
        write(tmp_path / name)
    assert list(sample_personas(small_recipe(), [tmp_path / name], count=5)) == plain


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"ARROW1\0\0", "an Arrow file"),
        (b"PK\x03\x04..", "a ZIP archive"),
        (b"a picture", "none of them"),
        (b"", "none of them"),
    ],
)
def test_a_file_of_another_form_is_named_as_what_it_is(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(RecipeError, match=rf"pool people\.csv cannot be read: it is {told}\. A pool is Parquet"):
        drawn(tmp_path / "people.csv")


def test_an_age_that_is_no_number_is_none(tmp_path: Path) -> None:
    rows = [{**persona_row(number), "age": float("nan")} for number in range(2)]
    with pytest.raises(RecipeError, match=r"Persona '.*' has no age"):
        drawn(parquet(tmp_path / "p.parquet", rows), count=2)


@pytest.mark.parametrize("name", ["p.parquet", "p.jsonl"])
def test_a_file_that_is_no_pool_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x00not a pool")
    with pytest.raises(RecipeError, match=rf"pool {name} cannot be read"):
        drawn(tmp_path / name)


def test_damage_inside_a_pool_is_told(tmp_path: Path) -> None:
    pool = parquet(tmp_path / "p.parquet")
    content = bytearray(pool.read_bytes())
    column = pq.read_metadata(pool).row_group(0).column(1)  # pyright: ignore[reportUnknownMemberType]
    content[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    pool.write_bytes(content)
    with pytest.raises(RecipeError, match=r"The persona pool p\.parquet cannot be read"):
        drawn(pool)


def test_a_pool_of_two_kinds_of_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="files of several kinds"):
        drawn(jsonl(tmp_path / "a.jsonl"), parquet(tmp_path / "b.parquet"))


def test_a_pool_with_too_few_personas_says_how_many_it_has(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"2 users and a reserve of 2, but the persona pool offers only 3"):
        drawn(jsonl(tmp_path / "p.jsonl", TWENTY[:3]), count=4)


def test_a_value_that_cannot_be_is_told_with_its_persona(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"Persona '5f0c0000-.*' has age = 'old'"):
        drawn(jsonl(tmp_path / "p.jsonl", [persona_row(1, age="old")]), count=1)


@pytest.mark.parametrize("column", ["height", 'sex" OR 1'])
def test_a_stratum_must_be_a_persona_column(tmp_path: Path, column: str) -> None:
    with pytest.raises(RecipeError, match=r"pool\.columns names .*, which is no persona column"):
        drawn(jsonl(tmp_path / "p.jsonl"), pool={"strategy": "stratified", "columns": [column]})


def test_a_persona_that_stands_in_two_files_is_drawn_once(tmp_path: Path) -> None:
    files = [jsonl(tmp_path / "a.jsonl", TWENTY[:5]), jsonl(tmp_path / "b.jsonl", TWENTY[:5])]
    assert len(set(drawn(*files, count=5))) == 5


def test_a_folder_name_with_a_quote_is_no_sql(tmp_path: Path) -> None:
    (tmp_path / "zoë's").mkdir()
    assert len(drawn(jsonl(tmp_path / "zoë's" / "p.jsonl"))) == 5


def test_the_pools_files_are_those_its_patterns_match(tmp_path: Path) -> None:
    files = [jsonl(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    both = (str(tmp_path / "*.jsonl"), str(files[0]))
    assert pool_files(PoolSpec(paths=both)) == files
    assert pool_files(PoolSpec()) == [OWN_POOL]
    with pytest.raises(RecipeError, match=r"pool '.*/c\.jsonl' matches no file"):
        pool_files(PoolSpec(paths=(str(tmp_path / "c.jsonl"),)))


def test_a_folder_of_a_pool_stands_for_its_tables_and_a_tilde_for_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "people").mkdir()
    part = parquet(tmp_path / "people" / "part-0.parquet")
    (tmp_path / "people" / "README.md").write_text("Who they are.", encoding="utf-8")
    for path in ("~/people", "~/people/*.parquet", str(tmp_path / "people"), f"file://{tmp_path}/people"):
        assert pool_files(PoolSpec(paths=(path,))) == [part]


def test_a_pools_digest_is_of_its_content(tmp_path: Path) -> None:
    first, second = jsonl(tmp_path / "a.jsonl", TWENTY[:5]), jsonl(tmp_path / "b.jsonl", TWENTY[5:])
    moved = jsonl(tmp_path / "c.jsonl", TWENTY[:5])
    assert pool_digest([first, second]) == pool_digest([second, moved]) != pool_digest([first])
    with pytest.raises(RecipeError, match=r"pool .*gone\.jsonl cannot be read: No such file"):
        pool_digest([tmp_path / "gone.jsonl"])
