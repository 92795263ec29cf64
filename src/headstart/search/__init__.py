"""The search itself: a start first, then proposals of a surrogate, step by step or in one call.

May import: `starts` and below. Hands on: `Optimizer` (ask and tell) and `minimize`, on which the adapters build.
"""
