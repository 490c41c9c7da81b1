from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official, real, write

from attentest.data.corpora.wmt_ende import WMTEnDe, WMTEnDeSample


def test_the_published_files_are_read_with_their_entities_resolved(tmp_path: Path) -> None:
    files = {
        f"{s}.{e}": text for s in WMTEnDe.splits for e, text in (("en", "Parliament &apos;s .\n"), ("de", "Ja .\n"))
    }
    made, splits = from_official(WMTEnDe(), write(tmp_path, files))
    assert set(splits) == {"train", "dev", "test"}
    assert splits["train"][0].tokens == ["Parliament", "'s", "."]
    assert splits["train"][0].target == ["Ja", "."]
    assert made.partial == ""


@pytest.mark.corpora
def test_the_real_sample_is_named_partial() -> None:
    made, splits = real(WMTEnDeSample())
    assert {name: len(split) for name, split in splits.items()} == {"train": 10_000, "dev": 3_000, "test": 2_737}
    assert made.partial == "train has 10,000 of the 4.5 million pairs of WMT"
