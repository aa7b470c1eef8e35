"""Explanations that a page keeps: of the tokens in error and of the least sure, packed; see tagging/explain.py for what they say."""

import numpy as np

UNSURE = 1000  # tokens that are right, kept because the model is least sure of them
SHOWN = 6  # attributes of each
AT_ONCE = 500  # sentences that are looked at together


def wanted(answers, *, unsure=UNSURE):
    """int64: tokens in error, and the least sure of the others."""
    right = answers.right
    tokens = np.flatnonzero(right)
    order = np.argsort(answers.probability[tokens], kind="stable")
    return np.sort(np.concatenate([np.flatnonzero(~right), tokens[order[:unsure]]]))


def reasons(explainer, answers, tokens, *, top=SHOWN):
    """{"names": [...], "of": {token: what is told of it}}; names and labels are numbers.

    [against, margin, transitions, pairs, others, rest, how many in it, [[name, for, against, without]...], [unknown...],
    [[position, label, other]...]]
    """
    names, found = {}, {}
    sequence = np.searchsorted(answers.seq, tokens, "right") - 1
    chosen = np.unique(sequence)
    for first in range(0, len(chosen), AT_ONCE):
        some = chosen[first : first + AT_ONCE]
        inside = np.concatenate([np.arange(answers.seq[i], answers.seq[i + 1]) for i in some.tolist()])
        looked = explainer.look([answers.sentences[i] for i in some.tolist()], best=answers.predicted[inside])
        looked.gold = [answers.gold[t] for t in inside.tolist()]
        own = tokens[(sequence >= some[0]) & (sequence <= some[-1])]
        decisions = looked.decisions(np.searchsorted(inside, own))
        start = looked.seq[np.searchsorted(looked.seq, decisions.tokens, "right") - 1]
        found.update(zip(own.tolist(), _packed(decisions, start.tolist(), names, top), strict=True))
    return {"names": [explainer.names[name].decode(errors="replace") for name in names], "of": found}


def _packed(d, start, names, top):
    """The numbers of each decision, rounded for the eye; start: where the token's sentence begins."""
    number = lambda name: names.setdefault(name, len(names))  # noqa: E731
    difference = d.weight - d.other
    owner = np.repeat(np.arange(len(d.tokens)), np.diff(d.ptr))
    order = np.lexsort((-np.abs(difference), ~d.known, owner))  # each token's attributes: the known ones first, by what they say
    known = np.bincount(owner, weights=d.known, minlength=len(d.tokens)).astype(int).tolist()
    columns = (d.name, np.round(d.weight, 3), np.round(d.other, 3), d.without)
    name, weight, other, without = (column[order].tolist() for column in columns)
    so_far = np.concatenate([[0.0], np.cumsum(difference[order])])
    sums = np.round(np.column_stack([d.margin, d.sums]), 3).tolist()
    for k, (first, end) in enumerate(zip(d.ptr[:-1].tolist(), d.ptr[1:].tolist(), strict=True)):
        last, mine = first + min(top, known[k]), int(d.labels[k])
        shown = [[number(name[i]), weight[i], other[i], *([without[i]] if without[i] != mine else [])] for i in range(first, last)]
        rest = round(float(so_far[first + known[k]] - so_far[last]), 3)
        unknown = [number(name[i]) for i in range(first + known[k], end)]
        changed = [[t - start[k], one, theirs] for t, one, theirs in d.changed[k]]
        yield [int(d.against[k]), *sums[k], rest, known[k] - len(shown), shown, unknown, changed]
