"""What the note beside the pointer says of a factor."""

from __future__ import annotations

from mrfstudio.ui.graph_canvas.picture import GraphPicture

MOST_MESSAGES = 6


def factor_note(picture: GraphPicture, factor: int) -> list[str]:
    """A factor, what it wants, and how much its messages change, a line each."""
    graph = picture.graph
    assert graph is not None
    scope = graph.scope(factor)
    names = [graph.name(node) for node in scope]
    lines = [f"Edge {' – '.join(names)}" if len(scope) == 2 else f"Factor {', '.join(names)}"]
    lines += _strength(picture, factor, scope)
    if picture.change is None or len(picture.change) != len(picture.geometry.starts):
        return lines
    first = int((picture.geometry.owners < factor).sum())
    links = list(range(first, first + len(scope)))
    if picture.hovered_link in links and len(scope) > 2:
        links = [picture.hovered_link]
    for link in links[:MOST_MESSAGES]:
        text = f"change to {graph.name(int(picture.geometry.starts[link]))}: {picture.change[link]:.1e}"
        if picture.period is not None and link < len(picture.period) and picture.period[link]:
            period = int(picture.period[link])
            text += f", period {period}" if period > 0 else ", swings"
        lines.append(text)
    return lines + ([f"… {len(links) - MOST_MESSAGES} more"] if len(links) > MOST_MESSAGES else [])


def _strength(picture: GraphPicture, factor: int, scope: tuple[int, ...]) -> list[str]:
    graph = picture.graph
    assert graph is not None
    if len(graph.strength) != graph.factors:
        return []
    strength, sign = float(graph.strength[factor]), int(graph.sign[factor])
    states = [int(graph.states[node]) for node in scope]
    if states == [2, 2]:
        return [f"coupling {sign * strength:.3g}"]
    wants = {1: ", favours equal states", -1: ", favours different states", 0: ""}[sign]
    return [f"{' × '.join(map(str, states))} states", f"strength {strength:.3g}{wants}"]
