"""What a notebook gets from `mrfstudio.infer`: marginals by name, the course of the run, plots and frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.graphs.drawing import STATES, GraphDrawing
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host

KEPT_BYTES = 64 << 20
"""States of a run that its history keeps, the last ones; residuals are kept of all iterations."""
MOST_ROWS = 40


class AnswerHistory:
    """The course of a run: the residual of every iteration, and the marginals of those whose states are kept."""

    def __init__(self, algorithm: Algorithm, graph: FactorGraph, evidence: Evidence) -> None:
        self._algorithm, self._graph, self._evidence = algorithm, graph, evidence
        self._states: deque[State] = deque()
        self._bytes = 0
        self.residuals: tuple[float, ...] = ()

    def add(self, state: State) -> None:
        """One more iteration is done."""
        self.residuals = (*self.residuals, self._algorithm.residual(state))
        self._states.append(state)
        self._bytes += _size(state)
        while self._bytes > KEPT_BYTES and len(self._states) > 1:
            self._bytes -= _size(self._states.popleft())

    def __len__(self) -> int:
        return len(self.residuals)

    def __repr__(self) -> str:
        return f"<AnswerHistory of {len(self)} iterations, marginals of the last {len(self._states)}>"

    @property
    def iterations(self) -> list[int]:
        """The iterations whose marginals are known."""
        return [state.iteration for state in self._states]

    def marginal(self, variable: int | str) -> np.ndarray:
        """The marginal of a variable over `iterations`, (iterations, states)."""
        number = self._graph.number_of(variable)
        if not 0 <= number < self._graph.variables:
            raise StudioError(f"There is no variable {number}: expected 0 to {self._graph.variables - 1}.")
        places = self._graph.packing.entries(np.array([number]), int(self._graph.cardinalities[number]))[:, 0]
        with torch.no_grad():
            rows = [
                self._algorithm.beliefs(self._graph, self._evidence, state)[torch.from_numpy(places)].double().cpu()
                for state in self._states
            ]
        return np.stack([to_host(row) for row in rows]) if rows else np.zeros((0, len(places)))

    def to_frame(self) -> Any:
        """A pandas frame of the residual, one row an iteration."""
        pandas = _pandas()
        index = pandas.RangeIndex(1, len(self.residuals) + 1, name="iteration")
        return pandas.DataFrame({"residual": self.residuals}, index=index)


@dataclass(frozen=True, eq=False)
class Answer:
    """What an algorithm says: a marginal for each variable in order, and how the run ended."""

    marginals: list[np.ndarray]
    log_partition: float | None
    log_partition_kind: str | None
    converged: bool
    iterations: int
    residuals: tuple[float, ...]
    notices: tuple[str, ...]
    """Sentences about what the answer is worth, such as chains that disagree."""
    state: State
    graph: FactorGraph
    history: AnswerHistory
    algorithm: str = ""

    def __getitem__(self, variable: int | str) -> np.ndarray | Mapping[str, float]:
        """The marginal of a variable: by number a vector, by name a probability for each named state."""
        number = self.graph.number_of(variable)
        if not isinstance(variable, str):
            return self.marginals[number]
        return {self.graph.state_name(number, s): float(p) for s, p in enumerate(self.marginals[number])}

    def __repr__(self) -> str:
        log_z = "" if self.log_partition is None else f", log Z {self.log_partition:.6g} ({self.log_partition_kind})"
        ended = "converged" if self.converged else "not converged"
        return f"<Answer of {self.algorithm}: {len(self.marginals)} marginals, {ended} in {self.iterations}{log_z}>"

    def to_frame(self) -> Any:
        """A pandas frame with one row for each state of each variable: variable, state, probability."""
        pandas, graph = _pandas(), self.graph
        rows = [
            (graph.name_of(v), graph.state_name(v, s), float(p))
            for v, vector in enumerate(self.marginals)
            for s, p in enumerate(vector)
        ]
        return pandas.DataFrame(rows, columns=["variable", "state", "probability"])

    def plot(self, variable: int | str | None = None) -> GraphDrawing:
        """The residual over iterations; with a variable, its marginal over iterations."""
        if variable is None:
            return GraphDrawing(
                _curves({"residual": np.array(self.residuals)}, np.arange(1, len(self.residuals) + 1), True)
            )
        number, values = self.graph.number_of(variable), self.history.marginal(variable)
        named = {f"P({self.graph.state_name(number, s)})": values[:, s] for s in range(values.shape[1])}
        return GraphDrawing(_curves(named, np.array(self.history.iterations), False))

    def _repr_html_(self) -> str:
        ending = "converged" if self.converged else "not converged"
        said = [f"<b>{escape(self.algorithm)}</b>: {ending} after {self.iterations} iterations"]
        if self.log_partition is not None:
            said.append(f"log Z = {self.log_partition:.6g} ({escape(str(self.log_partition_kind).replace('_', ' '))})")
        rows = [_bars(self.graph, v, vector) for v, vector in enumerate(self.marginals[:MOST_ROWS])]
        rest = len(self.marginals) - MOST_ROWS
        rows += [f"<tr><td colspan=2>… {rest} more variables: to_frame() lists them all</td></tr>"] if rest > 0 else []
        notes = "".join(f"<p>{escape(notice)}</p>" for notice in self.notices)
        return f"<p>{', '.join(said)}</p>{notes}<table>{''.join(rows)}</table>"


def _size(state: State) -> int:
    return sum(value.nbytes for value in vars(state).values() if isinstance(value, torch.Tensor))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise StudioError("Frames need pandas, which is not installed: pip install pandas.") from None
    return pandas


def _bars(graph: FactorGraph, variable: int, vector: np.ndarray) -> str:
    """A row of a table: a name, and a bar for each state."""
    bars = "".join(
        f'<div style="display:inline-block;height:9px;width:{120 * float(p):.0f}px;'
        f'background:{STATES[s % len(STATES)]}"></div> '
        f"<small>{escape(graph.state_name(variable, s))} {float(p):.3f}</small><br>"
        for s, p in enumerate(vector[:8])
    )
    more = f"<small>… {len(vector) - 8} more states</small>" if len(vector) > 8 else ""
    return f'<tr><td style="vertical-align:top">{escape(graph.name_of(variable))}</td><td>{bars}{more}</td></tr>'


def _curves(curves: Mapping[str, np.ndarray], across: np.ndarray, logarithmic: bool) -> str:
    """SVG of curves over iterations; values from 0 to 1, or any above 0 on a logarithmic scale."""
    width, height, left, top, bottom = 560, 240, 56, 26, 34
    values = [np.log10(np.maximum(each, 1e-16)) if logarithmic else each for each in curves.values()]
    known = np.concatenate([each[np.isfinite(each)] for each in values]) if values else np.zeros(0)
    low = np.floor(known.min()) if logarithmic and len(known) else 0.0
    high = max(np.ceil(known.max()), low + 1) if logarithmic and len(known) else 1.0
    last = float(max(across.max(initial=1), 2))

    def place(x: float, y: float) -> str:
        along = left + (width - left - 12) * (x - 1) / (last - 1)
        return f"{along:.1f} {top + (height - top - bottom) * (high - y) / (high - low):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="11">']  # fmt: skip
    ticks = sorted({low, high, np.round((low + high) / 2)}) if logarithmic else [0.0, 0.5, 1.0]
    for tick in ticks:
        y = float(place(1, tick).split()[1])
        text = f"1e{tick:.0f}" if logarithmic else f"{tick:g}"
        parts.append(f'<path d="M{left} {y}H{width - 12}" stroke="#ced4da"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end" fill="#545d68">{text}</text>')
    for number, (name, each) in enumerate(zip(curves, values, strict=True)):
        colour = STATES[number % len(STATES)]
        points = "L".join(place(float(x), float(y)) for x, y in zip(across, each, strict=True) if np.isfinite(y))
        if points:
            parts.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        if number < 6:
            parts.append(f'<text x="{left + 84 * number}" y="16" fill="{colour}">{escape(name[:12])}</text>')
    foot = f'<text x="{width - 12}" y="{height - 8}" text-anchor="end" fill="#545d68">iteration {last:.0f}</text>'
    return "".join([*parts, foot, "</svg>"])
