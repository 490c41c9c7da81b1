"""Speed, measured."""

from __future__ import annotations

import sys
from collections.abc import Callable

from attentest.errors import AttentestError

__all__ = ["ended"]


def ended(main: Callable[[], None]) -> None:
    """Run a benchmark from the command line; what attentest refuses is one line and exit code 2."""
    try:
        main()
    except AttentestError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:
            raise
        print(
            f"{error.filename} cannot be used: {error.strerror}. Check the path and its permissions.", file=sys.stderr
        )
        sys.exit(2)
