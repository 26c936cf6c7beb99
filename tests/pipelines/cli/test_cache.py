"""The commands that look after cache, ledger and forecast: what they print, write, take out, and refuse."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.embedded.bank import model_name
from pipelines.errors import Problem, StoreError
from pipelines.resources.cache.export import delete_replies
from pipelines.resources.cache.reply_cache import open_replies
from tests.pipelines.ledger.ledger_stores import UsingModel, call, open_stores
from tests.support.small import small_recipe

DAY = 86_400
Amemgym = Callable[..., str]


@pytest.fixture
def amemgym(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Amemgym:
    """Run the command line on a home of its own and return what it printed; problems are raised."""
    for name in ("AMEMGYM_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY", "AMEMGYM_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return invoke


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A home whose cache holds three replies of two models, one of them asked for twice."""
    with open_stores(tmp_path) as stores:
        stores.ask(UsingModel(), [call(1), call(2), call(3, model="made-up")])
        stores.ask(UsingModel(), [call(1)])
    return tmp_path


def test_the_cache_is_told_by_model(asked: Path, amemgym: Amemgym) -> None:
    with closing(sqlite3.connect(asked / "calls.sqlite")) as replies, replies:
        replies.execute("UPDATE replies SET rejected = 1 WHERE model = 'made-up'")
    output = amemgym("cache", "info")
    lines = {line.split()[0]: line.split() for line in output.replace("│", " ").splitlines() if line.strip()}
    today = time.strftime("%Y-%m-%d")
    assert lines["gpt-4.1"] == ["gpt-4.1", "2", "0", "0.0", today, today, "33%"]
    assert lines["made-up"][1:3] == ["1", "1"]
    assert "3 replies" in output
    assert "Rejected replies were paid for but cannot be used" in output


def unwritable(home: Path) -> None:
    """Beside its files SQLite cannot put what it needs, as on a disk that is read-only. Root may write all that it may read."""
    for name in ("calls.sqlite", "ledger.sqlite"):
        (home / f"{name}-shm").symlink_to("nowhere")


READING = (
    ("plan", "demo"),
    ("ledger",),
    ("cache", "info"),
    ("cache", "export", "{out}.jsonl"),
)


@pytest.mark.parametrize("words", READING)
def test_what_only_reads_does_so_in_a_folder_that_cannot_be_written(
    asked: Path, amemgym: Amemgym, tmp_path_factory: pytest.TempPathFactory, words: tuple[str, ...]
) -> None:
    out = tmp_path_factory.mktemp("elsewhere") / "written"
    words = tuple(word.format(out=out) for word in words)
    before = amemgym(*words)
    unwritable(asked)
    assert amemgym(*words) == before


def test_a_log_that_cannot_be_read_is_not_left_out_of_what_is_told(asked: Path, amemgym: Amemgym) -> None:
    (asked / "calls.sqlite-wal").write_bytes(b"not read")
    unwritable(asked)
    with pytest.raises(StoreError, match="cannot be opened; make the file and its folder writable"):
        amemgym("cache", "info")


def test_a_table_that_a_folder_that_cannot_be_written_lacks_is_named(tmp_path: Path, amemgym: Amemgym) -> None:
    with closing(sqlite3.connect(tmp_path / "calls.sqlite")) as replies, replies:
        replies.execute("PRAGMA journal_mode = WAL")
        replies.execute("CREATE TABLE others (key TEXT PRIMARY KEY, value BLOB NOT NULL)")
    unwritable(tmp_path)
    with pytest.raises(StoreError, match="lacks the table replies, and cannot be written"):
        amemgym("cache", "info")


def test_the_cache_is_exported_as_lines(asked: Path, amemgym: Amemgym) -> None:
    assert "Wrote 3 replies" in amemgym("cache", "export", str(asked / "out.jsonl"))
    lines = [json.loads(line) for line in (asked / "out.jsonl").read_text().splitlines()]
    assert sorted(line["model"] for line in lines) == ["gpt-4.1", "gpt-4.1", "made-up"]
    assert {line["reply"]["input_tokens"] for line in lines} == {1000}
    assert [path.name for path in asked.glob(".*")] == []


def test_an_export_is_taken_in_elsewhere_and_nothing_that_was_there_is_lost(
    asked: Path, amemgym: Amemgym, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, again = asked / "replies.jsonl", asked / "again.jsonl"
    amemgym("cache", "export", str(lines))
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path_factory.mktemp("elsewhere")))
    assert f"Kept {len(lines.read_text().splitlines())} replies of" in amemgym("cache", "import", str(lines))
    amemgym("cache", "import", str(lines))
    amemgym("cache", "export", str(again))
    assert again.read_bytes() == lines.read_bytes()


@pytest.mark.parametrize("line", ["{", '{"key": "short", "model": null, "at": null, "reply": {}}', "[1]"])
def test_a_file_of_something_else_is_refused_with_its_line(asked: Path, amemgym: Amemgym, line: str) -> None:
    lines = asked / "replies.jsonl"
    amemgym("cache", "export", str(lines))
    with lines.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(Problem, match=rf"replies\.jsonl, line {len(lines.read_text().splitlines())} is no exported reply"):
        amemgym("cache", "import", str(lines))


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["--model", "made-up"], "1 reply"),
        (["--model", "gpt-4.1", "--older-than", "1"], "0 replies"),
        (["--older-than", "0"], "3 replies"),
        (["--model", "nobody"], "0 replies"),
    ],
)
def test_replies_are_taken_out_by_model_and_age(asked: Path, amemgym: Amemgym, arguments: list[str], taken: str) -> None:
    assert f"Took {taken} out" in amemgym("cache", "prune", "--yes", *arguments)


def test_a_reply_whose_time_nobody_noted_counts_as_old(asked: Path) -> None:
    replies = open_replies(asked / "calls.sqlite")

    async def use() -> int:
        await replies.put("old", b"{}")
        await replies.put("recent", b"{}", extra={"model": "m", "at": time.time() - 2 * DAY})
        return await delete_replies(replies, model=None, older_than_days=30)

    assert asyncio.run(use()) == 1
    replies.close()


def test_pruning_needs_to_know_what(asked: Path, amemgym: Amemgym) -> None:
    with pytest.raises(Problem, match="--model NAME, --older-than DAYS"):
        amemgym("cache", "prune", "--yes")


def test_a_file_that_cannot_be_written_is_named(asked: Path, amemgym: Amemgym) -> None:
    with pytest.raises(Problem, match="none/out"):
        amemgym("cache", "export", str(asked / "none" / "out.jsonl"))


def test_where_nothing_was_asked_yet_that_is_said(tmp_path: Path, amemgym: Amemgym) -> None:
    for command in (["cache", "info"], ["cache", "prune", "--older-than", "1"], ["ledger"]):
        with pytest.raises(Problem, match="the first run creates it"):
            amemgym(*command)
    assert list(tmp_path.iterdir()) == []


def test_the_ledger_is_told_by_stage_model_and_prompt(asked: Path, amemgym: Amemgym) -> None:
    output = amemgym("ledger")
    assert [line for line in output.splitlines() if line.startswith("by ")] == [
        line for line in output.splitlines() if line.rstrip() in ("by stage", "by model", "by prompt")
    ]
    assert "$0.0056 + unknown" in output
    assert "unknown" in next(line for line in output.splitlines() if "made-up" in line)
    with pytest.raises(Problem, match="no calls of 'other'"):
        amemgym("ledger", "--variant", "other")


def test_a_ledger_of_one_model_that_costs_nothing_says_so_in_a_sentence(tmp_path: Path, amemgym: Amemgym) -> None:
    with open_stores(tmp_path) as stores:
        stores.ask(UsingModel(), [call(1, model=model_name())])
    output = amemgym("ledger")
    assert f"Nothing was paid: all calls are of {model_name()}." in output
    assert "by stage" in output
    assert "by model" not in output
    assert "$" not in output


def test_the_plan_of_base_stands_beside_the_papers_figures(amemgym: Amemgym) -> None:
    output = amemgym("plan", "base", "--model", "gpt-4.1")
    assert output.startswith("base: 20 users, gpt-4.1")
    assert "140 K input and 15.2 K output tokens, $0.40" in output
    assert "Each user that is lost costs up to as much again for another, and up to " in output
    assert "From the shipped defaults" in output
    assert "No model endpoint is configured" in output
    assert "paper" not in amemgym("plan", "demo")


def test_the_plan_of_a_model_without_price_says_so(amemgym: Amemgym) -> None:
    output = amemgym("plan", "demo", "--model", "made-up")
    assert "unknown" in output
    assert "AMEMGYM_PRICES" in output
    assert "$0" not in output


def test_the_plan_warns_where_the_budget_may_not_do(amemgym: Amemgym) -> None:
    assert "run may pause" in amemgym("plan", "base", "--set", "budget.max_cost_usd=1")
    assert "run may pause" not in amemgym("plan", "base", "--set", "budget.max_cost_usd=1000")


def test_the_plan_says_what_was_spent_so_far(asked: Path, amemgym: Amemgym) -> None:
    with open_stores(asked) as stores:
        stores.ask(UsingModel(), [call(9)], recipe=small_recipe(variant="demo"))
    assert "So far $0.0028 were spent on demo, in 1 call that a model answered" in amemgym("plan", "demo")
