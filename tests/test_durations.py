from __future__ import annotations

import pytest

from attentest.durations import in_words, seconds_of
from attentest.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("5 min", 300),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1.5m", 90),
        ("90", 90),
        (90, 90),
        (2.5, 2.5),
    ],
)
def test_a_time_is_read_as_people_write_it(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 days", "-5m", "0", "m5", "5m x", "1.2.3s", "nan", "inf"])
def test_what_is_no_time_is_refused_in_one_line(text):
    with pytest.raises(InputError, match=r"is not a time: .*90s, 5m, 1h30m"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (840, "14 min"),
        (3599, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (86_399, "1 d 0 h"),
        (273_600, "3 d 4 h"),
    ],
)
def test_a_time_is_said_as_people_say_it(seconds, words):
    assert in_words(seconds) == words


def test_a_long_text_is_refused_at_once():
    with pytest.raises(InputError) as refused:
        seconds_of("1" * 5000 + "x")
    assert len(str(refused.value)) < 300
