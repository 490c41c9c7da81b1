"""A loop around points of a plot holds those that it goes around."""

from __future__ import annotations

import numpy as np
import pytest

from attentest.explorer.data.selection import inside


def turned_around(corners: np.ndarray, x: float, y: float) -> bool:
    """Whether somebody at the point who looks at all corners in turn has turned around in the end."""
    angles = np.arctan2(corners[:, 1] - y, corners[:, 0] - x)
    turns = np.diff([*angles, angles[0]])
    return round(float(((turns + np.pi) % (2 * np.pi) - np.pi).sum() / (2 * np.pi))) != 0


@pytest.mark.parametrize("count", [3, 4, 9, 48])
def test_the_points_inside_are_those_around_which_the_line_goes(count: int) -> None:
    draw = np.random.default_rng(count)
    corners = draw.uniform(-1, 1, (count, 2))  # it crosses itself, and goes around some points twice
    x, y = draw.uniform(-1.2, 1.2, (2, 300))
    expected = [turned_around(corners, *point) for point in zip(x, y, strict=True)]
    assert inside(corners, x, y).tolist() == expected
    assert inside(corners[::-1], x, y).tolist() == expected
    assert 0 < sum(expected) < 300


def test_a_loop_around_a_corner_of_the_plot() -> None:
    corners = np.array([(0.5, 0.5), (2, 0.5), (2, 2), (0.5, 2)])
    assert inside(corners, np.array([1.0, 0.4, 1.0]), np.array([1.0, 1.0, 0.4])).tolist() == [True, False, False]


def test_texts_inside_a_loop_are_listed(client, at):
    plot = client.get(f"{at}/plots/attention.json").json()
    x, y = (np.array([point[axis] for point in plot["points"]]) for axis in "xy")
    corners = [(np.median(x), -1.0), (2.0, np.median(y)), (np.median(x), 2.0)]
    loop = ",".join(str(float(value)) for corner in corners for value in corner)
    found = client.get(f"{at}/texts.json?plot=attention&size=200&loop={loop}").json()
    expected = [p["row"] for p in plot["points"] if turned_around(np.array(corners), p["x"], p["y"])]
    assert [text["row"] for text in found["rows"]] == expected
    assert 0 < found["total"] < len(x)


def test_a_loop_that_is_too_long_is_told_how_long_it_may_be(client, at):
    answer = client.get(f"{at}/texts.json?plot=attention&loop={','.join(['0'] * 98)}")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("loop has 98 numbers: it must be x,y,x,y,… of 3 to 48 corners.")
