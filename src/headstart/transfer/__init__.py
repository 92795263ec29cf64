"""What past tasks tell about a new one: a model of each task, weights of tasks, and a learned prior.

May import: `gp`, `datasets` and below. Hands on: `TaskModels`, from which strategies and surrogates learn, and the
formulas that they share.
"""
