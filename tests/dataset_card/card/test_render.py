"""The card: facts that agree with the data, and what it says of how the data was made and how good it is."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from assets.recipe.amemgym import PoolSpec
from assets.recipe.model_policy import Models, ModelSpec
from assets.records.estimate import Estimate
from assets.reporting.verdict import EMBEDDED_FAMILY
from assets.text.words import count_tokens
from dataset_card.amemgym.pool import source_datasets
from dataset_card.card import markdown
from dataset_card.card.header import size_category, split_card
from dataset_card.release.manifest import CARD, ManifestUsage
from dataset_card.release_store.folder import write_release
from tests.support import gate_votes, scenario
from tests.support.releases import content, readme, report
from validation.amemgym.report.contents import FactCounter, paper_count_rows, paper_length_rows


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_facts_count_the_scenario() -> None:
    counter = FactCounter()
    counter.add(scenario.episode())
    facts = counter.facts(failures=[gate_votes.failure(), gate_votes.failure(position=2)])
    assert facts.counts == {
        "users": 1,
        "periods": 3,
        "sessions": 4,
        "questions": 2,
        "state_variables": 3,
        "state_updates": 3,
        "answer_choices": 6,
    }
    assert facts.turns_per_user == 4
    assert facts.failures == {("answers", "gate_exhausted"): 2}
    assert size_category(facts.counts["users"]) == "n<1K"
    queries = [count_tokens(session.query) for period in scenario.sessions() for session in period]
    spread = facts.lengths["query_tokens"]
    assert (spread.least, spread.most, spread.mean) == (min(queries), max(queries), round(sum(queries) / 4, 2))
    assert [row[0] for row in paper_length_rows(facts)] == [
        "tokens of a session's query",
        "tokens of an answer",
        "options of a question",
    ]


def test_counts_stand_beside_the_paper_s() -> None:
    counter = FactCounter()
    for number in range(3):
        counter.add(scenario.episode(f"user-{number}"))
    assert paper_count_rows(counter.facts(failures=[])) == [
        ("users", "3", "20", "20"),
        ("periods, with the initial ones", "9", "220", "420"),
        ("sessions", "12", "943", "1,632"),
        ("questions", "6", "200", "200"),
        ("user turns per user (one per session)", "4", "47.15", "81.60"),
    ]


def test_the_card_tells_the_facts(tmp_path: Path) -> None:
    text = readme(tmp_path)
    assert "| sessions | 8 | 943 | 1,632 |" in text
    assert "| `tables/demo/states.parquet` | 18 |" in text
    assert "| answers | gate_exhausted | 1 |" in text
    assert "12 model calls with 3,456 input and 789 output tokens. What that costs depends on the provider's prices." in text
    assert "| `pool.paths` | personas.parquet |" in text
    assert "| `questions/draft` | `bbbbbbbbbbbb` |" in text
    assert "No quality report was attached" in text


def test_a_release_by_the_embedded_model_says_that_it_is_for_trying_the_tooling(tmp_path: Path) -> None:
    spec = ModelSpec(model=f"{EMBEDDED_FAMILY}-0123abcd")
    embedded = scenario.recipe(num_users=2, models=Models(writer=spec))
    warning = "**For trying only.** No language model wrote these texts"
    text = one_line(readme(tmp_path / "a", recipe=embedded))
    assert warning in text
    assert "The embedded model's are free." in text
    assert warning not in one_line(readme(tmp_path / "b"))


def test_the_embedded_model_s_name_is_the_one_that_the_card_knows() -> None:
    bank = pytest.importorskip("pipelines.embedded.bank")
    assert bank.MODEL_FAMILY == EMBEDDED_FAMILY


def test_a_short_release_says_so(tmp_path: Path) -> None:
    assert "asks for 3 users, and only 2 could be finished" in one_line(readme(tmp_path, recipe=scenario.recipe(num_users=3)))
    assert "is short" not in readme(tmp_path / "whole")


def test_a_quality_report_is_shown_with_its_intervals(tmp_path: Path) -> None:
    text = one_line(readme(tmp_path, report=report()))
    assert "| exposure | 11 | 22 | 7 | 3 | 1 |" in text
    assert "| exposure | 40 | lets a wrong one through | 5.0 % (1.0 to 12.5) |" in text
    assert "There are no intervals: fewer than 6 users" in text
    assert "| longest | taking the longest option | 60.0 % | 40.0 % | 45.0 % |" in text
    assert "| initial | saying what was true at first | 50.0 % (40.0 to 62.5) | 40.0 % | none |" in text
    assert "chance allow, as here longest." in text
    assert "would score 95.0 % (90.0 to 100.0)" in text
    assert "All 1 rules over all users hold" in text
    assert "75.0 % of the questions" in text


def test_of_the_rules_the_card_lists_those_that_are_broken(tmp_path: Path) -> None:
    kept = report().rules[0]
    broken = kept.model_copy(update={"truth": "Users | differ", "violations": 2, "blocking": False})
    text = one_line(readme(tmp_path, report=report(rules=[kept, broken])))
    assert "Of 2 rules over all users these are broken" in text
    assert "| Users \\| differ | advice | 2 |" in text
    assert "Values" not in text


def test_the_card_says_where_a_guess_is_too_near_to_perfect_memory(tmp_path: Path) -> None:
    guess = report().shortcuts[0].model_copy(update={"shortcut": "random", "random": 0.4, "verdict": "unlimited"})
    near = Estimate(value=0.45, low=0.4, high=0.5)
    assert "There is no memory score on this set: perfect memory scores 45.0 % and a guess 40.0 %" in one_line(
        readme(tmp_path / "near", report=report(shortcuts=[guess], ceiling=near))
    )
    assert "no memory score" not in readme(tmp_path / "apart", report=report(shortcuts=[guess]))


def test_a_report_without_an_audit_leaves_its_parts_out(tmp_path: Path) -> None:
    text = readme(
        tmp_path,
        report=report(gate_errors=(), shortcuts=(), recovery=(), ceiling=None, movement=None),
    )
    for words in ("planted", "guessed", "perfect memory", "figures/shortcuts.png"):
        assert words not in text.partition("## Quality")[2].partition("## Cost")[0]


def test_the_pool_s_license_and_source_are_named_where_the_recipe_tells_them(tmp_path: Path) -> None:
    pool = {"paths": ("people.parquet",), "license": "CC-BY-4.0", "attribution": "Some People, <b>2025</b>"}
    told = one_line(readme(tmp_path / "told", recipe=scenario.recipe(num_users=2, pool=pool)))
    assert "Some People, &lt;b>2025&lt;/b> (`people.parquet`). Its license is CC-BY-4.0;" in told
    assert "settle it before you share" in readme(tmp_path / "untold")
    assert "public domain (CC0 1.0)" in readme(tmp_path / "own", recipe=scenario.recipe(num_users=2, pool={}))


def test_a_panel_of_judges_is_named_whole(tmp_path: Path) -> None:
    models = {"judge": {"model": "gpt-4.1", "further": ["/models/local.gguf", "other/judge"]}}
    text = readme(tmp_path, recipe=scenario.recipe(num_users=2, models=models))
    assert "| judge | gpt-4.1, local.gguf, other/judge |" in text


def test_known_and_unrecorded_costs_are_told_apart(tmp_path: Path) -> None:
    assert "tokens, for 0.40 USD. Per user" in one_line(readme(tmp_path / "a", usage=ManifestUsage(calls=2, cost_usd=0.4)))
    assert "was not recorded" in readme(tmp_path / "b", usage=None)


def test_the_card_names_the_paper_and_has_no_emoji_or_version(tmp_path: Path) -> None:
    text = readme(tmp_path, items=[scenario.episode()], recipe=scenario.recipe())
    assert "title = {{AM}emGym: Interactive Memory Benchmarking" in text
    assert not re.search("[\U0001f000-\U0001faff\u2600-\u27bf]", text)
    assert text == readme(tmp_path / "again", items=[scenario.episode()], recipe=scenario.recipe())


def test_a_user_s_story_shows_how_a_right_answer_changes(tmp_path: Path) -> None:
    text = readme(tmp_path)
    story = text.partition("## One user's story")[2].partition("\n## ")[0]
    first, later = scenario.episode().questions[0].golden[:2]
    answers = {one.choice_id: one.answer for one in scenario.episode().questions[0].answer_choices}
    assert story.index(markdown.text(answers[first])) < story.index(markdown.text(answers[later]))
    assert "arxiv.org/abs/2603.01966" in text


def test_words_of_the_data_become_no_markup(tmp_path: Path) -> None:
    hostile = "![x](http://evil/a.png) [y](http://evil) <img src=x> `code` www.evil.org http://evil.org a@evil.org **b** | # c"
    episode = scenario.episode()
    first, *others = episode.questions
    changed = scenario.varied(episode, questions=(scenario.varied(first, query=hostile), *others))
    plain, spoiled = readme(tmp_path / "a"), readme(tmp_path / "b", items=[changed, scenario.episode("5f0c-ada-003")])
    kinds = [[token.type for token in tokens(text)] for text in (plain, spoiled)]
    assert kinds[0].count("image") == kinds[1].count("image")
    assert kinds[0].count("link_open") == kinds[1].count("link_open")
    assert kinds[0].count("code_inline") == kinds[1].count("code_inline")
    assert "evil" in spoiled


def tokens(text: str) -> list[Token]:
    """What a reader of GitHub's Markdown makes of the text, addresses made into links included."""
    parser = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
    return [inner for token in parser.parse(text) for inner in [token, *(token.children or [])]]


def test_the_header_tells_the_size_and_leaves_columns_to_the_files(tmp_path: Path) -> None:
    release = write_release(content(), root=tmp_path)
    header = split_card((release.folder / CARD).read_text(encoding="utf-8"), source=CARD)[0]
    assert header["size_categories"] == ["n<1K"]
    assert header["source_datasets"] == ["extended|other"]
    assert "dataset_info" not in header


@pytest.mark.parametrize(
    ("attribution", "source"),
    [("nvidia/Nemotron-Personas-USA", "nvidia/Nemotron-Personas-USA"), ("Some People, 2025", "extended|other")],
)
def test_the_source_is_the_data_set_that_the_attribution_names(attribution: str, source: str) -> None:
    assert source_datasets(PoolSpec(paths=("people.parquet",), attribution=attribution)) == [source]
    assert source_datasets(PoolSpec()) == ["original"]
