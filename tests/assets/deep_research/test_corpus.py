"""Real documents: read in four forms, cut, renamed in one pass, and refused in one sentence where they cannot be used."""

from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.deep_research.corpus.reading import corpus_digest, read_documents, text_lines
from assets.deep_research.corpus.renaming import invented_name, name_registry, rename_all
from assets.deep_research.corpus.sampling import with_corpus_digest
from assets.deep_research.corpus.sections import MOST_TOKENS, sections_of
from assets.deep_research.records import Section
from assets.engine.recipe_asset import recipe_metadata
from assets.recipe.recipe import RecipeError
from assets.text.words import count_tokens
from pipelines.embedded.deep_research.manuals import manual_facts
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import make, small_recipe, worlds

HTML = """<!doctype html><html><head><title>The page</title><script>var x = 1;</script></head><body><nav>Menu</nav>
<div role="navigation"><h3>Navigation</h3><div>next</div></div><div>
<h1>queue_tools<a class="headerlink" href="#x">#</a></h1><p>Words of the
page.</p><dl><dt>open_queue(name)</dt><dd>Opens one.</dd></dl></div></body></html>"""
PAD = "It is explained here at some length what the call does and what it leaves alone, in words that anybody can follow. " * 8
MANUAL = [
    ("old", "open_queue(name)", "Deprecated since version 3.2: Use QueueOpener.start instead."),
    ("new", "QueueOpener.start(name)", "New in version 3.1."),
    *((f"other{n}", f"spare_part_{n}(name)", f"New in version 2.{n}.") for n in range(32)),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, signature, fact in MANUAL:
        (tmp_path / f"{name}.txt").write_text(f"{signature}\n{fact}\n{PAD}\n", encoding="utf-8")
    return tmp_path


def test_html_loses_menus_scripts_and_marks_and_keeps_its_lines() -> None:
    title, lines = text_lines(HTML)
    assert title == "The page"
    assert [line.text for line in lines] == ["queue_tools", "Words of the page.", "open_queue(name)", "Opens one."]
    assert [line.heading for line in lines] == [True, False, False, False]
    assert text_lines("# A *title*\n\nSome `code`.", markdown=True)[1][1].text == "Some code."


def test_folders_and_parquet_are_read_with_their_licenses(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(HTML, encoding="utf-8")
    (tmp_path / "notes.md").write_text("# Notes\n\nWords.", encoding="utf-8")
    table = pa.table({"id": ["one"], "title": ["One"], "text": ["Plain words."], "license": ["CC0"]})
    pq.write_table(table, tmp_path / "rows.parquet")  # pyright: ignore[reportUnknownMemberType]
    documents = read_documents((str(tmp_path),), "MIT")
    assert [(one.document_id, one.title, one.license) for one in documents] == [
        ("notes.md", "Notes", "MIT"),
        ("one", "One", "CC0"),
        ("page.html", "The page", "MIT"),
    ]


@pytest.mark.parametrize(
    ("content", "license_name", "problem"),
    [
        ({}, "MIT", "has no HTML, Markdown, text or Parquet document"),
        ({"a.txt": "Words."}, "", "No license is known of 'a.txt'"),
    ],
)
def test_documents_that_cannot_be_used_are_told(
    tmp_path: Path, content: dict[str, str], license_name: str, problem: str
) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=problem):
        read_documents((str(tmp_path),), license_name)
    with pytest.raises(RecipeError, match="neither a folder nor a file"):
        read_documents((str(tmp_path / "nowhere"),), "MIT")


def test_a_link_in_a_corpus_to_elsewhere_is_refused(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (corpus / "key.txt").symlink_to(tmp_path_factory.mktemp("elsewhere") / "key.txt")
    with pytest.raises(RecipeError, match=r"source\.paths: '.*key\.txt' is a link, .* that leads out of"):
        read_documents((str(corpus),), "MIT")


def test_sections_are_not_longer_than_they_may_be(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("\n".join([PAD] * 30), encoding="utf-8")
    (document,) = read_documents((str(tmp_path),), "MIT")
    sections = list(sections_of(document))
    assert len(sections) > 3
    assert all(count_tokens(section.text) <= MOST_TOKENS for section in sections)
    assert len({section.document_id for section in sections}) == len(sections)


def test_a_name_has_one_invented_name_everywhere_and_words_stay() -> None:
    def section(text: str) -> Section:
        return Section(document_id="d", title="queue_tools", text=text, source="s", license="MIT")

    sections = [section("Call queue_tools.open(). The QueueError is raised."), section("A QueueError; see queue_tools.")]
    names = name_registry(sections, seed=42)
    registry = names.words
    assert registry["QueueError"] == invented_name("QueueError", seed=42)
    assert registry["QueueError"].endswith("Error")
    assert len(set(registry.values())) == len(registry)
    texts = [rename_all(one.text, names) for one in sections]
    assert "QueueError" not in " ".join(texts)
    assert all(registry["queue_tools"] in text for text in texts)
    assert texts[1].startswith("A ")
    assert invented_name("__init__", seed=1) != "__init__"


def test_a_task_over_real_documents_is_made_and_certified(corpus: Path) -> None:
    source = {"kind": "documents", "paths": (str(corpus),), "license": "MIT"}
    recipe = with_corpus_digest(small_recipe(lengths=(2000,), source=source, num_tasks=1))
    assert recipe.source.content == corpus_digest(read_documents((str(corpus),), "MIT"))
    assert recipe_metadata(recipe, {})["fingerprint"] == recipe.fingerprint
    task = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel())).instance
    assert task.answer.value == "3.1"
    assert [hop.relation for hop in task.hops] == ["replaced_by", "added_in"]
    assert "open_queue" not in task.question
    assert {one.license for sized in task.lengths for one in sized.documents} == {"MIT"}
    (corpus / "new.txt").write_text("Something else.", encoding="utf-8")
    read_documents.cache_clear()
    with pytest.raises(RecipeError, match="have changed since"):
        worlds(recipe)


def test_an_installed_package_is_read_in_its_version_alone_without_its_authors() -> None:
    (document,) = read_documents((f"package:humanfriendly=={version('humanfriendly')}",), "")
    text = "\n".join(line.text for line in document.lines)
    assert (document.title, document.license) == ("humanfriendly", "MIT License")
    assert ("humanfriendly", "release", version("humanfriendly")) in [
        (fact.subject, fact.relation, fact.value) for fact in manual_facts(text)
    ]
    assert not [line for line in document.lines if line.text.startswith(("Author", "Maintainer", "Project-URL"))]
    with pytest.raises(RecipeError, match="is installed; write the installed version"):
        read_documents(("package:humanfriendly==0.1",), "")
    with pytest.raises(RecipeError, match="names the package nobody-has-this, which is not installed"):
        read_documents(("package:nobody-has-this==1",), "")


def test_names_that_packages_declare_are_replaced_whatever_their_form() -> None:
    declared = Section(
        document_id="a", title="idna", text="Name: idna\nRequires-Dist: click>=8\nA click on idna.", source="a", license="MIT"
    )
    registry = name_registry([declared], seed=42)
    assert set(registry.packages) == {"idna", "click"}


def test_a_package_loses_its_name_in_every_form_that_people_write_it_in() -> None:
    text = (
        "Typing Extensions, typing-extensions, typing_extensions, TYPING.EXTENSIONS, typingextensions. Set GRPC_TRACE=grpc, "
        "see grpc/grpc, https://github.com/grpc/grpc/issues/7 or ask@grpc.io. Grpc is not grpcurl. Typing is fun."
    )
    section = Section(document_id="a", title="Typing Extensions", text=text, source="a", license="MIT")
    registry = name_registry([section], seed=42, packages=frozenset({"typing-extensions", "grpc"}))
    first, last = registry.packages["typing-extensions"].split("-")
    grpc = registry.packages["grpc"]
    told = rename_all(text, registry)
    assert told.startswith(
        f"{first.title()} {last.title()}, {first}-{last}, {first}_{last}, {first.upper()}.{last.upper()}, {first}{last}. "
    )
    assert f"={grpc}, see {grpc}/{grpc}, https://" in told
    assert told.endswith(f"{grpc.title()} is not grpcurl. Typing is fun.")
    assert "GRPC" not in told
    assert "github" not in told
    assert "ask@" not in told


def test_set_phrases_of_manuals_are_read() -> None:
    text = "class queue.Tray(size)\nSubclass of queue.Box. Returns nothing.\nNew in version 3.4.\nThe default value is forty."
    assert [(fact.subject, fact.relation, fact.value) for fact in manual_facts(text)] == [
        ("queue.Tray", "parent", "queue.Box"),
        ("queue.Tray", "added_in", "3.4"),
        ("queue.Tray", "default", "forty"),
    ]
