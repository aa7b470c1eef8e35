"""Options of CRFsuite, CRF++ and Wapiti, and what they are here: for the error that tells whoever types one.

docs/coming-from-*.md have the same at length, and a test holds them together.
"""

LEARN = """
CRFsuite    max_iterations              --passes N
CRFsuite    c1                          --l1 C/n, where n l1 = c1
CRFsuite    c2                          --lambda X/n, where X = 2 c2
CRFsuite    epsilon                     --tol X
CRFsuite    num_memories                --memory N, an option of -a lbfgs
CRFsuite    period delta                --tol X
CRFsuite    linesearch max_linesearch   not needed: there is nothing to choose
CRFsuite    feature.minfreq             --min-freq N
CRFsuite    feature.possible_states     --features full
CRFsuite    feature.possible_transitions  --transitions full, the default up to 64 labels
CRFsuite    calibration.eta             --eta auto, an option of -a sgd
CRFsuite    calibration.rate calibration.samples calibration.candidates calibration.max_trials  --eta auto, an option of -a sgd
CRFsuite    -g --split -x --cross-validate  --folds N
CRFsuite    -e --holdout                --dev FILE
CRFsuite    -l --log-to-file -L --logbase  --log FILE
CRFsuite    -H --help-parameters        crftrain algorithms NAME
CRFsuite    --type                      not needed: there is one type, the linear chain
CRFsuite    --set                       -p NAME=VALUE
CRF++       -f --freq                   --min-freq N
CRF++       --maxiter                   --passes N
CRF++       -c --cost                   --lambda X/n, where X = 1/C; with -a mira --c C
CRF++       -e --eta                    --tol X
CRF++       -C --convert                crftrain export TEXTMODEL MODEL --to crfpp
CRF++       --textmodel                 crftrain export MODEL TEXTMODEL --to crfpp-text
CRF++       --thread                    --threads N
CRF++       -H --shrinking-size         --shrinking-size N, an option of -a mira
CRF++       -v                          crftrain --version
Wapiti      -T --type --me              not needed: there is one type; templates without a B line have no transitions
Wapiti      --pattern                   -t FILE
Wapiti      -d --devel                  --dev FILE
Wapiti      --rstate                    --resume FILE
Wapiti      --sstate                    --checkpoint FILE
Wapiti      -c --compact                not needed: weights of zero are never written
Wapiti      --nthread                   --threads N
Wapiti      --jobsize                   not needed: the sequences are shared out once
Wapiti      -s --sparse                 not there
Wapiti      -i --maxiter                --passes N
Wapiti      -1 --rho1                   --l1 RHO1/n
Wapiti      -2 --rho2                   --lambda RHO2/n
Wapiti      -o --objwin                 --tol X
Wapiti      -w --stopwin                --dev FILE --patience N
Wapiti      -e --stopeps                --tol X
Wapiti      --clip --maxls              not there
Wapiti      --histsz                    --memory N, an option of -a lbfgs
Wapiti      --eta0                      --eta X, an option of -a sgd-l1
Wapiti      --alpha                     --alpha X, an option of -a sgd-l1
Wapiti      --kappa --stpmin --stpmax --stpinc --stpdec --cutoff  not needed: the methods are not there
"""
TAG = """
CRFsuite    -m --model                  an argument: crftrain tag MODEL FILE
CRFsuite    -t --test                   crftrain tag MODEL FILE | crftrain eval
CRFsuite    -r --reference              --gold yes
CRFsuite    -p --probability            --score
CRFsuite    -i --marginal               --marginals best
CRFsuite    -l --marginal-all           --marginals all
CRFsuite    -q --quiet                  crftrain tag MODEL FILE | crftrain eval
CRF++       -m --model                  an argument: crftrain tag MODEL FILE
CRF++       --nbest                     -n N
CRF++       -v --verbose                --score --marginals best
CRF++       -c --cost-factor            not there
CRF++       -o --output                 crftrain tag MODEL FILE > OUTPUT
Wapiti      -m --model                  an argument: crftrain tag MODEL FILE
Wapiti      -l --label                  --labels-only
Wapiti      -c --check                  crftrain tag MODEL FILE | crftrain eval
Wapiti      -s                          --score --marginals best
Wapiti      -p --post                   --marginals all
Wapiti      --nbest                     -n N
Wapiti      --force                     --force, what is known in the column of labels
"""
ALGORITHMS = {
    "l2sgd": "CRFsuite's l2sgd is -a sgd --no-average",
    "averaged-perceptron": "it is -a ap",
    "passive-aggressive": "it is -a pa",
    "CRF": "CRF++'s CRF is -a lbfgs",
    "CRF-L2": "CRF++'s CRF-L2 is -a lbfgs",
    "CRF-L1": "CRF++'s CRF-L1 is -a owlqn --l1 1/n",
    "MIRA": "CRF++'s MIRA is -a mira",
    "l-bfgs": "Wapiti's l-bfgs is -a lbfgs, with --l1 -a owlqn",
    "bcd": "in place of Wapiti's bcd there is -a saga",
    "rprop": "in place of Wapiti's rprop there is -a lbfgs",
    "rprop+": "in place of Wapiti's rprop+ there is -a lbfgs",
    "rprop-": "in place of Wapiti's rprop- there is -a lbfgs",
}
COMMANDS = {
    "crf_learn": "crf_learn -t TEMPLATE TRAIN MODEL is crftrain learn -t TEMPLATE -m MODEL TRAIN",
    "crf_test": "crf_test -m MODEL FILE is crftrain tag MODEL FILE",
    "train": "Wapiti's train -p PATTERNS TRAIN MODEL is crftrain learn -t PATTERNS -m MODEL TRAIN",
    "label": "Wapiti's label -m MODEL FILE is crftrain tag MODEL FILE",
}


def _table(text):
    """{flag: {what it is here: [the programs that have it], ...}}; parameters of -p as the flags that they are made to."""
    table = {}
    for row in text.strip().split("\n"):
        program, rest = row.split(None, 1)
        olds, _, here = rest.partition("  ")
        for old in olds.split():
            flag = old if old.startswith("-") else "--" + old.replace("_", "-").replace(".", "-")
            table.setdefault(flag, {}).setdefault(here.strip(), []).append(program)
    return table


TABLES = {"learn": _table(LEARN), "tag": _table(TAG)}


def hint(command, flag):
    """What an option that `command` has not is elsewhere, and here; empty if nobody has it."""
    found = TABLES.get(command, {}).get(flag, {})
    return " ".join(f"That of {' and '.join(programs)} is here {here}." for here, programs in found.items())
