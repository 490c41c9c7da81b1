"""The options that audit and train share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA, MODEL, TRAINING, OUTPUT = "Data", "Model", "Training", "Output"

Corpus = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A corpus by name ('attentest list corpora'); default: reviews, built in."),
]
Data = Annotated[Path | None, typer.Option(metavar="PATH", help="Your own texts: a CSV, TSV, JSONL or Parquet file.")]
Test = Annotated[Path | None, typer.Option(metavar="PATH", help="A second file to test on; default: a part of --data.")]
TextColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column that holds the text; guessed when obvious.")
]
LabelColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column that holds the label; guessed when obvious.")
]
SecondColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="For pairs: the column of the second text, attention's query."),
]
IdColumn = Annotated[str | None, typer.Option(metavar="NAME", help="The column that holds ids; default: row numbers.")]
Tokenizer = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="english (spaCy), whitespace, or characters (Chinese, Japanese, Thai …)."),
]
MaxTokens = Annotated[int, typer.Option(metavar="N", min=1, help="Longer texts are left out, counted and named.")]
Truncate = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Cut longer texts to their first N tokens, instead of leaving them out."),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The file's encoding, such as cp1252 or gb18030; default: UTF-8, or a guess."),
]
MinFrequency = Annotated[
    int, typer.Option(metavar="N", min=1, help="Texts a word must occur in to enter the vocabulary.")
]
Encoder = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="bilstm, bigru, convolution, average or none; parameters as in 'bilstm(hidden=64)'."
    ),
]
Structure = Annotated[
    str,
    typer.Option(metavar="NAME", help="flat, or hierarchical: words into sentences, sentences into the text (HAN)."),
]
Site = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Which attention is examined: of a hierarchical model sentence (default) or word; of a Transformer: "
        "cross LAYER.HEAD; of a checkpoint: layer 6, or one head, layer 6 head 3.",
    ),
]
Attention = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="additive, dot, uniform or random; Luong's are 'dot(scaled=False, mapped=False)' and, general, "
        "'dot(scaled=False)'.",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…", help="For a checkpoint: the data's labels in the order of its outputs, where names differ."
    ),
]
LabelWords = Annotated[
    str | None,
    typer.Option(metavar="A=X,B=Y", help="For a language model: the word by which it names each class."),
]
Prompt = Annotated[
    str | None, typer.Option(metavar="TEXT", help="For a language model: the prompt around the text, '… {text} …'.")
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="For pairs, how the second text is read: separate (default), shared or conditional."
    ),
]
Decoder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="For translations, what writes them: bahdanau (default), luong, transformer or transformer_base.",
    ),
]
Forced = Annotated[
    str,
    typer.Option(metavar="NAME", help="For translations, whose prefix each step follows: reference or own."),
]
Head = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="sigmoid or softmax; for pairs also joint or joint_tanh; default: by the number of classes and texts.",
    ),
]
FineTune = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Fine-tune a Transformers checkpoint instead of training a new model: its folder, or its name in models/ "
        "of the data folder.",
    ),
]
Embedding = Annotated[int, typer.Option(metavar="N", min=1, help="Size of the word embeddings.")]
Vectors = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Word vectors to start from: GloVe or fastText text, or .npz.")
]
Preset = Annotated[
    str, typer.Option(metavar="NAME", help="Defaults of a paper or of its code: 'attentest list presets'.")
]
Epochs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Largest number of epochs (8; 3 when fine-tuning).")
]
BatchSize = Annotated[int | None, typer.Option(metavar="N", min=1, help="Batch size (32).")]
LearningRate = Annotated[
    float | None, typer.Option(metavar="X", help="Adam's learning rate (0.001; 0.00005 when fine-tuning).")
]
Clip = Annotated[float | None, typer.Option(metavar="X", min=0, help="Largest gradient norm; 0: not clipped.")]
Patience = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Epochs without improvement before stopping (3).")
]
Smoothing = Annotated[
    float | None,
    typer.Option(metavar="X", help="Label smoothing (0; translations .1)."),
]
Warmup = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Warm-up steps of the learning rate, which then decays; 0: constant."),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="The seed of everything random.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda or auto.")]
Runs = Annotated[Path, typer.Option(metavar="PATH", envvar="ATTENTEST_RUNS", help="The folder that holds runs.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again what is already there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; only the outcome.")]
Json = Annotated[bool, typer.Option("--json", help="The outcome as JSON on standard output.")]
