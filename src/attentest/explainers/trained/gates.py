"""Gates that an audit learnt, kept in the run's folder, so that other texts can be explained with them later."""

from __future__ import annotations

import hashlib
from functools import partial

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from attentest.data.batches import Encoded
from attentest.errors import NotApplicable, StorageError
from attentest.explainers.explainer import Explainer
from attentest.explainers.trained.diffmask import DiffMask
from attentest.explainers.trained.masker import Masker
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.registry import text_of
from attentest.store.atomic import replacing
from attentest.store.folder import RunFolder
from attentest.training.training_texts import TrainingTexts

__all__ = ["keep_gates", "with_kept_gates"]


def keep_gates(folder: RunFolder, training: TrainingTexts | None) -> None:
    """Keep what explainers have learnt of the training texts."""
    for by, learned in training.all_learned() if training is not None else ():
        if isinstance(learned, Masker) and isinstance(by, tuple) and isinstance(by[0], DiffMask):
            name = _file(by[0])
            tensors = {key: value.detach().cpu().contiguous() for key, value in learned.state_dict().items()}
            with replacing(folder.path / name) as temporary:
                save_file(tensors, temporary)
            folder.finish(name, explainer=text_of(by[0]))


def with_kept_gates(folder: RunFolder, subject: Subject, chosen: tuple[Explainer, ...]) -> TrainingTexts:
    """No texts, but the gates that the run's folder keeps of these explainers."""
    wanted = [explainer for explainer in chosen if isinstance(explainer, DiffMask)]
    kept = _kept(folder) if wanted else {}
    training = TrainingTexts(partial(_refused, sorted(kept.values())))
    for explainer in wanted:
        if (name := _file(explainer)) in kept and isinstance(subject, Network):
            training.remember((explainer, id(subject)), _read(folder, name, explainer, subject))
    return training


def _file(explainer: DiffMask) -> str:
    return f"gates-{hashlib.sha256(text_of(explainer).encode()).hexdigest()[:12]}.safetensors"


def _kept(folder: RunFolder) -> dict[str, str]:
    """Files of gates, and whose they are; none where there is no run."""
    if not (folder.path / "run.json").is_file():
        return {}
    finished = folder.record["finished"]
    return {name: str(about.get("explainer", "")) for name, about in finished.items() if name.startswith("gates-")}


def _read(folder: RunFolder, name: str, explainer: DiffMask, subject: Network) -> Masker:
    path = folder.verify(name)
    try:
        tensors = load_file(path)
        state = tensors["hidden.weight"].shape[1] - len(tensors["absent"])
        masker = Masker(subject, state, explainer.seed, explainer.absent)
        masker.load_state_dict(tensors)
    except (SafetensorError, KeyError, RuntimeError, OSError) as error:
        raise StorageError(f"{path} cannot be read ({error}). Delete it and run the audit again.") from error
    return masker.to(subject.device).eval()


def _refused(kept: list[str]) -> Encoded:
    there = f"keeps those of {', '.join(kept)}" if kept else "keeps none"
    raise NotApplicable(
        f"explainer 'diffmask' learns its gates from training texts, in an audit, and this run {there}. Name these, or "
        "audit with --challenge \"instances(explainers=('diffmask',))\" first."
    )
