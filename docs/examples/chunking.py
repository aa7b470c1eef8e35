"""From sentences to a chunker, step by step, as one would in a notebook: python docs/examples/chunking.py

Each cell begins with `# %%`, which editors show as cells. The data are the repository's own.
"""

# %% Sentences: lists of (word, part of speech, label)
from pathlib import Path

from crftrain import CRF, Dataset, EarlyStopping, Tagger, metrics

DATA = Path(__file__).resolve().parents[2] / "data"


def read(name):
    sentences = (DATA / f"{name}.txt").read_text(encoding="utf-8").strip().split("\n\n")
    return [[tuple(line.split()) for line in sentence.splitlines()] for sentence in sentences]


train, dev, test = read("train"), read("dev"), read("test")
print(train[0][:4])


# %% Attributes of a token: a dict; its values may be text, numbers, booleans, lists or dicts
def features(sentence, t):
    word, pos, _ = sentence[t]
    token = {"word": word.lower(), "pos": pos, "suffix": word[-3:], "shape": {"title": word.istitle(), "digit": word.isdigit()}}
    for k in (-2, -1, 1, 2):
        if 0 <= t + k < len(sentence):
            token[f"word{k:+d}"], token[f"pos{k:+d}"] = sentence[t + k][0].lower(), sentence[t + k][1]
    return token


def X(sentences):
    return [[features(sentence, t) for t in range(len(sentence))] for sentence in sentences]


def y(sentences):
    return [[label for _, _, label in sentence] for sentence in sentences]


# %% Learn, and score: the optimum is found without anything to tune
crf = CRF().fit(X(train), y(train))
print(crf.stop_reason_, crf.n_iter_, "F1", round(metrics.f1_score(y(test), list(crf.predict(X(test)))), 3))
print(metrics.classification_report(y(test), list(crf.predict(X(test)))))

# %% A dev set chooses the step and the strength; encoded once, the data are shared by all fits
data, held_out = Dataset(X(train), y(train)), Dataset(X(dev), y(dev))
fits = {l2: CRF(l2=l2).fit(data, X_val=held_out, callbacks=[EarlyStopping(3)]) for l2 in ("10/n", "1/n", "0.1/n")}
best = max(fits, key=lambda l2: fits[l2].best_score_)
print("best strength", best, "F1 on dev", round(fits[best].best_score_, 2))

# %% Probabilities
sentence = X(test)[0]
print(crf.predict_marginals([sentence])[0][0])
print(crf.decode([sentence])[0])

# %% What was learnt
heaviest = sorted(crf.state_features_.items(), key=lambda item: -abs(item[1]))[:5]
print(*heaviest, sep="\n")

# %% Save, load, serve: a Tagger serves any number of threads
crf.save("chunker.bin")
tagger = Tagger("chunker.bin")
print(tagger.tag(sentence))
Path("chunker.bin").unlink()
