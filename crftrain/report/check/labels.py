"""Labels: their scheme, those seen once, those that look like a slip of the pen, those that one part alone has."""

import re
import unicodedata

import numpy as np

from . import schemes
from .findings import Example, Finding, counted, shown
from .odd import strip_unseen

RARE = 3  # a slip of the pen is not made more often than that
TIMES = 50  # and what was meant is so many times as frequent
SAME_TIMES = 5  # where the two differ in case or in separators alone

PIECES = re.compile(r"[^\W_$]+\$*|\$+")


def check_labels(data):
    counts = data.train.counts(data.table.label)
    yield from _usable(data, counts)
    yield from _typing_errors(data, counts)
    yield from _seen_once(data, counts)
    yield from _one_part(data)
    if data.scheme is not None:
        for part in data.parts:
            yield from _violations(data, part)


def _usable(data, counts):
    """Labels of which nothing can be learnt."""
    n_labels = int((counts[1:] > 0).sum())
    if n_labels == 1:
        yield Finding(
            "one-label",
            "error",
            data.train.n_tokens,
            f"every token of {data.train.name} has the label {shown(data.labels[int(np.argmax(counts))])!r}",
            "is this the column of the labels? --label-column names another",
        )
    elif data.train.n_tokens > 100 and n_labels > 0.3 * data.train.n_tokens:
        yield Finding(
            "many-labels",
            "error",
            n_labels,
            f"{n_labels:,} different labels in {data.train.n_tokens:,} tokens",
            "is this the column of the labels? --label-column names another",
        )


def _violations(data, part):
    left, right, token = schemes.pairs_of(part, len(data.labels))
    broken = schemes.violations(data.scheme, data.labels, left, right)
    tokens = token[broken]
    if not len(tokens):
        return
    names = ["the border of the sentence", *data.labels[1:]]
    order = np.argsort(tokens, kind="stable")[: data.most]
    examples = [
        Example(part.place(t), f"{shown(names[r])} after {shown(names[i])}: {part.around(t)}")
        for i, r, t in zip(left[broken][order].tolist(), right[broken][order].tolist(), tokens[order].tolist(), strict=True)
    ]
    yield Finding(
        "scheme",
        "error",
        len(tokens),
        f"{counted(len(tokens), 'place')} in {part.name} where labels break the scheme, which is {data.scheme.shown}",
        "correct the labels: such chunks are counted in a way that nobody meant",
        examples,
    )


# ---- slips of the pen


def _canonical(label):
    """What two labels share that differ in case, in separators or in what cannot be seen alone."""
    text = unicodedata.normalize("NFKC", strip_unseen(label)).casefold()
    return re.sub(r"(?<=[^\W_])[-_:/.|~ ]+(?=[^\W_])", "-", text)


def one_edit(a, b):
    """Whether one letter more, less, changed, or two exchanged make b of a."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    start = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[2:] == b[2:] and a[:2] == b[1::-1])


def _typing_errors(data, counts):
    """Labels, or types of chunks, that are rare and almost another one."""
    present = [k for k in np.flatnonzero(counts).tolist() if k]
    kinds, whole = {}, {data.labels[k]: [k] for k in present}
    if data.chunked:  # B-NP and I-NP are mistyped together; what is no label of a chunk is held against all that are
        for k in present:
            kinds.setdefault(schemes.parts(data.labels[k])[1], []).append(k)
        kinds.pop("", None)
    odd = [name for name in whole if not data.chunked or schemes.parts(name)[0] not in schemes.TAGS]
    for groups, suspects in ((kinds, list(kinds)), (whole, odd)):
        total = {text: int(counts[numbers].sum()) for text, numbers in groups.items()}
        for rare in sorted(suspects, key=lambda text: (total[text], text)):
            meant = _meant(rare, total)
            if meant is not None:
                yield _mistyped(data, rare, meant, total, groups[rare])


def _mistyped(data, rare, meant, total, numbers):
    tokens = np.flatnonzero(np.isin(data.train.label, numbers))
    return Finding(
        "label-typo",
        "error" if _canonical(rare) == _canonical(meant) else "warning",
        len(tokens),
        f"label {shown(rare)!r} ({counted(total[rare], 'token')}) looks like {shown(meant)!r} ({total[meant]:,}) mistyped",
        f"if it is, write {shown(meant)!r}; else leave it",
        data.train.examples(tokens, data.train.around, data.most),
    )


def _meant(rare, total):
    """The text that the rare one was meant to be, or None."""
    like = [text for text in total if text != rare and total[text] >= SAME_TIMES * total[rare] and _canonical(text) == _canonical(rare)]
    like = like if any(map(str.isalnum, rare)) else []
    if not like and total[rare] <= RARE and len(rare) > 2 and not _composed(rare, total):
        often = [text for text in total if total[text] >= TIMES * total[rare] and len(text) > 2]
        like = [text for text in often if _slip(_canonical(rare), _canonical(text))]
    return max(like, key=total.__getitem__, default=None)


def _composed(rare, total):
    """Whether all its pieces are pieces of other labels: FW-NP where there are FW-NN and NP."""
    known = {piece for text in total if text != rare for piece in PIECES.findall(text)}
    return set(PIECES.findall(rare)) <= known


def _slip(rare, meant):
    """One edit of letters; NN and NNS, or PRP and PRP$, are two labels."""
    if not one_edit(rare, meant):
        return False
    if len(rare) == len(meant):
        changed = [c for a, b in zip(rare, meant, strict=True) if a != b for c in (a, b)]
        return len(rare) > 3 and all(c.isalpha() for c in changed)
    longer, shorter = max(rare, meant, key=len), min(rare, meant, key=len)
    added = [k for k in range(len(longer)) if longer[:k] + longer[k + 1 :] == shorter]
    return all(longer[k].isalpha() for k in added) and (len(shorter) > 3 or len(added) > 1)  # twice the same letter can be added twice


def _seen_once(data, counts):
    once = np.flatnonzero(counts == 1)
    once = once[once > 0]
    if len(once):
        tokens = np.flatnonzero(np.isin(data.train.label, once))
        yield Finding(
            "label-once",
            "warning",
            len(once),
            f"{counted(len(once), 'label')} seen once in {data.train.name}",
            "a model can learn nothing general of one example: join them with others, or find more",
            data.train.examples(tokens, lambda t: f"{shown(data.labels[data.train.label[t]])}: {data.train.around(t)}", data.most),
        )


def _one_part(data):
    """Labels that training has not, and the other way round."""
    here = data.train.counts(data.table.label) > 0
    for part in data.parts[1:]:
        there = part.counts(data.table.label) > 0
        new = np.flatnonzero(there & ~here)
        new = new[new > 0]
        if len(new):
            tokens = np.flatnonzero(np.isin(part.label, new))
            yield Finding(
                "label-unseen",
                "warning",
                len(new),
                f"{counted(len(new), 'label')} of {part.name} ({counted(len(tokens), 'token')}) not seen in {data.train.name}",
                "they cannot be predicted and count as wrong",
                part.examples(tokens, lambda t, part=part: f"{shown(data.labels[part.label[t]])}: {part.around(t)}", data.most),
            )
        gone = np.flatnonzero(here & ~there)
        gone = gone[gone > 0]
        if len(gone):
            shown_labels = ", ".join(shown(data.labels[k]) for k in gone[:8].tolist()) + (", …" if len(gone) > 8 else "")
            message = f"{counted(len(gone), 'label')} of {data.train.name} not in {part.name}: {shown_labels}"
            yield Finding("label-untested", "note", len(gone), message, "nothing will be measured of them there")
