"""Transfer: models of the past tasks, their weights for a new task, and a prior learned from them.

May import: `gp`, `datasets` and below. Hands on: `TaskModels`, from which strategies and surrogates learn, and the
formulas that they share.
"""
