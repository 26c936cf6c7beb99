"""`python -m tests.browser.timing [VARIANTS | HOME RECIPES]`: how soon `amemgym ui` is usable, and how long its pages take.

Behind the pages stands one materialization of every asset for each variant, or what a data folder and a folder of recipes
hold, such as `python -m tests.bench.scaling --keep` leaves. Run it alone: a busy machine is slower.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from pipelines.home import home, prepare_dagster_home
from tests.browser.pages import Visit, chromium, visit
from tests.support.ui_server import ui_server

TIMES = 5
GRAPH = "/pages/graph/amemgym"
# What a page has to show, as a selector.
PAGES = {
    GRAPH: "svg foreignObject",
    "/assets/amemgym/state_trajectory": "text=Timestamp",
    "/assets/amemgym/state_trajectory?view=checks": "text=/^Checks \\(/",
    "/assets/amemgym/state_trajectory?view=partitions": "text=/^(copies|variant-000)$/",
    "/pages/": "h1",
}


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


def seconds_to_show(user: Visit, path: str) -> float:
    """Until the page has what one came for."""
    began = time.monotonic()
    page = user.open(path)
    page.locator(PAGES[path]).first.wait_for()
    took = time.monotonic() - began
    page.close()
    return took


def time_pages(place: Path, recipes: Path) -> None:
    """Print how long the pages of a data folder take."""
    with chromium() as browser:
        began = time.monotonic()
        with ui_server(place, {"AMEMGYM_RECIPES": str(recipes)}) as server, visit(browser, server.url, shots=None) as user:
            seconds_to_show(user, GRAPH)
            print(f"from the command to the first graph: {time.monotonic() - began:.1f} s")
            for path in PAGES:
                taken = sorted(seconds_to_show(user, path) for _ in range(TIMES))
                print(f"{path}: {taken[TIMES // 2]:.1f} s, the slowest of {TIMES} {taken[-1]:.1f} s")


def main(variants: int) -> None:
    """Make the variants, measure, print."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        recipes = place / "recipes"
        recipes.mkdir()
        for number in range(variants):
            (recipes / f"variant-{number:03d}.yaml").write_text("num_users: 3\n", encoding="utf-8")
        os.environ |= {"AMEMGYM_RECIPES": str(recipes), "AMEMGYM_HOME": str(place), "DAGSTER_HOME": str(place / "dagster")}
        prepare_dagster_home(home())
        print(f"{variants} variants, {materialize_all()} materializations")
        time_pages(place, recipes)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [place, recipes]:
            time_pages(Path(place), Path(recipes))
        case given:
            main(int(given[0]) if given else 5)
