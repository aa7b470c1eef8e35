"""Which algorithm a run of auto begins with, by counts alone.

The first of these that applies:

    shards, so no single sequences              owlqn with l1; lbfgs without a penalty; else newton-cg, if it fits; else lbfgs
    l1 above 0, lambda = 0                      owlqn
    l1 above 0                                  sag, if it fits without entries of several sequences, after some passes of sgd-l1 from zero
                                                weights, with owlqn in the middle of the way if that fits, too, and there are no more
                                                weights than occurrences; else owlqn
    lambda = 0, l1 = 0                          lbfgs: nothing can be proved, and where labels can be told apart f goes to zero, which sag
                                                nears ever more slowly
    more than THREADS threads                   newton-cg, whose passes all threads share, if it fits
    the mean squared length is above UNEVEN times the squared mean
                                                the same: a few sequences that are very much longer than the others are what sag draws, so
                                                that its passes take a hundred times as long
    at most FEW labels, lambda n at least WEAK, sequences not too long, no rules, zero weights, and its marginals fit into
    --max-memory                                sdca: where the label pairs of a token are not many more than its attributes, its pass takes
                                                twice as long as sag's, and it needs a half to a quarter of the passes
    sag fits into --max-memory                  sag; where its table takes too much, with 2, 4, .. MOST sequences in an entry, as long as
                                                there are FEWEST entries
    the same, at least MANY labels, zero weights   lbfgs for its first iterations, each of which takes a quarter of sag's pass
    newton-cg fits                              newton-cg, keeping for its products what fits
    else                                        lbfgs, whatever it takes: it takes the least

Why THREADS: seconds until 1e-3 is proved, sag on one thread and newton-cg on one and two (learn -a A -j N): CoNLL-2000 3.9, 7.6, 5.3; Dutch
names 3.4, 9.2, 6.1; OCR 1.0, 2.1, 1.2; JNLPBA 28 and, on two, 37. What two threads bring says that newton-cg draws level with four or five.
Threads for sag itself would bring less than 1.5: what can go beside another sequence, scores and forward and backward runs, is a third of
its time there; the rest is weights that the next sequence wants.
"""

from ...chain._tangent import kept_bytes
from ..average import sag
from ..batch import lbfgs, newton_cg, owlqn
from ..descent import sgd_l1
from ..dual import sdca

MIDDLE_OPTIONS = {"memory": 8, "precondition": True}  # owlqn's, before sag
BEGINNING_OPTIONS = {"alpha": 0.7}  # sgd-l1's
LEAST_OPTIONS = {"memory": 5}  # lbfgs'
SDCA_OPTIONS = {"table_precision": "single"}  # half the memory; _rates says where it goes no further
THREADS, MOST, FEWEST, UNEVEN = 4, 64, 500, 600
FEW, WEAK, LONG, LONGEST, EVEN, MANY = 16, 0.1, 250, 2000, 4, 100
STRONG = 10  # of lambda n
GIGABYTE = 1 << 30
ALGORITHMS = {
    "sag": sag.ALGORITHM,
    "newton-cg": newton_cg.ALGORITHM,
    "lbfgs": lbfgs.ALGORITHM,
    "owlqn": owlqn.ALGORITHM,
    "sdca": sdca.ALGORITHM,
    "sgd-l1": sgd_l1.BEGINNING,
}


def choose(facts, max_memory, *, threads=1, l1=0.0, l2=1.0, shards=False, warm=False):
    """(name, the options that are not the defaults, why) from counts alone. warm: not from zero weights."""
    room = max_memory * GIGABYTE
    if shards and l1:
        return "owlqn", {}, "for --l1 of data in shards"
    if l1:
        if not l2 or _bytes("sag", facts, {}) > room:
            return "owlqn", {}, "for --l1"
        if warm or _bytes("sgd-l1", facts, BEGINNING_OPTIONS) > room:
            return "sag", {}, "for --l1 with --lambda"
        return "sgd-l1", BEGINNING_OPTIONS, "at first, for --l1 with --lambda"
    if not l2:
        return "lbfgs", {} if _bytes("lbfgs", facts, {}) <= room else LEAST_OPTIONS, "without a penalty"
    newton = newton_options(facts, room)
    if shards and newton is not None:
        return "newton-cg", newton, "for data in shards"
    if threads > THREADS and newton is not None:
        return "newton-cg", newton, f"for {threads} threads"
    if not shards and newton is not None and facts.n_sequences * facts.n_tokens_squared > UNEVEN * facts.n_tokens**2:
        return "newton-cg", newton, "for a few sequences that are very much longer than the others"
    if not (shards or warm or getattr(facts, "constrained", False)) and suits_sdca(facts, l2):
        need = _bytes("sdca", facts, SDCA_OPTIONS)
        if need <= room:
            return "sdca", SDCA_OPTIONS, f"for {facts.n_labels:,} labels; it takes {need / GIGABYTE:.2g} GB"
    table = None if shards else sag_options(facts, room, l2)
    if table is not None and facts.n_labels >= MANY and not warm and _bytes("lbfgs", facts, {}) <= room:
        return "lbfgs", {}, f"at first, for {facts.n_labels:,} labels"
    if table is not None:
        several = f" with {table['batch']} sequences in an entry" if "batch" in table else ""
        return "sag", table, f"its table takes {_bytes('sag', facts, table) / GIGABYTE:.2g} GB{several}"
    if newton is not None:
        return "newton-cg", newton, f"sag's table does not fit into {max_memory:g} GB (--max-memory)"
    return "lbfgs", LEAST_OPTIONS, f"nothing else fits into {max_memory:g} GB (--max-memory)"


def suits_sdca(facts, l2):
    """Sequences of LONG tokens at most, or all long ones: it, too, draws those that are longer than the others far more often."""
    even = facts.n_sequences * facts.n_tokens_squared <= EVEN * facts.n_tokens**2
    length = facts.n_tokens_squared / facts.n_tokens
    return facts.n_labels <= FEW and l2 * facts.n_sequences >= WEAK and length <= (LONGEST if even else LONG)


def sag_options(facts, room, l2):
    """How its table fits into the room; None: it does not.

    Where the penalty is strong it is there before draws with replacement have met all sequences, without which no bound is tight.
    """
    batch, first = 1, {"first_pass": "permute"} if l2 * facts.n_sequences >= STRONG else {}
    while batch <= MOST and (batch == 1 or facts.n_sequences >= batch * FEWEST):
        options = first | ({"batch": batch} if batch > 1 else {})
        if _bytes("sag", facts, options) <= room:
            return options
        batch *= 2
    return None


def newton_options(facts, room):
    """What newton-cg keeps for its products, of what is left of the room; None: not even its vectors fit."""
    least = (88 + 16) * facts.n_features
    if least > room:
        return None
    kept = kept_bytes(facts.n_tokens, facts.n_labels)
    return {"cache": float(facts.n_sequences if kept <= room - least else int(facts.n_sequences * (room - least) / kept))}


def owlqn_between(facts, room):
    """Whether owlqn, which goes on from sag's weights under l1, fits too, and its vectors are not what would take most of its time."""
    return facts.n_features <= facts.n_occurrences and _bytes("owlqn", facts, MIDDLE_OPTIONS) <= room


def _bytes(name, facts, options):
    return sum(ALGORITHMS[name].memory(facts, {**ALGORITHMS[name].defaults(), **options}).values())


def memory(facts, options):
    """That of the choice, as far as the counts tell."""
    how = {"threads": 1, "l1": 0.0, "l2": 1.0, "shards": False}
    name, chosen, _ = choose(facts, options["max_memory"], **{key: getattr(facts, key, value) for key, value in how.items()})
    parts = [(name, chosen)]
    room = options["max_memory"] * GIGABYTE
    if name == "sgd-l1":
        parts += [("sag", {}), *([("owlqn", MIDDLE_OPTIONS)] if owlqn_between(facts, room) else [])]
    if name == "lbfgs" and not chosen and getattr(facts, "l2", 1.0):
        parts.append(("sag", sag_options(facts, room, getattr(facts, "l2", 1.0))))
    name, chosen = max(parts, key=lambda part: _bytes(part[0], facts, part[1]))
    return ALGORITHMS[name].memory(facts, {**ALGORITHMS[name].defaults(), **chosen})
