"""People: ask them about the explanations of a finished run. No torch.

A design (``designs/``) says what people see and are asked; ``new_study`` makes items of a run's findings;
``PeopleStudy`` is the folder of a study, with all that a server does:

    study = find_study("films", Path("people"))       # by name; checks seal and items
    who = study.annotator(link)                       # by the secret of a link; UnknownName where there is none
    study.documents()                                 # consent and instructions in Markdown, and their version
    study.consent(who, version)                       # refused where the texts were changed in the meantime
    study.progress(who)                               # done, total, consented, next, last, finished
    study.next(who), study.item(who, id)              # Item; only Item.seen() may be sent to a page
    study.answer(who, id, choice, nonce, seconds)     # on disk when it returns; the same nonce twice counts once
    study.undo(who, nonce)                            # the last answer is taken back, and its item asked again
    study.given(who)                                  # by item, what counts
    study.forget(who)                                 # withdrawal: all of it is gone for good

Every call gives the same on another machine: a link is all that an annotator needs.
"""

from __future__ import annotations

from attentest.people.answers import Annotator, Answer, Event
from attentest.people.design import DESIGNS, Design, Draft, Draw, Requirement
from attentest.people.item import Choice, Item, Panel, Shown
from attentest.people.making import Plan, new_study
from attentest.people.study import DEFAULT_PEOPLE, Documents, PeopleStudy, Progress, find_study, studies_in

__all__ = [
    "DEFAULT_PEOPLE",
    "DESIGNS",
    "Annotator",
    "Answer",
    "Choice",
    "Design",
    "Documents",
    "Draft",
    "Draw",
    "Event",
    "Item",
    "Panel",
    "PeopleStudy",
    "Plan",
    "Progress",
    "Requirement",
    "Shown",
    "find_study",
    "new_study",
    "studies_in",
]
