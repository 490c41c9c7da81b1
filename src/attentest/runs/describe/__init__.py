"""From the options a person chose, on the command line, in Python or in a study file, to a run."""

from attentest.runs.describe.by_model import describe_run

__all__ = ["describe_run"]
