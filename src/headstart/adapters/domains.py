"""Search spaces in the words of Ray Tune, which FLAML and Syne Tune share: uniform, loguniform, randint, choice."""

from __future__ import annotations

from typing import Any

from headstart.space import Categorical, Int, Parameter, as_space


def domains(space: Any, words: Any, *, inclusive: bool) -> dict[str, Any]:
    """One domain per parameter, all of them side by side: these tools know no conditions.

    words: the module with the functions. inclusive: whether its integers include the upper end.
    """
    return {name: _domain(parameter, words, 0 if inclusive else 1) for name, parameter in as_space(space).items()}


def _domain(parameter: Parameter, words: Any, beyond: int) -> Any:
    if isinstance(parameter, Categorical):
        return words.choice(list(parameter.choices))
    if parameter.step is not None:  # theirs must be multiples of the step; ours start at the lower end
        return words.choice([parameter.native(v) for v in parameter.options()])
    if isinstance(parameter, Int):
        return (words.lograndint if parameter.log else words.randint)(parameter.low, parameter.high + beyond)
    return (words.loguniform if parameter.log else words.uniform)(parameter.low, parameter.high)
