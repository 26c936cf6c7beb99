"""A web application of WebArena-Infinity's form: plants that are watered by a click on their lines."""

import json
from collections.abc import Mapping
from pathlib import Path

PAGE = """<!doctype html><title>Plants</title><div id="list"></div>
<script>
const state = {plants: [{name: "Fern", watered: false}, {name: "Moss", watered: false}]};
function show() {
  list.innerHTML = "";
  for (const plant of state.plants) {
    const line = document.createElement("div");
    line.style.cursor = "pointer";
    line.textContent = `${plant.name} is ${plant.watered ? "wet" : "dry"}`;
    line.onclick = () => { plant.watered = true; show(); };
    list.append(line);
  }
  fetch("/api/state", {method: "PUT", body: JSON.stringify(state)});
}
show();
</script>
"""
WATERED = """import requests


def verify(server_url):
    answer = requests.get(f"{server_url}/api/state")
    if answer.status_code != 200:
        return False, "there is no state"
    wet = [plant["name"] for plant in answer.json()["plants"] if plant["watered"]]
    return "NAME" in wet, f"{wet} are wet, NAME is not"
"""


def verifier_of(plant: str) -> str:
    return WATERED.replace("NAME", plant)


def write_application(folder: Path, *, page: str = PAGE, verifiers: Mapping[str, str] | None = None) -> Path:
    """Write an application with a task for each verifier, by the name of the plant to water; return its folder."""
    verifiers = {plant: verifier_of(plant) for plant in ("Fern", "Moss")} if verifiers is None else verifiers
    (folder / "checks").mkdir(parents=True)
    (folder / "index.html").write_text(page)
    rows: list[dict[str, str]] = []
    for plant, source in verifiers.items():
        (folder / "checks" / f"{plant}.py").write_text(source)
        rows.append({"id": plant, "instruction": f"Water the {plant.lower()}.", "verify": f"checks/{plant}.py"})
    (folder / "real-tasks.json").write_text(json.dumps(rows))
    return folder
