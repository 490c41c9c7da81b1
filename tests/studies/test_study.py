from __future__ import annotations

import os

import pytest
from tests.studies.made_up_study import TEXT, made_up_study

from attentest.errors import InputError
from attentest.papers import PAPERS
from attentest.papers.studies import built_in
from attentest.studies.plan import plan
from attentest.studies.study import read_study


def test_a_grid_is_every_combination_in_the_files_order(tmp_path):
    cells = made_up_study(tmp_path).cells()
    assert [cell.label for cell in cells] == [
        "additive · seed 0",
        "additive · seed 1",
        "dot · seed 0",
        "dot · seed 1",
    ]
    assert all(cell.choices["epochs"] == 2 for cell in cells)


def test_cells_are_adjusted_and_left_out_where_they_match(tmp_path):
    more = """
[[adjust]]
where = { attention = "dot" }
set = { epochs = 5, patience = 1 }

[[leave_out]]
where = { attention = ["dot", "uniform"], seed = 1 }
because = "no need"
"""
    cells = made_up_study(tmp_path, TEXT + more).cells()
    assert [(cell.label, cell.choices["epochs"]) for cell in cells] == [
        ("additive · seed 0", 2),
        ("additive · seed 1", 2),
        ("dot · seed 0", 5),
    ]


def test_a_study_is_narrowed_from_the_command_line(tmp_path):
    study = made_up_study(tmp_path)
    assert [cell.label for cell in study.narrowed(seeds=1).cells()] == ["additive · seed 0", "dot · seed 0"]
    with pytest.raises(InputError, match=r"has 2 \(0, 1\)"):
        study.narrowed(seeds=3)
    assert all(cell.choices["limit"] == 9 for cell in study.narrowed(limit=9).cells())
    with pytest.raises(InputError, match="has no corpus 'sst'"):
        study.narrowed(corpora=("sst",))


def test_what_the_command_line_asks_for_holds_in_adjusted_cells_too(tmp_path):
    text = TEXT + '\n[[adjust]]\nwhere = { attention = "dot" }\nset = { limit = 30 }\n'
    study = made_up_study(tmp_path, text).narrowed(limit=9)
    assert {cell.choices["limit"] for cell in study.cells()} == {9}


def test_a_cell_may_have_no_vectors_where_others_do(tmp_path):
    text = TEXT.replace("[run]\n", '[run]\nvectors = "none"\n')
    plain, none = (plan(study, tmp_path) for study in (made_up_study(tmp_path), made_up_study(tmp_path, text)))
    assert [one.run and one.run.id for one in plain] == [one.run and one.run.id for one in none]


BROKEN = {
    "nmae = 'x'\n": "nmae: unknown key. Did you mean 'name'?",
    "name = 'a b'\n": "name: 'a b' may hold letters",
    f"name = '{'x' * 300}'\n": "is longer than 100 letters",
    "[run]\nencodr = 'bilstm'\n": "run.encodr: unknown key. Did you mean 'encoder'?",
    "[grid]\nencoder = ['bilstm', 'bilstn']\n": "[1]: No encoder is called 'bilstn'. Did you mean 'bilstm'?",
    "[grid]\nencoder = ['bilstm(hiden=4)']\n": "grid.encoder[0]: encoder 'bilstm' has no parameter 'hiden'",
    "[grid]\nencoder = ['bilstm', 'bilstm']\n": "grid.encoder[1]: 'bilstm' is there twice",
    "[grid]\nencoder = 'bilstm'\n": "grid.encoder: 'bilstm' must be a list",
    "[grid]\nseed = ['one']\n": "grid.seed[0]: 'one' must be a whole number",
    "[grid]\nseed = [true]\n": "grid.seed[0]: True must be a whole number",
    "[grid]\nseed = [-1]\n": "grid.seed[0]: -1 must be at least 0",
    "[grid]\ncorpus = ['ssst']\n": "grid.corpus[0]: No corpus is called 'ssst'",
    "[run]\ndecoder = 'luong'\n[grid]\ncorpus = ['sst']\n": "'decoder' writes texts; 'sst' has none to write",
    "[run]\ndecoder = 'loung'\n[grid]\ncorpus = ['dates']\n": "No decoder is called 'loung'. Did you mean 'luong'?",
    "[run]\nremoval = 'lrp'\nremoval_share = 0.1\n[grid]\ncorpus = ['dates']\n": "'removal' is for classifiers",
    "[run]\nquery = 'both'\n": "run.query: query='both' must be one of separate, shared, conditional",
    "[run]\nquery = 'shared'\n[grid]\ncorpus = ['sst']\n": "'query' is for pairs of texts; 'sst' has one text",
    "[run]\nquery = 'own'\n[grid]\ncorpus = ['aspects']\n": "query 'own' is for single texts; 'aspects' has pairs",
    "[run]\nchallenges = 1\n": "run.challenges: 1 must be a list",
    "[run]\nchallenges = ['agrement']\n": "challenges: No challenge is called 'agrement'. Did you mean 'agreement'?",
    "[run]\nchallenges = [\"agreement(pairs=('attention~gradent',))\"]\n": "No explainer is called 'gradent'",
    "[run]\npreset = 'papr'\n": "run.preset: No preset is called 'papr'",
    "[run]\nlearning_rate = 0\n": "run.learning_rate: learning_rate=0 must be a number above zero",
    "[run]\nseed = 1\n[grid]\nseed = [1]\n": "run.seed: it varies in the grid too",
    "[run]\ncorpus = 'reviews'\ndata = 'x.csv'\n": "both 'corpus' and 'data'",
    "[run]\ntest = 'x.csv'\n": "'test' needs 'data'",
    "[run]\ntokenizer = 'english'\n": "'tokenizer' is for files",
    "[[adjust]]\nwhere = {seed = 0}\n": "adjust[0].set: it says nothing",
    "[[adjust]]\nwhere = {sed = 0}\nset = {epochs = 1}\n": "adjust[0].where.sed: unknown key. Did you mean 'seed'?",
    "[adjust]\nset = 1\n": "adjust: write it as [[adjust]]",
    "[[leave_out]]\nwhere = {seed = 0}\n": "leave_out[0].because: say why",
    "[grid]\nseed = [0]\n[[leave_out]]\nwhere = {seed = 0}\nbecause = 'x'\n": "grid: it has no cell",
    "run = 3\n": "run: 3 must be a table",
    "": "grid: there is none",
    "[grid]\nseed = [0]\n[[adjust]]\nwhere = {seed = 1}\nset = {epochs = 1}\n": "matches no cell of the grid",
    "[grid]\nseed = [0]\n[[adjust]]\nset = {seed = 1}\n": "adjust[0].set.seed: it varies in the grid",
    "name = \n": "is not TOML",
    f"a = {'[' * 3000}{']' * 3000}\n": "nested too deep",
    f"a{'.a' * 100_000} = 1\n": "a key has more than 300 parts",
    f"a = 1{'0' * 5000}\n": "too long",
    '[run]\ndata = "a\\u0000b.csv"\n': "run.data: 'a\\x00b.csv' must not hold the character NUL",
    "[grid]\nseed = [4294967296]\n": "grid.seed[0]: 4294967296 must be at most 4294967295",
    "[grid]\nseed = [0]\nepochs = [10000000000]\n": "grid.epochs[0]: 10000000000 must be at most 1000000000",
    "[run]\nclip = nan\n": "run.clip: nan must be at most",
    f"[grid]\nseed = {[*range(10_001)]}\n": "grid.seed: it has 10,001 values, and 10,000 are the most",
    f"[grid]\nseed = {[*range(999)]}\nepochs = {[*range(1, 999)]}\n": "grid: it has 997,002 cells",
    f"about = '{'x' * 1_100_000}'\n": "is larger than 1 MB",
}


@pytest.mark.parametrize("text", list(BROKEN))
def test_what_is_wrong_in_a_file_is_said_with_file_key_and_suggestion(tmp_path, text):
    with pytest.raises(InputError) as caught:
        made_up_study(tmp_path, text)
    assert BROKEN[text] in str(caught.value)
    assert str(tmp_path / "made-up.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_names_are_read_from_the_studys_own_folder(tmp_path):
    study = made_up_study(tmp_path, "[run]\ndata = 'texts.csv'\n[grid]\nseed = [0]\n")
    assert study.cells()[0].choices["data"] == str((tmp_path / "texts.csv").resolve())


def test_a_study_file_that_is_not_there_or_is_a_pipe_is_named(tmp_path):
    with pytest.raises(InputError, match="No study file at"):
        read_study(tmp_path / "no.toml")
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match="a pipe or a device"):
        read_study(tmp_path / "pipe.toml")


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_built_in_study_can_be_read(name):
    study = read_study(built_in()[name])
    assert study.name == name
    assert study.paper == name if name in PAPERS else study.paper in ("", *PAPERS)
    assert study.title
    assert study.about
    assert len(study.cells()) >= 2
    vectors = {cell.choices.get("vectors", "none") for cell in study.cells()}
    assert all(text == "none" or str(text).endswith(".npz") for text in vectors), vectors
