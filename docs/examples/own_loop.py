"""Your own loop

Ask for a configuration, tell its result. `explain` says what decides at the
moment.
"""

import headstart as hs

history = hs.library.load("svm")
table = history.configs("phoneme")  # configurations whose results are known
errors = history["phoneme"].losses

others = history.drop("phoneme")
opt = hs.Optimizer(
    history.space, history=others, n_init=3, candidates=table, seed=0
)
for _ in range(6):
    config = opt.ask()
    error = errors[table.index(config)]
    opt.tell(config, error)
    print(f"{error:.4f}", config)

print(f"the best of all {len(table)} is {errors.min():.4f}")
print(opt.explain())
figure = opt.plot()
