"""Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), all figures
but those that explain the method (2 and 3).

| module       | figures | question                                                                                   |
| ------------ | ------- | ------------------------------------------------------------------------------------------ |
| `synthetic`  | 6, 7    | four pairs of groups, 2,000 pairs of data sets of 30 points: can a distance be learned?    |
| `problems`   | 4, 5    | three kinds of problem, 50 data sets each: does a new data set find its own kind?          |
| `searches`   | 8, 9    | residual networks on image data sets: what are starts and prior means worth in a search?   |

`experiments` runs them all, with Fig. 1 (`papers.prior_mean`, which does not need torch), and `pictures` draws the
figures. Every table has one row per number: experiment, problem, method, measure, item (a data set or repetition),
step, value.
"""

from headstart.papers.siamese.experiments import run, text

__all__ = ["run", "text"]
