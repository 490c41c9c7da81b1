"""Files of scores that other tools write and read. Reading this table is reading the feature list."""

from __future__ import annotations

from pathlib import Path

from attentest.errors import InputError, UnknownName
from attentest.store.score_formats.captum import CAPTUM
from attentest.store.score_formats.eraser import ERASER
from attentest.store.score_formats.format import PICKLES, Format
from attentest.store.score_formats.inseq import INSEQ

__all__ = ["FORMATS", "Format", "format_of"]

FORMATS = {made.name: made for made in (ERASER, INSEQ, CAPTUM)}


def format_of(name: str | None, path: Path) -> Format:
    """The format by its name, or by how the file's name ends."""
    if path.suffix.lower() in PICKLES:
        raise InputError(
            f"{path.name} is a pickle, which can run any code when it is opened, so it is not. Write the tensor with "
            "safetensors.torch.save_file({'attributions': tensor}, 'scores.safetensors')."
        )
    if name is not None:
        if name not in FORMATS:
            raise UnknownName("format of scores", name, FORMATS)
        return FORMATS[name]
    ending = path.name.lower().removesuffix(".gz")
    for made in FORMATS.values():
        if ending.endswith(made.endings):
            return made
    known = "; ".join(f"{made.name}: {', '.join(made.endings)}" for made in FORMATS.values())
    raise InputError(f"{path.name} does not say by its ending what it is ({known}). Name it with --format.")
