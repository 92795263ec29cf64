"""Data sets: meta-features, learned embeddings, and distances between data sets.

May import: `history` and below. Hands on: named numbers that describe a data set, for `features=` of a search or for
the tasks of a history. Only training or applying a network (`siamese`) needs torch.
"""
