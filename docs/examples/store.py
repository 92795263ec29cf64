"""A store that fills itself

The store need not exist yet: the same script serves the first search and the
ninth. Every finished trial is added to it.
"""

from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

import headstart as hs

space = {
    "max_depth": hs.Int(1, 12),
    "min_samples_leaf": hs.Int(1, 50, log=True),
    "ccp_alpha": hs.Float(1e-5, 0.1, log=True),
}
data = {"cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
options = {"store": "trees.db", "n_trials": 8, "n_init": 4, "random_state": 0}
for task, load in data.items():
    model = DecisionTreeClassifier(random_state=0)
    search = hs.sklearn.HeadstartSearchCV(model, space, task=task, **options)
    search.fit(*load(return_X_y=True))
    origin, score = search.cv_results_["origin"][0], search.best_score_
    print(f"{task}: begins with a {origin} trial, reaches {score:.2f}")

history = hs.Store("trees.db").history()
print(history)
figure = history.plot()
