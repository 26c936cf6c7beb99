"""What `amemgym ui` serves beside Dagster: pages, no data, to nobody else's site."""

import os
import re
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import dagster as dg
import httpx2
import pytest

import assets.recipe.loading as loading
from assets.amemgym.records.report import QualityReport
from assets.engine.provenance import Provenance, ReportValue
from assets.records.estimate import Estimate
from assets.reporting.verdict import WORDS
from dataset_card.release_store.folder import write_release
from pipelines.evaluation.folder import PAGE
from pipelines.evaluation.report.numbers import format_estimate
from pipelines.home import Home
from pipelines.memories.contract import MemorySpec
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.ui.first_page import index_page
from pipelines.ui.pages import pages_app
from pipelines.ui.request_guard import RequestGuard
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support import scenario
from tests.support.releases import content, report
from tests.support.scenario import varied
from tests.support.waiting import LONG
from validation.amemgym.report.page import render_quality_page


@contextmanager
def visited(home: Home, *, reloaded: list[str] | None = None) -> Generator[httpx2.Client]:
    app = pages_app(home, reload=lambda: None if reloaded is None else reloaded.append("reloaded"))
    with (
        on_a_port(RequestGuard(app, host="127.0.0.1", forms=["/variants"])) as address,
        httpx2.Client(base_url=address.removesuffix("/v1"), timeout=LONG) as client,
    ):
        yield client


def write(path: Path, text: str = "<h1>here</h1>") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_report(home: Home, made: QualityReport) -> None:
    """As a run leaves it: the record, and its page."""
    write(home.reports / "demo.html", f"<header>{render_quality_page(made)}</header>")
    value = ReportValue(provenance=Provenance(recipe=scenario.recipe(), snapshots={}), report=made)
    context = dg.build_output_context(asset_key=dg.AssetKey("quality_report"), partition_key="demo")  # pyright: ignore[reportUnknownMemberType]
    open_asset_values(home).handle_output(context, value)


def test_pages_are_served_and_nothing_else_of_their_folders(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home.reports / "demo.html")
    write(tmp_path / "runs" / "one" / PAGE)
    write(tmp_path / "runs" / "one" / "answers.parquet", "rows")
    write(tmp_path / "runs" / "one" / "manifest.json", "{}")
    with visited(home) as client:
        for path in ("/reports/demo.html", f"/runs/one/{PAGE}"):
            answer = client.get(path)
            assert answer.text == "<h1>here</h1>"
            # A page with texts of models has no way to Dagster's API on the same address.
            assert answer.headers["content-security-policy"].startswith("sandbox")
            assert "allow-same-origin" not in answer.headers["content-security-policy"]
        for path in (
            "/runs/one/answers.parquet",
            "/runs/one/manifest.json",
            "/reports/..%2fcalls.sqlite",
            "/reports/none.html",
        ):
            assert client.get(path).status_code == 404
        missing = client.get("/releases/none.html")  # nothing was released, so there is no folder
        assert (missing.status_code, "There is no page /releases/none.html" in missing.text) == (404, True)


def test_the_first_page_lists_what_there_is_and_each_link_leads_somewhere(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home.reports / "demo.html")
    write(tmp_path / "runs" / "one" / PAGE)
    with visited(home) as client:
        page = client.get("/").text
        links = {part.partition('"')[0] for part in page.split('href="/pages')[1:]}
        assert {"/reports/demo.html", f"/runs/one/{PAGE}", "/launchpad/demo"} <= links
        assert {link: client.get(link).status_code for link in links if "launchpad" not in link} == dict.fromkeys(
            (link for link in links if "launchpad" not in link), 200
        )
        opened = client.get("/launchpad/demo")
        assert opened.status_code == 303
        assert opened.headers["location"].startswith("/locations/amemgym/jobs/generate_and_release/playground/setup?config=")


def test_a_served_page_leads_back_to_the_first_one_and_an_unknown_address_is_answered_with_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home.reports / "demo.html", '<header id="top"><h1>here</h1></header>')
    with visited(home) as client:
        assert (
            client.get("/reports/demo.html").text
            == '<header id="top"><p><a href="/pages/">All pages</a></p><h1>here</h1></header>'
        )
        lost = client.get("/reports/nosuch.html")
    assert (home.reports / "demo.html").read_text(encoding="utf-8") == '<header id="top"><h1>here</h1></header>'
    assert lost.status_code == 404
    assert "There is no page /reports/nosuch.html." in lost.text
    assert "<h1>Memory benchmarks</h1>" in lost.text


def made_before(path: Path, seconds: int) -> None:
    """As if the file had been written so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_evaluations_stand_newest_first_with_what_tells_those_of_one_name_apart(tmp_path: Path) -> None:
    for age, run in ((3600, "demo-bm25-2"), (7200, "demo-bm25-1")):
        write(tmp_path / "runs" / run / PAGE, "<title>bm25 on demo</title>")
        made_before(tmp_path / "runs" / run / PAGE, age)
    for age, name, other in ((3600, "a", "demo-bm25-2"), (1800, "b", "demo-none-3")):
        links = "".join(f'"../runs/{run}/{PAGE}"' for run in ("demo-bm25-1", other))
        write(tmp_path / "boards" / f"{name}.html", f"<title>2 runs on demo</title>{links}")
        made_before(tmp_path / "boards" / f"{name}.html", age)
    lines = re.findall('<li>.*?<span class="quiet">(.*?)</span></li>', index_page(Home(tmp_path)))

    dates = [line.rpartition(", ")[2] for line in lines]
    assert [line.rpartition(", ")[0] for line in lines] == [
        "demo-bm25-1, demo-none-3",
        "demo-bm25-1, demo-bm25-2",
        "demo-bm25-2",
        "demo-bm25-1",
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", date) for date in dates)


def test_a_run_stands_with_its_score(tmp_path: Path) -> None:
    run = finish(run_of(tmp_path / "runs", HonestModel()))
    memory = format_estimate(run.results.metrics["memory"])
    assert f"memory {memory}, {run.manifest.run_id}, " in index_page(Home(tmp_path))


def test_a_variant_stands_with_verdict_size_cost_newest_release_and_best_memory(tmp_path: Path) -> None:
    """A memory that keeps everything is no rival, and a run on another release says nothing of this one."""
    home = Home(tmp_path)
    first = write_release(content(report=report()), root=home.releases, version="0.1.0")
    shutil.copytree(first.folder, first.folder.with_name("1.0.0"))
    write_report(home, report())
    run = finish(run_of(tmp_path / "runs", HonestModel()))
    for name, kind, score, dataset in (
        ("bm25", "bm25", 0.5, "demo 1.0.0"),
        ("rag", "rag", 0.6, "demo 1.0.0"),
        ("all", "full-history", 0.9, "demo 1.0.0"),
        ("older", "rag", 0.8, "demo 0.1.0"),
    ):
        folder = shutil.copytree(tmp_path / "runs" / run.manifest.run_id, tmp_path / "runs" / name)
        manifest = varied(run.manifest, run_id=name, dataset=dataset, memory=MemorySpec(name=name, kind=kind))
        write(folder / "manifest.json", manifest.model_dump_json())
        results = varied(run.results, metrics={"memory": Estimate(value=score, low=None, high=None)})
        write(folder / "results.json", results.model_dump_json())
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", index_page(home).partition("A variant of your own</h2>")[0]))
    assert re.search(r"demo amemgym A taste: [^.]*\. Not to be released 2 users 4K tokens 1\.0\.0 what changed ", text)
    assert "earlier releases 0.1.0 rag memory .600 launchpad" in text
    assert "Not made yet, each with its launchpad base The paper's base sizes" in unescape(text)


@pytest.mark.parametrize(("writer", "kind"), [("large", "release"), ("amemgym-embedded-1", "trying")])
def test_the_first_page_says_of_a_variant_what_its_report_s_page_says(tmp_path: Path, writer: str, kind: str) -> None:
    home = Home(tmp_path)
    write_report(home, report(shortcuts=(), writer=writer))
    assert f'class="{kind}" href="/pages/reports/demo.html">{WORDS[kind]}<' in index_page(home)
    assert f'<div class="verdict {kind}"><p><b>{WORDS[kind]}.</b>' in (home.reports / "demo.html").read_text(encoding="utf-8")


def test_a_report_that_cannot_be_read_leaves_its_page_without_a_verdict(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write_report(home, report())
    for path in home.root.rglob("quality_report/demo.json"):
        path.write_text("{}", encoding="utf-8")
    assert '<a href="/pages/reports/demo.html">Quality report</a>' in index_page(home)


def test_a_variant_is_begun_from_the_servers_own_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "RECIPES", tmp_path / "recipes")
    write(tmp_path / "recipes" / "demo.yaml", "num_users: 3\n")
    reloaded, form = list[str](), {"name": "retired", "like": "demo"}
    with visited(Home(tmp_path), reloaded=reloaded) as client:
        client.get("/")
        for origin in ("", "https://elsewhere.example", "null"):
            assert client.post("/variants", data=form, headers={"origin": origin}).status_code == 403
        own = client.post("/variants", data=form, headers={"origin": str(client.base_url).rstrip("/")})
        assert own.status_code == 303
        assert "num_users%3A+3" in own.headers["location"]
        again = client.post("/variants", data=form, headers={"origin": str(client.base_url).rstrip("/")})
        assert again.status_code == 422
        assert "There is a variant &#39;retired&#39; already" in again.text
    assert reloaded == ["reloaded"]
