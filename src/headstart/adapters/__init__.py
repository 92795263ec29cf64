"""Bridges to other libraries, one module each; only that module imports the library.

configspace   a Space as a ConfigSpace.ConfigurationSpace
optuna        a Space as Optuna distributions
"""
