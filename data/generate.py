"""Writes train.txt, dev.txt and test.txt: sentences of a made-up harbour town as `word POS chunk`, always the same ones.

    python data/generate.py [FOLDER]        default: the folder of this script

1) The weighted grammar in grammar.txt is expanded from TEXT. Weights other than that of the plain alternative shrink
   with depth, so that every expansion ends.
2) Words come from words.txt with Zipf-like frequencies; open classes at times invent one, whose suffix tells its class.
3) A tagger's mistakes: the POS column is wrong now and then, mostly for words of two classes and for invented ones.
4) An annotator's mistakes: now and then a chunk is split, joined with its neighbour or takes another type.

So words, their neighbours, suffixes, POS tags and label pairs all help, and nothing gives 100 %. Only random.random()
is used: it is the one method whose numbers Python promises to keep.
"""

import random
import sys
from pathlib import Path

SIZES = {"train": 1000, "dev": 250, "test": 250}
SEED = 7
SHORTEST, LONGEST = 3, 50  # tokens
ZIPF = 1.25  # 1: all words of a class are equally frequent
DECAY = 0.9  # of weights, per level

INVENTED = {"N/thing": 0.09, "N/idea": 0.15, "N/person": 0.06, "N/place": 0.05, "V/t": 0.08, "V/i": 0.08, "J": 0.16, "RB": 0.2, "NAME": 0.5}
POS = {"J": "JJ", "RB": "RB", "NUM": "CD", "MONTH": "NNP", "NAME": "NNP"}

# What a tagger takes for what, and how often: a word of one class, of several, and one never seen.
CONFUSED = {
    "NN": ["VB", "JJ", "NNP", "VBP"],
    "NNS": ["VBZ", "NNPS"],
    "NNP": ["NN"],
    "VB": ["NN", "VBP"],
    "VBP": ["VB", "NN"],
    "VBZ": ["NNS"],
    "VBD": ["VBN"],
    "VBN": ["VBD", "JJ"],
    "VBG": ["NN"],
    "JJ": ["NN", "VBN", "RB"],
    "RB": ["JJ", "IN", "RP"],
    "IN": ["RB", "RP"],
    "RP": ["IN", "RB"],
    "DT": ["IN"],
    "WDT": ["IN"],
    "PRP$": ["PRP"],
}
OPEN = {"NN", "NNS", "VB", "VBP", "VBZ", "VBD", "VBN", "VBG", "JJ", "RB"}
ERROR, ERROR_SEVERAL, ERROR_UNSEEN = 0.012, 0.06, 0.14

# What an annotator takes for what; the share of sentences with one slip.
RETYPED = {
    "ADVP": ["PRT", "ADJP", "NP"],
    "PRT": ["ADVP", "PP"],
    "PP": ["SBAR", "PRT", "ADVP"],
    "SBAR": ["PP"],
    "ADJP": ["NP", "ADVP", "VP"],
    "VP": ["NP", "ADJP"],
    "NP": ["ADVP", "ADJP"],
}
SLIP = 0.14

HERE = Path(__file__).parent


def read_grammar(text):
    """{name: [(arguments of the head, weights, alternatives)]}"""
    rules, weights, alternatives = {}, [], []
    for line in text.splitlines():
        if line.startswith(" "):
            weight, *symbols = line.split()
            weights.append(float(weight))
            alternatives.append(symbols)
        elif line and not line.startswith("#"):
            weights, alternatives = [], []
            name, *arguments = line.split("/")
            rules.setdefault(name, []).append((arguments, weights, alternatives))
    return rules


def read_words(text):
    """{class: entries}, with the classes that entries stand for put in."""
    classes = {}
    for line in text.splitlines():
        if not line.startswith((" ", "#")) and line:
            name, line = line.split(":", 1)
            classes[name] = []
        if not line.startswith("#"):
            for entry in line.split():
                classes[name] += classes[entry[1:]] if entry[0] == "=" else [entry]
    return classes


def add_s(word):
    """The plural of a noun, the third person of a verb."""
    if word[-1] in "sxz" or word[-2:] in ("sh", "ch"):
        return word + "es"
    return word[:-1] + "ies" if word[-1] == "y" and word[-2] not in "aeiou" else word + "s"


def noun_forms(entry):
    noun = entry.rstrip("+").split(":")[0]
    return {"s": (noun, "NN"), "p": (add_s(noun), "NNS")}


def verb_forms(entry):
    base, *irregular = entry.rstrip("+").split(":")
    stem = base + base[-1] if entry.endswith("+") else base
    past, going = stem + "ed", stem + "ing"
    if base.endswith("e"):
        past, going = base + "d", (base if base[-2] in "eo" else base[:-1]) + "ing"
    if base.endswith("ie"):
        going = base[:-2] + "ying"
    if base[-1] == "y" and base[-2] not in "aeiou":
        past = base[:-1] + "ied"
    past, participle = {0: [past, past], 1: irregular * 2}.get(len(irregular), irregular)
    forms = {"VB": base, "VBP": base, "VBZ": add_s(base), "VBD": past, "VBN": participle, "VBG": going}
    return {pos: (form, pos) for pos, form in forms.items()}


class Town:
    """Makes sentences: tokens [word, POS], and chunks [type, start, end]."""

    def __init__(self, seed):
        self.random = random.Random(seed).random
        self.rules = read_grammar((HERE / "grammar.txt").read_text(encoding="utf-8"))
        self.words = read_words((HERE / "words.txt").read_text(encoding="utf-8"))
        self.tags = {}  # word -> all its POS
        for name, entries in self.words.items():
            for entry in entries:
                for word, pos in self.forms(name, entry).values():
                    self.tags.setdefault(word, set()).add(pos)

    def forms(self, name, entry):
        """{form asked for: (word, POS)}"""
        if name.startswith("V/"):
            return verb_forms(entry)
        if name in ("N/title", "N/org"):
            return {"s": (entry.capitalize(), "NNP")}
        if name.startswith("N/"):
            return noun_forms(entry)
        return {None: (entry, POS[name])} if name in POS else {}

    def pick(self, items, weights=None):
        """One of the items; without weights the first ones are the most frequent."""
        if weights is None:
            return items[int(len(items) * self.random() ** ZIPF)]
        left = self.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        return items[-1]

    # 1)
    def expand(self, symbol, depth, out):
        """Append (word, POS) pairs and the brackets of chunks to out."""
        if "^" in symbol:
            out.append(tuple(symbol.rsplit("^", 1)))
        elif symbol[0] == "[" or symbol in ("]", "NIL"):
            out.append(symbol)
        elif symbol.split("/")[0] in self.rules:
            for part in self.pick(*self.alternatives(symbol, depth)):
                self.expand(part, depth + 1, out)
        else:
            out.append(self.word(symbol))

    def alternatives(self, symbol, depth):
        """The alternatives of all heads that fit, with the head's variables filled in, and their weights."""
        name, *arguments = symbol.split("/")
        bodies, weights = [], []
        for head, own_weights, alternatives in self.rules[name]:
            bound = dict(zip(head, arguments, strict=True))
            if any(h not in (a, "#", "K") for h, a in bound.items()):
                continue
            bound.setdefault("#", "s" if self.random() < 0.6 else "p")
            weights += [weight * DECAY**depth if weights or i else weight for i, weight in enumerate(own_weights)]
            bodies += [["/".join(bound.get(part, part) for part in s.split("/")) for s in body] for body in alternatives]
        return bodies, weights

    # 2)
    def word(self, symbol):
        """(word, POS) of a class and form: N/thing/s, V/t/VBD, J."""
        kind, *rest = symbol.split("/")
        name = "/".join([kind, *rest[:-1]])
        if self.random() < INVENTED.get(name, 0):
            entry = "".join(self.pick(self.words[part]) for _ in range(1 + (self.random() < 0.4)) for part in ("onset", "nucleus", "coda"))
            entry += self.pick(self.words[f"suffix/{kind}"])
            entry = entry.capitalize() if kind == "NAME" else entry
        else:
            entry = self.pick(self.words[name])
        return self.forms(name, entry)[rest[-1] if rest else None]

    def sentence(self):
        out, tokens, chunks = [], [], []
        self.expand("TEXT", 0, out)
        for item in out:
            if isinstance(item, tuple):
                tokens.append(list(item))
            elif item == "]":
                chunks[-1].append(len(tokens))
            elif item[0] == "[":
                chunks.append([item[1:], len(tokens)])
        for token, after in zip(tokens, tokens[1:], strict=False):
            if token[0] == "a" and after[0][0] in "aeiou":
                token[0] = "an"
        first = tokens[1] if tokens[0][0] == "``" else tokens[0]
        first[0] = first[0][0].upper() + first[0][1:]
        return tokens, chunks

    # 3)
    def mistag(self, tokens):
        for token in tokens:
            word, pos = token
            tags = self.tags.get(word.lower(), ())
            error = ERROR_UNSEEN if pos in OPEN and not tags else ERROR_SEVERAL if len(tags) > 1 else ERROR
            if pos in CONFUSED and self.random() < error:
                token[1] = self.pick(CONFUSED[pos])

    # 4)
    def slip(self, chunks):
        i = int(len(chunks) * self.random())
        kind, start, end = chunks[i]
        way = self.random()
        if way < 0.35 and end - start > 1:
            cut = start + 1 + int((end - start - 1) * self.random())
            chunks[i : i + 1] = [[kind, start, cut], [kind, cut, end]]
        elif way < 0.7 and chunks[i + 1 : i + 2] and chunks[i + 1][:2] == [kind, end]:
            chunks[i : i + 2] = [[kind, start, chunks[i + 1][2]]]
        elif kind in RETYPED and end - start == 1:
            chunks[i][0] = self.pick(RETYPED[kind])

    def lines(self):
        """A sentence as it is written."""
        tokens, chunks = self.sentence()
        self.mistag(tokens)
        if self.random() < SLIP:
            self.slip(chunks)
        labels = ["O"] * len(tokens)
        for kind, start, end in chunks:
            labels[start:end] = ["B-" + kind] + ["I-" + kind] * (end - start - 1)
        return [f"{word} {pos} {label}\n" for (word, pos), label in zip(tokens, labels, strict=True)]


def corpus():
    """{part: text}; no two sentences of all parts have the same words."""
    town, texts, seen = Town(SEED), {}, set()
    for part, size in SIZES.items():
        sentences = []
        while len(sentences) < size:
            lines = town.lines()
            words = tuple(line.split()[0] for line in lines)
            if SHORTEST <= len(lines) <= LONGEST and words not in seen:
                seen.add(words)
                sentences.append("".join(lines) + "\n")
        texts[part] = "".join(sentences)
    return texts


def main(folder):
    for part, text in corpus().items():
        Path(folder, f"{part}.txt").write_bytes(text.encode())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else HERE)
