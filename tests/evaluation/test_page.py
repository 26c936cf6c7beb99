"""The pages hold everything of a run, whatever its texts say, and ask nothing of the network."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pipelines.evaluation.report.page import embedded, run_page
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import runs_by_dataset, write_leaderboard
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks

HOSTILE = "</script><script>alert(1)</script><!-- <b>&amp; \u2028 ]]>"
BLOCK = re.compile(r'<script type="application/json" id="([^"]+)">(.*?)</script>', re.DOTALL)


def blocks(page: str) -> dict[str, Any]:
    """The page's data by the name of its block."""
    return {name: json.loads(content) for name, content in BLOCK.findall(page)}


@pytest.fixture
def page(tmp_path: Path) -> str:
    work = run_of(tmp_path, HonestModel({"chat": HOSTILE}), spec=MemorySpec(name="rag", kind="rag"))
    finished = finish(work)
    return run_page(finished, work.tasks.page_items(finished))


def test_every_answer_memory_and_message_is_on_the_page(page: str) -> None:
    embedded = blocks(page)
    user = embedded["user-0"]
    turns = [turn for period in user["periods"] for session in period["sessions"] for turn in session["turns"]]

    assert [one["id"] for one in embedded["data"]["users"]] == ["ada", "ben"]
    assert len(turns) == 6
    assert {turn["reply"] for turn in turns} == {HOSTILE}
    assert any(HOSTILE.partition("\u2028")[0] in text for text in user["texts"])  # a memory, with its blanks made one
    assert len(user["rows"]) == len({(*map(str, row[:3]), row[11]) for row in user["rows"]})


def test_no_text_can_end_its_block_or_begin_markup(page: str) -> None:
    scripts = re.findall(r"<script[^>]*>", page)

    assert scripts == [*(f'<script type="application/json" id="{name}">' for name in blocks(page)), "<script>"]
    assert "alert(1)</script>" not in page
    assert page.count("<!--") == 0


def test_what_is_embedded_is_read_back_unchanged() -> None:
    assert json.loads(embedded({"text": HOSTILE})) == {"text": HOSTILE}
    assert not set("<>&\u2028\u2029") & set(embedded({"text": HOSTILE + "\u2029"}))


def test_the_page_allows_its_own_script_and_style_and_no_address(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)

    assert policy is not None
    assert re.fullmatch(r"default-src 'none'; script-src 'sha256-\S+'; style-src 'sha256-\S+'", policy[1])
    assert not re.findall(r"(?:src|href)=[\"']?(?!#)\w", BLOCK.sub("", page))
    assert "innerHTML" not in page


def test_a_board_links_to_the_pages_of_its_runs(tmp_path: Path) -> None:
    runs = [finish(run_of(tmp_path, HonestModel(), spec=MemorySpec(name=kind, kind=kind))) for kind in ("full-history", "awi")]
    path = write_leaderboard(compare_runs(runs), runs=tmp_path)
    data = blocks(path.read_text(encoding="utf-8"))["data"]

    assert all((path.parent / run["page"]).is_file() for run in data["runs"])
    assert [row["label"] for row in data["baselines"]][-1] == "random"
    assert len(data["pairs"]) == 1


def test_a_leaderboard_takes_in_all_finished_runs_of_a_dataset(tmp_path: Path) -> None:
    for kind in ("full-history", "awi"):
        finish(run_of(tmp_path, HonestModel(), spec=MemorySpec(name=kind, kind=kind)))
    run_of(tmp_path, HonestModel(), data=tasks("ada"), attempt=3).folder.path.mkdir()

    boards, unread = runs_by_dataset(tmp_path)
    assert [[run.manifest.memory.name for run in runs] for runs in boards] == [["awi", "full-history"]]
    assert unread == []
    assert runs_by_dataset(tmp_path, dataset="other") == ([], [])
