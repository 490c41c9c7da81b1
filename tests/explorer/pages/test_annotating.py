"""An annotator's way through a study, in a browser: what the page says is saved is what is on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.explorer.pages.conftest import ready
from tests.explorer.pages.test_access import reach_every_control, serious
from tests.people.made_up_runs import write_planted_run
from tests.report.made_up import HOSTILE

from attentest.explorer.people.server import people_server
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.serving import served
from attentest.people import DESIGNS, Documents, PeopleStudy, Plan, find_study, new_study
from attentest.people.item import Choice, Hidden, Item, Panel, Shown
from attentest.people.simulated import simulate

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESIGN = {"films": "meaningful", "pairs": "compare", "guesses": "simulate"}
WINDOWS = {"light": {}, "dark": {"colours": "dark"}, "phone": {"width": 390}}


@dataclass(frozen=True)
class Asked:
    """Studies that are being served."""

    address: str
    people: Path

    def study(self, name: str = "films") -> PeopleStudy:
        return find_study(name, self.people)

    def invite(self, who: str, name: str = "films", answered: int = 0) -> str:
        """The address of somebody new, who has agreed and answered if so many are asked for."""
        with self.study(name) as study:
            link = study.invite(who)
            if answered:
                self.answer(study, link, answered)
        return f"{self.address}/people/{name}/{link}"

    def answer(self, study: PeopleStudy, link: str, many: int) -> None:
        someone = study.annotator(link)
        study.consent(someone, study.documents().version)
        for _ in range(many):
            item = study.next(someone)
            assert item is not None
            study.answer(someone, item.id, item.shown.choices[0].value, f"nonce-{item.id}", 1.0)

    def given(self, who: str, name: str = "films") -> dict[str, str]:
        with self.study(name) as study:
            return {item: str(event.choice) for item, event in study.given(study.store.named(who)).items()}

    def history(self, who: str) -> list[tuple[str, str | None]]:
        with self.study() as study:
            return [(event.item, event.choice) for event in study.store.history(study.store.named(who))]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("asked")
    run = write_planted_run(root / "runs" / "planted-1")
    for name, design in DESIGN.items():
        new_study(root / "people", name, (run,), DESIGNS.parse(design), Plan(items=6, checks=1, gold=0))
    panel = Panel(tuple(HOSTILE), (0, 3), (), "")
    choices = tuple(Choice(f"c{i}", text, str(i)) for i, text in enumerate(HOSTILE[:3], start=1))
    shown = Shown((panel,), HOSTILE[0], choices, HOSTILE[1], HOSTILE[2])
    record = {"design": "meaningful", "seed": 0, "runs": [], "counts": {"item": 1}, "conditions": {"original": 1}}
    item = Item("hostile-item", shown, Hidden("original", "t"))
    texts = Documents("# <script>alert(1)</script> [x](javascript:alert(2))\n", "<img src=x onerror=alert(3)>")
    PeopleStudy.create(root / "people" / "hostile", record, [item], texts)
    return root / "people"


@pytest.fixture
def asked(made: Path, tmp_path: Path) -> Iterator[Asked]:
    people = Path(shutil.copytree(made, tmp_path / "people"))
    with served(people_server(PeopleStudies(people))) as address:
        yield Asked(address, people)


def item_of(page: Any) -> str:
    return str(page.evaluate("new URLSearchParams(location.search).get('item')"))


def settle(page: Any) -> None:
    """A reader's moment: a press that comes at once is taken for the second of a double one."""
    page.wait_for_timeout(300)


def press(page: Any, key: str) -> str:
    """Answer the item that is shown, and wait until the page says that it is saved."""
    settle(page)
    item, before = item_of(page), page.locator("#sent").get_attribute("data-nonce")
    page.keyboard.press(key)
    page.wait_for_function(
        "before => { const sent = document.getElementById('sent').dataset;"
        " return sent.state === 'saved' && (sent.nonce ?? null) !== before; }",
        arg=before,
    )
    return item


def begun(page: Any, address: str) -> Any:
    """Agree and begin."""
    ready(page, address)
    page.get_by_role("button", name="I have read this").click()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".choice")
    return page


def test_from_consent_to_done_by_keyboard(window: Callable[..., Any], asked: Asked) -> None:
    page = ready(window(), asked.invite("anna"))
    assert page.locator("h1:visible").inner_text() == "Before you begin"
    page.keyboard.press("y")
    page.get_by_role("button", name="I have read this").press("Enter")
    page.get_by_role("button", name="Begin").press("Enter")
    page.wait_for_selector(".choice")
    said = {}
    for number in range(7):
        assert page.locator("#far").inner_text().startswith(f"{number} of 7")
        assert page.locator("#work h1").first.inner_text() == f"Item {number + 1} of 7"
        assert page.locator("mark.marked").count() == 3
        key = "yn"[number % 2]
        said[press(page, key)] = {"y": "yes", "n": "no"}[key]
    assert page.locator("#work h1").first.inner_text() == "All done"
    assert asked.given("anna") == said
    assert len(said) == 7
    assert page.complaints == []
    assert {url.split("/people/")[0] for url in page.requests if "/people/" in url} == {asked.address}


def test_undo_and_the_way_back(window: Callable[..., Any], asked: Asked) -> None:
    page = begun(window(), asked.invite("anna"))
    first, second = press(page, "y"), press(page, "n")
    assert press(page, "u") != second
    assert item_of(page) == second
    assert asked.given("anna") == {first: "yes"}
    page.go_back()
    page.go_back()
    page.wait_for_function("id => new URLSearchParams(location.search).get('item') === id", arg=first)
    chosen = page.locator(".choice[aria-pressed=true]")
    assert chosen.get_attribute("data-choice") == "yes"
    assert press(page, "n") == first
    assert item_of(page) == second
    assert asked.given("anna") == {first: "no"}
    assert asked.history("anna") == [(first, "yes"), (second, "no"), (second, None), (first, "no")]


def test_what_cannot_be_sent_is_kept_and_sent_when_the_connection_is_back(
    window: Callable[..., Any], asked: Asked
) -> None:
    page = begun(window(), asked.invite("anna"))
    first = press(page, "y")
    second = item_of(page)
    page.context.set_offline(True)
    settle(page)
    page.keyboard.press("y")
    page.wait_for_selector("#sent[data-state=waiting]")
    assert "Not saved yet." in page.locator("#sent").inner_text()
    page.keyboard.press("n")  # a change of mind, before anything was sent
    assert page.locator(".choice[aria-pressed=true]").get_attribute("data-choice") == "no"
    assert item_of(page) == second
    assert asked.given("anna") == {first: "yes"}
    page.context.set_offline(False)
    page.wait_for_selector("#sent[data-state=saved]")
    assert asked.given("anna") == {first: "yes", second: "no"}
    assert page.evaluate("Object.keys(localStorage).length") == 0


def test_what_was_not_sent_before_the_window_closed_is_sent_when_it_opens_again(
    window: Callable[..., Any], asked: Asked
) -> None:
    address = asked.invite("anna")
    page = begun(window(), address)
    item = item_of(page)
    page.route("**/answer.json", lambda route: route.abort())
    settle(page)
    page.keyboard.press("n")
    page.wait_for_selector("#sent[data-state=waiting]")
    other = page.context.new_page()
    page.close()
    ready(other, address)
    other.wait_for_selector("#sent[data-state=saved]")
    assert asked.given("anna") == {item: "no"}
    assert item_of(other) != item


def test_an_acknowledgement_that_was_cut_off_is_none(window: Callable[..., Any], asked: Asked) -> None:
    page = begun(window(), asked.invite("anna"))
    item, sent = item_of(page), []

    def cut(route: Any) -> None:
        sent.append(route.request.post_data_json["nonce"])
        if len(sent) == 1:
            route.fetch()  # it is stored, and the page is not told
            route.fulfill(status=200, body='{"done": 1, "tot', content_type="application/json")
        else:
            route.continue_()

    page.route("**/answer.json", cut)
    press(page, "y")
    assert len(sent) == 2
    assert sent[0] == sent[1]
    assert asked.history("anna") == [(item, "yes")]


def test_the_same_link_goes_on_anywhere(window: Callable[..., Any], asked: Asked) -> None:
    address = asked.invite("anna")
    here = begun(window(), address)
    first = press(here, "y")
    there = ready(window(width=390), address)
    assert there.locator("#far").inner_text().startswith("1 of 7")
    assert item_of(there) == item_of(here)
    second = press(there, "n")
    assert press(here, "y") == second
    assert asked.given("anna") == {first: "yes", second: "yes"}


def test_a_held_key_and_a_double_press_answer_once(window: Callable[..., Any], asked: Asked) -> None:
    page = begun(window(), asked.invite("anna"))
    settle(page)
    for _ in range(5):
        page.keyboard.down("y")
    page.keyboard.up("y")
    page.wait_for_function("() => document.getElementById('far').innerText.startsWith('1 of 7')")
    settle(page)
    page.locator(".choice").first.dblclick()
    page.wait_for_function("() => document.getElementById('far').innerText.startsWith('2 of 7')")
    settle(page)
    assert len(asked.given("anna")) == 2
    page.get_by_label("answer by keys").uncheck()
    page.keyboard.press("y")
    settle(page)
    assert len(asked.given("anna")) == 2


def test_withdrawal_asks_first_and_then_deletes(window: Callable[..., Any], asked: Asked) -> None:
    address = asked.invite("anna", answered=2)
    page = ready(window(), address)
    page.get_by_text("Withdraw from the study").click()
    page.get_by_role("button", name="Withdraw and delete").click()
    page.get_by_role("button", name="Keep them").click()
    assert len(asked.given("anna")) == 2
    page.get_by_role("button", name="Withdraw and delete").click()
    page.keyboard.press("y")
    page.get_by_role("button", name="Delete them and withdraw").click()
    page.wait_for_selector("h1:has-text('You have withdrawn')")
    with asked.study() as study:
        assert study.store.annotators() == []
        assert study.store.withdrawn == 1
    assert page.goto(address).status == 404
    assert page.locator("h1").inner_text() == "This link opens nothing"


def test_a_changed_text_is_agreed_to_again_and_the_answer_is_not_lost(window: Callable[..., Any], asked: Asked) -> None:
    page = begun(window(), asked.invite("anna"))
    item = item_of(page)
    (asked.people / "films" / "consent.md").write_text("# Another text\n", "utf-8")
    settle(page)
    page.keyboard.press("n")
    page.wait_for_selector("h1:has-text('Another text')")
    page.get_by_role("button", name="I have read this").click()
    page.wait_for_selector("#sent[data-state=saved]")
    assert asked.given("anna") == {item: "no"}


def test_nothing_that_a_text_or_a_class_says_is_markup(window: Callable[..., Any], asked: Asked) -> None:
    page = ready(window(), asked.invite("anna", "hostile"))
    assert page.locator("#consent script, #consent a, #told img").count() == 0
    begun(page, page.url)
    assert page.locator("#work script, #work img").count() == 0
    assert page.title().startswith("hostile")
    assert page.complaints == []


def views(asked: Asked) -> dict[str, str]:
    with asked.study() as study:
        simulate(study, 2, 0.1, 0)
    return {
        "consent": asked.invite("anna"),
        "item": asked.invite("ben", answered=2),
        "side by side": asked.invite("ben", "pairs", answered=1),
        "covered": asked.invite("ben", "guesses", answered=1),
        "done": asked.invite("eva", answered=7),
        "studies": f"{asked.address}/people",
        "study": f"{asked.address}/people/films",
    }


@pytest.mark.parametrize("how", WINDOWS)
def test_every_page_is_for_everyone(window: Callable[..., Any], asked: Asked, how: str) -> None:
    for name, address in views(asked).items():
        page = ready(window(**WINDOWS[how]), address)
        assert serious(page) == [], name
        assert page.complaints == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], name
        if how == "light":
            reach_every_control(page)


def test_marks_are_told_by_more_than_colour(window: Callable[..., Any], asked: Asked) -> None:
    style = "(one, name) => getComputedStyle(one)[name]"
    page = ready(window(), asked.invite("anna", answered=1))
    marked, plain = page.locator(".marked").first, page.locator(".word:not(.marked)").first
    for name in ("fontWeight", "borderBottomWidth"):
        assert marked.evaluate(style, name) != plain.evaluate(style, name)
    page = ready(window(), asked.invite("anna", "pairs", answered=1))
    widths = page.locator(".panel .shade").evaluate_all(
        "all => all.map((one) => [one.style.getPropertyValue('--a'), getComputedStyle(one).borderBottomWidth])"
    )
    assert len(widths) > 2
    ordered = [width for _, width in sorted((float(shade), float(width[:-2])) for shade, width in widths)]
    assert ordered == sorted(ordered)
    assert ordered[-1] >= 5
