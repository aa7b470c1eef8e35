"""Is the data what it should be? Everything that can be known before training, ranked, with the lines it stands on.

part       files as numbers                          columns    lines and columns
labels     labels and their scheme (schemes)         repeats    contradictions, copies, leaks
odd        Unicode                                   unknown    what training has not seen
"""

from functools import cached_property

import numpy as np

from . import schemes
from .columns import check_columns, check_lengths
from .findings import SEVERITIES, SHOWN, Example, Finding, counted, ranked
from .labels import check_labels
from .noise import check_noise
from .odd import check_unicode
from .part import Part, Table
from .repeats import check_repeats
from .unknown import check_unknown

__all__ = ["Data", "check", "lines", "as_json"]


class Data:
    """The files of a check, training first, and what its parts ask of them."""

    def __init__(self, train, others=(), *, format="conll", label_column=-1, encoding="utf-8", form=None, template=None, most=SHOWN):
        """train: one path or more; others: a path each; template: a Template, None for the one that `learn` would take."""
        self.items, self.most, self.template, self.form = format == "items", most, template, form
        self.format, self.label_option = format, 0 if self.items else label_column
        self.table = Table(format)
        train = [train] if isinstance(train, str) else train
        self.parts = [Part(paths, self.table, encoding=encoding, form=form) for paths in (list(train), *([path] for path in others))]
        self.train = self.parts[0]
        self.usable = bool(self.train.n_tokens) and self.table.settle(self.train, self.label_option)
        if self.usable:
            self.table.word = self._word_column()

    @property
    def labels(self):
        return self.table.labels

    def _word_column(self):
        """The column with the most different cells, if not every cell is another one."""
        others = self.table.others
        sizes = {c: len(self.table.columns[c][1]) - 1 for c in others}
        return max(others, key=lambda c: (sizes[c] < 0.95 * self.train.n_tokens or self.train.n_tokens < 50, sizes[c]))

    @cached_property
    def chunked(self):
        return schemes.chunk_like(self.labels[1:], self.train.counts(self.table.label)[1:])

    @cached_property
    def scheme(self):
        if not self.chunked:
            return None
        left, right, _ = schemes.pairs_of(self.train, len(self.labels))
        return schemes.detect(self.labels, self.train.counts(self.table.label), left, right)[0]

    @cached_property
    def _observed(self):
        """For each distinct line the number of all that it says beside the label, columns that number lines left out."""
        told = [c for c in self.table.others if c == self.table.word or len(self.table.columns[c][1]) - 1 < 0.95 * self.train.n_tokens]
        key = np.zeros(len(self.table.lines), np.int64)
        for c in told:
            _, key = np.unique(key * (len(self.table.columns[c][1]) + 1) + self.table.columns[c][0], return_inverse=True)
        return key

    def observed(self, part):
        return self._observed[part.line]

    def joined(self, part):
        """The same with the label."""
        return self.observed(part) * len(self.labels) + part.label


def check(data, *, noise=None):
    """All findings, ranked; noise: a file of predictions for the training data."""
    findings = []
    for part in data.parts:
        for fault in part.faults:
            message = f"{part.name} cannot be read to the end"
            findings.append(Finding("unreadable", "error", 1, message, "correct it: nothing after it was checked", [_fault(fault)]))
        if not part.n_tokens and not part.faults:
            advice = "one token a line and a blank line after each sentence"
            findings.append(Finding("no-sentences", "error", 1, f"{part.name} has no sentences", advice))
    if not data.usable:
        if data.train.n_tokens:
            found, wanted = counted(data.table.n_columns, "column"), "2 or more, one of them the label"
            findings.append(Finding("columns", "error", 1, f"{data.train.name} has {found}, expected {wanted}"))
        return ranked(findings)
    for checks in (check_columns, check_lengths, check_labels, check_repeats, check_unicode, check_unknown):
        findings += checks(data)
    if noise:
        findings += check_noise(data, noise)
    return ranked(findings)


def _fault(error):
    """A DataError as an example; its place is FILE:LINE or FILE."""
    place = str(error.place)
    text = error.finding + (f", expected {error.expectation}" if error.expectation else "")
    return Example(place if place.rpartition(":")[2].isdigit() else f"{place}:1", text)


def summary(data):
    """One line for each file."""
    for part in data.parts:
        text = f"{part.name}: {counted(part.n_sequences, 'sentence')}, {counted(part.n_tokens, 'token')}"
        if data.usable:
            n_labels = int((part.counts(data.table.label)[1:] > 0).sum())
            scheme = f" ({data.scheme.shown})" if data.scheme else ""
            text += f", {counted(n_labels, 'label')}{scheme}, {counted(data.table.n_columns, 'column')}"
        yield text


def totals(findings):
    return {severity: sum(finding.severity == severity for finding in findings) for severity in SEVERITIES}


def lines(data, findings):
    """The findings as text."""
    yield from summary(data)
    for finding in findings:
        yield ""
        yield f"{finding.severity}: {finding.message}"
        for example in finding.examples:
            yield f"    {example.place}  {example.text}"
        if finding.count > len(finding.examples) > 1:
            yield f"    … {finding.count - len(finding.examples):,} more"
        if finding.advice:
            yield f"    -> {finding.advice}"
    total = totals(findings)
    yield ""
    yield ", ".join(counted(total[severity], severity) for severity in SEVERITIES)


def as_json(data, findings):
    files = [{"file": part.name, "sentences": part.n_sequences, "tokens": part.n_tokens} for part in data.parts]
    scheme = data.scheme.shown if data.usable and data.scheme else None
    return {"files": files, "scheme": scheme, **totals(findings), "findings": [finding.as_json() for finding in findings]}
