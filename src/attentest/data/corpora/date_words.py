"""How people say a date, and which of their words tell its year, its month and its day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from typing import Final, TypeVar

__all__ = ["FIRST", "LAST", "Word", "any_day", "said", "written"]

T = TypeVar("T")

FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)
#: A word, and which of the parts of the target it tells: places in what ``written`` gives.
Word = tuple[str, tuple[int, ...]]
CENTURY, YEAR, MONTH, DAY = 0, 1, 3, 5

MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
UNITS: Final = (
    *("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ORDINALS: Final = (
    *("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth"),
    *("nineteenth", "twentieth"),
)
#: What may stand around a date; "{hour}" is a number that does not belong to it.
OPENINGS: Final = (
    "",
    "",
    "",
    "we met on",
    "it is due on",
    "they left on",
    "at {hour} o'clock on",
    "we wrote to you on",
)
CLOSINGS: Final = ("", "", "", "", ".", "at {hour} o'clock")
#: Orders of the parts of a date; in capitals those that tell it.
FORMS: Final = (
    "the ORDINAL of MONTH SPELLED",
    "the ORDINAL of MONTH , SPELLED",
    "MONTH the ORDINAL , SPELLED",
    "MONTH NUMBERED , YEAR",
    "DIGITS SHORT TWO",
    "DIGITS MONTH YEAR",
    "WEEKDAY , DIGITS MONTH YEAR",
    "WEEKDAY , the NUMBERED of MONTH , YEAR",
    "WEEKDAY , MONTH DIGITS , YEAR",
    "YEAR MONTH DIGITS",
    "the NUMBERED of MONTH in the year YEAR",
)


def written(day: date) -> list[str]:
    """The date in the form of ISO 8601, in the pieces that are written one by one."""
    return [f"{day.year // 100}", f"{day.year % 100:02}", "-", f"{day.month:02}", "-", f"{day.day:02}"]


def said(day: date, random: Random) -> list[Word]:
    """The date in one of many ways of saying it."""
    words: list[Word] = []
    for part in " ".join((_pick(random, OPENINGS), _pick(random, FORMS), _pick(random, CLOSINGS))).split():
        words += _part(part, day, random)
    return words


def _part(part: str, day: date, random: Random) -> list[Word]:
    """A part of a form as words: those in capitals tell the date."""
    month, hour = MONTHS[day.month - 1], 1 + int(random.random() * 12)
    number = f"{day.day:02}" if random.random() < 0.5 else str(day.day)
    parts: dict[str, list[Word]] = {
        "MONTH": [(month, (MONTH,))],
        "SHORT": [(month[:3], (MONTH,))],
        "WEEKDAY": [(WEEKDAYS[day.weekday()], ())],
        "YEAR": [(str(day.year), (CENTURY, YEAR))],
        "TWO": [(f"{day.year % 100:02}", (CENTURY, YEAR))],
        "SPELLED": _spelled(day.year),
        "DIGITS": [(number, (DAY,))],
        "NUMBERED": [(f"{day.day}{_ending(day.day)}", (DAY,))],
        "ORDINAL": [(word, (DAY,)) for word in _ordinal(day.day)],
        "{hour}": [(UNITS[hour], ())],
    }
    return parts.get(part, [(part, ())])


def _spelled(year: int) -> list[Word]:
    """nineteen eighty four; two thousand; two thousand and five; twenty fourteen."""
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        tells = (CENTURY,) if rest else (CENTURY, YEAR)
        units: list[Word] = [("and", ()), (UNITS[rest], (YEAR,))] if rest else []
        return [("two", tells), ("thousand", tells), *units]
    return [(_below_hundred(century)[0], (CENTURY,)), *((word, (YEAR,)) for word in _below_hundred(rest))]


def _below_hundred(number: int) -> list[str]:
    if number < 20:
        return [UNITS[number]]
    return [TENS[number // 10], *([UNITS[number % 10]] if number % 10 else [])]


def _ordinal(number: int) -> list[str]:
    if number <= 20:
        return [ORDINALS[number]]
    return ["thirtieth"] if number == 30 else [TENS[number // 10], ORDINALS[number % 10]]


def _ending(number: int) -> str:
    return "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def any_day(random: Random) -> date:
    """Any day of the hundred years, all alike."""
    return FIRST + timedelta(days=int(random.random() * ((LAST - FIRST).days + 1)))


def _pick(random: Random, options: Sequence[T]) -> T:
    return options[int(random.random() * len(options))]
