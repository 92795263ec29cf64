"""Surrogates: what a configuration that was not tried would give."""
