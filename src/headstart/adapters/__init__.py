"""Bridges to other libraries, one module each; only that module imports the library.

configspace   a Space as a ConfigSpace.ConfigurationSpace
optuna        a sampler, past studies as a History, a start queued in a study, a Space as distributions
sklearn       HeadstartSearchCV
ray, flaml, syne_tune, hyperopt, ax
              a Space as theirs; a start is `start.points("ray")` and so on
smac          a start as the initial design
"""
