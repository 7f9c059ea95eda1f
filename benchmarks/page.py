"""Writes what was measured into docs/scale.md, between its markers, and draws docs/scale.png."""

from collections.abc import Sequence
from pathlib import Path

from rows import Row, amount, duration

from llpe.report.figures import new_figure, plain_axes, plain_log_ticks, plain_number
from llpe.report.marks import fill, fill_file
from llpe.report.palette import FAINT, INK, SERIES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FIGURE, README = DOCS / "scale.md", DOCS / "scale.png", DOCS.parent / "README.md"
SHOWN = ("step", "memory", "epoch", "prepare", "product", "ends", "hundreds", "walks", "signnet", "small")  # groups


def write(rows: Sequence[Row]) -> None:
    """Puts the rows and the growth of `prepare` into the page."""
    text = fill(PAGE.read_text(), "table", table(rows))
    for each in rows:
        if points := each.get("points"):
            text = fill(text, "growth", growth_table(points))
            draw(points, FIGURE)
    PAGE.write_text(text)
    fill_file(README, "speed", summary(rows))


def summary(rows: Sequence[Row]) -> str:
    """What is done faster, or in less memory, than by a baseline: for the README."""
    lines = ["| what | at | against | ratio |", "|---|---|---|---:|"]
    shown = [each for each in rows if each["group"] in SHOWN and "limit" not in each["baseline"]]
    lines += [f"| {each['name']} | {each['at']} | {each['baseline']} | {each['ratio']:g}× |" for each in shown]
    return "\n".join(lines)


def table(rows: Sequence[Row]) -> str:
    """All rows, and when and on what they were measured."""
    days, machines = (sorted({each[key] for each in rows}) for key in ("date", "machine"))
    lines = [
        f"Measured on {' and '.join(days)}, on {'; or on '.join(machines)}.",
        "",
        "| what | at | against | ratio | target | | measured |",
        "|---|---|---|---:|---:|---|---|",
    ]
    for each in rows:
        verdict = "met" if each["met"] else "**missed**"
        cells = (each["name"], each["at"], each["baseline"], f"{each['ratio']:g}", f"{each['target']:g}", verdict)
        lines.append(f"| {' | '.join(cells)} | {each['measured']} |")
    return "\n".join(lines)


def growth_table(points: Sequence[Row]) -> str:
    lines = ["| nodes | time | peak memory beyond the graph | of which output |", "|---:|---:|---:|---:|"]
    for point in points:
        cells = duration(point["seconds"]), amount(point["bytes"]), amount(point["output"])
        lines.append(f"| {plain_number(point['n'])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(points: Sequence[Row], path: Path) -> None:
    """Time and memory against n, both logarithmic, each with a line of slope 1 through its last point."""
    nodes = [point["n"] for point in points]
    panels = {
        "time in s": [point["seconds"] for point in points],
        "peak memory in GB": [(point["graph"] + point["bytes"]) / 1e9 for point in points],
    }
    figure = new_figure(8.6, 3.9)
    for ax, (label, values) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        straight = [values[-1] * n / nodes[-1] for n in nodes]
        ax.plot(nodes, straight, color=FAINT, linestyle="--", linewidth=1.3, label="slope 1")
        ax.plot(nodes, values, color=SERIES[0], marker="o", linewidth=2.2, label="prepare")
        ax.set(xscale="log", yscale="log")
        ax.set_xlabel("nodes n", fontsize=11, color=INK)
        ax.set_ylabel(label, fontsize=11, color=INK)
        plain_axes(ax)
        ax.legend(frameon=False, fontsize=10)
    plain_log_ticks(figure, nodes[::2] if len(nodes) > 3 else nodes, y=True)
    figure.savefig(path, dpi=150)
