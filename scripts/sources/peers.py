"""ContextCite, AT2 and inseq from their own packages beside ours: same questions, answers and sources, one process.

    python -m scripts.sources.peers MODEL WORK [--questions 100] [--train 100] [--inseq 900]

WORK is what scripts/sources/study.py wrote. ``peers.jsonl`` in it gets one line for every question and method: scores,
forward passes and seconds of the processor. It needs context-cite, at2 and inseq, which want other versions than the
tests do: install them, with attentest, into an environment of their own. A run that was cut short goes on.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import contextlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nltk
import numpy as np
import torch

# Both packages fetch NLTK's sentence model on import; sources are split by us, so nobody needs it.
nltk.download = lambda *args, **options: True  # type: ignore[assignment]

import inseq
from at2.attribution.attributors import ScoreEstimationAttributor
from at2.attribution.features import AttentionFeatureExtractor
from at2.attribution.trainer import LinearScoreEstimatorTrainer
from at2.tasks.context_attribution import SimpleContextAttributionTask
from context_cite import ContextCiter
from context_cite.context_partitioner import BaseContextPartitioner
from inseq.commands.attribute_context.attribute_context import attribute_context_with_model
from inseq.commands.attribute_context.attribute_context_args import AttributeContextArgs
from scripts.sources.study import PROMPT

from attentest.sources.auditing import CASES, load_language_model
from attentest.sources.case import open_case
from attentest.sources.judging.learnt import fit_heads
from attentest.sources.judging.record import Record, examine
from attentest.sources.methods import METHODS
from attentest.sources.methods.ablation import drawn_subsets
from attentest.sources.planting.planted import planted_questions
from attentest.sources.prompt import SEPARATOR, Prompter
from attentest.sources.question import Question

ABLATIONS, ALL, BATCH = 16, 32, 16
#: Where ContextCite draws an ablation.
MASKS = "context_cite.utils._create_mask"
OURS = ("attention", "attention(pool='top')", "leave_one_out", "knockout", f"context_cite(ablations={ABLATIONS})")


class Sources(BaseContextPartitioner):
    """Our split into sources."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(SEPARATOR.join(texts))
        self.texts = texts

    @property
    def num_sources(self) -> int:
        """How many there are."""
        return len(self.texts)

    def split_context(self) -> None:
        """They are split."""

    def get_source(self, index: int) -> str:
        """One of them."""
        return self.texts[index]

    def get_context(self, mask: Any = None) -> str:
        """Those that are kept, as one text."""
        kept = self.texts if mask is None else [text for text, keep in zip(self.texts, mask, strict=True) if keep]
        return SEPARATOR.join(kept)


class Task(SimpleContextAttributionTask):
    """A question for AT2, whose documents are our sources."""

    template = PROMPT

    def __init__(self, record: Record, model: Any, tokenizer: Any) -> None:
        super().__init__(SEPARATOR.join(record.sources), record.question, model, tokenizer, source_type="document")
        self.texts = record.sources
        self.set_generation(record.answer)

    def _get_document_ranges(self) -> list[tuple[int, int]]:
        found, place = [], self.prompt.index(self.context)
        for text in self.texts:
            found.append((place, place + len(text)))
            place += len(text) + len(SEPARATOR)
        return found


class Peers:
    """The packages, each a function from a record to scores and forward passes."""

    def __init__(self, path: str, dtype: str, work: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.language = load_language_model(path, device="cpu", dtype=dtype)
        self.prompter = Prompter(self.language.tokenizer, PROMPT)
        self.tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, dtype)).eval()
        self.work = work
        self.train: list[Record] = []
        self._heads: np.ndarray | None = None
        self._estimator: Any = None
        self._inseq: Any = None

    def examined(self, question: Question) -> Record:
        """What our weights over heads are learnt from: attention, and what happens without each source."""
        return examine(open_case(self.language, self.prompter, question), [], held_out=0, alternatives=False)

    def ours(self, name: str, record: Record) -> tuple[np.ndarray, int]:
        """One of our methods, from the question on."""
        question = Question(record.question, tuple(record.sources), record.answer, id=record.id)
        case = open_case(self.language, self.prompter, question)
        scored = METHODS.parse(name).score(case)
        # Where it is not the prompt's own pass that is read, that pass is made as well.
        return scored.scores, scored.cost.passes + (0 if name.startswith("attention") else 1)

    def learnt(self, record: Record) -> tuple[np.ndarray, int]:
        """Our weights over heads, learnt on the questions that AT2 is trained on."""
        if self._heads is None:
            self._heads = fit_heads(self.train)
        question = Question(record.question, tuple(record.sources), record.answer, id=record.id)
        case = open_case(self.language, self.prompter, question)
        return np.tensordot(self._heads, case.attended.summed, 2), 1

    def context_cite(self, record: Record, masks: np.ndarray | None) -> tuple[np.ndarray, int]:
        """The package on these ablations, or on its own."""
        count = ALL if masks is None else len(masks)
        drawn = contextlib.nullcontext() if masks is None else patch(MASKS, lambda sources, alpha, seed: masks[seed])
        context = Sources(record.sources)
        citer = ContextCiter(
            *(self.model, self.tokenizer, context.context, record.question),
            num_ablations=count,
            batch_size=BATCH,
            prompt_template=PROMPT,
            partitioner=context,
        )
        _, prompt = citer._get_prompt_ids(return_prompt=True)
        citer._cache["output"] = prompt + record.answer
        with drawn:
            return np.asarray(citer.get_attributions(verbose=False), dtype=float), count

    def prepare_at2(self) -> None:
        """AT2's own trainer on other questions."""
        from datasets import Dataset

        folder = self.work / "at2"
        (folder / "generations").mkdir(parents=True, exist_ok=True)
        told = {str(n): record.answer for n, record in enumerate(self.train)}
        (folder / "generations" / "0_of_1.json").write_text(json.dumps(told), "utf-8")
        extractor = AttentionFeatureExtractor(
            self.model.config.num_hidden_layers, self.model.config.num_attention_heads, model_type="llama"
        )
        trainer = LinearScoreEstimatorTrainer(
            folder,
            Dataset.from_dict({"number": list(range(len(self.train)))}),
            self.model,
            self.tokenizer,
            lambda example, model, tokenizer: Task(self.train[example["number"]], model, tokenizer),
            feature_extractor=extractor,
            split_target_by=None,
            num_masks=ABLATIONS,
        )
        trainer.generate()
        trainer.compute_features_and_outputs(batch_size=BATCH)
        np.random.seed(0)
        torch.manual_seed(0)
        self._estimator = trainer.train(batch_size=min(64, len(self.train)), device="cpu")

    def at2(self, record: Record) -> tuple[np.ndarray, int]:
        """The package, with what it was trained to."""
        task = Task(record, self.model, self.tokenizer)
        scores = ScoreEstimationAttributor(task, self._estimator).get_attribution_scores()
        return np.asarray(scores, dtype=float), 1

    def inseq(self, record: Record) -> tuple[np.ndarray, int]:
        """What attribute-context gives to tokens, summed over sources."""
        if self._inseq is None:
            self._inseq = inseq.load_model(self.model, "saliency", tokenizer=self.tokenizer)
        passes = _Counted(self.model)
        context = SEPARATOR.join(record.sources)
        message = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": PROMPT.format(context="«C»", query="«Q»")}],
            tokenize=False,
            add_generation_prompt=True,
        )
        template = message.replace("«C»", "{context}").replace("«Q»", "{current}")
        found = attribute_context_with_model(
            AttributeContextArgs(
                model_name_or_path="smollm2",
                input_current_text=record.question,
                input_context_text=context,
                input_template=template,
                output_current_text=record.answer,
                contextless_input_current_text=template.replace("{context}\n\n", ""),
                special_tokens_to_keep=["<|im_start|>", "<|im_end|>"],
                decoder_input_output_separator="",
                show_viz=False,
                add_output_info=False,
            ),
            self._inseq,
        )
        coded = self.tokenizer(context, add_special_tokens=False, return_offsets_mapping=True)
        ends = np.cumsum([len(text) + len(SEPARATOR) for text in record.sources])
        owner = np.array([int(np.searchsorted(ends, end - 1, side="right")) for _, end in coded["offset_mapping"]])
        scores = np.zeros(len(record.sources))
        for cue in found.cci_scores:
            each = np.array(cue.input_context_scores, dtype=float)
            if len(each) != len(owner):
                raise ValueError(f"inseq gives {len(each)} scores for {len(owner)} tokens.")
            np.add.at(scores, owner, np.nan_to_num(each))
        return scores, passes.done()


def others(work: Path, taken: set[str], given: argparse.Namespace) -> list[Question]:
    """Confirmed questions that nobody is asked about, with the model's answers: to train on."""
    lines = [json.loads(line) for line in (work / "screened.jsonl").read_text("utf-8").splitlines()]
    free = [line for line in lines if line["confirmed"] and line["id"] not in taken][: given.train]
    questions = {question.id: question for question in planted_questions(len(lines), seed=given.seed)}
    return [replace(questions[line["id"]], answer=line["answer"], planted=None) for line in free]


class _Counted:
    """Counts a model's forward passes."""

    def __init__(self, model: Any) -> None:
        self.count = 0
        self.hook = model.register_forward_pre_hook(self._one)

    def _one(self, *args: Any) -> None:
        self.count += 1

    def done(self) -> int:
        self.hook.remove()
        return self.count


def main() -> None:
    """Ask every method about every question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("work", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--train", type=int, default=100)
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--inseq", type=float, default=900, help="Seconds of the processor for inseq.")
    parser.add_argument("--timed", type=int, default=100, help="So many questions are asked again by our methods.")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--all", action="store_true", help="Also ContextCite with 32 ablations of its own.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    (cases,) = (given.work / "audits").glob(f"*/{CASES}")
    records = [Record.from_json(line) for line in cases.read_text("utf-8").splitlines()]
    records = [record for record in records if record.confirmed]
    asked = records[: given.questions]
    peers = Peers(given.model, given.dtype, given.work)
    began = time.process_time()
    peers.train = [peers.examined(question) for question in others(given.work, {record.id for record in asked}, given)]
    print(f"{len(asked)} questions, {len(peers.train)} to train on", flush=True)
    print(f"examined in {time.process_time() - began:.0f} s of the processor", flush=True)
    path = given.work / "peers.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    done = {(line["id"], line["method"]) for line in lines}

    def put(method: str, record: Record, work: Callable[[], tuple[np.ndarray, int]]) -> float:
        if (record.id, method) in done:
            return 0.0
        began = time.process_time()
        try:
            scores, passes = work()
        except Exception as error:
            print(f"{method}, {record.id}: {type(error).__name__}: {error}", flush=True)
            return time.process_time() - began
        spent = time.process_time() - began
        row = {"id": record.id, "method": method, "scores": scores.tolist(), "passes": passes, "seconds": spent}
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
        return spent

    began = time.process_time()
    peers.prepare_at2()
    print(f"AT2 trained in {time.process_time() - began:.0f} s of the processor", flush=True)
    peers.learnt(asked[0])
    for number, record in enumerate(asked):
        masks = drawn_subsets(record.id, len(record.sources), ABLATIONS, 0)
        for name in OURS if number < given.timed else ():
            put(name, record, partial(peers.ours, name, record))
        put("learnt_heads", record, partial(peers.learnt, record))
        put("context-cite (16)", record, partial(peers.context_cite, record, masks))
        put("at2", record, partial(peers.at2, record))
    left = given.inseq
    for record in asked:
        if left > 0:
            left -= put("inseq", record, partial(peers.inseq, record))
    for record in asked if given.all else []:
        put("context-cite (32)", record, partial(peers.context_cite, record, None))


if __name__ == "__main__":
    main()
