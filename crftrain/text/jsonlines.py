"""An object a line, with tokens and tags or with a text and spans.

    {"tokens": ["Ada", "wrote"], "tags": ["B-PER", "O"]}          also words; ner_tags, labels, pos_tags
    {"text": "Ada wrote", "spans": [{"start": 0, "end": 3, "label": "PER"}]}
    {"text": "Ada wrote", "entities": [[0, 3, "PER"]]}            spaCy; doccano calls them label or labels, or start start_offset
    {"text": "Ada wrote", "tokens": [{"text": "Ada", "start": 0, "end": 3}, ..], "spans": [..]}                     Prodigy
    {"data": {"text": ..}, "annotations": [{"result": [{"value": {"start": 0, "end": 3, "labels": ["PER"]}}]}]}     Label Studio
    ["Ada wrote", {"entities": [[0, 3, "PER"]]}]                                                                    spaCy's pairs

A list of them over any number of lines is read too (jsonlist.py). Texts are cut into words, numbers and single signs, and their spans
become tags of the form's scheme, iob2. With fields these name the lists of an object that are columns, the label last. What Prodigy's
"answer" rejects or ignores, and a task of Label Studio's without an annotation that counts, has no labels that anybody meant: nobody
learns from it, and it can be tagged.
"""

import json
import re
from codecs import BOM_UTF8

from ._formats import Lists
from .cells import joined
from .forms import Each, Record, wrong
from .jsonlist import Items, begins
from .read import BLOCK, open_input
from .schemes import labelled, spans

TOKENS, TAGS = ("tokens", "words"), ("tags", "ner_tags", "labels", "pos_tags", "label")
SPANS = ("spans", "entities", "label", "labels")
LIST = "an object a line, as jq -c '.[]' makes them of a list"
WORD = re.compile(r"\w+|[^\w\s]")


def is_list(path):
    """Whether a file is a list of objects."""
    with open_input(path) as file:
        return begins(file.read(BLOCK).removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0])


def compiled(form):
    """What reads objects without anything unusual in them; where fields are named each has to be a list."""
    return Lists([[name] for name in form.fields] or [TOKENS, TAGS], only_lists=not form.fields)


class Unlabelled(Record):
    """One whose labels, if there are any, nobody meant."""

    __slots__ = ()
    unlabelled = True


class Reader(Each):
    """A record keeps its line, and where its tokens stand in the text, if they stand in one."""

    def __init__(self, form):
        super().__init__(form)
        self.lists, self.items = compiled(form), None  # False: lines; Items: a list; None: nothing has come yet

    def read(self, text, source, found):
        if self.items is None and (head := text.lstrip()):
            self.items = begins(head.partition(b"\n")[0]) and Items(self.number + 1)
        if self.items:
            for line, number in self.items.read(text, source):
                found.append(self.record(line, number, source))
        else:
            super().read(text, source, found)

    def end(self, source, found):
        if self.items:
            self.items.end(source)

    def record(self, line, number, source):
        if (rows := self.lists.rows(line)) is not None:
            return Record(rows, source, number, (line, None))
        line, found = _object(line, number, source)
        try:
            lists, offsets = _lists(found, self.form)
            kind = Unlabelled if _is_unlabelled(found) else Record
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise wrong(source, number, error.args[0], "tokens and tags, or a text and spans") from None
        rows = joined([[text.encode() for text in row] for row in zip(*lists, strict=True)])
        return kind(rows, source, number, (line, offsets))


def _object(line, number, source):
    """(an object's line, the object) of any line; of spaCy's pairs a text and its annotations in one object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise wrong(source, number, "a line that is no JSON", LIST if line.strip() == b"[" else "an object a line") from None
    if isinstance(found, list):
        if not (len(found) == 2 and isinstance(found[0], str) and isinstance(found[1], dict)):
            raise wrong(source, number, "JSON that is no object, but a list", LIST)
        found = {"text": found[0], **found[1]}
        line = _dumped(found)
    if not isinstance(found, dict):
        raise wrong(source, number, "JSON that is no object", 'an object, as {"tokens": [...], "tags": [...]}')
    return line, found


def _is_unlabelled(found):
    tasks = found.get("annotations")
    return found.get("answer") in ("reject", "ignore") or (isinstance(tasks, list) and not _counting(tasks))


def _counting(annotations):
    """Those of a task that nobody cancelled."""
    return [some for some in annotations if not some.get("was_cancelled")]


def _lists(found, form):
    """(columns, offsets of the tokens in the text or None)."""
    if form.fields:
        lists, offsets = [_texts(found[name], name) for name in form.fields if name in found or name != form.fields[-1]], None
    elif name := next((name for name in TOKENS if isinstance(found.get(name), list)), None):
        tags = next((name for name in TAGS if isinstance(found.get(name), list)), None)
        lists, offsets = [_texts(found[key], key) for key in (name, tags) if key], _offsets(found)
        if tags is None and offsets is not None and (wanted := _spans(found)) is not None:
            lists.append(_labels(wanted, offsets, form.scheme or "iob2"))
    else:
        lists, offsets = _of_text(found, form)
    if len({len(some) for some in lists}) > 1:
        raise ValueError("lists of " + " and ".join(str(len(some)) for some in lists) + " items")
    return lists, offsets


def _texts(values, name):
    if not isinstance(values, list):
        raise ValueError(f"{name} that is no list")
    out = values if all(type(value) is str and value.isascii() for value in values) else [_text(value) for value in values]
    if name in TAGS and any(isinstance(value, int) for value in values):
        raise ValueError(f"{name} that are numbers; their names are not in the file")
    return out


def _text(value):
    value = value.get("text") if isinstance(value, dict) else value
    if not isinstance(value, str):
        return str(value) if isinstance(value, int) else _refuse(value)
    return value.encode("utf-8", "replace").decode()


def _refuse(value):
    raise ValueError(f"{repr(value)[:40]} among the texts")


def _offsets(found):
    """Prodigy's and ours: where tokens stand in the text, if they say so."""
    tokens = found.get("tokens")
    if isinstance(tokens, list) and all(isinstance(token, dict) and "start" in token and "end" in token for token in tokens):
        return [(token["start"], token["end"]) for token in tokens]
    return None


def _of_text(found, form):
    text = found.get("text", found.get("data", {}).get("text") if isinstance(found.get("data"), dict) else None)
    if not isinstance(text, str):
        raise ValueError("neither tokens nor a text")
    offsets = [match.span() for match in WORD.finditer(text)]
    words = [text[first:end].encode("utf-8", "replace").decode() for first, end in offsets]
    wanted = _spans(found)
    if wanted is None:
        return [words], offsets
    return [words, _labels(wanted, offsets, form.scheme or "iob2")], offsets


def _labels(wanted, offsets, scheme):
    """Tags of the tokens that spans of characters touch; of spans that overlap the first stays."""
    chunks, taken = [], 0
    for first, end, kind in sorted(wanted):
        touched = [t for t, (start, stop) in enumerate(offsets) if start < end and stop > first and t >= taken]
        if touched:
            chunks.append((kind, touched[0], touched[-1] + 1))
            taken = touched[-1] + 1
    return labelled(chunks, len(offsets), scheme)


def _spans(found):
    """[(start, end, type)] of an object, or None if it has none."""
    if isinstance(found.get("annotations"), list):
        results = [result for annotation in _counting(found["annotations"])[:1] for result in annotation.get("result", ())]
        values = [result["value"] for result in results if "labels" in result.get("value", {})]
        return [_span(value) for value in values]
    name = next((name for name in SPANS if isinstance(found.get(name), list)), None)
    if name is None:
        return None
    return [_span(span) for span in found[name]]


def _span(span):
    if not isinstance(span, dict):
        return tuple(span)
    places = ("start_offset", "end_offset") if "start_offset" in span else ("start", "end")
    return *(span[place] for place in places), span["labels"][0] if "labels" in span else span["label"]


def written(form, record, labels, sure=None):
    """The object with its labels besides; its own bytes stay as they are, unless it has a field of that name."""
    line, offsets = record.raw
    labels = [label.decode() for label in labels]
    more = {"predicted": labels}
    if offsets is not None:
        more["predicted_spans"] = [
            {"start": offsets[first][0], "end": offsets[end - 1][1], "label": kind} for kind, first, end in spans(labels)
        ]
    if sure is not None and sure.labels is not None:
        more["probabilities"] = [round(p, 6) for p in sure.labels]
    if sure is not None and sure.whole is not None:
        more["probability"] = float(f"{sure.whole:.6g}")
    head = line.rstrip()[:-1].rstrip()
    if b'"predicted' in line or b'"probab' in line or b"\\u" in line or head.endswith(b"{"):
        return _dumped({**json.loads(line), **more}) + b"\n"
    return head + b", " + _dumped(more)[1:] + b"\n"


def _dumped(found):
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
