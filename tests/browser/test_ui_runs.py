"""What a user does with runs in the Dagster UI: watch, cancel, resume, see why one failed, publish, evaluate."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from assets.amemgym.personas.pool_files import OWN_POOL
from tests.browser.lab import Lab
from tests.browser.pages import Visit, metadata, opened_markdown, outcome, start
from tests.support.hub_server.state import FakeHub
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.ui_server import UiServer
from tests.support.waiting import LONG, wait_until

pytestmark = pytest.mark.browser
SLOW = FaultProfile(latency=2.0)
ONE_USER = "memories: [full-history]\nmax_tokens: 10000000\noptions:\n  users: 1"
SMALLER = "num_users: 4\nnum_questions: 6\nnum_periods: 4"
PROGRESS = re.compile(r"^\w+ of base: \d+ of 4 users, \d+ calls")
PARTS = (r"\d+ of 4 users", r"\d+ calls \(\d+ from the cache, [\d.]+/s\)", r"\$\d+\.\d{4} so far", r"about \d+ (s|min) left")


@pytest.fixture(scope="module")
def impossible(user: Visit) -> Page:
    """The page of a run with an override that its first step refuses, which has time to end while another one starts."""
    return start(user, partition="extra", config="again:\n  nobody:\n    answers: 1")


@pytest.mark.usefixtures("impossible")
def test_a_slow_run_tells_how_it_gets_on_stops_when_cancelled_and_resumes_without_asking_twice(user: Visit, lab: Lab) -> None:
    lab.turn(SLOW)
    page = start(user, partition="base", config=SMALLER)
    _watch_until_all_is_told(page)
    user.shoot(page, "20_progress")
    _cancel(page)
    asked = sum(lab.asked.values())
    user.shoot(page, "21_cancelled")
    lab.turn(FaultProfile())
    page.wait_for_timeout(1000)
    assert sum(lab.asked.values()) == asked
    page.close()
    page = start(user, partition="base", config=SMALLER)
    assert outcome(page) == "Success"
    user.shoot(page, "22_resumed")
    assert max(lab.asked.values()) == 1
    page.close()


def _watch_until_all_is_told(page: Page) -> None:
    """Wait until the lines of progress on the run's page had all of the parts, and some stage went on to another line."""
    seen: set[str] = set()

    def all_is_told() -> bool:
        page.wait_for_timeout(500)
        seen.update(page.get_by_text(PROGRESS).all_inner_texts())
        stages = Counter(line.partition(" of base")[0] for line in seen)
        return all(any(re.search(part, line) for line in seen) for part in PARTS) and max(stages.values()) > 1

    expect(page.get_by_text(PROGRESS).first).to_be_visible()
    wait_until(all_is_told, seconds=5 * LONG)


def _cancel(page: Page) -> None:
    page.get_by_role("button", name="Terminate").click()
    page.get_by_role("button", name="Terminate 1 run").click()
    assert outcome(page) == "Canceled"


def test_an_impossible_override_fails_with_a_sentence_on_the_run_page(user: Visit, impossible: Page) -> None:
    assert outcome(impossible) == "Failure"
    expect(impossible.get_by_text("again names the user 'nobody'").last).to_be_visible()
    user.shoot(impossible, "23_impossible_override")
    impossible.close()


def test_a_check_that_fails_shows_whom_it_is_about(user: Visit, tmp_path: Path) -> None:
    people = [json.loads(line) for line in OWN_POOL.read_text(encoding="utf-8").splitlines()[:20]]
    silent = [{**person, "persona": "", "professional_persona": ""} for person in people]
    pool = tmp_path / "people.jsonl"
    pool.write_text("".join(f"{json.dumps(person)}\n" for person in silent), encoding="utf-8")
    page = start(user, partition="extra", config=f"num_users: 3\nnum_reserve: 0\npool:\n  paths: ['{pool}']")
    assert outcome(page) == "Failure"
    user.shoot(page, "24_failed_check_on_the_run_page")
    page.goto(f"{user.url}/assets/amemgym/personas?view=checks")
    page.get_by_text("personas_tell_something", exact=True).first.click()
    expect(page.get_by_text("Not so for 3 of 3 users")).to_be_visible()
    named = opened_markdown(page, "sample").locator("tbody tr").filter(has_text="has no persona text")
    expect(named).to_have_count(3)
    user.shoot(page, "25_rows_of_the_failed_check")
    assert {row.locator("td").first.inner_text().strip() for row in named.all()} <= {person["uuid"] for person in people}
    page.close()


@pytest.mark.usefixtures("demo")
def test_a_release_is_published_from_the_page(user: Visit, hub: FakeHub) -> None:
    page = start(user, job="publish", partition="demo", op="amemgym__hub_release", config="repo: lab/retired")
    assert outcome(page) == "Success"
    page.goto(f"{user.url}/assets/amemgym/hub_release")
    shown = metadata(page)
    user.shoot(page, "26_published")
    assert hub.repos["lab/retired"].git.refs()[f"refs/tags/{shown['tag']}"]
    assert shown["page"] == f"{hub.url}/datasets/lab/retired/tree/demo-v0.1.0"
    page.goto(f"{user.url}/assets/amemgym/hub_release?view=checks")
    expect(page.get_by_text(f"lab/retired@demo-v0.1.0 is at commit {shown['commit'][:12]}.")).to_be_visible()
    page.close()


def test_a_check_that_is_run_without_a_partition_says_what_to_do_instead(user: Visit) -> None:
    page = user.open("/assets/amemgym/release?view=checks")
    page.get_by_role("button", name="Execute all").click()
    page.get_by_role("link", name="View", exact=True).click()
    page.wait_for_url("**/runs/*")
    assert outcome(page) == "Failure"
    expect(page.get_by_text("materialize release for a partition").first).to_be_visible()
    user.shoot(page, "28_check_without_partition")
    page.close()


@pytest.mark.usefixtures("demo")
def test_an_assistant_is_evaluated_from_the_page(user: Visit) -> None:
    page = start(user, job="evaluate", partition="demo", config=ONE_USER, op="amemgym__evaluation")
    assert outcome(page) == "Success"
    page.goto(f"{user.url}/assets/amemgym/evaluation")
    shown = metadata(page)
    user.shoot(page, "27_evaluated")
    assert 0 <= float(shown["memory_full-history"]) <= 1
    for key, heading in (("page_full-history", "full-history on demo"), ("board", "1 run on demo")):
        page.goto(f"{user.url}{shown[key]}")
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        page.goto(f"{user.url}/assets/amemgym/evaluation")
    assert "full-history" in shown["leaderboard"]
    page.close()


def test_nothing_was_asked_of_another_host_and_no_telemetry_was_kept(user: Visit, server: UiServer) -> None:
    page = user.open("/")
    assert '"telemetryEnabled": false' in page.content()
    assert user.seen == {"127.0.0.1"}
    assert not list((server.home / "dagster" / "logs").glob("*"))
