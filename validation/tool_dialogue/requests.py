"""Rules about requests: their calls do what was asked, and settled values are in the sessions alone."""

from collections.abc import Iterator

from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.text.words import spells
from assets.tool_dialogue.company import Company
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.errands import ErrandPlan
from assets.tool_dialogue.records import ToolRequest
from assets.tool_dialogue.requests import settled_arguments, settled_values
from assets.worlds.tools import REFUSED
from validation.rules import Rule, expect


def calls_do_the_errand(request: ToolRequest, _: ToolDialogueRecipe) -> Iterator[str]:
    domain = domain_in(request.company)
    company = Company(domain, request.rows)
    done = [(call, company.call(call)) for call in request.calls]
    for call, reply in done:
        yield from expect(not reply.startswith(REFUSED), f"{call.text} is refused: {reply}")
    plan = ErrandPlan(domain, request.errand)
    values = settled_arguments(request.errand, request.hops, domain)
    for tool in plan.spec.tools:
        row = plan.written_row(tool, done)
        if not row:
            yield f"{tool} wrote nothing"
            return
        for name, column in domain.tables[domain.tools[tool].table].columns.items():
            value = values.get(column.matter)
            if value is not None and not column.table:
                yield from expect(row.get(name) == value, f"{name} is {row.get(name)!r}, and {column.matter} is {value!r}")
    news = plan.news(values, done)
    yield from expect(news == request.said, f"the customer is to be told {request.said}, and {news} came out")


def settled_values_stand_in_sessions_alone(request: ToolRequest, _: ToolDialogueRecipe) -> Iterator[str]:
    for value in settled_values(request.hops):
        yield from expect(not spells(request.question, value), f"the request tells {value!r}")
    for hop in request.hops:
        for row in request.rows:
            # Staff are in the tables by name; which of them serves a customer is not.
            if hop.kind not in ("name", "option") and hop.value in row.values.values():
                yield f"a row of {row.table} has {hop.value!r}"


RULES = (
    Rule("calls_do_the_errand", "The right calls are carried out, and give every matter its value.", calls_do_the_errand),
    Rule(
        "settled_in_sessions_alone",
        "Settled values are neither in the request nor in the company's rows.",
        settled_values_stand_in_sessions_alone,
    ),
)
