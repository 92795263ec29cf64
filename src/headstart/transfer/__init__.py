"""Knowledge about a new task from past ones: a model of each past task, weights of tasks, and a learned prior.

May import: `gp`, `datasets` and below. Hands on: `TaskModels`, from which strategies and surrogates learn, and the
formulas that they share.
"""
