"""``python -m attentest``."""

from attentest.cli import main

main()
