"""Write the persona pool: ``python -m tests.support.persona_pool.generate [PATH]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.support.persona_pool import compose
from tests.support.persona_pool.chance import Chance
from tests.support.persona_pool.person import Person, Town, draw_person
from tests.support.persona_pool.tables import load_tables
from tests.support.persona_pool.teller import Teller

DEFAULT_PATH = Path(__file__).parents[3] / "assets" / "amemgym" / "personas" / "pool.jsonl"

Row = dict[str, str | int | None]


def generate_pool(count: int = 400, *, seed: int = 42) -> list[Row]:
    """The same count and seed always give the same personas."""
    town = Town(load_tables())
    return [_row(town, Chance(seed, index)) for index in range(count)]


def write_pool(path: Path = DEFAULT_PATH) -> None:
    """Write the pool as JSON lines, the same bytes everywhere."""
    rows = (json.dumps(row, ensure_ascii=False) for row in generate_pool())
    path.write_bytes("".join(f"{row}\n" for row in rows).encode("utf-8"))


def _row(town: Town, chance: Chance) -> Row:
    person = draw_person(town, chance)
    teller = Teller(town, person, chance)
    return {"uuid": chance.digest("uuid")[:32]} | _texts(teller) | _answers(person)


def _texts(teller: Teller) -> Row:
    skills, skills_list = compose.skills(teller)
    hobbies, hobbies_list = compose.hobbies(teller)
    return {
        "professional_persona": compose.professional(teller),
        "sports_persona": compose.facet(teller, "sports"),
        "arts_persona": compose.facet(teller, "arts"),
        "travel_persona": compose.facet(teller, "travel"),
        "culinary_persona": compose.facet(teller, "culinary"),
        "persona": compose.persona(teller),
        "cultural_background": compose.culture(teller),
        "skills_and_expertise": skills,
        "skills_and_expertise_list": skills_list,
        "hobbies_and_interests": hobbies,
        "hobbies_and_interests_list": hobbies_list,
        "career_goals_and_ambitions": compose.ambitions(teller),
    }


def _answers(person: Person) -> Row:
    return {
        "sex": person.census.sex,
        "age": person.census.age,
        "marital_status": person.census.marital,
        "education_level": person.census.education,
        "bachelors_field": person.census.field,
        "occupation": person.occupation,
        "city": person.place.city,
        "state": person.place.state,
        "zipcode": person.place.zipcode,
        "country": "USA",
    }


if __name__ == "__main__":
    write_pool(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_PATH)
