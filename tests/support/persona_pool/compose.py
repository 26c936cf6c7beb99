"""The text columns of one persona."""

from __future__ import annotations

from tests.support.persona_pool.prose import listed
from tests.support.persona_pool.tables import Hobby
from tests.support.persona_pool.teller import Teller

FACETS = {
    "sports": "sports and exercise",
    "arts": "art and music",
    "travel": "travel",
    "culinary": "food",
}
WORK_STYLE = {"working": "work_style", "student": "study_style", "home": "care_style"}
GOALS = {"retired": "goals_retired", "student": "goals_student"}


def professional(teller: Teller) -> str:
    """What the person does or did for a living, and how."""
    status = teller.person.census.status
    if status == "retired":
        return teller.tell([teller.voice("work_retired"), teller.voice("work_retired_more")])
    lines = [teller.pick(teller.person.work.do), teller.voice(WORK_STYLE[status])]
    if status == "working" and teller.chance.happens(40, "second style"):
        lines.append(teller.voice("work_style"))
    return teller.tell(lines)


def skills(teller: Teller) -> tuple[str, str]:
    """Skills as prose and as a list."""
    work = teller.person.work
    start = teller.chance.below(len(work.skills), "skills")
    own = [work.skills[(start + step) % len(work.skills)] for step in range(4)]
    hobby = teller.person.hobbies[teller.chance.below(3, "hobby skill")]
    teller.put(k1=own[0], k2=own[1], k3=own[2], hs=hobby.skill)
    lines = [teller.voice("skill_frames"), _ability(teller), teller.voice("skill_more")]
    return teller.tell(lines), listed([*own, hobby.skill])


def _ability(teller: Teller) -> str:
    can = teller.person.work.can
    if teller.person.census.status != "retired":
        return teller.pick(can)
    return "still " + teller.pick([line for line in can if line.startswith("knows")])


def hobbies(teller: Teller) -> tuple[str, str]:
    """Hobbies as prose and as a list."""
    own = teller.person.hobbies
    lines = [teller.pick(own[0].lines, opening=True)]
    lines += [teller.pick(hobby.lines) for hobby in own[1:3]]
    if len(own) > 3:
        teller.put(g=" and ".join(teller.pick(hobby.ing) for hobby in own[3:]))
        lines.append(teller.voice("hobby_last"))
    lead = teller.voice("hobby_leads") if teller.chance.happens(60, "lead") else ""
    text = teller.tell(lines, lead)
    return text, repr([hobby.label for hobby in own])


def facet(teller: Teller, name: str) -> str:
    """The sports, arts, travel or culinary side of the person."""
    fitting = [hobby for hobby in teller.person.hobbies if _facet_lines(hobby, name)]
    lines = [teller.pick(_facet_lines(hobby, name)) for hobby in fitting[:2]]
    if not lines:
        lines.append(teller.voice(f"{name}_open", opening=True))
    if len(lines) < 2 or teller.chance.happens(40, f"more {name}"):
        lines.append(teller.voice(f"{name}_follow", after=lines))
    teller.put(topic=FACETS[name])
    leads = teller.chance.happens(30, f"{name} lead")
    return teller.tell(lines, teller.voice("facet_leads") if leads else "")


def _facet_lines(hobby: Hobby, name: str) -> list[str]:
    by_name = {
        "sports": hobby.sports,
        "arts": hobby.arts,
        "travel": hobby.travel,
        "culinary": hobby.culinary,
    }
    return by_name[name]


def persona(teller: Teller) -> str:
    """The person in two or three sentences."""
    own = teller.person.hobbies
    first, second, quirk = teller.voice("temperaments").split("; ")
    teller.put(adj1=first, adj2=second, quirk=teller.filled(quirk))
    teller.put(g1=teller.pick(own[0].ing), g2=teller.pick(own[1].ing))
    frame = teller.voice("persona_frames")
    if "$g1" in frame:
        teller.put(g1=teller.pick(own[2].ing))
        lines = [frame, teller.voice("persona_home")]
    else:
        lines = [frame, teller.voice("persona_more")]
        if teller.chance.happens(50, "home life"):
            lines.append(teller.voice("persona_home"))
    return teller.tell(lines)


def culture(teller: Teller) -> str:
    """Family background, home town and the values between them."""
    family = teller.pick(teller.person.heritage.lines)
    lines = [family, teller.voice("culture_place"), teller.voice("culture_values")]
    if teller.chance.happens(35, "values first"):
        lines = [family, lines[2], lines[1]]
    return teller.tell(lines)


def ambitions(teller: Teller) -> str:
    """What the person still wants to do."""
    status = teller.person.census.status
    own = teller.person.work.goals[teller.person.phase]
    goal = teller.voice(GOALS[status]) if status in GOALS else own
    teller.put(goal=teller.filled(goal), hgoal=teller.person.hobbies[-1].goal)
    ending = "_retired" if status == "retired" else ""
    lines = [teller.voice(f"goal_frames{ending}"), teller.voice("goal_personal")]
    if teller.chance.happens(75, "goal values"):
        lines.append(teller.voice(f"goal_values{ending}"))
    return teller.tell(lines)
