"""Do past runs help?

Each task is left out in turn and started with what the others teach. Ask this
before you rely on past runs.
"""

import headstart as hs

history = hs.library.load("adaboost")
history = history.only(history.tasks[::4])  # fewer tasks, to save time
evidence = hs.evidence(history, n=5, methods=("auto", "rbi"))

print(evidence.summary)
curves = {**evidence.curves, "random": evidence.random[:, :5]}
for name, curve in curves.items():
    print(f"{name:7}", *(f"{distance:.3f}" for distance in curve.mean(axis=0)))
figure = evidence.plot()
