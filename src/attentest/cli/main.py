"""The entry point: commands, exit codes, and errors as one line.

Exit codes: 0 done, 1 a fault of attentest (of a challenge, perhaps: the others are reported), or a verdict that is
worse than required (check), 2 something the user can put right, 130 interrupted.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import re
import signal
import sys
import threading
from typing import Any

import typer

from attentest import __version__
from attentest.cli import audit, look
from attentest.cli.check import check, verify
from attentest.cli.claims import claims
from attentest.cli.corpora import corpora_app
from attentest.cli.example import example
from attentest.cli.explain import explain
from attentest.cli.explore import explore
from attentest.cli.fine_tune import fine_tune
from attentest.cli.options import Grouped
from attentest.cli.people import people_app
from attentest.cli.scores import scores_app
from attentest.cli.sources import sources
from attentest.cli.studies.calibrate import calibrate
from attentest.cli.studies.deceive import deceive
from attentest.cli.study import reproduce, study_app
from attentest.errors import AttentestError, InputError, shown
from attentest.printing import echo
from attentest.progress import EXAMINING

__all__ = ["app", "main"]

#: What the system refuses, and the user can put right: paths, permissions, space.
OF_THE_MACHINE = frozenset(
    getattr(errno, name)
    for name in (
        *("ENAMETOOLONG", "ELOOP", "EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EFBIG", "ENOTDIR", "EMFILE"),
        *("EIO", "ESTALE"),
    )
    if hasattr(errno, name)
)
#: Characters of an error.
LONGEST_LINE = 1200

app = typer.Typer(
    name="attentest",
    help="May this model's attention be shown as the reason for its prediction?\n\n"
    "Start with 'attentest audit': it trains a small model on a built-in corpus, reads its attention, replaces "
    "it, attacks it, and ends in a verdict and a report. Then give it your own data: "
    "'attentest audit --data reviews.csv' ('attentest example' writes such a file to try).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("audit", cls=Grouped)(audit.audit)
app.command("train", cls=Grouped)(audit.train)
app.command("fine-tune", cls=Grouped)(fine_tune)
app.command("deceive", cls=Grouped)(deceive)
app.command("show")(look.show)
app.command("tokens")(look.tokens)
app.command("export")(look.export)
app.command("check")(check)
app.command("verify")(verify)
app.command("list")(look.list_)
app.command("explain")(explain)
app.command("explore")(explore)
app.command("example")(example)
app.command("reproduce")(reproduce)
app.command("claims")(claims)
app.command("calibrate")(calibrate)
app.command("sources")(sources)
app.add_typer(study_app, name="study")
app.add_typer(corpora_app, name="corpora")
app.add_typer(scores_app, name="scores")
app.add_typer(people_app, name="people")


def _version(value: bool) -> None:
    if value:
        echo(f"attentest {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """May this model's attention be shown as the reason for its prediction?"""


def main() -> None:
    """Run the command line and exit with its code."""
    sys.unraisablehook = _ask_again
    atexit.register(_search_no_more)
    for stream in (sys.stdout, sys.stderr):
        # A locale without a character has '?' in its place.
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
    try:
        _check_folder()
        code = app(standalone_mode=False)
        if code == 130:  # some versions of Typer turn Ctrl-C into an exit code of their own
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except AttentestError as error:
        _fail(str(error), 2)
    except (typer.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut the first one's answer short
        try:
            _fail("Interrupted; what was done is kept, and the same command resumes there.", 130)
        finally:
            _leave_threads(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if (number := _of_the_machine(error)) is not None:
            named = getattr(error, "filename", None)
            where = shown(str(named), 200) if named else "a file"
            said = f"{where} cannot be used: {os.strerror(number)}"
            _fail(f"{said}. Check the path, its permissions and the space there.", 2)
        if _ran_out(error):
            _fail("Memory ran out. Examine fewer texts (--limit), choose a smaller model, or give it more memory.", 2)
        if hasattr(error, "format_message"):
            _fail_usage(error)
        if os.environ.get("ATTENTEST_DEBUG"):
            raise
        _fail(
            f"A fault in attentest ({type(error).__name__}: {error}). "
            "Set ATTENTEST_DEBUG=1 for the traceback and report it, please.",
            1,
        )


def _check_folder() -> None:
    """Libraries that are loaded from a folder that was deleted end the process in words of their own."""
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise InputError("The folder that this runs in was deleted: change to one that is there.") from error


def _search_no_more() -> None:
    """At the end, nobody searches a million objects for what may go; DuckDB would name all that stays, line by line."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def _ask_again(lost: Any) -> None:
    """Python drops a Ctrl-C that falls into a destructor, traceback and all: ask again, a moment later."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    later = threading.Timer(0.02, signal.raise_signal, (signal.SIGINT,))
    later.daemon = True
    later.start()


def _of_the_machine(error: Exception) -> int | None:
    """What the system refused, by number; safetensors, which writes weights, says it in words."""
    if isinstance(error, OSError):
        return error.errno if error.errno in OF_THE_MACHINE else None
    found = re.search(r"\(os error (\d+)\)", str(error)) if type(error).__name__ == "SafetensorError" else None
    return int(found[1]) if found and int(found[1]) in OF_THE_MACHINE else None


def _ran_out(error: Exception) -> bool:
    """Whether memory was not to be had: by Python's word, or by torch's where that is loaded."""
    if isinstance(error, MemoryError) or "torch" not in sys.modules:
        return isinstance(error, MemoryError)
    from attentest.devices import ran_out

    return isinstance(error, RuntimeError) and ran_out(error)


def _leave_threads(code: int) -> None:
    """Leave at once where threads are still at a batch, which may take minutes: all that is kept is written by now."""
    if any(thread.name.startswith(EXAMINING) for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _fail_usage(error: Any) -> None:
    """A usage error, of Click or of the copy of Click that some versions of Typer carry."""
    if type(error).__name__ == "NoArgsIsHelpError":
        echo(error.format_message())
        sys.exit(2)
    where = error.ctx.command_path if getattr(error, "ctx", None) else "attentest"
    said = error.format_message()
    _fail(f"{said}{'' if said[-1:] in '.?!' else '.'} See '{where} --help'.", 2)


def _fail(message: str, code: int) -> None:
    line = " ".join(message.split())
    if len(line) > LONGEST_LINE:  # what it quotes is long: its beginning names the value, its end the next step
        line = f"{line[: LONGEST_LINE // 2]} … {line[-LONGEST_LINE // 2 :]}"
    echo(f"attentest: {line}", err=True)
    sys.exit(code)
