"""The page of `crftrain report`: what a model gets right on a labelled file, what not and why, and whether another one is better.

answers     the file as the model tags it                   intervals   scores with intervals, two models held against each other
svg         pictures                                        listing     the sentences, packed
reasons     explanations of tokens                          card        the model
html        the page; pages/ has its style and its script
"""

import json

import numpy as np

from ..errors import DataError, ModelError
from ..model.model import load
from ..tagging.explain import Explainer
from ..tagging.mistakes import KINDS, counts
from . import intervals, svg
from .answers import MODELS, answers
from .card import card, heaviest
from .html import details, join, page, section, table, tag
from .listing import listing
from .reasons import reasons, wanted

MATRIX = 24  # labels in the picture of the confusion
BINS = 10
ABOUT_KINDS = {
    "missed": "a gold chunk where nothing wrong was predicted",
    "spurious": "a predicted chunk where no wrong gold one is",
    "type": "right borders, another type",
    "boundary": "the right type, other borders",
    "type and boundary": "they overlap, and that is all",
    "label": "a token with another label",
}


def report(model_path, test, *, dev=None, against=None, log=None, gold="auto", encoding="utf-8", form=MODELS, command=None):
    """The page as text; log: a path or the events themselves, command: what the model was learnt with, if that is known."""
    model = load(model_path)
    explainer = Explainer(model, gold=gold)
    how = {"gold": gold, "encoding": encoding, "form": form}
    told = answers(model, test, decoder=explainer.decoder, **how)
    heldout = answers(model, dev, **how) if dev else None
    other = _second(against, told, test, how) if against else None
    found, listed = intervals.intervals(told.evaluation), listing(told, other)
    sections = [("summary", "Summary", _summary(told, found, other))]
    if other is not None:
        sections.append(("models", "Two models", _models(told, other, model_path, against)))
    sections += [
        ("scores", "Scores", _scores(told, found, heldout)),
        ("errors", "Errors by kind", _errors(told)),
        ("confusion", "Confusion", _confusion(told)),
        ("calibration", "Calibration", _calibration(told)),
    ]
    if log:
        sections.append(("learning", "Learning", learning(log if isinstance(log, list) else read_log(log))))
    sections += [
        ("features", "Features", section("features", "The heaviest features", heaviest(model))),
        ("model", "Model", section("model", "The model", card(model, model_path, command))),
        ("sentences", "Sentences", _sentences(told, other, listed)),
    ]
    title = f"{model_path} on {test}" + (f", against {against}" if against else "")
    lead = tag("p", f"{len(told.sentences):,} sentences, {len(told.gold):,} tokens", class_="note")
    data = {
        "list": listed,
        "labels": model.vocabulary.labels,
        "reasons": reasons(explainer, told, wanted(told)),
        "command": "crftrain explain",
        "model": str(model_path),
    }
    return page(title, lead, sections, scripts=["charts.js", "report.js"], data=data)


def _second(path, told, test, how):
    """The Answers of the second model, which has to see the same gold labels."""
    other = answers(load(path), test, **how)
    if other.gold != told.gold:
        raise ModelError(path, "it sees other gold labels in the test data", "a model for the same columns")
    if other.evaluation.chunked != told.evaluation.chunked:
        raise ModelError(
            path, "its labels are chunk labels and the other model's are not, or the other way round", "a model for the same labels"
        )
    return other


# ---- summary and scores


def _card(name, value, note="", class_=None):
    return tag("li", tag("span", name), tag("b", value, class_=class_), tag("span", note))


def _within(found):
    return f"{found.low:.2f} to {found.high:.2f}"


def _summary(told, found, other):
    chunk = [("F1", found["chunk"]["f1"])] if found["chunk"] else []
    cards = [_card(name, f"{one.value:.2f}", _within(one)) for name, one in [*chunk, ("accuracy of tokens", found["accuracy"])]]
    cards.append(_card("sentences all right", f"{found['sequence_accuracy'].value:.2f} %", _within(found["sequence_accuracy"])))
    cards.append(_card("mistakes", f"{len(told.mistakes):,}", f"in {int((~_whole(told)).sum()):,} sentences"))
    if other is not None:
        compared = intervals.compare(told.evaluation, other.evaluation)["score"]
        change = compared.difference
        direction = "up" if change.low > 0 else "down" if change.high < 0 else None
        cards.append(_card("the second model", f"{change.value:+.2f}", f"{_within(change)}, p = {compared.p:.3g}", direction))
    note = "Under a figure: where it lies in 95 of 100 samples of the sentences (bootstrap, 2,000 samples)."
    return section("summary", "Summary", tag("ul", *cards, class_="cards"), note=note)


def _whole(answers):
    return intervals.whole(answers.by)[:, 1] > 0


def _scores(told, found, heldout):
    parts = []
    if found["types"]:
        parts.append(_score_table("Chunks by type", "type", told.evaluation.types, found["types"], heldout and heldout.evaluation.types))
    labels = _score_table("Tokens by label", "label", told.evaluation.labels, found["labels"], heldout and heldout.evaluation.labels)
    parts.append(details("Tokens by label", labels) if found["types"] else labels)
    if heldout is not None:
        e = heldout.evaluation
        text = (
            f"F1 {e.chunk.f1:.2f}, " if e.chunked else ""
        ) + f"accuracy {e.accuracy:.2f}, sentences all right {e.sequence_accuracy:.2f} %."
        parts.insert(0, tag("p", f"Held-out data ({len(heldout.sentences):,} sentences): {text}"))
    return section("scores", "Scores", *parts)


def _score_table(caption, first, scores, found, heldout):
    head = [first, "F1", "interval", "", "precision", "recall", "gold", "predicted", *(["F1 held-out"] if heldout is not None else [])]
    low = float(np.quantile([one["f1"].low for one in found.values()], 0.3)) if found else 0.0  # those of rare labels reach far down
    rows = []
    for name, score in sorted(scores.items(), key=lambda item: -item[1].gold):
        one = found[name]
        row = [name or "chunk", f"{score.f1:.2f}", tag("span", _within(one["f1"]), class_="interval"), svg.whisker(one["f1"], low, 100.0)]
        row += [f"{score.precision:.2f}", f"{score.recall:.2f}", f"{score.gold:,}", f"{score.found:,}"]
        if heldout is not None:
            row.append(f"{heldout[name].f1:.2f}" if name in heldout else "–")
        rows.append(row)
    return table(caption, head, rows, numeric=(1, 4, 5, 6, 7, 8))


# ---- what is wrong


def _errors(told):
    found = told.mistakes
    many, total = counts(found), max(1, len(found))
    rows = []
    for kind, number in many.items():
        link = tag("a", kind, href="#sentences", data_kind=f"k{KINDS.index(kind)}" if kind in KINDS else "wrong")
        share = number / total
        rows.append([link, f"{number:,}", f"{share:.1%}", svg.bar(share, f"{share:.1%}", class_="c1"), ABOUT_KINDS[kind]])
    if not rows:
        return section("errors", "Errors by kind", tag("p", "There are none."))
    parts = [table("Mistakes by kind", ["kind", "number", "share", "", "what it is"], rows, numeric=(1, 2))]
    if told.evaluation.chunked:
        parts.append(details("By kind and type", _by_type(found, list(many))))
    return section("errors", "Errors by kind", *parts)


def _by_type(found, kinds):
    """Mistakes of each gold type, of each predicted one where nothing is gold."""
    cells = {}
    for m in found:
        key = (m.gold or m.found)[2], m.kind
        cells[key] = cells.get(key, 0) + 1
    types = sorted({kind for kind, _ in cells}, key=lambda t: -sum(cells.get((t, kind), 0) for kind in kinds))
    rows = [[name or "chunk", *(f"{cells.get((name, kind), 0):,}" for kind in kinds)] for name in types]
    return table(
        "Mistakes by type of the gold chunk, of the predicted one if there is no gold one", ["type", *kinds], rows, numeric=range(1, 9)
    )


def _confusion(told):
    pairs, totals = {}, {}
    for (gold, found), count in told.evaluation.confusions().items():
        pairs[gold, found] = count
        totals[gold] = totals.get(gold, 0) + count
    wrong = {}
    for (gold, found), count in pairs.items():
        if gold != found:
            wrong[gold], wrong[found] = wrong.get(gold, 0) + count, wrong.get(found, 0) + count
    names = sorted(sorted(set(totals) | set(wrong), key=lambda name: -wrong.get(name, 0))[:MATRIX])
    left_out = len(set(totals) | set(wrong)) - len(names)
    picture = tag(
        "div", svg.confusion(names, pairs, totals), class_="wide", tabindex="0", role="group", aria_label="Confusion of labels, a picture"
    )
    top = sorted(((count, pair) for pair, count in pairs.items() if pair[0] != pair[1]), reverse=True)[:10]
    rows = [[gold, found, f"{count:,}", f"{count / totals[gold]:.1%}"] for count, (gold, found) in top]
    head = ["gold", "predicted", "tokens", "share of the gold label"]
    note = "Gold labels are rows, predicted ones columns. Blue is right, orange is wrong; the darker, the greater the share of the row."
    note += f" The {left_out:,} labels with fewest mistakes are left out." if left_out else ""
    often = details(
        "The most frequent confusions as a table", table("Most frequent confusions", head, rows, numeric=(2, 3)), open=len(rows) > 0
    )
    return section("confusion", "Confusion", picture, often, note=note)


def _calibration(told):
    right, p = told.right, told.probability.astype(float)
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    number = np.bincount(place, minlength=BINS)
    mean, share = (np.bincount(place, weights=x, minlength=BINS) / np.maximum(number, 1) for x in (p, right))
    error = float((number * np.abs(mean - share)).sum() / len(p))
    brier = float(np.mean((p - right) ** 2))
    picture = svg.calibration(list(zip(mean.tolist(), share.tolist(), number.tolist(), strict=True)))
    rows = [
        [f"{k / BINS:.0%} to {(k + 1) / BINS:.0%}", f"{number[k]:,}", f"{mean[k]:.1%}", f"{share[k]:.1%}"] for k in range(BINS) if number[k]
    ]
    head = ["probability", "tokens", "on average", "right"]
    note = (
        f"On the dashed line a probability is what it says. On average they are off by {100 * error:.2f} points; Brier score {brier:.4f}."
    )
    numbers = details("The same as a table", table("Calibration", head, rows, numeric=(1, 2, 3)))
    return section("calibration", "Calibration", tag("div", picture, class_="wide"), numbers, note=note)


# ---- learning


def read_log(path):
    """The events of a log file that `learn --log` wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}", "what `learn --log` wrote") from None
    if not all(isinstance(event, dict) and "event" in event for event in events) or not events:
        raise DataError(path, "no events", "what `learn --log` wrote")
    return events


def learning(events):
    """Curves of a run: its objective and what it scored on held-out data against passes."""
    runs, run = [], None
    for event in events:
        if event["event"] == "start":
            run = (f"lambda {event.get('lambda', 0):.3g}" if "path" in event else event.get("algorithm", "training"), [])
            runs.append(run)
        elif event["event"] == "step" and run is not None:
            run[1].append(event)
    parts = [_curve(runs, "objective", "objective", lambda step: step.get("objective"))]
    for name in ("f1", "accuracy", "likelihood"):
        if any(name in (step.get("dev") or {}) for _, steps in runs for step in steps):
            parts.append(_curve(runs, f"held-out {name}", name, lambda step, name=name: (step.get("dev") or {}).get(name)))
            break
    parts += [_tried(event) for event in events if event["event"] == "folds" and event.get("points")]
    end = next((event for event in reversed(events) if event["event"] == "end"), {})
    note = (
        f"Ended: {end['reason']}, after {end.get('passes') or 0:.1f} effective passes and {end.get('seconds') or 0:.1f} s." if end else None
    )
    return section("learning", "Learning", *parts, note=note)


def _tried(event):
    """The strengths that were tried before, and their scores."""
    names = [name for name in ("f1", "accuracy", "likelihood") if name in event["points"][0]]
    rows = [[point.get("lambda"), point.get("l1"), *(f"{point[name]:.3f}" for name in names)] for point in event["points"]]
    how = (
        f"{event['folds']} folds"
        if "folds" in event
        else f"{event['set_apart']:.0%} of the data set apart"
        if "set_apart" in event
        else "held-out data"
    )
    return table(f"Strengths that were tried, by {how}", ["lambda", "l1", *names], rows, numeric=range(2, 5))


def _curve(runs, title, y_label, value):
    series = [
        (
            name,
            [
                (s["passes"], y, f"{name}, step {s['iteration']}, {s['passes']:.1f} passes: {y:.6g}")
                for s in steps
                if (y := value(s)) is not None
            ],
        )
        for name, steps in runs
    ]
    return tag("div", svg.curves(series, "effective passes", y_label, title=f"{title} against effective passes"), class_="wide")


# ---- two models


def _models(told, other, first, second):
    found = intervals.compare(told.evaluation, other.evaluation)
    score = found["score"]
    surely = score.difference.low > 0 or score.difference.high < 0
    name = "F1" if told.evaluation.chunked else "accuracy"
    text = f"{name}: {score.first.value:.2f} with {first}, {score.second.value:.2f} with {second}: "
    text += f"a difference of {score.difference.value:+.2f} points, "
    text += f"{_within(score.difference)} in 95 of 100 samples (paired bootstrap, p = {score.p:.3g}). "
    text += "It is more than luck." if surely else "It may be luck."
    rows = []
    for what, key in (("tokens", "tokens"), ("whole sentences", "sequences")):
        one = found[key]
        rows.append([what, f"{one['only_second']:,}", f"{one['only_first']:,}", f"{one['p']:.3g}"])
    head = ["right in one model alone", "mended by the second", "broken by the second", "p (McNemar)"]
    parts = [tag("p", text), table("What was mended, what broke", head, rows, numeric=(1, 2, 3))]
    if found["types"]:
        low, high = _middling([one.difference for one in found["types"].values()])
        ordered = sorted(
            found["types"].items(), key=lambda item: -told.evaluation.types[item[0]].gold if item[0] in told.evaluation.types else 0
        )
        rows = [
            [
                kind or "chunk", f"{one.first.value:.2f}", f"{one.second.value:.2f}", f"{one.difference.value:+.2f}",
                tag("span", _within(one.difference), class_="interval"), svg.whisker(one.difference, low, high), f"{one.p:.3g}",
            ]
            for kind, one in ordered
        ]  # fmt: skip
        parts.append(table("F1 by type", ["type", "first", "second", "difference", "interval", "", "p"], rows, numeric=(1, 2, 3, 6)))
    links = [
        tag("a", label, href="#sentences", data_kind=kind)
        for kind, label in (("mended", "Mended sentences"), ("broken", "Broken sentences"))
    ]
    parts.append(tag("p", links[0], " · ", links[1]))
    return section("models", "Two models", *parts)


def _middling(differences):
    """Bounds that hold most intervals: those of rare types reach far beyond them."""
    low, high = np.quantile([one.low for one in differences], 0.2), np.quantile([one.high for one in differences], 0.8)
    return min(float(low), -0.5), max(float(high), 0.5)


# ---- the list of sentences


def _sentences(told, other, listed):
    e = told.evaluation
    kinds = [("wrong", "with mistakes"), ("all", "all"), ("right", "all right")]
    kinds += [(f"k{KINDS.index(kind)}", kind) for kind in counts(told.mistakes) if kind in KINDS]
    kinds += [("mended", "mended by the second"), ("broken", "broken by the second")] if other is not None else []
    data = _labels(e, listed)
    below = [(1, "any"), (0.9, "90 %"), (0.7, "70 %"), (0.5, "50 %"), (0.3, "30 %")]
    form = tag(
        "form",
        _choice("kind", "Sentences", kinds),
        _choice("label", "With type" if e.chunked else "With label", [("", "any"), *data]),
        _choice("below", "Least sure token below", below),
        _choice("order", "Order", [("file", "as in the file"), ("unsure", "least sure first"), ("worst", "most mistakes first")]),
        tag("div", tag("label", "Text", for_="f-text"), tag("input", id="f-text", name="text", type="search", autocomplete="off")),
        tag("button", "Reset", type="reset"),
        id="filter", class_="filter", aria_label="Filter of the sentences",
    )  # fmt: skip
    pager = tag(
        "div",
        tag("button", "Previous", type="button", data_step="-1"),
        tag("output", "", id="found", aria_live="polite"),
        tag("button", "Next", type="button", data_step="1"),
        class_="pager",
    )
    lower = "the lower one is predicted" + (", the third the second model's" if other is not None else "")
    note = f"The upper bar is gold, {lower}; ✗ and hatching mark what is wrong. Click a word, or walk with the arrow keys and press "
    note += "Enter, and it is explained."
    heard = tag("div", id="heard", class_="hidden", aria_live="polite")
    without = tag("noscript", tag("p", "The list of sentences needs JavaScript."))
    return section("sentences", "Sentences", form, pager, tag("ol", id="sentences-list", class_="sentences"), heard, without, note=note)


def _labels(evaluation, listed):
    """(value, name) of what sentences can be filtered by: types of chunks by frequency, or labels by name."""
    if evaluation.chunked:
        return [(k, kind or "chunk") for k, kind in enumerate(listed["types"][0]) if kind in evaluation.types]
    return sorted(((k, name) for k, name in enumerate(listed["labels"]) if name in evaluation.labels), key=lambda item: item[1])


def _choice(name, label, options):
    return tag(
        "div",
        tag("label", label, for_=f"f-{name}"),
        tag("select", join(tag("option", shown, value=value) for value, shown in options), id=f"f-{name}", name=name),
    )
