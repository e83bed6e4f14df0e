"""The page that the utility study writes."""

from __future__ import annotations

from typing import Any

from evidence.utility.rates import FINEST, rule_of

LABELS = {
    "DPB as in Husain et al.": "`Bernstein` as in Husain et al. (2020)",
    "Bernstein": "`Bernstein`",
    "histogram": "`Histogram`",
    "series": "`Series`",
    "KDE + process": "`GaussianProcess`, delta = 1e-5",
    "Kolmogorov-Smirnov": "`KolmogorovSmirnov`",
}
TRUTHS = {
    "ring": "Two columns: eight normal clusters on a circle of radius 4, variance 0.5 each way, "
    "bounds -6.5 and 6.5.",
    "mix1d": "One column: a third each of N(0.3, 0.01), N(0.5, 0.1) and N(0.7, 0.1), the second "
    "number a variance, bounds -1.2 and 2.2.",
}


def page(result: dict[str, Any]) -> str:
    lines = [
        "# What a released density is worth",
        "",
        "Written by `python -m evidence utility`, which also writes "
        "`evidence/utility/results.json`.",
        "",
        f"KL divergence of the released density from the truth in nats, less is better, for "
        f"n = {result['n']:,}; mean over {result['seeds']} releases, standard deviation in "
        "brackets. *Default* is what you get without tuning: cells, terms, degree or bandwidth "
        "from n and epsilon alone, so nothing leaks. *Best* is tuned against the truth on other "
        "releases, over the grids in `evidence/utility`, which nobody with private data can do; "
        "where it is above the default, that is chance. Every density is mixed with 1 % of the "
        "uniform one, because one empty cell makes it infinite.",
        "",
    ]
    for name, about in TRUTHS.items():
        lines += [about, "", *_divergence(name, result["divergence"]), ""]
    lines += [
        "The two Bernstein rows differ in two choices. Husain et al. take the number of points "
        "times the kernel's height as the sensitivity and raise the polynomial until nothing is "
        "negative (`evidence/printed.py`); ours is the L1 sensitivity, and "
        "what is negative is cut off. `GaussianProcess` is the most accurate, at the price of a "
        "delta. Without one, take `Histogram` for two columns. For one column take `Bernstein` if "
        "the density is smooth, `Series` if it has narrow parts and epsilon is large, and "
        "`Histogram` otherwise.",
        "",
        "## Defaults elsewhere",
        "",
        f"KL on populations of other shapes, n = {result['n']:,}: default / best.",
        "",
        *_defaults(result["defaults"]),
        "",
        "## Error against n",
        "",
        "![Three panels: errors of two releases fall with the number of records]"
        "(../images/utility_rates.png)",
        "",
        "Integrated squared error with the public defaults; fitted slope of log error against "
        "log n (standard error in brackets) beside theory. A histogram of a Lipschitz density "
        "should reach n^(-2/(2+d)) and a cosine series of a density with two derivatives "
        "n^(-4/5), the rates without privacy, as long as sampling dominates, that is n epsilon^2 "
        "is much larger than the number of cells. Where the noise dominates, bias balanced against "
        "noise gives a line that is steeper and starts much higher. Shrinking coefficients makes "
        "the series fall a little faster than theory at these n.",
        "",
        "| release | columns | epsilon | what dominates | slope | theory |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for row in result["slopes"]:
        lines.append(
            f"| {row['release']} | {row['columns']} | {row['epsilon']:g} | {row['part']} | "
            f"{row['slope']:.2f} ({row['se']:.2f}) | {row['theory']:.2f} |"
        )
    lines += ["", *_synthetic(result), "", *_processes(result)]
    lines += [
        "",
        "## Clusters and empty space",
        "",
        "![Maps of clusters: raw, and released at two values of epsilon with many or few cells]"
        "(../images/utility_clusters.png)",
        "",
        "A rate is not the whole story. Noise goes to every cell, and about half of the empty ones "
        "come out above zero. With many cells most of the released mass can lie where nobody is, "
        "and clusters blur; the default number of cells keeps that small by not looking closer "
        "than n and epsilon allow.",
        "",
        "| cells | epsilon | empty before | filled by noise | released mass in them |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in result["clusters"]:
        kind = " (default)" if row["default"] else ""
        lines.append(
            f"| {row['cells']} x {row['cells']}{kind} | {row['epsilon']:g} | {row['empty']:,} | "
            f"{row['filled']:,} | {100 * row['mass']:.0f} % |"
        )
    found = "; ".join(
        f"{row['distance']:.2f} at n = {row['n']:,} ({row['cells']} cells)"
        for row in result["point"]
    )
    lines += [
        "",
        "## A point mass cannot be learned",
        "",
        "If everybody has the same value, no private release finds it, however many there are: "
        "the largest distance of the released distribution function from the true one does not go "
        f"to 0. For the default histogram at epsilon 1 it is {found}, and never below one half. "
        "Cells get narrower with n, but inside a cell the release cannot tell where people are.",
        "",
        "## Several columns",
        "",
        "Several columns go through one joint release: `Histogram` and `GaussianProcess` take up "
        "to three, `Bernstein` two. More columns need more budget, or are released separately and "
        "then hold no association.",
    ]
    return "\n".join(lines) + "\n"


def _synthetic(result: dict[str, Any]) -> list[str]:
    sizes = sorted({row["n"] for row in result["synthetic"]})
    lines = [
        "A synthetic data set of k values by the exponential mechanism (`KolmogorovSmirnov`): the "
        "largest distance of its distribution function from the population's, Beta(2, 5), epsilon "
        f"1, mean over {3 * result['seeds']} releases, with the slope of its logarithm against "
        "log n. Values lie in cells: some 3 n^(1/3) by default, and where it says so "
        f"{FINEST}, which stand for the line of the notes. The lecture notes promise n^(-1/3) at k "
        "of the order n^(2/3), and that no other order is better. Here the distance falls about "
        "like n^(-1/2), as that of the records themselves does, for every power that was tried, "
        "and the factor before the power decides.",
        "",
        "| k | " + " | ".join(f"n = {n:,}" for n in sizes) + " | slope |",
        "|---|" + "---:|" * (len(sizes) + 1),
    ]
    for rule, (slope, error) in result["synthetic_slopes"].items():
        found = {row["n"]: row for row in result["synthetic"] if rule_of(row) == rule}
        cells = " | ".join(f"{found[n]['distance']:.3f}" for n in sizes)
        lines.append(f"| {rule} | {cells} | {slope:.2f} ({error:.2f}) |")
    return lines


def _processes(result: dict[str, Any]) -> list[str]:
    rows, slopes = result["processes"], result["process_slopes"]
    lines = [
        "A kernel estimate of bandwidth .12 n^(-1/5) in the open, and with the Gaussian process "
        "that makes it private (epsilon 1, delta 1e-6): integrated squared error.",
        "",
        "| | " + " | ".join(f"n = {row['n']:,}" for row in rows) + " | slope |",
        "|---|" + "---:|" * (len(rows) + 1),
    ]
    for name, label in (("open", "in the open"), ("released", "released")):
        cells = " | ".join(f"{row[name]:.4f}" for row in rows)
        slope, error = slopes[name]
        lines.append(f"| {label} | {cells} | {slope:.2f} ({error:.2f}) |")
    return lines


def _divergence(population: str, rows: list[dict[str, Any]]) -> list[str]:
    chosen = [row for row in rows if row["population"] == population]
    epsilons = sorted({row["epsilon"] for row in chosen})
    heads = [f"{kind}, epsilon {e:g}" for e in epsilons for kind in ("default", "best")]
    lines = ["| release | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for name in dict.fromkeys(row["method"] for row in chosen):
        found = {row["epsilon"]: row for row in chosen if row["method"] == name}
        cells = [
            f"{found[e][kind]:.3f} ({found[e][kind + '_sd']:.3f})" if kind in found[e] else ""
            for e in epsilons
            for kind in ("default", "best")
        ]
        lines.append(f"| {LABELS[name]} | " + " | ".join(cells) + " |")
    return lines


def _defaults(rows: list[dict[str, Any]]) -> list[str]:
    epsilons = sorted({row["epsilon"] for row in rows})
    releases = list(dict.fromkeys(row["release"] for row in rows))
    heads = [f"`{release}`, epsilon {e:g}" for release in releases for e in epsilons]
    lines = ["| population | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for name in dict.fromkeys(row["population"] for row in rows):
        found = {(r["release"], r["epsilon"]): r for r in rows if r["population"] == name}
        cells = [
            f"{found[release, e]['default']:.3f} / {found[release, e]['best']:.3f}"
            for release in releases
            for e in epsilons
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
