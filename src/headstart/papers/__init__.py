"""The papers' experiments, on any history: `headstart reproduce`.

| module               | content                                                                                     |
| -------------------- | ------------------------------------------------------------------------------------------- |
| `initializations.py` | Learning Hyperparameter Optimization Initializations (2015a), Fig. 1-6                      |
| `similarities.py`    | Learning Data Set Similarities for Hyperparameter Optimization Initializations (2015b)      |
| `siamese/`           | Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017)        |
| `prior_mean.py`      | its Fig. 1                                                                                  |
| `runs.py`            | leave-one-out runs: which configurations are tried, for each task and repetition            |
| `tables.py`          | from runs to lines of a figure, to CSV files and paired comparisons                         |
| `siamese_tables.py`  | the third paper's results as lines of figures                                               |
| `prepared.py`        | a left-out task, prepared for many runs                                                     |
| `published.py`       | the papers' claims                                                                          |
| `checks.py`          | a claim checked against the tables                                                          |
| `claims.py`          | the page of claims and verdicts                                                             |

May import: everything but `cli`. Hands on: tables, figures and the page of claims, as files.
"""
