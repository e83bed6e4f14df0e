"""The page and the pictures of evidence/ghatak."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from confide.displays import ESTIMATE
from confide.foreign.noise_laws import Laplace
from confide.gamma.designer import optimal_gamma
from confide.gamma.protection import closeness

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
CRITERIA = (
    "full error, 36",
    "variance integral, 36",
    "full error, 11520",
    "variance integral, 11520",
)
ALTS = {
    "1": "The probability of a distance above 1, given z: small in the middle, near 1 far out",
    "2": "Four panels: the smallest scale for each shape, and the pair taken, by population",
    "3": "Four panels: distribution functions of the values and as recovered, nearly equal",
}
PREFACE = """# Ghatak, Sengupta and Roy: the figures of a paper on gamma noise

Written by `make evidence NAME=ghatak`; `evidence/ghatak/results.json` has every number. The paper
is D. Ghatak, D. Sengupta and B. Roy, *Optimal Gamma density to obfuscate quantitative data with
added noise*. It measures protection by mu: the largest distance, in standard deviations, within
which no noised value gives the true one away with some certainty. For each shape of two-sided gamma
noise it takes the smallest scale with mu = .75 at certainty .9, and among these pairs the one from
which the density is recovered best. What we find:

- Its scales are those of ordinary samples of 1,000, and figure 1 is right to all digits.
- Three of its four best shapes follow from its text with the constant corrected; the one for
  U(0,10) does not. With the criterion that the text derives from, all four are smaller.
- The AIMSE that it minimizes is far from the error itself unless values are normal, a tenth of it
  for Exp(1). By the exact error the best shapes are smaller still, and bandwidths too.
- Its table repeats in part. Both pairs are better than Laplace noise: by 10 % and 3 %, or by 20 %
  and 6 % with the bandwidths of its own constant 11520, where 23 % and 14 % are printed. From 500
  draws that are not paired the difference can be chance. That of the errors cannot: those of
  sampling are two and five times larger than printed, those of U(0,10) with noise over twice.
- mu does not see small noise. Left alone, the criterion runs to shapes at which many values pass
  almost unchanged; `optimal_gamma` therefore has a floor of .8, and says what is not protected."""


def figures(
    samples: Mapping[str, np.ndarray], populations: Mapping[str, Any], published: Mapping[str, Any]
) -> None:
    """Draw figures 1, 2 and 3."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    def save(figure: Any, number: int) -> None:
        IMAGES.mkdir(parents=True, exist_ok=True)
        figure.savefig(IMAGES / f"ghatak_{number}.png", dpi=120)
        plt.close(figure)

    figure, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    z = np.linspace(-5, 5, 201)
    near = closeness(z, populations["N(0,1)"], Laplace(scale=1 / math.log(10)), within=1.0)
    ax.plot(z, 1 - near, color=ESTIMATE, label="given z")
    ax.axhline(0.1, color="grey", lw=0.8, label="on average over all z")
    ax.set(xlabel="z", ylabel="P(|value - z| > 1)")
    ax.legend(frameon=False)
    save(figure, 1)
    designs = {
        name: optimal_gamma(x, replicates=0, criterion="aimse") for name, x in samples.items()
    }
    for number in (2, 3):
        figure, grid = plt.subplots(2, 2, figsize=(8.4, 6.0), layout="constrained")
        for ax, (name, design) in zip(grid.ravel(), designs.items(), strict=True):
            if number == 2:
                design.plot(ax, color=ESTIMATE)
                ax.plot(*published[name], "x", color="#d55e00", label="published")
                ax.get_legend().remove()
            else:
                design.plot_distribution(samples[name], seed=1, ax=ax)
            ax.set_title(name)
        if number == 2:
            named = grid[0, 0].get_legend_handles_labels()
            figure.legend(*named, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
        save(figure, number)


def page(results: dict[str, Any]) -> str:
    """Everything in order."""
    pictures = {k: f"![{words}](../images/ghatak_{k}.png)" for k, words in ALTS.items()}
    parts = [PREFACE, "## Figure 1", pictures["1"], _figure_1(results["checks"])]
    parts += ["## Figure 2 and the best pairs, n = 1,000", pictures["2"], _optima(results)]
    parts += ["## The exact error", _exact(results["exact"])]
    parts += ["## Figure 3", pictures["3"]]
    parts += ["## The table of errors", _table(results["table"])]
    parts += ["## Errors in the text, and the evidence", _errata(results)]
    parts += ["## What mu does not see", _small(results["checks"])]
    if results["missed"]:
        parts.append(f"Missed: {', '.join(results['missed'])}.")
    return "\n\n".join(parts)


def _figure_1(checks: dict[str, Any]) -> str:
    return (
        "Normal values, Laplace noise of scale 1/ln 10, so that the noise exceeds 1 with "
        f"probability .1. Given z = 0 the value is that far away with probability "
        f"{checks['figure_1']:.6f} only (printed .045)."
    )


def _spread(pair: list[float], digits: int = 2) -> str:
    return f"{pair[0]:.{digits}f} ± {pair[1]:.{digits}f}"


def _optima(results: dict[str, Any]) -> str:
    rows = results["optima"]
    exact = results["checks"]["scales"]
    lines = [
        "Scale at the published shape: exact for the population, and mean ± standard deviation "
        f"over {rows[0]['seeds']} samples.\n",
        "| values | shape | published | exact | 64 cells | sums at 100 z | samples above |",
        "|---|---|---|---|---|---|---|",
    ]
    names = list(dict.fromkeys(row["population"] for row in rows))
    by = {(row["population"], row["z"]): row for row in rows}
    for name in names:
        cells, sums = by[name, "64 cells"], by[name, "sums at 100 z"]
        shape, scale = cells["published"]
        lines.append(
            f"| {name} | {shape:g} | {scale:g} | {exact[name][1]:.4f} | "
            f"{_spread(cells['scale_at_published_shape'], 3)} | "
            f"{_spread(sums['scale_at_published_shape'], 3)} | "
            f"{cells['samples_above_published']:.0%} |"
        )
    lines += [
        "\nBest shape by criterion, over shapes in steps of .05. The full error is the one of the "
        "paper's section 3 at its best bandwidth; the variance integral alone is what its section "
        "4 minimizes; 11520 is the constant it prints.\n",
        f"| values | z | published | {' | '.join(CRITERIA)} |",
        "|---|---|---|" + "---|" * len(CRITERIA),
    ]
    for name in names:
        for z in ("64 cells", "sums at 100 z"):
            row = by[name, z]
            found = " | ".join(
                f"{_spread(row[c]['shape'])}, scale {row[c]['scale'][0]:.3g}" for c in CRITERIA
            )
            lines.append(
                f"| {name} | {z} | {row['published'][0]:g}, scale {row['published'][1]:g} | "
                f"{found} |"
            )
    lines.append(
        "\nThe criterion is flat near its minimum, so that the best shape varies much between "
        "samples, and it depends on how near z comes to a value: a single z may by chance lie "
        "much nearer to one than a cell is wide, which makes small shapes look worse."
    )
    return "\n".join(lines)


def _exact(found: dict[str, Any]) -> str:
    lines = [
        "The paper's AIMSE is a limit: many values, all normal. The error itself, MISE, has an "
        "exact form for any number of values of any distribution. With f the characteristic "
        "function of the noise, s the squared modulus of that of the values, and K the transform "
        "of the kernel, MISE(b) is 1/(2 pi) times the integral over t of\n",
        "    K(tb)² (1/f(t)² - s(t))/n + (1 - K(tb))² s(t)\n",
        "(`confide.gamma.exact_error`). Here are the best shapes in steps of .05 for the "
        "populations themselves, at the scales that their quantiles need. The last "
        "three columns are the exact error: with the shape and the bandwidth that AIMSE takes, "
        "with its shape and the best bandwidth, and with the shape and bandwidth of least MISE.\n",
        "| values | n | shape, AIMSE | shape, MISE | least AIMSE | AIMSE's choice | its shape | "
        "least MISE |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found["known"]:
        shapes = " | ".join(f"{shape:g}" for shape in row["shapes"])
        errors = " | ".join(f"{error:.3g}" for error in (row["limit"], *row["errors"]))
        lines.append(f"| {row['population']} | {row['n']:,} | {shapes} | {errors} |")
    seeds = found["samples"][0]["seeds"]
    lines += [
        f"\nDesigns from {seeds} samples by `optimal_gamma`, which knows no population: by "
        'default, `criterion="mise"`, it takes the exact error for the distribution of the values, '
        "smoothed. "
        "Shapes are mean ± standard deviation. The ratio is the population's exact error with the "
        "noise and bandwidth of `aimse` over that with those of `mise`, mean ± standard error: "
        "above 1, `mise` is better. Gamma(3) and two humps, N(-2, .6²) and N(2, .6²), are not in "
        "the paper.\n",
        "| values | n | floor | shape by aimse | shape by mise | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["samples"]:
        for at, floor in enumerate(("none", ".8")):
            shapes = " | ".join(_spread(row[c]["shapes"][at]) for c in ("aimse", "mise"))
            lines.append(
                f"| {row['population']} | {row['n']:,} | {floor} | {shapes} | "
                f"{_spread(row['ratios'][at], 3)} |"
            )
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "S: no noise, L: Laplace, O: the published pair. Mean over 101 points of the squared error "
        f"of the distribution function; {rows[0]['draws']:,} paired draws of values and noise, "
        "with standard errors; bandwidths with the constant 36, and with 11520 as printed. The "
        "Laplace scales "
        f"({', '.join(format(row['laplace_scale'], '.4g') for row in rows)}) are not printed in "
        "the paper: they are as much above the exact ones as the published scales are.\n",
        "| | S | L | O | (L - S)/(O - S) |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        printed = row["printed"]
        for constant, one in (("36", row), ("11520", row["as_printed"])):
            values = " | ".join(
                f"{mean:.3e} ± {error:.1e}"
                for mean, error in zip(one["means"], one["standard_errors"], strict=True)
            )
            ratio = f"{one['ratio']:.3f} ± {one['ratio_error']:.3f}"
            lines.append(f"| {row['population']}, {constant} | {values} | {ratio} |")
        lines.append(
            f"| printed | {printed[0]:.3e} | {printed[1]:.3e} | {printed[2]:.3e} | "
            f"{printed[3]:.3f} |"
        )
    apart = " and ".join(f"{unpaired_error(row):.2f}" for row in rows)
    lines.append(
        "\nThe paper has 500 draws and does not say that they are paired. Were they not, the "
        f"ratios with 11520 would have standard errors of {apart}."
    )
    shares = " and ".join(f"{row['samples_below_printed']:.0%}" for row in rows)
    exact = " and ".join(f"{row['sampling_error_exact']:.3e}" for row in rows)
    lines.append(
        f"\nS needs no simulation: on these points its mean is {exact} (over the whole line, "
        f"1/(6000 sqrt(pi)) = {1 / (6000 * math.sqrt(math.pi)):.3e} for N(0,1) and 1/6000 for "
        f"U(0,10)). Only {shares} of samples have as small an error as is printed: it can only be "
        "that of a single one."
    )
    return "\n".join(lines)


def unpaired_error(row: dict[str, Any], draws: int = 500) -> float:
    """Standard error of (L - S)/(O - S), as printed, were S, L and O of separate draws."""
    own = row["as_printed"]
    (s, _, o), ratio = own["means"], own["ratio"]
    parts = np.multiply(own["standard_errors"], (ratio - 1, 1, ratio)) / (o - s)
    return float(np.linalg.norm(parts) * math.sqrt(row["draws"] / draws))


def _errata(results: dict[str, Any]) -> str:
    checks = results["checks"]
    gaps, heights = checks["supremum"]
    climb = ", ".join(f"{h:.4f} at {g:g}" for g, h in zip(gaps, heights, strict=True))
    smallest = ", ".join(f"{name} {s:.3f}" for name, s in checks["smallest_shapes"].items())
    _, mu, exact = checks["normal_normal"][0]
    before, after = checks["outliers"]
    return "\n".join(
        [
            "- **11520.** The kernel with transform (1 - t²)³ has the second moment 6, so that the "
            f"constant is 36. With 11520 the bandwidth for N(0,1) is {checks['bandwidths'][1]:.4f} "
            f"instead of {checks['bandwidths'][0]:.4f}, and no best shape is near a published one.",
            "- **Minimizing the variance integral.** It is the same as minimizing the whole error "
            "only where every noise has the same bandwidth; at the best bandwidth of each it "
            "favors larger shapes (the table above).",
            "- **Lemma 1.1 at shape 1.** cos(pi/2) = 0 there, and the characteristic function "
            f"falls like t to the power {checks['slopes']['1.0']:.3f}, not -1; at shape .8 to the "
            f"power {checks['slopes']['0.8']:.3f}.",
            "- **The smallest scale with mu < Q** should be mu >= Q, and mu is the largest such "
            "distance, not the smallest: protection grows with the scale.",
            "- **The supremum of M over z.** Below shape 1 the noise's density is infinite at "
            f"zero, so that it is 1 for every scale: with shape .5, M is {climb} from a value. The "
            "root equation has no solution; here z is known to 1/64 of the protected distance.",
            f"- **A smallest shape.** Below it no scale protects: {smallest} (exact .516, .208, "
            ".371, .156). The paper does not mention it.",
            "- **M tends to 0 for large z** in samples only. Laplace values of scale 10 with "
            f"Laplace noise of scale 5 have M = {checks['far']:.3f} at z = 300.",
            "- **Lemma 2.1** holds, though its proof has misprints: mu of normal values and noise "
            f"of half their spread is {exact:.4f}, and {mu:.4f} from a million values.",
            f"- **(-3, 3)** holds {checks['three_sigma']:.4f} of a normal distribution, not more "
            "than 1 - 1e-8.",
            "- **Outliers.** mu is measured in standard deviations: two values, 8 and 12, among a "
            f"thousand normal ones raise the Laplace scale from {before:.3f} to {after:.3f}.",
        ]
    )


def _small(checks: dict[str, Any]) -> str:
    lines = [
        "Normal values, n = 1,000, all with mu = .75. `near` is the probability of noise below a "
        "hundredth of a standard deviation, `matched` the exact expected share of noised values "
        "that are nearest to their own true value, one sample.\n",
        "| shape | scale | near | matched |",
        "|---|---|---|---|",
    ]
    for shape, scale, matched, near in checks["reidentification"]:
        lines.append(f"| {shape:g} | {scale:.4f} | {near:.3f} | {100 * matched:.1f} % |")
    deltas = ", ".join(f"{d:.5f} at shape {s}" for s, d in checks["deltas"].items())
    lines.append(
        "\nNor is mu differential privacy. Unless the shape is 1 there is no epsilon at all; for "
        f"values in an interval as long as the scale, epsilon = 1 goes with delta = {deltas}."
    )
    return "\n".join(lines)
