"""The search for the lines of a template that are worth having."""

import re
from pathlib import Path

import numpy as np
import pytest
from observers import Hearing

from crftrain.chain._problem import Problem
from crftrain.model.model import load
from crftrain.text.encode import read_corpus
from crftrain.text.template import Template, builtin
from crftrain.training.learn import learn
from crftrain.training.lines import Lines, Trial
from crftrain.training.settings import Settings

DATA = Path(__file__).parent.parent / "data"


def test_all_lines_are_there_once_and_those_the_data_cannot_have_are_left_out():
    lines = Lines(builtin("chunk"), 3, 2)
    assert len(set(lines.sources)) == len(lines.sources) > 40
    assert lines.given.sum() == len(builtin("chunk").unigrams) and lines.fixed == ["B"]
    assert not [body for body in Lines(builtin("pos"), 2, 1).sources if re.search(r"%\w\[@?-?\d+,1[,\]]", body)]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The first 50 sentences."""
    path = tmp_path_factory.mktemp("lines") / "train.txt"
    path.write_text("\n\n".join((DATA / "train.txt").read_text(encoding="utf-8").split("\n\n")[:50]) + "\n\n", encoding="utf-8")
    return path


def test_a_part_of_the_lines_is_the_corpus_of_their_template(small):
    """The same objective, whether occurrences are taken out or the template never had them."""
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\n", "three")
    lines = Lines(template, 3, 2)
    corpus, vocabulary = read_corpus([str(small)], template=lines.template)
    settings = Settings(paths=(str(small),), lambdas="1/n")
    trial = Trial(settings, corpus, vocabulary, lines.of_attributes)
    wanted = lines.given & np.array([body != "%x[-1,0]" for body in lines.sources])
    part = trial._part(trial.rest, wanted)
    w = np.random.default_rng(1).normal(size=trial.layout.n_features)
    kept = np.where((trial.owner < 0) | wanted[trial.owner], w[: len(trial.owner)], 0)
    whole = np.concatenate([kept, w[len(trial.owner) :]])
    assert Problem(part, trial.layout).value(w) == pytest.approx(Problem(trial.rest, trial.layout).value(whole), rel=1e-12)
    alone, names = read_corpus([str(small)], template=lines.of(wanted, "two"))
    assert len(names.template.unigrams) == 2
    n = np.bincount(trial.line_of[np.concatenate([part.nodes.attr, trial._part(trial.left, wanted).nodes.attr])], minlength=len(wanted))
    assert n.sum() == len(alone.nodes.attr) and not n[~wanted].any()


def test_the_lines_found_are_a_template_that_the_model_keeps(small, tmp_path):
    heard = Hearing()
    learn(Settings(paths=(str(small),), model=str(tmp_path / "model"), template="seg", template_search=True, tol=1e-2), heard)
    found = load(tmp_path / "model").vocabulary.template
    assert found.name == "lines found" and 1 < len(found.unigrams) < len(Lines(builtin("seg"), 3, 2).sources)
