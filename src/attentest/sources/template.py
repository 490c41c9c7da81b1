"""What a chat template puts round a message: asked once, in a process of its own, because a template is a program.

The Transformers library runs templates in a sandbox that keeps them from files and Python, and does not keep them from
running for ever or taking all memory. So a template never runs in this process, and not once for every question.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from attentest.errors import InputError, shown

__all__ = ["Frame", "frame_of"]

RENDERING = Path(__file__).with_name("rendering.py")
#: Seconds that a template has, the start of its process included.
SECONDS = 60.0
#: Messages that stand for all: between spaces, which some templates take away, and with the marks that messages have.
PROBES = ("  Message one. ", '  A second message:\n\n1. of "two" lines <b>& more</b>  ')
ELSE = "Read the model without the template (--no-chat, chat=False)."


@dataclass(frozen=True)
class Frame:
    """What stands before and after a message, and whether the white space round it is taken away."""

    before: str
    after: str
    bare: bool

    def around(self, content: str) -> str:
        """The message as the model is given it."""
        return self.before + (content.strip() if self.bare else content) + self.after


def frame_of(tokenizer: Any) -> Frame:
    """The frame of a user's message in the tokenizer's chat template, the beginning of the answer included."""
    try:
        template = tokenizer.get_chat_template()
    except ValueError as error:
        raise InputError(f"The model has several chat templates and none by default. {ELSE}") from error
    special = {name: str(text) for name, text in tokenizer.special_tokens_map.items()}
    rendered = _rendered(template, json.dumps(special))
    frames = {_frame(text, probe) for text, probe in zip(rendered, PROBES, strict=True)}
    if len(frames) > 1 or None in frames:
        raise InputError(
            "The chat template does not repeat a message as it is written, so it cannot be told which tokens belong "
            f"to which source. {ELSE}"
        )
    (frame,) = frames
    assert frame is not None
    return frame


def _frame(text: str, probe: str) -> Frame | None:
    bare = probe.strip()
    if text.count(bare) != 1:
        return None
    message = probe if probe in text else bare
    before, after = text.split(message)
    return Frame(before, after, message == bare)


@lru_cache(maxsize=64)
def _rendered(template: str, special: str) -> tuple[str, ...]:
    asked = json.dumps({"template": template, "special": json.loads(special), "messages": PROBES})
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(RENDERING)],
            input=asked.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
        said = json.loads(process.stdout)
    except subprocess.TimeoutExpired as error:
        raise InputError(f"The model's chat template did not end within {SECONDS:.0f} s. {ELSE}") from error
    except ValueError as error:  # it took more memory or time than it may have
        raise InputError(f"The model's chat template takes more memory or time than any needs. {ELSE}") from error
    if "fault" in said:
        raise InputError(f"The model's chat template cannot be used ({shown(said['fault'], 160)[1:-1]}). {ELSE}")
    return tuple(said["texts"])
