"""What past tasks say about a new one: a model of each task, weights of tasks, and a prior learned from all of them.

May import: `gp`, `datasets` and below. Hands on: `TaskModels`, from which strategies and surrogates learn, and the
formulas that they share.
"""
