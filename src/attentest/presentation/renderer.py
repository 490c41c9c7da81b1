"""Charts to pictures, in a process of its own: run as a script, it answers one request after another.

The renderer is a JavaScript engine. It reserves more addresses than `ulimit -v` may allow, and then ends its process
with a dump; so it has one that nobody misses. Nothing but the renderer is imported here, to start at once.
"""

from __future__ import annotations

import json
import signal
import sys

import vl_convert


def answer(line: bytes) -> bytes:
    """The picture that a request, one line of JSON, asks for; rendered without the network."""
    asked = json.loads(line)
    chart, kind = asked["chart"], asked["kind"]
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])).encode()
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(chart, scale=asked["scale"], allowed_base_urls=[]))
    return bytes(vl_convert.vegalite_to_pdf(chart, allowed_base_urls=[]))


def main() -> None:
    """Answer until nobody asks: "ok" or "no", how many bytes, and these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides when to stop
    asked, said = sys.stdin.buffer, sys.stdout.buffer
    while line := asked.readline():
        try:
            state, content = b"ok", answer(line)
        except Exception as error:
            state, content = b"no", str(error).encode()
        said.write(b"%s %d\n" % (state, len(content)) + content)
        said.flush()


if __name__ == "__main__":
    main()
