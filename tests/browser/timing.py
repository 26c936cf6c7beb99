"""`python -m tests.browser.timing [VARIANTS]`: how soon `amemgym ui` is usable, and how long its pages take to show.

Behind the pages stands one materialization of every asset for each variant. Run it alone: a busy machine is slower.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

from pipelines.home import home, prepare_dagster_home
from tests.browser.pages import Visit, chromium, visit
from tests.support.ui_server import ui_server

TIMES = 5


def write_recipes(folder: Path, count: int) -> None:
    """So many variants, of three users each."""
    folder.mkdir()
    for number in range(count):
        (folder / f"variant-{number:03d}.yaml").write_text("num_users: 3\n", encoding="utf-8")


def materialize_all() -> int:
    """Tell Dagster of every asset that it was materialized for every variant; how many materializations that are."""
    import dagster as dg

    from assets.amemgym.pipeline import AMEMGYM
    from pipelines.definitions import defs

    keys = [spec.key for spec in defs.resolve_all_asset_specs()]
    with dg.DagsterInstance.get() as instance:
        for variant in AMEMGYM.partitions.units:
            for key in keys:
                event = dg.AssetMaterialization(key, partition=variant, metadata={"users": 3, "calls": 12})
                instance.report_runless_asset_event(event)
    return len(AMEMGYM.partitions.units) * len(keys)


def graph_drawn(page: Page) -> None:
    """Wait for the graph's nodes."""
    page.locator("svg foreignObject").first.wait_for()


def partitions_listed(page: Page) -> None:
    """Wait for the list of an asset's partitions."""
    page.get_by_text("variant-000").first.wait_for()


def seconds_to_show(user: Visit, path: str, *, graph: bool) -> float:
    """Until the page has what one came for."""
    began = time.monotonic()
    page = user.open(path)
    (graph_drawn if graph else partitions_listed)(page)
    took = time.monotonic() - began
    page.close()
    return took


def main(variants: int) -> None:
    """Measure, print."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        write_recipes(place / "recipes", variants)
        around = {"AMEMGYM_RECIPES": str(place / "recipes")}
        os.environ |= {**around, "AMEMGYM_HOME": str(place), "DAGSTER_HOME": str(place / "dagster")}
        prepare_dagster_home(home())
        print(f"{variants} variants, {materialize_all()} materializations")
        with chromium() as browser:
            began = time.monotonic()
            with ui_server(place, around) as server, visit(browser, server.url, shots=place) as user:
                seconds_to_show(user, "/asset-groups", graph=True)
                print(f"from the command to the first graph: {time.monotonic() - began:.1f} s")
                for path, graph in (("/asset-groups", True), ("/assets/amemgym/events?view=partitions", False)):
                    taken = sorted(seconds_to_show(user, path, graph=graph) for _ in range(TIMES))
                    print(f"{path}: {taken[TIMES // 2]:.1f} s, the slowest of {TIMES} {taken[-1]:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
