"""Learned starts: the configurations to try first, as an object, a file, or another optimiser's input.

May import: `strategies` and below. Hands on: `Start` to a search or to any other optimiser, and the evidence for it:
`evidence` leaves out each past task in turn.
"""
