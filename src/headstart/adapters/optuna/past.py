"""The past of a sampler: past studies, of which those that share the objective's parameters count, and other runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna import Study

from headstart._support.log import log
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.gathering import Gathered, Usable, gather
from headstart.adapters.optuna.reading import history_of
from headstart.adapters.optuna.storages import PastStudy, describe, opened, place
from headstart.adapters.optuna.store import check_store, is_blank
from headstart.errors import ArgumentError, EmptyHistoryError, HistoryError
from headstart.history import History
from headstart.history.past import past_runs, sorted_out, together
from headstart.space import Parameter
from headstart.space.unions import related


@dataclass(frozen=True)
class Past:
    """What a sampler was given as past runs, checked when the sampler is made.

    storages: storages and studies, read when a study begins, since others may still be running. runs: everything else.
    """

    storages: list[Any]
    runs: History | None
    studies: str | Sequence[str] | None
    rename: Mapping[str, str] | None
    skip_damaged: bool = False

    @classmethod
    def of(
        cls,
        past: Any,
        studies: str | Sequence[str] | None,
        rename: Mapping[str, str] | None,
        skip_damaged: bool = False,
    ) -> Past:
        parts = sorted_out(past)
        storages = [*parts.storages, *(store.where for store in parts.stores)]
        if studies is not None and not storages:
            raise ArgumentError(
                f"past is a {type(past).__name__}, which has no studies to choose from", "leave out {studies}"
            )
        runs = past_runs(parts.others, rename=rename) if parts.others else None
        found = cls(storages, runs, studies, None if parts.others and not storages else rename, skip_damaged)
        found._check()
        return found

    def _check(self) -> None:
        """Errors that would otherwise occur in the first trial."""
        there = self._there()
        if self.storages and isinstance(there, list) and not there:
            for one in self.storages:
                check_store(os.fspath(one))
            log.info("%s does not exist yet or is empty: the first study has no past", describe(self.storages[0]))
            return
        if self.rename and self.storages:
            gather(there, self.studies, rename=self.rename, damage=self._damage(there))
        elif self.storages:
            try:
                with opened(there, self.studies, self._damage(there)) as found:
                    if all(len(study.directions) > 1 for study in found):
                        first = found[0]
                        raise HistoryError(
                            f"all past studies have several objectives: {first.name!r} has {len(first.directions)}"
                        )
            except EmptyHistoryError:
                if self.studies is not None:
                    raise

    def _there(self) -> Any:
        """The storages that are not blank; a single one by itself, for messages."""
        there = [one for one in self.storages if not (isinstance(one, (str, os.PathLike)) and is_blank(os.fspath(one)))]
        return there[0] if len(there) == 1 else there

    def _damage(self, there: Any) -> Damage:
        return Damage(describe(there), self.skip_damaged)

    def for_study(self, study: Study) -> Candidates:
        """The past of one study. The study itself is no part of it."""
        here = place(study._storage)

        def is_itself(other: PastStudy) -> bool:
            return other.name == study.study_name and other.place == here

        attributes = study._storage.get_study_user_attrs(study._study_id)
        return Candidates(self._gathered(is_itself), self.runs, attributes)

    def for_nobody(self) -> Candidates:
        """The past of a study that does not exist yet."""
        return Candidates(self._gathered(lambda study: False), self.runs, {})

    def _gathered(self, leave_out: Callable[[PastStudy], bool]) -> Gathered | None:
        there = self._there()
        if isinstance(there, list) and not there:
            return None
        try:
            damage = self._damage(there)
            with damage.anywhere():
                found = gather(there, self.studies, rename=self.rename, damage=damage, leave_out=leave_out)
        except EmptyHistoryError as error:
            log.warning("searching without past runs: %s", error)
            return None
        if not found.usable:
            reasons = "; ".join(found.skipped.lines())
            log.warning(
                "searching without past runs: %s holds no study with a complete trial%s",
                found.where,
                f": {reasons}" if reasons else "",
            )
            return None
        return found


@dataclass
class Candidates:
    """Past runs from which those are chosen that belong to an objective. attributes: the new study's."""

    found: Gathered | None
    runs: History | None
    attributes: Mapping[str, Any]
    _selected: dict[tuple[tuple[str, Parameter], ...], list[Usable]] = field(default_factory=dict)
    _made: dict[tuple[int, ...], History | None] = field(default_factory=dict)

    def chosen(self, parameters: Mapping[str, Parameter]) -> History | None:
        """The history for an objective with these parameters.

        While none are known, it is made of all studies if they belong together, and otherwise of none.
        """
        if self.found is None:
            return self.runs
        asked = tuple(parameters.items())
        if asked not in self._selected:
            self._selected[asked] = self._usable(self.found, parameters)
        usable = self._selected[asked]
        key = (bool(parameters), *(id(one) for one in usable))
        if key not in self._made:  # the same studies make the same history, whatever they were chosen by
            self._made[key] = self._history(self.found, usable, parameters)
        return self._made[key]

    @property
    def any(self) -> bool:
        """Whether there are past runs at all."""
        return self.found is not None or self.runs is not None

    def _usable(self, found: Gathered, parameters: Mapping[str, Parameter]) -> list[Usable]:
        if parameters:
            return found.like(parameters, self.attributes)
        groups = found.families()
        return groups[0] if len(groups) == 1 else []

    def _history(
        self, found: Gathered, usable: Sequence[Usable], parameters: Mapping[str, Parameter]
    ) -> History | None:
        if not usable:
            if parameters:
                names = ", ".join(parameters)
                log.warning("none of the %d past studies has the objective's parameters (%s)", len(found.usable), names)
            return self.runs
        studies = history_of(found, usable)
        if self.runs is None:
            return studies
        if not related(self.runs.space, studies.space):
            log.warning("the past studies are not used: they have other parameters than the other past runs")
            return self.runs
        return together([self.runs, studies], None)
