"""The papers' claims, in the order of the papers. `why` is the reason that the page gives where a claim fails.

Of each results folder, only the lines that it has are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from headstart.papers.checks import AS_GOOD, BETTER, NO_BETTER, PARTLY, Claim, Compare
from headstart.papers.prior_mean import CONNECTED, PIECEWISE, ZERO
from headstart.papers.tables import DISTANCE, RANK

FIRST, EARLY, LATE = (1,), (1, 3, 5, 10), (10, 20, 30, 50)


def _all(
    figure: str, first: str, others: Sequence[str], at: tuple[int, ...], kind: str = BETTER, measure: str = DISTANCE
) -> tuple[Compare, ...]:
    """The first line compared with each of the others."""
    return tuple(Compare(figure, first, other, at, kind, measure) for other in others)


def _ranks(figure: str, first: str, others: Sequence[str], at: tuple[int, ...]) -> tuple[Compare, ...]:
    return _all(figure, first, others, at, measure=RANK)


ORIGINAL = (
    "Our MKLGP differs from the original, whose kernel is not positive definite (see `headstart.surrogates.mklgp`). "
    "Whether this explains the result was not tested."
)

EDGES = (
    "Without a start, SCoT begins badly: a linear ranking is always best at an edge of the space, so SCoT proposes "
    "edges twice as often as best configurations lie there. With plain ranks it begins at less than half the distance "
    "(`benchmarks/scot_ranking.py`)."
)

SVM, ADABOOST = "svm", "adaboost"  # claims about one of the two meta-data sets

INITIALIZATIONS = (
    Claim(
        "NBI is a better start than RBI: meta-features show which data sets are similar",
        "Fig. 1",
        _all("figure1", "NBI", ["RBI"], EARLY),
    ),
    Claim(
        "LI is a very good start for I = 1",
        "Fig. 1",
        _all("figure1", "LI", ["RBI", "NBI", "SCoT", "MKLGP"], FIRST),
        ORIGINAL,
    ),
    Claim("LI is consistently the best start", "Fig. 1", _all("figure1", "LI", ["RBI", "NBI"], (3, 5, 10))),
    Claim(
        "new configurations are what helps: LI is better than the best choice among configurations tried before",
        "Sec. IV-H and V-E",
        _all("figure1", "LI", ["LI, tried before"], EARLY),
        "Algorithm 2 begins with the best configurations of random data sets and improves them by small steps. "
        "headstart's LI, which minimises the same loss from a greedy choice, is better than Algorithm 2 (last row).",
    ),
    Claim(
        "surrogates that transfer knowledge do not replace a start: LI is better than SCoT and MKLGP without one",
        "Fig. 1",
        _all("figure1", "LI", ["SCoT", "MKLGP"], EARLY),
        ORIGINAL,
    ),
    Claim(
        "SCoT at least makes a moderate start: better than none, and better than MKLGP",
        "Fig. 1",
        _all("figure1", "SCoT", ["No Init", "MKLGP"], EARLY),
        f"{EDGES} {ORIGINAL}",
    ),
    Claim(
        "aLI is also a better start than RBI and NBI",
        "Fig. 1",
        _all("figure1", "aLI", ["RBI", "NBI"], (3, 5, 10)),
    ),
    Claim(
        "aLI, too, is better than SCoT and MKLGP without a start",
        "Fig. 1",
        _all("figure1", "aLI", ["SCoT", "MKLGP"], EARLY),
        ORIGINAL,
    ),
    Claim("aLI is no better than LI", "Fig. 1", _all("figure1", "aLI", ["LI"], (3, 5, 10), kind=NO_BETTER)),
    Claim(
        "on SVM, the first configuration of every start is better than the GP without a start after six trials",
        "Fig. 1 and 2",
        tuple(Compare("figure1", m, "No Init", FIRST, later=("figure2", 6)) for m in ("RBI", "NBI", "LI", "aLI")),
        "Six random configurations are better than the first one of RBI or NBI (No Init of Fig. 1 is their exact "
        "expectation), and a GP is no worse than chance here.",
        only=SVM,
    ),
    Claim(
        "LI has the best long-term effect with GP",
        "Fig. 2",
        _all("figure2", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "with GP, aLI, too, has a better long-term effect than RBI, NBI and no start",
        "Fig. 2",
        _all("figure2", "aLI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "LI has the best long-term effect with RF",
        "Fig. 3",
        _all("figure3", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "in the long term, aLI is no better than LI",
        "Fig. 2 and 3",
        _all("figure2", "aLI", ["LI"], LATE, kind=NO_BETTER) + _all("figure3", "aLI", ["LI"], LATE, kind=NO_BETTER),
    ),
    Claim(
        "in the long term, RBI is about as good as NBI",
        "Fig. 2 and 3",
        _all("figure2", "RBI", ["NBI"], LATE, kind=AS_GOOD) + _all("figure3", "RBI", ["NBI"], LATE, kind=AS_GOOD),
        "NBI begins ahead (Fig. 1); its lead shrinks with every further trial.",
    ),
    Claim(
        "surrogates that transfer no knowledge gain more from a start by LI than those that do",
        "Fig. 2 to 5",
        tuple(
            Compare(figure, "LI", "No Init", LATE, than=than)
            for figure in ("figure2", "figure3")
            for than in ("figure4", "figure5")
        ),
        EDGES,
    ),
    Claim(
        "surrogates that transfer knowledge gain from a start by LI, too",
        "Sec. V-G, Fig. 4 and 5",
        tuple(Compare(figure, "LI", "No Init", LATE) for figure in ("figure4", "figure5")),
    ),
    Claim(
        "SCoT without a start is about as good as with RBI or NBI",
        "Fig. 4",
        _all("figure4", "No Init", ["RBI", "NBI"], LATE, kind=AS_GOOD),
        EDGES,
    ),
    Claim(
        "with SCoT, LI is consistently the best start",
        "Fig. 4",
        _all("figure4", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim("on SVM, with MKLGP, NBI is better than LI", "Fig. 5", _all("figure5", "NBI", ["LI"], LATE), only=SVM),
    Claim(
        "on SVM, with MKLGP, LI is better than RBI and no start",
        "Fig. 5",
        _all("figure5", "LI", ["No Init", "RBI"], LATE),
        only=SVM,
    ),
    Claim(
        "on AdaBoost, with MKLGP, LI is better than any other start",
        "Fig. 5",
        _all("figure5", "LI", ["No Init", "RBI", "NBI"], LATE),
        ORIGINAL,
        only=ADABOOST,
    ),
    Claim(
        "after a start by LI, surrogates that transfer knowledge are not needed: SCoT and MKLGP are no better than GP "
        "and RF",
        "Fig. 6",
        tuple(Compare("figure6", a, b, LATE, kind=NO_BETTER) for a in ("SCoT", "MKLGP") for b in ("GP", "RF")),
    ),
    Claim(
        "started by LI, RF is the best of the four surrogates",
        "Fig. 6",
        _all("figure6", "RF", ["GP", "SCoT", "MKLGP"], LATE),
    ),
    Claim(
        "*not in the paper:* the correct gradient of eq. 12 is better than the printed eq. 14",
        "both by Algorithm 2",
        _all("figure1", "LI", ["LI, printed gradient"], EARLY),
    ),
    Claim(
        "*not in the paper:* eq. 17 is better corrected than as printed",
        "both by Sec. IV-G",
        _all("figure1", "aLI", ["aLI, printed weights"], (3, 5, 10)),
    ),
    Claim(
        "*not in the paper:* headstart's LI is better than Algorithm 2",
        "",
        _all("figure1", "LI, headstart", ["LI"], EARLY),
    ),
)

SIMILARITIES = (
    Claim(
        "all starts that use meta-features are better than RBI",
        "Fig. 1",
        tuple(c for m in ("NBI", "PBI", "aPBI") for c in _ranks("figure1", m, ["RBI"], EARLY)),
    ),
    Claim(
        "aaPBI is better than RBI, too, once its active trials are over",
        "Fig. 1",
        _ranks("figure1", "aaPBI", ["RBI"], (5, 10)),
    ),
    Claim(
        "a learned distance is better than a fixed one: PBI beats NBI",
        "Fig. 1",
        _ranks("figure1", "PBI", ["NBI"], EARLY),
    ),
    Claim(
        "aPBI is the best of the five starts",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["RBI", "NBI", "PBI", "aaPBI"], (3, 5, 10)),
    ),
    Claim(
        "aaPBI is bad in its first three trials, the active ones",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["aaPBI"], (1, 2, 3)),
    ),
    Claim(
        "after ten trials, aaPBI has surpassed PBI",
        "Fig. 1",
        _ranks("figure1", "aaPBI", ["PBI"], (10,)),
    ),
    Claim(
        "after ten trials, aaPBI is not as good as aPBI",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["aaPBI"], (10,)),
    ),
    Claim(
        "in the long term, aPBI is strictly better than PBI with GP and RF",
        "Fig. 2",
        tuple(c for s in ("GP", "RF") for c in _ranks(f"figure2 {s}", "aPBI", ["PBI"], (20, 40, 70))),
    ),
    Claim(
        "with GP, aPBI is better than any other start",
        "Fig. 2",
        _ranks("figure2 GP", "aPBI", ["RBI", "NBI", "PBI", "aaPBI"], (20, 40, 70)),
    ),
    Claim(
        "with GP, aaPBI is mediocre: no better than PBI and aPBI",
        "Fig. 2",
        _all("figure2 GP", "aaPBI", ["PBI", "aPBI"], (20, 40, 70), kind=NO_BETTER, measure=RANK),
    ),
    Claim(
        "with RF, aaPBI is good in the end",
        "Fig. 2",
        _ranks("figure2 RF", "aaPBI", ["RBI", "NBI", "PBI"], (40, 70)),
    ),
    Claim(
        "*not in the paper:* headstart's LI, which needs no meta-features, is a better start than aPBI",
        "",
        _all("figure1", "LI, headstart", ["aPBI"], EARLY),
    ),
)


def _beat_random(figure: str) -> tuple[Compare, ...]:
    """Both starts of the third paper's Fig. 9 compared with both random ones."""
    return tuple(
        Compare(figure, first, second, (3, 10, 20))
        for first in ("3 nearest, EI", "3 nearest, prior mean, EI")
        for second in ("random, EI", "random, GP-UCB")
    )


SIAMESE = (
    Claim(
        "with few points, a roughly correct prior mean helps to find the minimum (scaled distance to the minimum of a "
        "cosine, by number of points)",
        "Fig. 1",
        _all("figure1", PIECEWISE, [ZERO], (3, 5)),
        "Its first choice is better. After that, expected improvement favours the edges of its steps, where a smooth "
        "process expects the slope to continue. Interpolated between the middles of its steps, the same prior mean "
        "helps throughout.",
    ),
    Claim(
        "with many points, the prior mean no longer helps",
        "Fig. 1",
        _all("figure1", PIECEWISE, [ZERO], (10,), kind=NO_BETTER),
    ),
    Claim(
        "*not in the paper:* a prior mean without steps helps with few points and with many",
        "Fig. 1",
        _all("figure1", CONNECTED, [ZERO], (3, 5, 10)),
    ),
    Claim(
        "a Siamese network learns which of two groups a data set is from (error rate on held-out pairs)",
        "Fig. 6",
        _all("figure6", "lstm", ["chance"], FIRST),
    ),
    Claim(
        "of two learned meta-features, those of data sets of one group lie together, and the groups apart (mean "
        "distance to the own group, relative to that to the other; the paper's text says the opposite, but its loss "
        "asks for this)",
        "Fig. 7",
        _all("figure7", "after training", ["before training"], FIRST),
    ),
    Claim(
        "the nearest data sets by learned meta-features are of the same problem, those by hand-crafted ones not always "
        "(share of other problems)",
        "Fig. 5",
        _all("figure5, other kind", "lstm", ["hand-crafted"], FIRST),
    ),
    Claim(
        "the three starts from the nearest data sets by learned meta-features are better than those by hand-crafted "
        "ones (scaled distance to the best accuracy)",
        "Fig. 5",
        _all("figure5", "lstm", ["hand-crafted"], FIRST),
    ),
    Claim(
        "the distance can be learned on images: most of a data set's three nearest are of its own source (share of "
        "other sources)",
        "Fig. 8",
        _all("figure8, other source", "metric", ["chance"], FIRST),
    ),
    Claim(
        "in a search, starts from the 3 nearest data sets beat random ones (lowest validation error)",
        "Fig. 9",
        _beat_random("figure9"),
    ),
    Claim(
        "starts from the 3 nearest data sets beat random ones if the training had data sets of the same source",
        "Fig. 9, MNIST and CIFAR-10",
        _beat_random("figure9, known source"),
    ),
    Claim(
        "starts from the 3 nearest data sets beat random ones if the training had none of the same source",
        "Fig. 9, CIFAR-100 and STL-10",
        _beat_random("figure9, unknown source"),
    ),
    Claim(
        "*not in the paper:* the learned distance is the reason: the 3 nearest beat any 3 of the past data sets",
        "Fig. 9",
        _all("figure9", "3 nearest, EI", ["3 any, EI"], (3, 10, 20)),
    ),
)

FIRST_PAPER = (
    "Wistuba, Schilling, Schmidt-Thieme: *Learning Hyperparameter Optimization Initializations*, DSAA 2015. The paper "
    "has ten repetitions, as we have, and 1,000 of No Init; in Fig. 1, ours is the exact expectation. One claim is "
    "about time, not about losses: after a trial, surrogates that transfer knowledge take O(|D|²) times as long to "
    "update as one of the current data set alone (Sec. V-F). Measured by `benchmarks/transfer_cost.py`, it holds for "
    "one process of all evaluations (an exponent of about 2). It does not hold for headstart's SCoT and MKLGP, which "
    "condense the past evaluations once, to their distinct configurations."
)
SECOND_PAPER = (
    "Wistuba, Schilling, Schmidt-Thieme: *Learning Data Set Similarities for Hyperparameter Optimization "
    "Initializations*, MetaSel workshop at ECML PKDD 2015. The paper's claims are about average ranks; the last row is "
    "about ADTM. The paper has 100 repetitions, and 1,000 wherever RBI was used; here, RBI's start has 100. aaPBI "
    "chooses its active configurations by headstart's fast search, since Algorithm 3 itself would train about 15,000 "
    "forests for a single start. The two agree only in part (`benchmarks/active_pairs.py`), so what is found about "
    "aaPBI is found about this approximation."
)
THIRD_PAPER = (
    "Kim, Kim, Choi: *Learning to Transfer Initializations for Bayesian Hyperparameter Optimization*, "
    "arXiv:1710.06219, 2017. Fig. 8 and 9 are rebuilt at a far smaller scale: here, a network of 8 weight layers is "
    "trained on 400 images of 16 × 16 for 10 epochs, on 10 subsets of each of 3 sources; in the paper, ResNet-26 on "
    "10,000 images for 20 epochs (for Fig. 9, on whole data sets for 50), on 20 subsets of each of 4 sources. The "
    "paper's Fig. 9 rests on 4 whole data sets. Here, the 3 whole ones and the 30 subsets are searched, each left out "
    "of the training, and each five times, as in the paper. Data sets of one source share images, so that they tell "
    "less than 33 independent ones would. What is said of Fig. 7 rests on 100 data sets but one trained network, and "
    "of Fig. 6 on four networks."
)

PAPERS = {
    "initializations": ("Learning Hyperparameter Optimization Initializations", INITIALIZATIONS),
    "similarities": ("Learning Data Set Similarities for Hyperparameter Optimization Initializations", SIMILARITIES),
    "siamese": ("Learning to Transfer Initializations for Bayesian Hyperparameter Optimization", SIAMESE),
}
ELSEWHERE = {  # claims that are measured elsewhere, as the remarks say, with their verdicts
    "initializations": (
        (
            "an update of surrogates that transfer knowledge takes O(|D|²) times as long: so it does in the published "
            "form, but not in ours",
            PARTLY,
        ),
    )
}
REMARKS = {"initializations": FIRST_PAPER, "similarities": SECOND_PAPER, "siamese": THIRD_PAPER}
