"""The page of `crftrain report`: its numbers are eval's, hostile text stays text, and in a real browser it does what it says."""

import json
import re

import numpy as np
import pytest
from browser import Browser, program

from crftrain.model.model import load
from crftrain.report import html, packed, svg
from crftrain.report.answers import answers
from crftrain.report.listing import listing
from crftrain.report.model_report import report
from crftrain.report.reasons import wanted
from crftrain.tagging.explain import Explainer
from crftrain.tagging.mistakes import counts

LABELS = ("B-X", "I-X", "B-Y", "O")
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img/src=x/onerror=window.hacked=1>",
    "\"'&amp;<b>",
    "${window.hacked=1}",
    "\u2028<!--",
)


def made(path, seed=0, sentences=60, words=("alpha", "beta", "gamma", "delta", "epsilon", *HOSTILE), labels=LABELS):
    """A file of which something can be learnt: words have a favourite label, but for some noise."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        for _ in range(rng.integers(1, 9)):
            k = rng.integers(len(words))
            label = labels[k % len(labels)] if rng.random() > 0.25 else labels[rng.integers(len(labels))]
            lines.append(f"{words[k]} c{k % 3} {label}")
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path.name


@pytest.fixture
def files(crftrain, tmp_path):
    """crftrain() in a folder with train.txt, dev.txt, test.txt, model.bin, second.bin and run.jsonl."""
    for seed, name in enumerate(("train", "dev", "test")):
        made(tmp_path / f"{name}.txt", seed)
    assert crftrain("learn", "-q", "--dev", "dev.txt", "--log", "run.jsonl", "train.txt").status == 0
    assert crftrain("learn", "-q", "--passes", "1", "-m", "second.bin", "train.txt").status == 0
    return crftrain


@pytest.fixture
def page(files, tmp_path):
    ended = files("report", "--dev", "dev.txt", "--log", "run.jsonl", "--against", "second.bin", "model.bin", "test.txt")
    assert (ended.status, ended.out) == (0, b"")
    assert ended.err == f"report.html: {(tmp_path / 'report.html').stat().st_size:,} bytes\n"
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def browser():
    program()
    found = Browser()
    yield found
    found.close()


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def unpack(text, width):
    digits = [packed.ALPHABET.index(c) for c in text]
    return [sum(d * packed.BASE ** (width - 1 - k) for k, d in enumerate(digits[i : i + width])) for i in range(0, len(digits), width)]


# ---- what is in the page


@pytest.mark.parametrize("width, most", [(1, 88), (2, 7920), (3, 704_968)])
def test_numbers_are_packed_without_a_loss(width, most):
    assert packed.width_for(most) == width and packed.width_for(most + 1) == width + 1
    numbers = np.random.default_rng(0).integers(0, most + 1, 500).tolist() + [0, most]
    assert unpack(packed.pack(numbers, width), width) == numbers
    assert not set(packed.ALPHABET) & set("\"\\<>&'\u2028") - {"'"}


def test_data_in_a_page_cannot_end_its_element():
    data = ["</script>", "<!--", "]]>", "&amp;", "\u2028", 'quote"', "\\"]
    text = packed.as_script(data)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data


def test_text_is_escaped_once_and_markup_is_left():
    assert (
        html.tag("p", "<b>", html.tag("i", "&"), class_='"x"', hidden=True, title=None)
        == '<p class="&quot;x&quot;" hidden>&lt;b&gt;<i>&amp;</i></p>'
    )
    assert html.text("\x1b[2J") == "&lt;U+001B&gt;[2J"


def test_the_list_holds_what_was_tagged(files, tmp_path):
    model = load(tmp_path / "model.bin")
    told = answers(model, "test.txt")
    found = listing(told)
    tagged = [line.split(" ") if line else [] for line in files("tag", "model.bin", "test.txt").lines]
    assert [line.split(" ") for line in found["text"].split("\n")] == _sentences(tagged, 0)
    for side, column in (("gold", -2), ("predicted", -1)):
        codes = unpack(found[side], found["width"])
        assert [found["labels"][code >> 1] for code in codes] == [row[column] for row in tagged if row]
        spans = getattr(told.by, "gold_spans" if side == "gold" else "found_spans")
        assert sum(code & 1 for code in codes) == spans.shape[1]
    many = [found["mistakes"][1::2].count(k) for k in range(len(found["kinds"]))]
    assert {kind: n for kind, n in zip(found["kinds"], many, strict=True) if n} == counts(told.mistakes)
    sure = np.array(unpack(found["sure"], 1)) / packed.BASE
    assert sure == pytest.approx(told.probability, abs=1 / packed.BASE + 1e-6)
    numbers = np.cumsum(found["lines"]).tolist()
    assert numbers == [sentence.number for sentence in told.sentences]


def _sentences(rows, column):
    found = [[]]
    for row in rows:
        if row:
            found[-1].append(row[column])
        elif found[-1]:
            found.append([])
    return [words for words in found if words]


def test_reasons_are_those_of_explain(page, files, tmp_path):
    data = data_of(page)
    model = load(tmp_path / "model.bin")
    told = answers(model, "test.txt")
    tokens = wanted(told)
    wrong = np.flatnonzero(~told.right).tolist()
    assert set(wrong) <= set(tokens.tolist()) and len(tokens) == min(len(wrong) + 1000, len(told.right))
    assert set(map(int, data["reasons"]["of"])) == set(tokens.tolist())
    looked = Explainer(model).look(told.sentences)
    names = data["reasons"]["names"]
    for t in tokens.tolist():
        against, margin, transitions, pairs, others, rest, more, shown, unknown, changed = data["reasons"]["of"][str(t)]
        e = looked.explain(t)
        assert data["labels"][against] == e.against
        assert (margin, transitions, pairs, others) == pytest.approx((e.margin, e.transitions, e.pairs, e.others), abs=6e-4)
        known = [a for a in e.attributes if a.known]
        assert {names[k] for k, *_ in shown} <= {a.name for a in known} and len(shown) + more == len(known)
        assert [abs(a - b) for _, a, b, *_ in shown] == pytest.approx([abs(a.difference) for a in known[: len(shown)]], abs=2e-3)
        assert sorted(names[k] for k in unknown) == sorted(a.name for a in e.attributes if not a.known)
        assert sum(a - b for _, a, b, *_ in shown) + rest + transitions + pairs + others == pytest.approx(margin, abs=0.01)
        assert [(k, data["labels"][a], data["labels"][b]) for k, a, b in changed] == e.changed


def test_a_page_is_the_same_bytes_again(page, files):
    first = page.read_bytes()
    files("report", "--dev", "dev.txt", "--log", "run.jsonl", "--against", "second.bin", "model.bin", "test.txt")
    assert page.read_bytes() == first
    assert b"http:" not in first and b"https:" not in first  # but in the policy nothing could ask for it anyway


def test_pages_of_items_and_of_labels_that_are_no_chunks(files, tmp_path):
    lines = (tmp_path / "train.txt").read_text(encoding="utf-8").split("\n")
    rows = [line.split(" ") for line in lines]
    (tmp_path / "items").write_text("\n".join(f"T{r[2][-1]}\t{r[0]}\t{r[1]}:0.5" if len(r) > 1 else "" for r in rows), encoding="utf-8")
    assert files("learn", "-q", "--format", "items", "-m", "items.bin", "items").status == 0
    text = report("items.bin", "items")
    assert "Chunks by type" not in text and "Mistakes by kind" in text
    assert "another label" in text


def test_what_a_report_refuses(files, tmp_path):
    ended = files("report", "-o", "test.txt", "model.bin", "test.txt")
    assert ended.status == 2 and "would overwrite" in ended.err
    bare = [" ".join(line.split()[:2]) for line in (tmp_path / "test.txt").read_text(encoding="utf-8").split("\n")]
    (tmp_path / "bare.txt").write_text("\n".join(bare), encoding="utf-8")
    assert files("report", "model.bin", "bare.txt").err.startswith("crftrain: error: bare.txt:1: no gold labels")
    (tmp_path / "log").write_text("no json", encoding="utf-8")
    assert files("report", "--log", "log", "model.bin", "test.txt").status == 1
    assert files("report", "-o", "missing/report.html", "model.bin", "test.txt").status == 1
    (tmp_path / "empty").write_text("", encoding="utf-8")
    assert files("report", "model.bin", "empty").status == 1
    assert not (tmp_path / "report.html").exists()


def test_ticks_are_round_and_within():
    for low, high in ((0, 1), (0.13, 0.97), (-3, 1200), (5, 5), (1e-7, 3e-7)):
        found = svg.ticks(low, high)
        assert found and all(low - 1e-12 <= tick <= high + 1e-12 for tick in found)


# ---- in a browser


def opened(browser, page, **how):
    browser.look(**{"width": 1280, **how})
    browser.events.clear()
    browser.open(page)
    browser.run("crftrainReport.select()")
    return browser


def table(browser, caption):
    """The cells of a table, by its caption."""
    script = f"""[...document.querySelectorAll("table")].filter(t => t.caption && t.caption.textContent === {json.dumps(caption)})
        .flatMap(t => [...t.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""
    return browser.run(script)


def test_the_numbers_shown_are_evals(browser, page, files):
    opened(browser, page)
    tagged = files("tag", "model.bin", "test.txt").out
    scores = json.loads(files("eval", "--json", "--interval", input=tagged).out)
    cards = browser.run("[...document.querySelectorAll('.cards li')].map(li => [...li.children].map(part => part.textContent))")
    interval = scores["intervals"]["chunk"]["f1"]
    assert cards[0] == ["F1", f"{scores['chunk']['f1']:.2f}", f"{interval['low']:.2f} to {interval['high']:.2f}"]
    assert cards[1][1] == f"{scores['accuracy']:.2f}"
    rows = {row[0]: row for row in table(browser, "Chunks by type")[1:]}
    assert rows.keys() == scores["types"].keys()
    for kind, score in scores["types"].items():
        assert rows[kind][1] == f"{score['f1']:.2f}" and rows[kind][4:6] == [f"{score['precision']:.2f}", f"{score['recall']:.2f}"]
        assert rows[kind][6] == f"{score['support']:,}"
    second = json.loads(files("eval", "--json", input=files("tag", "second.bin", "test.txt").out).out)
    dev = json.loads(files("eval", "--json", input=files("tag", "model.bin", "dev.txt").out).out)
    assert f"{second['chunk']['f1']:.2f} with second.bin" in browser.run("document.querySelector('#models p').textContent")
    assert rows["X"][8] == f"{dev['types']['X']['f1']:.2f}"


def test_the_filter_finds_what_was_counted(browser, page, files, tmp_path):
    opened(browser, page)
    told = answers(load(tmp_path / "model.bin"), "test.txt")
    assert browser.run("crftrainReport.found") == (np.add.reduceat(~told.right, told.seq[:-1]) > 0).sum()

    def found(**values):
        sets = "".join(f"document.forms.filter.{key}.value = {json.dumps(value)};" for key, value in values.items())
        return browser.run(f"(() => {{ document.forms.filter.reset(); {sets} crftrainReport.select(); return crftrainReport.found }})()")

    assert found(kind="all") == len(told.sentences)
    kinds = list(data_of(page)["list"]["kinds"])
    for kind in counts(told.mistakes):
        assert found(kind=f"k{kinds.index(kind)}") == len({m.sequence for m in told.mistakes if m.kind == kind})
    by = told.by
    for value, kind in browser.run("[...document.forms.filter.label.options].slice(1).map(o => [o.value, o.textContent])"):
        spans = np.concatenate([side[0][side[2] == by.kinds.index(kind)] for side in (by.gold_spans, by.found_spans)])
        assert found(kind="all", label=value) == len(np.unique(np.searchsorted(by.first, spans, "right")))
    assert found(kind="all", text="BETA") == sum("beta" in words.lower() for words in told.words)
    least = np.minimum.reduceat(told.probability, told.seq[:-1])
    assert found(kind="all", below="0.5") == pytest.approx((least < 0.5).sum(), abs=3)  # a probability takes one character
    assert found(kind="right") + found(kind="wrong") == len(told.sentences)
    second = answers(load(tmp_path / "second.bin"), "test.txt")
    fewer = np.add.reduceat(~second.right, told.seq[:-1]) < np.add.reduceat(~told.right, told.seq[:-1])
    assert found(kind="mended") == fewer.sum()
    shown = browser.run("[...document.querySelectorAll('#sentences-list li')].length")
    assert shown == min(25, fewer.sum())


def test_a_click_and_the_keyboard_explain_a_token(browser, page):
    opened(browser, page)
    browser.run("document.querySelector('.tokens .bad').click()")
    text = browser.run("document.querySelector('.reason').textContent")
    assert "which is the sum of" in text and "transitions" in text
    assert browser.run("document.getElementById('heard').textContent") == text
    browser.run("document.querySelector('.tokens .bad').click()")
    assert browser.run("document.querySelectorAll('.reason').length") == 0
    browser.run("document.querySelectorAll('.tokens')[1].firstChild.focus()")
    browser.press("ArrowRight")
    browser.press("Enter")
    where = browser.run("[...document.activeElement.parentNode.children].indexOf(document.activeElement)")
    many = browser.run("document.activeElement.parentNode.children.length")
    assert where == min(1, many - 1)
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert browser.run("document.querySelectorAll('.tokens [tabindex=\"0\"]').length") == browser.run(
        "document.querySelectorAll('.tokens').length"
    )


def test_hostile_text_is_shown_as_text_and_nothing_runs(browser, page):
    opened(browser, page)
    browser.run("document.forms.filter.kind.value = 'all'; crftrainReport.select()")
    words = browser.run("[...document.querySelectorAll('.w')].map(w => w.textContent)")
    assert {word for word in words if word in HOSTILE} == set(HOSTILE)
    for word in HOSTILE:
        browser.run(f"[...document.querySelectorAll('.w')].find(w => w.textContent === {json.dumps(word)}).closest('button').click()")
        assert word in browser.run("document.getElementById('heard').textContent")
    assert browser.run("window.hacked") is None
    assert browser.run("document.querySelectorAll('img, b b, script').length") == 2  # data and ours
    assert browser.asked() == [] and browser.complaints() == []


def test_hostile_labels_and_names_of_files(browser, files, tmp_path):
    labels = ('B-"><script>window.hacked=1</script>', "B-<i>x</i>", "O")
    name = "a'<b>&.txt"
    made(tmp_path / name, 5, labels=labels)
    assert files("learn", "-q", "-m", "<m>.bin", name).status == 0
    assert files("report", "<m>.bin", name).status == 0
    opened(browser, tmp_path / "report.html")
    assert browser.run("document.querySelector('h1').textContent") == f"<m>.bin on {name}"
    assert browser.run("window.hacked") is None and browser.run("document.querySelectorAll('i, h1 b').length") == 0
    assert browser.complaints() == []


CONTRAST = """(() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const light = c => { const f = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
    return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  const ground = e => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; }
    return [255, 255, 255, 1];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *:not(script):not(style):not(option)")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!own || !box.width || e.closest(".hidden, .skip, title, noscript, .confusion, :disabled")) continue;
    const colour = parse(e.closest("svg") ? style.fill : style.color), behind = ground(e.closest("svg") || e);
    const [a, b] = [light(colour), light(behind)], ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push([e.tagName, e.className.baseVal ?? e.className, e.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return found;
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_in_both_schemes_and_three_widths(browser, page, tmp_path, dark):
    for width in (1280, 768, 390):
        opened(browser, page, width=width, dark=dark)
        browser.run("document.querySelector('.tokens .bad').click()")
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(CONTRAST) == []
        browser.screenshot(tmp_path / "shot.png")
        assert (tmp_path / "shot.png").stat().st_size > 20_000


def test_parts_have_names_for_those_who_hear_the_page(browser, page):
    opened(browser, page)
    nameless = """[...document.querySelectorAll("svg, select, input, button, table, [role=group]")].filter(e =>
        !(e.getAttribute("aria-label") || e.textContent.trim() || (e.labels && e.labels.length) || e.querySelector("caption, title")))
        .map(e => e.outerHTML.slice(0, 80))"""
    assert browser.run(nameless) == []
    assert browser.run("document.documentElement.lang") == "en"
    levels = browser.run("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    ids = browser.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert browser.run("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.getAttribute('href')))")


def test_print_shows_the_page_without_its_controls(browser, page):
    opened(browser, page, media="print", dark=True)
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run("getComputedStyle(document.querySelector('form.filter')).display") == "none"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


# ---- the pages of a race and of a run


@pytest.fixture
def race(files, tmp_path):
    ended = files(
        "compare", "--out", "race", "--test", "test.txt", "-a", "sag", "-a", "lbfgs:memory=5", "--repeat", "2", "--passes", "6", "train.txt"
    )
    assert ended.status == 0 and "race.html" in ended.err
    return tmp_path / "race" / "race.html"


def test_the_page_of_a_race_tells_each_point_and_sorts(browser, race):
    from crftrain.training.race import read_summary

    browser.look(1280)
    browser.events.clear()
    browser.open(race)
    summary = read_summary(race.parent / "summary.tsv")
    rows = browser.run(
        "[...document.querySelector('table.sorts').tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert [(row[0], row[1], float(row[5])) for row in rows] == [
        (run["run"], run["seed"], pytest.approx(float(run["objective"]), rel=1e-6)) for run in summary
    ]
    for sign in (1, -1):  # twice on a column: the other way round
        browser.run("document.querySelectorAll('table.sorts th button')[5].click()")
        values = browser.run("[...document.querySelectorAll('table.sorts tbody tr')].map(row => +row.cells[5].textContent)")
        assert values == sorted(values, key=lambda value: sign * value)
    steps = sum(int(run["steps"]) for run in summary)
    assert browser.run("document.querySelectorAll('svg.chart')[0].querySelectorAll('circle.point').length") == steps
    assert browser.run("document.querySelectorAll('svg.chart').length") == 4
    told = browser.run("""(() => { const chart = document.querySelector("svg.chart"), point = chart.querySelectorAll("circle.point")[3];
        const box = point.getBoundingClientRect(), at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
        chart.dispatchEvent(new PointerEvent("pointermove", at));
        return [chart.nextElementSibling.textContent, point.querySelector("title").textContent]; })()""")
    assert told[0] == told[1] and re.match(r"sag, seed 1: [\d.]+ passes, [\d.]+ s, distance ", told[0])
    browser.run("document.querySelector('svg.chart').focus()")
    browser.press("ArrowRight")
    assert browser.run("document.querySelector('svg.chart').nextElementSibling.textContent") != told[0]
    assert browser.asked() == [] and browser.complaints() == []
    for width in (1280, 390):
        browser.look(width, dark=True)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(CONTRAST) == []


def test_repeats_are_told_with_intervals(files, race):
    ended = files("compare", "--out", "race", "-a", "sag", "--repeat", "3", "--passes", "3", "train.txt")
    assert re.search(r"^sag: mean of 3 runs: seconds [\d.]+ \[[\d.]+, [\d.]+\], distance", ended.out.decode(), re.MULTILINE)


def test_learning_writes_a_page_of_the_run(files, tmp_path):
    ended = files("learn", "--report", "run.html", "--passes", "4", "-m", "third.bin", "train.txt")
    assert ended.status == 0 and "run.html: " in ended.err
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "objective against effective passes" in text and "learn --report run.html --passes 4" in text
    assert 'id="sentences"' not in text
    assert files("learn", "-q", "--report", "run.html", "--dev", "dev.txt", "-m", "third.bin", "train.txt").status == 0
    assert 'id="sentences"' in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert files("learn", "-q", "--report", "run.html", "--folds", "2", "--lambda", "10/n,1/n", "-m", "third.bin", "train.txt").status == 0
    assert "Strengths that were tried, by 2 folds" in (tmp_path / "run.html").read_text(encoding="utf-8")
    before = (tmp_path / "third.bin").read_bytes()
    assert files("learn", "-q", "--report", "train.txt", "-m", "third.bin", "train.txt").status == 2
    assert files("learn", "-q", "--report", "missing/run.html", "-m", "third.bin", "train.txt").status == 1
    assert (tmp_path / "third.bin").read_bytes() == before
