"""Past runs as other tools recorded them, one module per tool; none of the tools needs to be installed.

Each module has `read`, which returns `Runs`, and those that read files have a cheap `recognises(path)`. Everything that
they share happens once: `runs.evaluations` chooses the metric and its direction, leaves out what cannot be used, infers
the space and returns `Evaluations`. Nothing is unpickled, and nothing is written.
"""
