"""What people write into a repository by hand: kept by every later publication, or refused."""

from datetime import date

import pytest
import yaml

from assets.records.estimate import Estimate, percents
from dataset_card.errors import HubError, PublishRefused
from dataset_card.hub.card_merge import MergeConflict, merged_card, merged_header
from dataset_card.hub.layout import VERSIONS, BaselineScore, PublishedVersion, ReleaseSummary, read_versions
from dataset_card.hub.plan import PublishRequest
from dataset_card.hub.port import Hub
from dataset_card.hub.publish import Deprecation, Publisher, deprecate_version
from dataset_card.hub.read import published_scores
from dataset_card.hub.repo_card import RepositoryPage, VariantCard, repository_card
from pipelines.benchmarks import format_of
from tests.support.hub_server.releases import a_release, commit_by_hand, commits, held_files, published, tags
from tests.support.hub_server.state import FakeHub

DAY = date(2026, 11, 23)
EDITS = (
    ("language:", "doi: 10.57967/hf/1234\nx_lab: {room: 7}\nlanguage:"),
    ("- synthetic\n", "- synthetic\n- our-lab\n"),
    ("## Quality", "## Who uses it\n\nWe do.\n\n## Quality"),
)


def assert_kept(text: str, *, version: str) -> None:
    """The card tells of the version, and all that `EDITS` wrote into it."""
    header = yaml.safe_load(text.split("---\n")[1])
    assert (header["doi"], header["x_lab"], "our-lab" in header["tags"]) == ("10.57967/hf/1234", {"room": 7}, True)
    assert "## Who uses it\n\nWe do.\n" in text
    assert f"| `demo-v{version}` |" in text


def card(fake: FakeHub, repo: str) -> str:
    return held_files(fake, repo)["README.md"].decode()


def edit(fake: FakeHub, repo: str, *changes: tuple[str, str]) -> None:
    """Somebody edits the card on the page."""
    text = card(fake, repo)
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    commit_by_hand(fake, repo, {"README.md": text.encode()})


def test_a_card_edited_by_hand_and_foreign_files_are_kept(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    edit(fake, repo, *EDITS)
    foreign = {"paper.pdf": b"%PDF", "demo/notes.txt": b"mine", "examples/run.py": b"print()"}
    commit_by_hand(fake, repo, foreign)
    published(hub, a_release(version="1.0.0", users=1), repo=repo, day=DAY)
    assert_kept(card(fake, repo), version="1.0.0")
    assert {path: held_files(fake, repo)[path] for path in foreign} == foreign
    assert commits(fake, repo) == 4


def test_what_people_wrote_into_the_card_of_one_variant_stands_on_the_page_of_two(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    edit(fake, repo, *EDITS)
    for version in ("0.1.0", "0.2.0"):
        published(hub, a_release(variant="base", version=version, users=int(version[2])), repo=repo)
        assert_kept(card(fake, repo), version="0.1.0")
    assert "## Quality" not in card(fake, repo)


def test_words_changed_within_the_card_of_one_variant_are_not_lost_to_the_page_of_two(
    fake: FakeHub, hub: Hub, repo: str
) -> None:
    published(hub, a_release(), repo=repo)
    edit(fake, repo, ("2 simulated users", "two lovely users"))
    with pytest.raises(PublishRefused, match="was changed by hand"):
        published(hub, a_release(variant="base"), repo=repo)


def test_a_card_edited_by_hand_survives_ten_publications() -> None:
    """As publishers do it, without a Hub in between: what was written last is the base of the next merge."""
    manifest = a_release().manifest.model_dump()
    text = (a_release().folder / "README.md").read_text(encoding="utf-8")

    def page(number: int) -> str:
        summary = ReleaseSummary.model_validate({**manifest, "version": f"{number}.0.0"})
        versions = tuple(PublishedVersion(tag=f"demo-v{one}.0.0", published=DAY) for one in range(number, -1, -1))
        own = VariantCard(summary, text.replace("2 simulated users", f"{number + 2} simulated users"))
        return repository_card(RepositoryPage("lab/x", "https://hub/datasets/lab/x", {"demo": own}, versions))

    current = page(0)
    for before, after in EDITS:
        current = current.replace(before, after, 1)
    for number in range(1, 11):
        current = merged_card(page(number - 1), ours=page(number), theirs=current, source="the card")
        assert_kept(current, version=f"{number}.0.0")
        assert f"{number + 2} simulated users" in current


def test_a_changed_section_of_a_release_is_refused_by_its_words(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    edit(fake, repo, ("2 simulated users", "two lovely users"))
    with pytest.raises(PublishRefused, match=r"edited by hand .* the text '# Synthesized .* was changed by hand") as caught:
        published(hub, a_release(version="1.0.0", users=1), repo=repo)
    assert "\n" not in str(caught.value)
    assert commits(fake, repo) == 2


def test_a_dry_run_tells_what_people_wrote(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    edit(fake, repo, ("## Quality", "## Thanks\n\n## Quality"))
    commit_by_hand(fake, repo, {"paper.pdf": b"%PDF"})
    publisher = Publisher(hub, format_of=format_of)
    plan = publisher.plan(publisher.planner(PublishRequest(a_release(version="1.0.0", users=1).folder, repo)))
    assert plan.by_hand == ("README.md was edited by hand, which is kept", "paper.pdf was added by hand and is kept")


def test_what_people_wrote_into_the_benchmarks_file_stays_when_another_variant_comes(
    fake: FakeHub, hub: Hub, repo: str
) -> None:
    published(hub, a_release(), repo=repo)
    written = held_files(fake, repo)["eval.yaml"].decode()
    commit_by_hand(fake, repo, {"eval.yaml": written.replace("description: ", "description: Ours. ").encode()})
    published(hub, a_release(version="1.0.0", users=1), repo=repo)
    tasks = yaml.safe_load(held_files(fake, repo)["eval.yaml"])
    assert tasks["description"].startswith("Ours. ")
    assert {task["config"] for task in tasks["tasks"]} == {"demo"}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("demo/test-00001-of-00001.parquet", "would be loaded as rows of demo"),
        ("demo/README.md", "was changed by hand since the last release"),
        ("demo/recipe.yaml", "was changed by hand since the last release"),
    ],
)
def test_a_file_that_would_be_lost_or_loaded_as_rows_is_refused(
    fake: FakeHub, hub: Hub, repo: str, path: str, words: str
) -> None:
    published(hub, a_release(), repo=repo)
    commit_by_hand(fake, repo, {path: b"by hand"})
    with pytest.raises(PublishRefused, match=words):
        published(hub, a_release(version="1.0.0", users=1), repo=repo)
    assert commits(fake, repo) == 2


def test_an_edited_card_is_not_overwritten_where_the_copy_of_what_was_written_is_gone(
    fake: FakeHub, hub: Hub, repo: str
) -> None:
    published(hub, a_release(), repo=repo)
    commit_by_hand(fake, repo, {}, ".written/README.md")
    edit(fake, repo, ("## Quality", "## Thanks\n\n## Quality"))
    removed = r"^\.written/README\.md was removed from .*; put it back from the history of the repository on the Hub\.$"
    with pytest.raises(PublishRefused, match=removed):
        published(hub, a_release(version="1.0.0", users=1), repo=repo, day=DAY)
    with pytest.raises(PublishRefused, match=removed):
        deprecate_version(hub, Deprecation(repo, "demo-v0.1.0", withdrawn_because="x"))
    assert "## Thanks" in card(fake, repo)


def test_days_and_reasons_of_earlier_versions_are_not_lost_with_the_list_of_versions(
    fake: FakeHub, hub: Hub, repo: str
) -> None:
    published(hub, a_release(), repo=repo, day=DAY)
    listed = held_files(fake, repo)[VERSIONS]
    commit_by_hand(fake, repo, {}, VERSIONS)
    newer = a_release(version="1.0.0", users=1)
    removed = r"^versions\.json was removed from .*; put it back from the history of the repository on the Hub\.$"
    with pytest.raises(PublishRefused, match=removed):
        published(hub, newer, repo=repo)
    with pytest.raises(PublishRefused, match=removed):
        deprecate_version(hub, Deprecation(repo, "demo-v0.1.0", withdrawn_because="x"))
    commit_by_hand(fake, repo, {VERSIONS: listed})
    published(hub, newer, repo=repo)
    assert "| `demo-v0.1.0` | 2026-11-23 | the first version | yes |" in card(fake, repo)


def test_every_version_is_listed_with_its_day_and_reason(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo, day=DAY)
    published(hub, a_release(version="1.0.0", users=1), repo=repo, day=date(2026, 12, 24))
    listed = read_versions(held_files(fake, repo)[VERSIONS], source=repo)
    assert [(one.tag, one.published) for one in listed] == [("demo-v1.0.0", date(2026, 12, 24)), ("demo-v0.1.0", DAY)]
    assert "| `demo-v0.1.0` | 2026-11-23 | the first version | yes |" in card(fake, repo)


def test_a_version_is_superseded_withdrawn_and_taken_back(fake: FakeHub, hub: Hub, repo: str) -> None:
    for release in (a_release(), a_release(version="1.0.0", users=1)):
        published(hub, release, repo=repo, day=DAY)
    before = tags(fake, repo)
    deprecate_version(hub, Deprecation(repo, "demo-v0.1.0", superseded_by="demo-v1.0.0"))
    assert "| the first version | superseded by demo-v1.0.0 |" in card(fake, repo)
    deprecate_version(hub, Deprecation(repo, "demo-v1.0.0", withdrawn_because="its [key](http://x) is wrong."))
    assert "**`demo-v1.0.0` should not be used any more: withdrawn because its \\[key\\]" in card(fake, repo)
    sent = commits(fake, repo)
    deprecate_version(hub, Deprecation(repo, "demo-v1.0.0", withdrawn_because="its [key](http://x) is wrong."))
    assert commits(fake, repo) == sent
    deprecate_version(hub, Deprecation(repo, "demo-v1.0.0"))
    assert "should not be used" not in card(fake, repo)
    assert tags(fake, repo) == before


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tag": "demo-v9.9.9", "withdrawn_because": "x"}, "has no release tagged demo-v9.9.9; there are demo-v0.1.0"),
        ({"tag": "demo-v0.1.0", "superseded_by": "demo-v2.0.0"}, "has no release tagged demo-v2.0.0"),
        ({"tag": "demo-v0.1.0", "superseded_by": "demo-v0.1.0"}, "cannot be superseded by itself"),
    ],
)
def test_what_cannot_be_deprecated_is_refused(hub: Hub, repo: str, asked: dict[str, str], words: str) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(HubError, match=words):
        deprecate_version(hub, Deprecation(repo, **asked))


def test_scores_that_were_published_stay_on_the_card(fake: FakeHub, hub: Hub, repo: str) -> None:
    half = Estimate(value=0.5, low=0.4, high=0.6)
    less = Estimate(value=0.125, low=-0.25, high=0.375)
    score = BaselineScore(assistant="llm", model="m-1", users=2, accuracy=half, memory=half, gap=less)
    published(hub, a_release(), repo=repo, scores=(score,))
    line = f"| llm | m-1 | `demo-v0.1.0` | 2 | {percents(half)} | {percents(less)} | {percents(half)} |"
    assert "| right answers | less those on fresh users |" in card(fake, repo)
    assert line in card(fake, repo)
    scores, digest = published_scores(hub, repo, tag="demo-v0.1.0")
    assert (scores, digest) == ((score,), a_release().digest)
    assert published_scores(hub, repo, tag="demo-v9.9.9") == ((), "")
    published(hub, a_release(variant="base"), repo=repo)
    assert line in card(fake, repo)


def test_a_merge_of_headers_keeps_both_and_refuses_what_contradicts() -> None:
    base = {"license": "mit", "tags": ["a", "b"], "configs": [{"config_name": "x", "path": "1"}]}
    ours = {"license": "mit", "tags": ["a", "b", "c"], "configs": [{"config_name": "x", "path": "2"}]}
    theirs = {
        "license": "mit",
        "tags": ["b", "d"],
        "configs": [{"config_name": "x", "path": "1"}, {"config_name": "y"}],
        "doi": "1",
    }
    assert merged_header(base, ours, theirs) == {
        "license": "mit",
        "tags": ["b", "c", "d"],
        "configs": [{"config_name": "x", "path": "2"}, {"config_name": "y"}],
        "doi": "1",
    }
    with pytest.raises(
        MergeConflict, match="the field license of its header was 'mit', is 'odc-by' by hand, and becomes 'cc0'"
    ):
        merged_header(base, {**ours, "license": "cc0"}, {**theirs, "license": "odc-by"})
