"""The papers' claims, in the order of the papers. `why` is the reason that the page gives where a claim fails."""

from __future__ import annotations

from collections.abc import Sequence

from headstart.papers.checks import AS_GOOD, BETTER, NO_BETTER, Claim, Compare
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
        "the same for LI exactly by Algorithm 2",
        "Fig. 1",
        _all("figure1", "LI, Algorithm 2", ["RBI", "NBI"], EARLY),
        "It begins with the best configurations of random data sets, several of which coincide: in the end about eight "
        "of its ten are different, and the others are drawn at random. How much this costs was not tested.",
    ),
    Claim(
        "surrogates that transfer knowledge do not replace a start: LI is better than SCoT and MKLGP without one",
        "Fig. 1",
        _all("figure1", "LI", ["SCoT", "MKLGP"], EARLY),
        ORIGINAL,
    ),
    Claim(
        "aLI is also a better start than RBI and NBI",
        "Fig. 1",
        _all("figure1", "aLI", ["RBI", "NBI"], (3, 5, 10)),
    ),
    Claim(
        "aLI is no better than LI",
        "Fig. 1",
        _all("figure1", "aLI", ["LI"], (3, 5, 10), kind=NO_BETTER),
        "headstart's aLI chooses the power of its weights by leave-one-out, unlike the paper's. The last rows of this "
        "table show the effect of turning eq. 17 round alone.",
    ),
    Claim(
        "the first configuration of every start is better than the GP without a start after six trials",
        "Fig. 1 and 2",
        tuple(Compare("figure1", m, "No Init", FIRST, later=("figure2", 6)) for m in ("RBI", "NBI", "LI")),
        "Six random configurations are better than the first one of RBI or NBI (No Init of Fig. 1 is their exact "
        "expectation), and a GP is no worse than chance here.",
    ),
    Claim(
        "LI has the best long-term effect with GP",
        "Fig. 2",
        _all("figure2", "LI", ["No Init", "RBI", "NBI"], LATE),
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
        "On the SVM data NBI begins ahead (Fig. 1); its lead shrinks with every further trial and is gone after 50. On "
        "the authors' AdaBoost data it does not begin ahead, and one significant difference in eight may be chance.",
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
        "SCoT without a start is about as good as with RBI or NBI",
        "Fig. 4",
        _all("figure4", "No Init", ["RBI", "NBI"], LATE, kind=AS_GOOD),
        EDGES,
    ),
    Claim(
        "SCoT with LI is consistently the best",
        "Fig. 4",
        _all("figure4", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "with MKLGP, NBI is better than LI (claimed for the SVM data; for AdaBoost, the reverse)",
        "Fig. 5",
        _all("figure5", "NBI", ["LI"], LATE),
    ),
    Claim(
        "MKLGP also gains from a start by LI",
        "Fig. 5",
        _all("figure5", "LI", ["No Init", "RBI"], LATE),
        ORIGINAL,
    ),
    Claim(
        "after a start by LI, surrogates that transfer knowledge are not needed: SCoT and MKLGP are no better than GP "
        "and RF",
        "Fig. 6",
        tuple(Compare("figure6", a, b, LATE, kind=NO_BETTER) for a in ("SCoT", "MKLGP") for b in ("GP", "RF")),
        "Perhaps chance: with no true difference, one or two of the 64 comparisons in this row would still look "
        "significant in this direction.",
    ),
    Claim(
        "started by LI, RF is the best of the four surrogates",
        "Fig. 6",
        _all("figure6", "RF", ["GP", "SCoT", "MKLGP"], LATE),
    ),
    Claim(
        "*not in the paper:* the correct gradient of eq. 12 is better than the printed eq. 14",
        "both by Algorithm 2",
        _all("figure1", "LI, Algorithm 2", ["LI, printed gradient"], EARLY),
    ),
    Claim(
        "*not in the paper:* eq. 17 is better turned round than as printed",
        "",
        _all("figure1", "aLI, turned round", ["aLI, printed weights"], (3, 5, 10)),
    ),
    Claim(
        "*not in the paper:* with eq. 17 turned round and nothing else changed, aLI is better than LI",
        "",
        _all("figure1", "aLI, turned round", ["LI"], (3, 5, 10)),
    ),
)

SIMILARITIES = (
    Claim(
        "all starts that use meta-features are better than RBI (average rank)",
        "Fig. 1",
        tuple(c for m in ("NBI", "PBI", "aPBI") for c in _ranks("figure1", m, ["RBI"], EARLY)),
    ),
    Claim(
        "a learned distance is better than a fixed one: PBI beats NBI (average rank)",
        "Fig. 1",
        _ranks("figure1", "PBI", ["NBI"], EARLY),
    ),
    Claim(
        "aPBI is the best of the five (average rank)",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["RBI", "NBI", "PBI", "aaPBI"], (3, 5, 10)),
    ),
    Claim(
        "aaPBI is bad in its first three trials, the active ones (average rank)",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["aaPBI"], (1, 2, 3)),
    ),
    Claim(
        "after ten trials, aaPBI has surpassed PBI (average rank)",
        "Fig. 1",
        _ranks("figure1", "aaPBI", ["PBI"], (10,)),
    ),
    Claim(
        "after ten trials, aaPBI is not as good as aPBI (average rank)",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["aaPBI"], (10,)),
    ),
    Claim(
        "in the long term, aPBI is strictly better than PBI with GP and RF (average rank)",
        "Fig. 2",
        tuple(c for s in ("GP", "RF") for c in _ranks(f"figure2 {s}", "aPBI", ["PBI"], (20, 40, 70))),
    ),
    Claim(
        "with GP, aPBI is better than any other start (average rank)",
        "Fig. 2",
        _ranks("figure2 GP", "aPBI", ["RBI", "NBI", "aaPBI"], (20, 40, 70)),
    ),
    Claim(
        "with RF, aaPBI is good in the end (average rank)",
        "Fig. 2",
        _ranks("figure2 RF", "aaPBI", ["RBI", "NBI", "PBI"], (40, 70)),
    ),
    Claim(
        "*not in the paper:* LI, which needs no meta-features, is a better start than aPBI",
        "",
        _all("figure1", "LI", ["aPBI"], EARLY),
    ),
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
        "with many points it no longer helps",
        "Fig. 1",
        _all("figure1", PIECEWISE, [ZERO], (10,), kind=NO_BETTER),
    ),
    Claim(
        "*not in the paper:* without steps, it helps with few points and with many",
        "Fig. 1",
        _all("figure1", CONNECTED, [ZERO], (3, 5, 10)),
    ),
    Claim(
        "a Siamese network learns which of two groups a data set is from (error rate on held-out pairs)",
        "Fig. 6",
        _all("figure6", "lstm", ["chance"], FIRST),
    ),
    Claim(
        "the nearest data sets by learned meta-features are of the same problem, those by hand-crafted ones not always "
        "(share of other problems)",
        "Fig. 5",
        _all("figure5, other kind", "lstm", ["hand-crafted"], FIRST),
    ),
    Claim(
        "so the three starts they give are better (scaled distance to the best accuracy)",
        "Fig. 5",
        _all("figure5", "lstm", ["hand-crafted"], FIRST),
    ),
    Claim(
        "in a search, starts from the 3 nearest data sets beat random ones (lowest validation error)",
        "Fig. 9",
        tuple(
            Compare("figure9", first, second, (3, 10, 20))
            for first in ("3 nearest, EI", "3 nearest, prior mean, EI")
            for second in ("random, EI", "random, GP-UCB")
        ),
    ),
    Claim(
        "*not in the paper:* the learned distance is the reason: the 3 nearest beat any 3 of the past data sets",
        "Fig. 9",
        _all("figure9", "3 nearest, EI", ["3 any, EI"], (3, 10, 20)),
    ),
)

PAPERS = {
    "initializations": ("Learning Hyperparameter Optimization Initializations", INITIALIZATIONS),
    "similarities": ("Learning Data Set Similarities for Hyperparameter Optimization Initializations", SIMILARITIES),
    "siamese": ("Learning to Transfer Initializations for Bayesian Hyperparameter Optimization", SIAMESE),
}
