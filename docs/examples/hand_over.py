"""A start for another optimiser

A start is a list of configurations in your own units. `points` puts them into
the form of another optimiser, and the file holds no runs, so it can be shared.
"""

import headstart as hs

start = hs.learn("svm", n=3)
print(start)

start.save("start.json")
again = hs.Start.load("start.json")
print(again.points("ray")[0])
figure = again.plot()
