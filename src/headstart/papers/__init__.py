"""The papers' experiments, on any history: `headstart reproduce`.

runs.py             leave-one-out runs: what is tried, in which order, for each task and repetition
tables.py           from runs to lines of a figure, to CSV files and paired comparisons
initializations.py  Learning Hyperparameter Optimization Initializations (2015a), Fig. 1-6
similarities.py     Learning Data Set Similarities for Hyperparameter Optimization Initializations (2015b)
siamese.py          Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017)
checks.py           a claim held against the tables
claims.py           what the papers claim and what was found, as a page
"""
