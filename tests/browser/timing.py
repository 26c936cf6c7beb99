"""`python -m tests.browser.timing HOME RECIPES`: how soon `amemgym ui` is usable, and how long its pages take to show.

HOME is a data folder in which a variant of AMemGym was made, and RECIPES has its recipe: both are what
`python -m tests.bench.scaling --keep` leaves. Run it alone: a busy machine is slower.
"""

import sys
import time
from pathlib import Path

from tests.browser.pages import Visit, chromium, visit
from tests.support.ui_server import ui_server

TIMES = 5
GRAPH = "/pages/graph/amemgym"
# What a page has to show, as a selector.
PAGES = {
    GRAPH: "svg foreignObject",
    "/assets/amemgym/state_trajectory": "text=Timestamp",
    "/assets/amemgym/state_trajectory?view=checks": "text=Succeeded",
    "/pages/": "h1",
}


def seconds_to_show(user: Visit, path: str) -> float:
    """Until the page has what one came for."""
    began = time.monotonic()
    page = user.open(path)
    page.locator(PAGES[path]).first.wait_for()
    took = time.monotonic() - began
    page.close()
    return took


def main(place: Path, recipes: Path) -> None:
    """Measure, print."""
    with chromium() as browser:
        began = time.monotonic()
        with ui_server(place, {"AMEMGYM_RECIPES": str(recipes)}) as server, visit(browser, server.url, shots=None) as user:
            seconds_to_show(user, GRAPH)
            print(f"from the command to the first graph: {time.monotonic() - began:.1f} s")
            for path in PAGES:
                taken = sorted(seconds_to_show(user, path) for _ in range(TIMES))
                print(f"{path}: {taken[TIMES // 2]:.1f} s, the slowest of {TIMES} {taken[-1]:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
