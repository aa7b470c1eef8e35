"""Decoding against all labellings written out: the n best, legal ones, known labels, marginals and chunks given these."""

import itertools
import json
from pathlib import Path

import numpy as np
import problems
import pytest
import reference
from numpy.testing import assert_allclose

from crftrain.chain._sequences import Sequences
from crftrain.chain.layout import Layout
from crftrain.errors import SettingsError
from crftrain.model.model import load
from crftrain.tagging._decoder import Decoder
from crftrain.tagging.evaluate import Evaluation, chunk_rules
from crftrain.tagging.once import Once
from crftrain.text.encode import Corpus, Observations
from crftrain.text.legal import Legal, scheme_of
from crftrain.training.learn import learn
from crftrain.training.settings import Settings

KINDS = [name for name in problems.KINDS if "many labels" not in name]
LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y", "S-X"]
UNUSUAL = {"one label": 1, "six labels of seven tokens": 6}


def made(name, seed):
    """A small instance, and weights."""
    if name == "six labels of seven tokens":
        instance = problems.instance(seed, labels=6, length=(7, 7), sequences=2)
    else:
        instance = problems.kind(name, seed)
    return instance, instance.weights(seed, scale=1.5)


def legal_for(n, seed):
    """Random rules under which something is legal: at least the first label all along."""
    rng = np.random.default_rng(seed)
    pairs, first, last = rng.random((n, n)) < 0.6, rng.random(n) < 0.6, rng.random(n) < 0.6
    pairs[0, 0] = first[0] = last[0] = True
    return Legal.where(pairs, first, last)


class All:
    """All labellings of a sequence that are legal and agree with what is known, and their scores."""

    def __init__(self, instance, w, i, legal=None, known=None):
        psi, e = reference.scores(instance.corpus, instance.layout, w, i)
        length, n = psi.shape
        paths = np.array(list(itertools.product(range(n), repeat=length)))
        score = psi[0, paths[:, 0]].astype(np.longdouble)
        keep = np.ones(len(paths), bool)
        if legal is not None:
            keep &= legal.first[paths[:, 0]] & legal.last[paths[:, -1]]
        for t in range(length):
            if known is not None:
                keep &= known[t, paths[:, t]]
            if t:
                score += psi[t, paths[:, t]] + e[t, paths[:, t - 1], paths[:, t]]
                if legal is not None:
                    keep &= legal.pairs[paths[:, t - 1], paths[:, t]]
        self.n, self.paths, self.score = n, paths[keep], score[keep]
        if keep.any():
            order = np.argsort(-self.score, kind="stable")
            self.ranked, self.best_scores = self.paths[order], self.score[order]
            self.log_z = reference.log_sum_exp(self.score)
            self.p = np.exp(self.score - self.log_z)

    def marginals(self):
        return np.array([[self.p[self.paths[:, t] == j].sum() for j in range(self.n)] for t in range(self.paths.shape[1])], float)

    def chunk(self, labels, first, end):
        """How probable it is that just the chunk first..end of these labels stands there."""
        wanted = chunks_of(labels)
        (own,) = [chunk for chunk in wanted if chunk[:2] == (first, end)]
        return float(sum(p for path, p in zip(self.paths, self.p, strict=True) if own in chunks_of([LABELS[j] for j in path])))


def chunks_of(labels):
    """{(first, end, labels)} as the evaluation finds them."""
    evaluation = Evaluation(chunks=True)
    evaluation.add(labels, labels)
    _, gold, _ = evaluation._counted.spans()
    return {(int(first), int(end), tuple(labels[first:end])) for first, end, _ in gold.T}


def sequences(instance):
    seq = instance.corpus.seq
    return [(i, slice(seq[i], seq[i + 1])) for i in range(instance.corpus.n_sequences)]


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("name", [*KINDS, "six labels of seven tokens"])
def test_the_n_best_are_the_first_of_all_labellings(name, constrained):
    instance, w = made(name, 1)
    legal = legal_for(instance.layout.n_labels, 1) if constrained else None
    decoded = instance.decoded(w, legal, n=40)
    for i, own in sequences(instance):
        every = All(instance, w, i, legal)
        scores, labels = decoded.ranked[i]
        n = min(40, len(every.paths))
        assert len(scores) == len(labels) == n
        assert_allclose(scores, every.best_scores[:n].astype(float), rtol=0, atol=1e-12 * max(1, np.abs(every.score).max()))
        for r in range(n):
            assert_allclose(float(every.score[(every.paths == labels[r]).all(axis=1)][0]), scores[r], atol=1e-12 * max(1, abs(scores[r])))
        assert len({tuple(path) for path in labels}) == n
        assert labels[0].tolist() == decoded.labels[own].tolist()
        assert_allclose(decoded.log_z[i], every.log_z, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [1.5, 400.0])
@pytest.mark.parametrize("name", KINDS)
def test_legal_labellings_and_known_labels_have_the_sums_of_all_that_are_left(name, scale):
    instance, w = made(name, 2)
    w = w / 1.5 * scale
    n = instance.layout.n_labels
    legal, rng = legal_for(n, 2), np.random.default_rng(2)
    known = rng.random((instance.corpus.n_tokens, n)) < 0.7
    known[:, 0] = True
    decoded = instance.decoded(w, legal, known=known, marginals=True)
    assert not decoded.impossible.any()
    for i, own in sequences(instance):
        every = All(instance, w, i, legal, known[own])
        assert_allclose(decoded.log_z[i], every.log_z, rtol=1e-12, atol=1e-11)
        assert_allclose(decoded.log_p[i], float(every.best_scores[0] - every.log_z), rtol=1e-10, atol=1e-11 * scale)
        assert_allclose(decoded.marginals[own], every.marginals(), atol=1e-12 * scale)
        assert decoded.labels[own].tolist() == every.ranked[0].tolist()


def test_what_is_impossible_is_told():
    instance, w = made("plain", 3)
    n = instance.layout.n_labels
    legal = Legal.where(np.zeros((n, n), bool), np.ones(n, bool), np.ones(n, bool))
    decoded = instance.decoded(w, legal, marginals=True, n=3)
    long = np.diff(instance.corpus.seq) > 1
    assert long.any() and decoded.impossible.tolist() == long.tolist()


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_posterior_decoding_has_the_largest_sum_of_marginals_among_the_legal_ones(name, constrained):
    instance, w = made(name, 4)
    legal = legal_for(instance.layout.n_labels, 4) if constrained else None
    decoded = instance.decoded(w, legal, posterior=True)
    for i, own in sequences(instance):
        every = All(instance, w, i, legal)
        marginals, t = every.marginals(), np.arange(own.stop - own.start)
        sums = marginals[t, every.paths].sum(axis=1)
        assert_allclose(marginals[t, decoded.labels[own]].sum(), sums.max(), rtol=1e-12)
        assert constrained is False or legal.allows(decoded.labels[own])


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("options", [{}, {"template": problems.BOTH, "pair_attributes": 4}, {"features": "full"}])
@pytest.mark.parametrize("scale", [1.0, 150.0])
def test_a_chunk_is_as_probable_as_all_labellings_that_have_it(options, constrained, scale):
    instance = problems.instance(5, labels=len(LABELS), length=(1, 4), sequences=5, attributes=12, **options)
    w = instance.weights(5, scale=scale)
    legal = Legal.of(LABELS, scheme="bioes", allow=["I-* O", "I-* $"]) if constrained else None
    decoded = instance.decoded(w, legal, chunks=chunk_rules(LABELS))
    found = 0
    for i, own in sequences(instance):
        labels = [LABELS[j] for j in decoded.labels[own]]
        every, wanted = All(instance, w, i, legal), chunks_of(labels)
        here = [chunk for chunk in zip(*decoded.chunks, strict=True) if own.start <= chunk[0] < own.stop]
        inside = [(first - own.start, end - own.start, p) for first, end, p in here]
        assert {(first, end) for first, end, _ in inside} == {chunk[:2] for chunk in wanted}
        for first, end, p in inside:
            assert_allclose(p, every.chunk(labels, first, end), rtol=1e-9, atol=1e-12)
            found += 1
    assert found > 3


# ---- what is legal ---------------------------------------------------------------------------------------------------


def test_schemes_say_what_conll_says():
    legal = Legal.of(LABELS[:5], scheme="iob2")
    of = {name: j for j, name in enumerate(LABELS)}
    assert legal.allows([of["O"], of["B-X"], of["I-X"], of["I-X"], of["B-X"], of["B-Y"], of["I-Y"]])
    assert not legal.allows([of["I-X"]]) and not legal.allows([of["O"], of["I-X"]]) and not legal.allows([of["B-Y"], of["I-X"]])
    one = Legal.of(LABELS[:5], scheme="iob1")
    assert one.allows([of["I-X"], of["B-X"], of["I-Y"]]) and not one.allows([of["O"], of["B-X"]]) and not one.allows([of["I-Y"], of["B-X"]])
    many = ["O", "B-X", "I-X", "E-X", "S-X"]
    bioes = Legal.of(many, scheme="bioes")
    assert bioes.allows([1, 2, 3, 4, 0])
    assert not any(bioes.allows(odd) for odd in ([1], [1, 0], [3], [1, 4]))
    bmes = Legal.of(["B", "M", "E", "S"], scheme="bmes")
    assert bmes.allows([0, 1, 1, 2, 3]) and not bmes.allows([0, 3]) and not bmes.allows([1, 2]) and not bmes.allows([0])


def test_patterns_go_before_the_scheme():
    legal = Legal.of(LABELS[:5], scheme="iob2", allow=["O I-X", "^ I-*"], forbid=["B-X B-*", "* B-Y", "B-* $"])
    of = {name: j for j, name in enumerate(LABELS)}
    assert legal.allows([of["I-Y"]]) and legal.allows([of["O"], of["I-X"]]) and not legal.allows([of["O"], of["I-Y"]])
    assert not legal.allows([of["B-X"]]) and not legal.allows([of["O"], of["B-Y"], of["I-Y"]])


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"forbid": ["O I-*"], "allow": ["O I-X"]}, "O I-X is both forbidden and allowed"),
        ({"forbid": ["^ *"]}, "no label may begin"),
        ({"forbid": ["* $"]}, "no label may end"),
        ({"forbid": ["O"]}, "no pair of labels"),
        ({"allow": ["O Z-*"]}, "no label is called 'Z-*'"),
    ],
)
def test_rules_that_contradict_themselves_or_name_nothing_are_errors(asked, said):
    with pytest.raises(SettingsError, match=said.replace("*", r"\*")):
        Legal.of(LABELS, **asked)


def test_auto_tells_schemes_apart():
    willing = np.zeros((5, 5))
    willing[0, [2, 4]] = 1  # I after O
    assert scheme_of(LABELS[:5], willing) == "iob1" and scheme_of(LABELS[:5], -willing) == "iob2"
    assert scheme_of(["B", "M", "E", "S"]) == scheme_of(["O", "B-X", "I-X", "L-X", "U-X"]) == "bioes"
    with pytest.raises(SettingsError, match="no scheme"):
        scheme_of(["NN", "VB"])


# ---- the command -----------------------------------------------------------------------------------------------------

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("decoding") / "m.bin"
    learn(Settings(paths=(str(DATA / "train.txt"),), algorithm="lbfgs", passes=25, model=str(path)))
    return str(path)


def blocks(out):
    return [block.split("\n") for block in out.decode().strip("\n").split("\n\n")]


def test_n_best_are_ranked_and_the_first_is_what_is_scored(crftrain, model):
    plain, ranked = crftrain("tag", "--score", model, DATA / "test.txt"), crftrain("tag", "-n", 3, model, DATA / "test.txt")
    found = blocks(ranked.out)
    first = [block for block in found if block[0].endswith("\t1")]
    assert [block[1:] for block in first] == [block[1:] for block in blocks(plain.out)]
    assert [block[0].split("\t")[:2] for block in first] == [block[0].split("\t") for block in blocks(plain.out)]
    by_place = [float(block[0].split("\t")[1]) for block in found]
    assert all(a >= b for a, b, block in zip(by_place, by_place[1:], found[1:], strict=False) if not block[0].endswith("\t1"))
    assert crftrain("eval", input=ranked.out).out == crftrain("eval", input=plain.out).out
    assert crftrain("tag", "-n", 3, "-j", 2, model, DATA / "test.txt").out == ranked.out


def test_constrained_labels_are_legal_and_what_is_forbidden_does_not_come(crftrain, model):
    labels = list(load(model).vocabulary.labels)
    legal = Legal.of(labels, scheme="iob2", forbid=["I-NP I-NP"])
    out = crftrain("tag", "--labels-only", "--constrain", "iob2", "--forbid", "I-NP I-NP", model, DATA / "test.txt").out
    assert all(legal.allows([labels.index(label) for label in block]) for block in blocks(out))
    assert "I-NP\nI-NP" in crftrain("tag", "--labels-only", model, DATA / "test.txt").out.decode()


def test_once_leaves_one_chunk_of_a_type(crftrain, model):
    plain = [json.loads(line) for line in crftrain("tag", "--json", model, DATA / "test.txt").lines]
    once = [json.loads(line) for line in crftrain("tag", "--json", "--once", "VP,PP", model, DATA / "test.txt").lines]
    count = lambda found, kind: [span["type"] for span in found.get("spans", [])].count(kind)  # noqa: E731
    assert max(count(found, "VP") for found in plain) > 1 and max(count(found, "NP") for found in once) > 1
    assert max(count(found, kind) for found in once for kind in ("VP", "PP")) == 1
    assert crftrain("tag", "--once", "XX", model, DATA / "test.txt").status == 2


def test_known_labels_stay_and_choices_are_kept(crftrain, model, tmp_path):
    lines = [line.split(" ") for line in (DATA / "test.txt").read_text().split("\n")]
    known = [" ".join([*line[:-1], ["?", "O|B-VP", "I-NP"][k % 3]]) if len(line) > 1 else "" for k, line in enumerate(lines)]
    (tmp_path / "known.txt").write_text("\n".join(known))
    for line in crftrain("tag", "--force", model, "known.txt").out.decode().split("\n"):
        if line:
            *_, asked, found = line.split(" ")
            assert asked == "?" or found in asked.split("|")


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["--force"], 1, "test.txt:1: the label 'Z'"),
        (["--constrain", "bioes", "--forbid", "* *"], 1, "are legal"),
        (["--forbid", "O Z-*"], 2, "no label is called 'Z-*'"),
        (["--forbid", "O I-NP", "--allow", "O I-NP"], 2, "O I-NP is both forbidden and allowed"),
        (["-n", "2", "--json"], 2, "-n goes with"),
        (["--decode", "posterior", "--score"], 2, "--decode posterior has no --score"),
    ],
)
def test_what_cannot_be_decoded_is_an_error(crftrain, model, tmp_path, words, status, said):
    (tmp_path / "test.txt").write_text("a DT Z\nb NN ?\n\n")
    ended = crftrain("tag", *words, model, "test.txt")
    assert (ended.status, ended.out) == (status, b"") and said in ended.err


def test_unsure_chunks_are_left_out_and_sure_ones_say_how_sure(crftrain, model):
    everything = [json.loads(line) for line in crftrain("tag", "--json", "--score", model, DATA / "test.txt").lines]
    some = [json.loads(line) for line in crftrain("tag", "--json", "--score", "--min-confidence", 0.9, model, DATA / "test.txt").lines]
    dropped = 0
    for whole, part in zip(everything, some, strict=True):
        sure = [span for span in whole.get("spans", []) if span["probability"] >= 0.9]
        dropped += len(whole.get("spans", [])) - len(sure)
        assert part.get("spans", []) == sure
    assert dropped


# ---- one run per label -----------------------------------------------------------------------------------------------


def runs(labels, chunked):
    """The types of the runs, in order."""
    if chunked:
        return [labels[first].partition("-")[2] for first, *_ in sorted(chunks_of(labels))]
    return [label for label, _ in itertools.groupby(labels)]


@pytest.mark.parametrize("names", [["all"], ["X"]])
def test_one_run_per_label_is_the_best_of_all_labellings_that_have_one(names):
    labels, changed = LABELS[:5], 0
    once = Once(labels, names)
    for seed in range(8):
        instance = problems.instance(seed, labels=5, length=(3, 6), sequences=8, attributes=10, features="full")
        w = instance.weights(seed, scale=2.0)
        decoder = Decoder(instance.layout, w, once.legal(None))
        for i, own in sequences(instance):
            alone = Sequences(instance.corpus.take(np.array([i])), instance.layout)
            found, proved, _ = once.search(decoder, alone, np.ones((own.stop - own.start, 5), bool))
            best = first_with_one_run(All(instance, w, i).ranked, labels, names)
            changed += best > 0
            assert proved and found.tolist() == All(instance, w, i).ranked[best].tolist()
    assert changed > 5


def first_with_one_run(ranked, labels, names):
    for r, path in enumerate(ranked):
        seen = runs([labels[j] for j in path], True)
        if all(seen.count(kind) <= 1 for kind in (set(seen) if names == ["all"] else {"X"})):
            return r
    raise AssertionError("no labelling has one run")


def addresses(n, seed=0):
    """Chains like those of addresses: 20 labels of 4 to 12 tokens, the best labelling with a label twice in some of them."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        length = int(rng.integers(4, 13))
        order = np.sort(rng.choice(20, min(length, 9), replace=False))
        y = np.sort(np.append(order, rng.choice(order, length - len(order))))
        psi = rng.normal(0, 1.0, (length, 20))
        psi[np.arange(length), y] += 4.0
        if rng.random() < 0.6:
            psi[rng.integers(length), rng.choice(order)] += 6.0
        yield psi


def test_addresses_keep_one_run_and_nearly_all_are_proved():
    names = [f"L{j}" for j in range(20)]
    once, proved, changed, worst = Once(names, ["all"]), 0, 0, 0
    n = 300
    for psi in addresses(n):
        instance = chain_of(psi, names)
        decoder, sequence = Decoder(instance[0], instance[1], once.legal(None)), Sequences(instance[2], instance[0])
        plain = decoder.decode(sequence).labels
        found, sure, parts = once.search(decoder, sequence, np.ones(psi.shape, bool))
        labels = [names[j] for j in found]
        assert len(runs(labels, False)) == len(set(labels))
        proved, changed, worst = proved + sure, changed + (plain.tolist() != found.tolist()), max(worst, parts)
    assert proved >= 0.99 * n and changed > 0.1 * n


def chain_of(psi, names):
    """(layout, w, corpus) of one sequence whose node scores are psi; staying and going on have weights of their own."""
    length, n = psi.shape
    ptr = np.arange(0, (length + 1) * n, n)
    transition = np.arange(n * n, dtype=np.int32)
    empty = np.zeros(1, np.int64) + length * n + n * n
    layout = Layout(n, ptr, None, 0, transition, empty, np.empty(0, np.int32))
    step = np.subtract.outer(np.arange(n), np.arange(n))
    w = np.concatenate([psi.ravel(), np.where(step == 0, 1.0, np.where(step < 0, 0.5, -1.0)).ravel()])
    nodes = Observations(np.arange(length + 1), np.arange(length, dtype=np.int32), None)
    return layout, w, Corpus(np.array([0, length]), np.zeros(length, np.int32), nodes, None, n)
