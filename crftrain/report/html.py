"""A page in one file: HTML, styles, scripts and data, with nothing asked of the network and nothing run but our own script.

Text is escaped here and nowhere else: what is no Markup is text. The page's policy (CSP) allows the one script by its hash, so
that even what slipped through would not run.
"""

import base64
import hashlib
import html
from pathlib import Path

from ..whole import os_errors, replace
from .packed import as_script

FOLDER = Path(__file__).parent / "pages"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value):
    """A value as HTML."""
    return value if isinstance(value, Markup) else Markup(html.escape(_clean(str(value))))


def _clean(value):
    """Control characters that no page may have are shown as their numbers."""
    return "".join(c if c >= " " or c in "\t\n" else f"<U+{ord(c):04X}>" for c in value) if not value.isprintable() else value


def tag(name, /, *children, **attributes):
    """<name ...>children</name>; class_ is class, aria_label is aria-label; None is left out."""
    return Markup(f"<{name}{_attributes(attributes)}>{''.join(map(text, children))}</{name}>")


def void(name, /, **attributes):
    return Markup(f"<{name}{_attributes(attributes)}>")


def _attributes(attributes):
    shown = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None and value is not False)
    return "".join(f" {key}" if value is True else f' {key}="{text(value)}"' for key, value in shown)


def join(parts):
    return Markup("".join(map(text, parts)))


def table(caption, head, rows, *, numeric=(), class_=None, hidden_caption=False):
    """Head cells are of columns (none: there are no heads), the first cell of a row is of the row; numeric columns stand to the right."""
    how = ["n" if k in numeric else None for k in range(max(map(len, [head, *rows])))]
    heads = tag("thead", tag("tr", *(tag("th", cell, scope="col", class_=how[k]) for k, cell in enumerate(head)))) if head else Markup("")
    body = [
        tag("tr", *(tag("th", cell, scope="row") if k == 0 else tag("td", cell, class_=how[k]) for k, cell in enumerate(row)))
        for row in rows
    ]
    caption = tag("caption", caption, class_="hidden" if hidden_caption else None)
    return tag(
        "div",
        tag("table", caption, heads, tag("tbody", *body), class_=class_),
        class_="wide",
        tabindex="0",
        role="group",
        aria_label=caption_text(caption),
    )


def caption_text(caption):
    """The words of a caption, for those who hear the page."""
    return html.unescape(caption[caption.index(">") + 1 : caption.rindex("<")])


def section(name, title, *children, note=None):
    """A part of the page, which its list of contents names."""
    lead = [tag("p", note, class_="note")] if note else []
    return tag("section", tag("h2", title, id=f"{name}-title"), *lead, *children, id=name, aria_labelledby=f"{name}-title")


def details(summary, *children, open=False):
    return tag("details", tag("summary", summary), *children, open=open)


def page(title, lead, sections, *, scripts=(), data=None):
    """The whole page; sections: [(name, short title, Markup)], scripts: names of files, data: what they read."""
    style = _file("page.css")
    script = "\n".join(_file(name) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    contents = tag("ul", *(tag("li", tag("a", short, href=f"#{name}")) for name, short, _ in sections))
    head = join(
        [
            void("meta", charset="utf-8"),
            void("meta", http_equiv="Content-Security-Policy", content=policy),
            void("meta", name="viewport", content="width=device-width, initial-scale=1"),
            void("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            Markup(f"<style>\n{style}</style>"),
        ]
    )
    body = [
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("h1", title), lead),
        tag("nav", contents, aria_label="Contents"),
        tag("main", *(part for _, _, part in sections), id="content"),
    ]
    if data is not None:
        body.append(Markup(f'<script type="application/json" id="data">{as_script(data)}</script>'))
    if script:
        body.append(Markup(f"<script>{script}</script>"))  # ours: it is no text of the data
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{join(body)}\n</body>\n</html>\n'


def _file(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def save(path, page):
    """Write the page, whole or not at all; the number of bytes."""
    data = page.encode()
    with os_errors(path, "cannot be written"):
        replace(path, [data])
    return len(data)
