"""The pages hold everything of a run, whatever its texts say, and ask nothing of the network."""

import base64
import json
import random
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.report.page import Json, PageItem, embed_json, item_data, pack_json, page_items, run_page
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import runs_by_dataset, write_leaderboard
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks

HOSTILE = "</script><script>alert(1)</script><!-- <b>&amp; \u2028 ]]>"
BLOCK = re.compile(r'<script type="application/json" id="([^"]+)">(.*?)</script>', re.DOTALL)


def blocks(page: str) -> dict[str, Any]:
    """The page's data by the name of its block; of users, as the browser unpacks them."""
    found = {name: json.loads(content) for name, content in BLOCK.findall(page)}
    for name in [name for name in found if name.startswith("user-")]:
        found[name] = json.loads(zlib.decompress(base64.b64decode(found[name])))
    return found


@pytest.fixture
def page(tmp_path: Path) -> str:
    work = run_of(tmp_path, HonestModel({"chat": HOSTILE}), spec=MemorySpec(name="rag", kind="rag"))
    finished = finish(work)
    return run_page(finished, page_items(work.timelines, finished.turns))


def test_every_answer_memory_and_message_is_on_the_page(page: str) -> None:
    embed_json = blocks(page)
    user = embed_json["user-0"]
    turns = [turn for period in user["periods"] for session in period["sessions"] for turn in session["turns"]]

    assert [one["id"] for one in embed_json["data"]["users"]] == ["ada", "ben"]
    assert len(turns) == 6
    assert {turn["reply"] for turn in turns} == {HOSTILE}
    assert any(HOSTILE.partition("\u2028")[0] in line for line in user["lines"])  # a memory, with its blanks made one
    asked = {"\n".join(user["lines"][line] for line in user["texts"][number]) for number in user["columns"]["sent"]}
    assert any(text.count("\n") > 3 and '{"' in text for text in asked)
    assert {len(column) for column in user["columns"].values()} == {len(user["columns"]["period"])}


def test_scores_are_shown_by_how_often_the_needed_values_had_changed(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(), spec=MemorySpec(name="none", kind="none"))
    finished = finish(work)
    data = blocks(run_page(finished, page_items(work.timelines, finished.turns)))["data"]
    [section] = [section for section in data["sections"] if section["key"] == "changes"]
    [table, chart] = section["blocks"]

    assert [number for number, _ in table["rows"]] == ["0", "1", "2"]
    assert chart["lines"]["overall"][0][1] == table["rows"][0][1]


def test_one_of_twenty_users_of_base_takes_a_twentieth_of_two_megabytes_at_most(tmp_path: Path) -> None:
    """A user as `base` has them: 10 questions of 4 options in 11 periods, of which a search lays 28 messages beside each."""
    finished = finish(run_of(tmp_path, HonestModel(), data=tasks("ada")))
    chance = random.Random(1)
    vocabulary = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(2000)]
    messages = [" ".join(chance.choices(vocabulary, k=25)) for _ in range(150)]
    first = next(answer for answer in finished.answers if answer.kind == "question")
    answers = list[AnswerRow]()
    for number in range(10):
        options = [" ".join(chance.choices(vocabulary, k=50)) for _ in range(4)]
        for period in range(11):
            for kind in ("question", "no_memory", "facts", "everything", "upper_bound", "options_only", "state"):
                recalled = tuple(chance.sample(messages, 28)) if kind == "question" else ()
                asked = "\n".join(chance.sample(options, 4))
                row = {"kind": kind, "item": f"q{number}", "period": period, "memories": recalled, "asked": asked}
                answers.append(first.model_copy(update=row))
    turns: list[Json] = [{"message": text, "reply": text[::-1], "breaches": []} for text in messages]
    whole: Json = {"end": "2020-10-01", "state": {}, "sessions": [{"at": "", "event": "", "exposed": {}, "turns": turns}]}
    user = PageItem("ada", "Ada", questions=[], periods=[whole])

    assert len(pack_json(item_data(user, answers))) <= 2_000_000 / 20


def test_no_text_can_end_its_block_or_begin_markup(page: str) -> None:
    scripts = re.findall(r"<script[^>]*>", page)

    assert scripts == [*(f'<script type="application/json" id="{name}">' for name in blocks(page)), "<script>"]
    assert "alert(1)</script>" not in page
    assert page.count("<!--") == 0


def test_what_is_embedded_is_read_back_unchanged() -> None:
    assert json.loads(embed_json({"text": HOSTILE})) == {"text": HOSTILE}
    assert not set("<>&\u2028\u2029") & set(embed_json({"text": HOSTILE + "\u2029"}))


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
    [table] = [section["blocks"][-1] for section in data["sections"] if section["key"] == "differences"]
    assert {row[0] for row in table["rows"]} == {"full-history minus awi"}


def test_a_leaderboard_takes_in_all_finished_runs_of_a_dataset(tmp_path: Path) -> None:
    for kind in ("full-history", "awi"):
        finish(run_of(tmp_path, HonestModel(), spec=MemorySpec(name=kind, kind=kind)))
    run_of(tmp_path, HonestModel(), data=tasks("ada"), attempt=3).folder.path.mkdir()

    boards, unread = runs_by_dataset(tmp_path)
    assert [[run.manifest.memory.name for run in runs] for runs in boards] == [["awi", "full-history"]]
    assert unread == []
    assert runs_by_dataset(tmp_path, dataset="other") == ([], [])
