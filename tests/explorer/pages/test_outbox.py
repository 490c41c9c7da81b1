"""What an annotator's page does by itself: the clock, and the answers that are on their way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser

CLOCK = """async (turns) => {
  const { Clock } = await import("/static/annotate/clock.js");
  const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  let now = 0;
  const clock = new Clock(page, () => now);
  const seen = [];
  for (const [after, to] of turns) {
    now += after;
    if (to === "start") clock.start();
    else if (to) {
      page.visibilityState = to;
      page.dispatchEvent(new Event("visibilitychange"));
    }
    seen.push(clock.seconds());
  }
  return seen;
}"""
SETTLED = """async ([ops, state]) => {
  const { settled } = await import("/static/annotate/outbox.js");
  const { send, drop, clash } = settled(ops, state);
  const names = (list) => list.map((op) => op.nonce);
  return [names(send), names(drop), clash?.nonce ?? null];
}"""
#: Sends to a server that says what ``says`` lists: a status, "lost" for no answer, "ok".
SENT = """async ([count, says, dropped]) => {
  const { Kept, Outbox } = await import("/static/annotate/outbox.js");
  const got = [], waited = [];
  const kept = new Kept("test", localStorage);
  const outbox = new Outbox({
    kept,
    delays: [1, 2, 4],
    send: async (op) => {
      const said = says.shift() ?? "ok";
      if (said === "lost") throw new TypeError("no connection");
      if (said !== "ok") throw Object.assign(new Error("refused"), { status: said });
      return { op: op.nonce };
    },
    acknowledged: (op, answer, left) => got.push([op.nonce, answer.op, left]),
    refused: async () => dropped,
    waiting: (pause) => waited.push(pause),
  });
  for (let i = 0; i < count; i += 1) outbox.add({ kind: "answer", item: `i${i}`, nonce: `n${i}` });
  while (outbox.running) await new Promise((done) => setTimeout(done, 5));
  return { got, waited, left: outbox.size, kept: kept.all().map((op) => op.nonce) };
}"""


def answer(nonce: str, item: str, choice: str) -> dict[str, str]:
    return {"kind": "answer", "nonce": nonce, "item": item, "choice": choice}


def undo(nonce: str, last: str) -> dict[str, str]:
    return {"kind": "undo", "nonce": nonce, "last": last}


def test_only_time_that_the_page_is_seen_counts(modules: Callable[..., Any]) -> None:
    turns = [(1000, None), (500, "hidden"), (60_000, None), (60_000, "visible"), (250, None), (0, "start"), (40, None)]
    assert modules().evaluate(CLOCK, turns) == [1.0, 1.5, 1.5, 1.5, 1.75, 0, 0.04]


@pytest.mark.parametrize(
    ("ops", "given", "last", "expected"),
    [
        ([], {}, None, ([], [], None)),
        ([answer("a", "1", "yes")], {}, None, (["a"], [], None)),
        ([answer("a", "1", "yes")], {"1": "yes"}, "1", ([], ["a"], None)),
        ([answer("a", "1", "yes")], {"1": "no"}, "1", ([], ["a"], "a")),
        ([answer("a", "1", "yes"), answer("b", "1", "no")], {}, None, (["a", "b"], [], None)),
        ([answer("a", "1", "yes"), answer("b", "1", "no")], {"1": "yes"}, "1", (["b"], ["a"], None)),
        ([answer("a", "1", "yes"), undo("u", "1")], {"1": "yes"}, "1", (["u"], ["a"], None)),
        ([answer("a", "1", "yes"), undo("u", "1")], {}, None, (["a", "u"], [], None)),
        ([undo("u", "1")], {"1": "yes"}, "1", (["u"], [], None)),
        ([undo("u", "1")], {"2": "yes"}, "2", ([], ["u"], None)),
    ],
)
def test_what_is_left_from_before_is_sent_unless_the_server_has_it_or_knows_better(
    modules: Callable[..., Any], ops: list[Any], given: dict[str, str], last: str | None, expected: Any
) -> None:
    found = modules().evaluate(SETTLED, [ops, {"given": given, "last": last}])
    assert tuple(found) == expected


def test_answers_are_sent_in_order_until_each_is_acknowledged(modules: Callable[..., Any]) -> None:
    found = modules().evaluate(SENT, [3, ["lost", 503, "ok", 429, "lost", "lost", "lost", "ok"], True])
    assert [nonce for nonce, _, _ in found["got"]] == ["n0", "n1", "n2"]
    assert all(sent == said for sent, said, _ in found["got"])
    assert found["waited"] == [1, 2, 1, 2, 4, 4]
    assert (found["left"], found["kept"]) == (0, [])


@pytest.mark.parametrize("dropped", [True, False])
def test_what_the_server_will_never_take_is_dropped_or_stops_the_rest(
    modules: Callable[..., Any], dropped: bool
) -> None:
    found = modules().evaluate(SENT, [2, [400], dropped])
    assert [nonce for nonce, _, _ in found["got"]] == (["n1"] if dropped else [])
    assert found["kept"] == ([] if dropped else ["n0", "n1"])
