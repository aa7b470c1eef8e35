"""What a model is, without its weights: as lines, as JSON, and as the options that learn it again."""

import json

from ..text.template import builtin, builtin_names

OPTIONS = ("algorithm", "lambda", "l1", "features", "transitions", "min_freq", "seed", "threads")


def facts(model):
    """{name: value}: how large it is, what it reads, and what it says of its training."""
    v = model.vocabulary
    reads = {"format": v.format, "columns": v.n_columns, "label_column": v.label_column}
    reads["template"] = v.template.name if v.template else None
    return {"bytes": model.size, "weights": model.active, "labels": v.labels, **reads, **model.facts}


def lines(model):
    """The same for people: name, tab, value."""
    for name, value in facts(model).items():
        if name == "labels":
            value = f"{len(value)}: " + " ".join(value)
        yield f"{name}\t{value if isinstance(value, str) else json.dumps(value)}"


def template(model):
    """The lines of its template; none for items."""
    return model.vocabulary.template.text.rstrip("\n").split("\n") if model.vocabulary.template else []


def options(model):
    """Lines of TOML for `learn --config`, which with the same files make the same model; of several strengths, at the one that was kept."""
    v, said = model.vocabulary, model.facts
    chosen = {name: said[name] for name in OPTIONS if name in said} | {"format": v.format}
    form = v.form.as_json() if v.form else {}
    chosen |= {name: form[name] for name in ("format", "comments", "tabs", "scheme") if name in form}
    chosen["fields"] = ",".join(form.get("fields", ())) or None
    chosen |= {**said.get("options", {}), **said.get("limits", {})}
    legal = said.get("legal", {})
    chosen |= {"constrain": legal.get("scheme"), **{name: legal[name] for name in ("forbid", "allow") if name in legal}}
    yield f"# {said.get('n_sequences', '?')} sequences, {said.get('n_tokens', '?')} tokens"
    if v.template is not None:
        chosen["label_column"] = form.get("label", -1) if "scheme" in form else v.label_column
        if v.template.name in builtin_names() and v.template.text == builtin(v.template.name).text:
            chosen["template"] = v.template.name
        else:
            yield f"# template {v.template.name}: save what `crftrain info --template` prints, and name that file"
    for name, value in chosen.items():
        if value is not None:
            yield f"{name.replace('_', '-')} = {json.dumps(value, ensure_ascii=False)}"
