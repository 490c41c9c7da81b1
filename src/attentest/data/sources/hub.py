"""The Hugging Face hub, by id and pinned revision."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.data.sources.source import Source
from attentest.errors import InputError, StorageError
from attentest.progress import SILENT, Progress

__all__ = ["Hub"]

REVISION = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Hub(Source):
    """A data set on the hub at one commit; what the hub library's own cache holds is not fetched again.

    HF_HUB_OFFLINE, HF_HOME, HF_HUB_CACHE and HF_ENDPOINT mean what they mean to that library.
    """

    id: str
    #: The whole commit hash: a branch or tag could change under us.
    revision: str
    #: Patterns of the files that are needed, such as "plain_text/*.parquet"; none: all.
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not REVISION.fullmatch(self.revision):
            raise InputError(
                f"Hub data set {self.id!r}: revision {self.revision!r} is not pinned. Give a commit's 40 digits."
            )

    def describe(self) -> str:
        """The id and the beginning of the revision."""
        return f"Hugging Face hub {self.id} @ {self.revision[:10]}"

    def fetch(self, target: Path, progress: Progress = SILENT) -> Path:
        """A snapshot at the pinned revision, in the hub library's cache; its folder."""
        hub = _library()
        progress.say(f"Fetching {self.describe()} …")
        try:
            folder = hub.snapshot_download(
                self.id,
                repo_type="dataset",
                revision=self.revision,
                allow_patterns=list(self.files) or None,
            )
        except Exception as error:
            raise _explained(hub, self, error) from error
        return Path(folder)


def _library() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise InputError(
            "The hub needs the package huggingface_hub, which is not installed: pip install 'attentest[hub]'. "
            "Or use --source archive, or --from DIR."
        ) from error


def _explained(hub: Any, source: Hub, error: Exception) -> Exception:
    """The library's error as one line that says what to do; a fault of ours stays what it is."""
    errors = hub.errors
    instead = "use --source archive, or fetch the files by hand and use --from DIR"
    if isinstance(error, errors.GatedRepoError):
        return InputError(f"{source.describe()} needs an account: accept its terms there, log in, or {instead}.")
    if isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled | ConnectionError | TimeoutError):
        return InputError(
            f"{source.describe()} is not in the local cache and the hub cannot be reached: check the network and "
            f"HF_HUB_OFFLINE, or {instead}."
        )
    if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError | errors.EntryNotFoundError):
        return InputError(f"{source.describe()} is not there: it may have moved or been deleted; {instead}.")
    if isinstance(error, OSError) and error.errno is not None:
        return StorageError(f"{source.describe()} could not be kept: {error.strerror}. Free space or set HF_HOME.")
    return InputError(f"{source.describe()} could not be fetched ({str(error).splitlines()[0][:200]}): {instead}.")
