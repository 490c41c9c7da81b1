"""The headline of Vashishth et al.: what a control does away with, how much it could have lost, and the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.papers.made_up_altered import altered_cell, pairs, singles
from tests.papers.made_up_cells import MadeUpCell

from attentest.errors import InputError
from attentest.papers.claims import load_claims
from attentest.papers.headline import headline, read_headline, write_headline
from attentest.report.claims.headline_in_words import in_words, sentences
from attentest.statistics.seeds import OverSeeds, Share

VASHISHTH = "vashishth_2019"


@pytest.mark.slow
def test_the_headline_sets_a_control_beside_the_paper_and_says_what_it_means(tmp_path: Path) -> None:
    cells = [*singles(tmp_path), *pairs(tmp_path), *pairs(tmp_path, "joint", 0.72, 0.5)]
    table = headline(VASHISHTH, cells)
    assert table is not None
    row = next(r for r in table.rows if (r.claim.corpus, r.claim.group) == ("SNLI", "uniform, train+infer"))
    assert row.ours is not None
    assert row.controls[0] is not None
    assert row.controls[1] is None
    assert row.ours.figures == pytest.approx((-50, -49, -48))
    assert (row.ours.low, row.ours.high) == pytest.approx((-49 - 4.30265 / 3**0.5, -49 + 4.30265 / 3**0.5))
    assert row.controls[0].value == pytest.approx(-7)
    said = sentences(table)
    assert [words.partition(",")[0] for words in said] == ["SNLI", "bAbI 1", "bAbI 2", "bAbI 3"]
    wiring, attention = "vanishes, and that part is about wiring", "stays, and that part is about attention"
    assert said[0].startswith(f"SNLI, joint: most of the paper's loss {wiring} (training without attention); most of")
    assert f"{attention} (uniform and random weights at inference only, permuted weights). Gone once" in said[0]
    assert "86 % [81, 91] (training without attention), 40 % [40, 40] (uniform" in said[0]
    gone = headline(VASHISHTH, [*pairs(tmp_path), *pairs(tmp_path, "joint", 0.72, 0.7)])
    assert gone is not None
    assert sentences(gone)[0].startswith(f"SNLI, joint: most of the paper's loss {wiring}. Gone once")
    alone = next(r for r in table.rows if r.claim.corpus == "SST" and r.claim.model == "bahdanau_2015")
    assert alone.ours is not None
    assert alone.controls == (None, None)
    without = headline(VASHISHTH, singles(tmp_path))
    assert without is not None
    assert sentences(without)[0].startswith("No control has been run")


@pytest.mark.slow
def test_a_loss_that_stays_is_about_attention_and_two_seeds_give_no_interval(tmp_path: Path) -> None:
    stays = headline(VASHISHTH, [*pairs(tmp_path), *pairs(tmp_path, "joint", 0.32, 0.3)])
    assert stays is not None
    assert "the hypothesis: 4 % [−3, 11] (training" in sentences(stays)[0]
    assert sentences(stays)[0].startswith(
        "SNLI, joint: most of the paper's loss stays, and that part is about attention."
    )
    two = headline(VASHISHTH, [c for c in (*pairs(tmp_path), *pairs(tmp_path, "joint", 0.7)) if c.choices["seed"] < 2])
    assert two is not None
    assert "are too few, to say that anything is lost" in sentences(two)[0]
    assert np.isnan(OverSeeds((0, 1), (1.0, 2.0)).low)


@pytest.mark.slow
def test_the_room_that_a_control_has_to_lose_is_said(tmp_path: Path) -> None:
    def first(own: float, control: float) -> str:
        cells = [*pairs(tmp_path, trained=own), *pairs(tmp_path, "joint", control, 0.7)]
        table = headline(VASHISHTH, cells)
        assert table is not None
        return sentences(table)[0]

    ample = first(0.4, 0.6)
    assert "With a head that sees the hypothesis, 19.0 ± 2.5 points can be lost without attention (80.0 to" in ample
    assert ample.endswith("and 10.0 ± 0.0 are at inference.")
    assert "at chance" not in ample
    little = first(0.33, 0.77)
    assert little.startswith(
        "SNLI, joint: the paper's model ends at chance (34.0 %), because its head cannot see the hyp"
    )
    assert ", only 2.0 ± 2.5 points can be lost without attention (80.0 to 78.0 %), and 10.0" in little
    assert little.endswith("little room, which cannot show attention to matter here.")
    assert first(0.33, 0.75).endswith(
        "little room, as far as the seeds tell, which cannot show attention to matter here."
    )


@pytest.mark.slow
def test_losses_are_shares_of_what_a_model_knows_above_chance(tmp_path: Path) -> None:
    def cells(head: str, own: float, trained: float) -> list[MadeUpCell]:
        made = [{"corpus": "babi-1", "seed": seed, "head": head, "own": own} for seed in range(3)]
        return [altered_cell(tmp_path, trained=trained, altered=trained, **one) for one in made]

    # Both heads lose half of what they know above 18.7 %; in points the better one loses more.
    table = headline(VASHISHTH, [*cells("softmax", 0.587, 0.387), *cells("joint", 0.987, 0.587)])
    assert table is not None
    assert "the question: 0 % [0, 0] (training" in sentences(table)[0]
    useless = headline(VASHISHTH, [*cells("softmax", 0.187, 0.1), *cells("joint", 0.987, 0.587)])
    assert useless is not None
    assert "to say that anything is lost" in sentences(useless)[0]


def test_a_share_of_a_loss_is_a_ratio_of_means_and_does_not_pair_seeds() -> None:
    own, control = OverSeeds((0, 1, 2), (-40.0, -30.0, -35.0)), OverSeeds((0, 1, 2), (-4.0, -8.0, -6.0))
    share, turned = Share(own, control), Share(own, OverSeeds((0, 1, 2), (-8.0, -4.0, -6.0)))
    assert (share.low, share.high) == (turned.low, turned.high)
    assert share.value == pytest.approx(1 - 6 / 35)
    # Fieller: the ends are the ratios whose contrast is as far from zero as Student's t allows.
    for end in (share.low, share.high):
        ratio = 1 - end
        error = ((np.var(control.figures, ddof=1) + ratio**2 * np.var(own.figures, ddof=1)) / 3) ** 0.5
        assert abs(control.value - ratio * own.value) / error == pytest.approx(4.30265, abs=1e-5)
    weak = Share(OverSeeds((0, 1, 2), (-9.0, 1.0, -5.0)), control)
    assert not weak.lost
    assert in_words(weak) == "an unknown share"


@pytest.mark.slow
def test_the_headline_survives_its_file(tmp_path: Path) -> None:
    made = headline(VASHISHTH, [*singles(tmp_path / "runs"), *pairs(tmp_path / "runs")])
    assert made is not None
    target = tmp_path / "headline.csv"
    write_headline(target, made)
    first = target.read_bytes()
    again = read_headline(target.read_text("utf-8"), "headline.csv", load_claims(VASHISHTH))
    write_headline(target, again)
    assert target.read_bytes() == first
    with pytest.raises(InputError, match="is not a headline table"):
        read_headline("a,b\n", "headline.csv", load_claims(VASHISHTH))
    head, line = first.decode().splitlines()[:2]
    broken = f"{head}\n{line.replace('0 1 2', '0 x 2')}\n"
    with pytest.raises(InputError, match="line 2: a number"):
        read_headline(broken, "headline.csv", load_claims(VASHISHTH))
