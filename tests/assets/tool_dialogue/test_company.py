"""A company's tools run on its rows: a call does what it says, or changes nothing and says why."""

import json

import pytest

from assets.tool_dialogue.company import Company, drawn_rows, owned_rows
from assets.tool_dialogue.domains import all_domains, domain_named
from assets.worlds.tools import REFUSED, Call

ADA, BEN = "Ada Moss", "Ben Moss"
REPAIRS = domain_named("repairs")


def company() -> Company:
    return Company(REPAIRS, drawn_rows(REPAIRS, customers=[ADA, BEN], staff=["Olga Novak"]))


def call(at: Company, tool: str, **arguments: str) -> str:
    return at.call(Call(tool=tool, arguments=arguments))


def found(at: Company, table: str, **arguments: str) -> list[dict[str, str]]:
    return json.loads(call(at, f"find_{table}", **arguments))


def visit(at: Company, **changed: str) -> dict[str, str]:
    customer = found(at, "customers", name=ADA)[0]["customer_id"]
    appliance = found(at, "appliances", customer_id=customer)[0]["appliance_id"]
    staff = found(at, "staff", name="Olga Novak")[0]["staff_id"]
    given = {"customer_id": customer, "appliance_id": appliance, "staff_id": staff}
    return {**given, "window": "after five", "access": "janitor opens", "ceiling": "240", **changed}


def test_a_finder_gives_the_rows_that_have_all_that_is_given() -> None:
    at = company()
    (ada,) = found(at, "customers", name="ada moss")
    assert ada["name"] == ADA
    owned = found(at, "appliances", customer_id=ada["customer_id"])
    assert len(owned) == 2
    assert len({one["appliance"] for one in owned}) == 2
    assert found(at, "appliances", customer_id=ada["customer_id"], appliance="submarine") == []


def test_a_write_adds_one_row_with_a_key_that_follows() -> None:
    at = company()
    first = json.loads(call(at, "book_visit", **visit(at)))
    assert first["visit_id"] == "V-100001"
    assert json.loads(call(at, "book_visit", **visit(at)))["visit_id"] == "V-100002"
    assert len(found(at, "visits", visit_id="V-100001")) == 1


def test_a_change_sets_what_it_names_and_nothing_else() -> None:
    at = company()
    before = found(at, "customers", name=ADA)[0]
    call(at, "move_customer", customer_id=before["customer_id"], district="Harbour")
    assert found(at, "customers", name=ADA)[0] == {**before, "district": "Harbour"}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"window": "at noon"}, "window is one of: before breakfast"),
        ({"ceiling": "240 euro"}, "ceiling is a whole number"),
        ({"appliance_id": "A-1"}, "no row of appliances has the appliance_id 'A-1'"),
        ({"staff_id": "Olga Novak"}, "no row of staff"),
        ({"note": "please"}, "takes exactly these arguments"),
    ],
)
def test_a_write_that_cannot_stand_is_refused_with_a_sentence_and_changes_nothing(changed: dict[str, str], why: str) -> None:
    at = company()
    before = at.state()
    reply = call(at, "book_visit", **visit(at, **changed))
    assert reply.startswith(REFUSED)
    assert why in reply
    assert at.state() == before


def test_what_belongs_to_another_customer_is_refused() -> None:
    at = company()
    ben = found(at, "customers", name=BEN)[0]["customer_id"]
    other = found(at, "appliances", customer_id=ben)[0]["appliance_id"]
    assert "belongs to" in call(at, "book_visit", **visit(at, appliance_id=other))


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("erase_all", {}, "there is no tool 'erase_all'; there are find_customers"),
        ("find_customers", {}, "takes one or several of these arguments"),
        ("find_customers", {"age": "40"}, "takes one or several of these arguments"),
        ("book_visit", {}, "takes exactly these arguments"),
    ],
)
def test_a_call_that_no_tool_takes_is_refused(tool: str, arguments: dict[str, str], why: str) -> None:
    assert why in call(company(), tool, **arguments)


def test_a_date_has_one_form() -> None:
    at = company()
    given = {name: value for name, value in visit(at).items() if name in ("customer_id", "appliance_id", "ceiling")}
    order = {**given, "grade": "original", "billing": "direct debit"}
    assert "is a date such as" in call(at, "order_part", **order, deadline="4 May 2038")
    assert "order_id" in call(at, "order_part", **order, deadline="2038-05-04")


def test_rows_follow_from_names_alone() -> None:
    alone = drawn_rows(REPAIRS, customers=[ADA], staff=[])
    together = drawn_rows(REPAIRS, customers=[ADA, BEN], staff=["Olga Novak"])
    assert set(map(str, alone)) <= set(map(str, together))
    assert owned_rows(REPAIRS, alone, table="appliances", customer=ADA) == owned_rows(
        REPAIRS, together, table="appliances", customer=ADA
    )


@pytest.mark.parametrize("name", all_domains())
def test_every_domain_has_eight_to_fourteen_tools_and_errands_that_take_five_matters_or_more(name: str) -> None:
    domain = domain_named(name)
    assert 8 <= len(Company(domain, ()).tools) <= 14
    for errand in domain.errands.values():
        matters = domain.matters_of(errand)
        assert len(set(matters)) == len(matters) >= 5
        assert domain.matters[errand.tells].options
    values = [value for matter in domain.matters.values() for value in matter.options]
    assert not [value for value in values if "," in value or " and " in value or " then " in value]


def test_no_two_companies_settle_matters_of_the_same_name() -> None:
    names: list[str] = []
    for domain in all_domains().values():
        names.extend(domain.matters)
    assert len(names) == len(set(names))  # the embedded model reads a matter's wordings by its name
