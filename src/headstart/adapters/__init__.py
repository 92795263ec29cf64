"""Other libraries: our search spaces, histories and starts in their terms, and theirs in ours.

May import: `library` and below; each optional library is imported by its own adapter only. Hands on: `hs.optuna` and
`hs.sklearn`, and the search spaces and initial points that the other optimisers take.

configspace   a Space as a ConfigSpace.ConfigurationSpace
optuna        a sampler, past studies as a History, a start queued in a study, a Space as distributions
sklearn       HeadstartSearchCV; defaults: an estimator set to what the library's runs support
ray, flaml, syne_tune, hyperopt, ax
              a Space as theirs; they take a start as `start.points("ray")` and so on
smac          a start as the initial design
spaces        shared by the others: grids, conditions as branches, the domains of Ray Tune
"""
