"""What is printed: text from strangers with nothing in it that a terminal obeys, and values as JSON has them.

Column names, class names, texts, file names and the rows of a query may hold escapes that move a cursor, rename a
window or hide what stands there. All that the command line prints goes through ``Printer``, ``echo`` or ``echo_json``.
"""

from attentest.printing.plain import json_text, plain, visible
from attentest.printing.screen import Printer, echo, echo_json

__all__ = ["Printer", "echo", "echo_json", "json_text", "plain", "visible"]
