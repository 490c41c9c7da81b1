"""A process of its own: messages on standard input, each in a chat template on standard output; bounded, then gone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: Seconds of the processor, and bytes, that the template may take.
SECONDS, MEMORY = 10, 1 << 30


def main() -> None:
    """Render, or say why not."""
    asked = json.loads(sys.stdin.read())
    from transformers.utils.chat_template_utils import render_jinja_template

    bound()
    try:
        conversations = [[{"role": "user", "content": message}] for message in asked["messages"]]
        about = {"chat_template": asked["template"], "add_generation_prompt": True, **asked["special"]}
        said = {"texts": render_jinja_template(conversations, **about)[0]}
    except Exception as error:  # whatever a template says
        said = {"fault": f"{type(error).__name__}: {error}"[:500]}
    json.dump(said, sys.stdout)


def bound() -> None:
    """From here on, for the template alone."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows: the time that the caller waits is a bound, too
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, spent + SECONDS + 1))
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[5])
    except OSError:  # the system keeps no such account
        return
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
