"""Learned starts: the configurations to try first, as an object, as a file, and in the formats of other optimisers.

May import: `strategies` and below. Hands on: `Start` to a search or to any other optimiser, and the evidence for it:
`evidence` leaves each past task out in turn.
"""
