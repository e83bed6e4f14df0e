"""The page of the sampling study."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from evidence.sampling import pictures as sampling_pictures
from evidence.sampling.targets import EPSILONS, LABELS

PREFACE = """# Private sampling

Written by `make evidence NAME=sampling`, which also writes `evidence/sampling/results.json`.

A respondent (a hospital, a phone, a branch office) holds a whole data set and releases a few
synthetic records that look like it, at a cost of epsilon each: nothing about the data set, not even
its size, changes the chances of a sample by more than a factor of e^epsilon. Husain, Balle, Cranko
and Nock (2020) keep the law of a sample within e^(+-epsilon/2) of a public reference Q0. Here many
public atoms are drawn from Q0, the respondent weighs them by the best law that the band allows
(their equation (8)), and releases the number of one, drawn in integers.

```python
import numpy as np

import confide as cf

records = np.random.default_rng(1).normal([1.0, -1.0], 0.5, size=(2000, 2))
sampler = cf.Mollifier(reference=cf.sampling.Gaussian(dim=2, sd=3.0), epsilon=2.0)

samples = sampler.privatize(records, k=3)  # three synthetic records for 3 x 2 = 6
samples.points, samples.spend

law = sampler.law_of(records)  # for the holder's eyes only
law.log_pdf([[1.0, -1.0]])
```

`confide sample records.csv --column x --reference gaussian --mean 0 --sd 1 --epsilon 1 --k 5`
does it from a file.
The reference matters more than anything else: samples are nearer to the records than Q0 by
epsilon/2 nats at most (a nat is a factor of e in the odds, 1.44 bits). Take it wide enough, from
public knowledge, never from the records. With one that is far off, as N(0, I) is below, even the
naive sampler with bounds does better. Columns of categories or few values take `FiniteMollifier`;
in more than three dimensions take `ratio=GaussianMixture()`.

"""

WORDS = """
KL(P, Q) says how far the law Q of a sample is from the law P of the records: 0 where they are the
same, and else the mean under P of log P/Q. Compared are

- the default sampler, `Mollifier` as above;
- A_R, the naive sampler: it draws one record and adds the noise of a mechanism for single values;
- MBDE, mollified boosted density estimation, the paper's algorithm: it starts from Q0 and lets one
  classifier after another tell its draws from the records, within the band;
- DPB, the paper's contender, a density by Bernstein polynomials with noise (Alda and Rubinstein
  2017), here `confide.releases.Bernstein`.
"""

ABOUT = """
Mean over {seeds} seeds, and the standard deviation where it shows. The default sampler and DPB
have {records:,} records ({training:,} on the box). MBDE has {training:,} and as many draws, the
paper's network and optimizer (Nesterov, 750 epochs, all records at a time); with the full budget
it is the same classifiers with larger steps. Q0 is a standard normal, as in the paper, unless it
says otherwise. What needs bounds (A_R, DPB, the box) is judged inside them. A_R by randomized
response takes the best of four numbers of cells and DPB the best of some degrees, which favours
them. DPB is a curator's release: its epsilon protects a single record, where the others protect
the respondent's whole data set.
"""

COVERAGE = """
P(q > t) where Q(q > t) = .95. The paper prints both inequalities the other way round, and then
Q0, which misses every mode of the ring, scores 1. Higher is not better: P itself scores .95, and
a law that is spread too widely scores 1.
"""

CHAINS = """
**Metropolis-Hastings draws.** They do not keep epsilon. Two users whose laws differ by a loss of
{target:.2f} each run a random walk for their own law: the exact loss of what they release is
{losses} steps. Chains converge, but how fast depends on the data, and no number of steps has a
certificate. `MBDE` here draws by rejection, with a fixed number of proposals that are all
evaluated; were it left open, the number that it took would tell two users apart by a loss of 10.5
at the fifth proposal.
"""

THEOREMS = """
**The theorems.** Theorem 4 holds: over all runs the log ratio of Q_T to Q0 reached {share:.3f} of
its bound. Theorem 5 needs two corrections: Hoeffding's lemma gives a factor c* that is missing in
the low boosting regime, and in the high one Gamma is right for c* = log 2 only. Equation (13) of
theorem 6 is printed as a lower bound of what boosting gains; with the advantages that a run has,
if they are the same in every round, Jensen's inequality makes it an upper bound. Theorem 7 holds
all the same, by a [proof](papers.md#theorem-7) without it. `MBDE(...).law_of(records).facts`
reports bounds that hold, beside the one printed.
"""

FACTORS = """
**The same results as DPB for an epsilon 400 times smaller.** That depends on the ring, whose size
the paper does not give, on DPB's loose sensitivity, and on shifting its density instead of
clipping it. The least epsilon of DPB, of those tried from .1 to 100, that is as near as MBDE by
Adam with the full budget:
"""

COST = """
One fit from {records:,} records in two dimensions, in the same run: the default sampler (2,000
atoms) takes {printed:.4f} of the processor time of MBDE as printed, and {adam:.3f} of MBDE by
Adam. A draw takes the same time for a single point repeated and for records like Q0: over
{draws:,} draws each, the share of pairs in which the first took longer is {auc:.4f}; .5 tells
nothing, and one standard error is {error:.4f}.
"""

FLEET = """
{respondents:,} respondents with 200 records each, all around -1 or all around 1, release one
sample each for epsilon = {epsilon:g}. `Fleet.of(samples)` from `confide.sampling.fleet` pools
them: the KL of the population's mixture from a kernel density of the pool is {samples:.3f}, where
Q0 has {reference:.3f}. The pool's law is the mean of the respondents' laws, each drawn towards Q0
in its own way, so that no correction is unbiased in general, and none is made: an endless fleet
would have {endless:.3f}. One record each under noise (`SquareWave`), and an estimate that undoes
the noise, has {undone} respondents for the same epsilon, and no such floor: it is the better way
to learn the population from many, and gives nobody a record that looks like a respondent's.
"""


FLEET_KEYS = ("respondents", "epsilon", "samples", "reference", "endless")


def prose(text: str, **named: Any) -> str:
    """One paragraph, wrapped."""
    return textwrap.fill(text.strip().replace("\n", " ").format(**named), 100)


def table(result: dict[str, Any], target: str, what: str) -> str:
    lines = ["| |" + "".join(f" {epsilon:g} |" for epsilon in EPSILONS)]
    lines.append("|---|" + "---:|" * len(EPSILONS))
    for name, label in LABELS.items():
        found = {
            row["epsilon"]: row
            for row in result["rows"]
            if (row["target"], row["method"]) == (target, name)
        }
        cells = "".join(f" {_shown(found[e], what)} |" for e in EPSILONS)
        lines.append(f"| {label} |{cells}")
    return "\n".join(lines)


def _shown(row: dict[str, Any], what: str) -> str:
    digits = 3 if what == "coverage" else 4
    spread = row[f"{what}_sd"]
    text = f"{row[what]:.{digits}f}"
    return f"{text} ({spread:.{digits}f})" if spread >= 10.0**-digits / 2 else text


def page(result: dict[str, Any]) -> str:
    """The whole page."""
    chains, costs, draws, fleet = (result[key] for key in ("chains", "costs", "draws", "fleet"))
    losses = ", ".join(f"{chains[key]:.2f} after {key}" for key in chains if key != "target")
    undone = ", ".join(f"{kl:.3f} from {int(n):,}" for n, kl in fleet["undone"].items())
    facts = [row["facts"] for row in result["rows"] if "facts" in row]
    parts = [
        PREFACE.strip(),
        "## KL(P, Q) in nats",
        WORDS.strip(),
        prose(ABOUT, **result),
        "Ring: 8 Gaussians of covariance .5 I on a circle of radius 4, by epsilon.",
        table(result, "ring", "kl"),
        "Three Gaussians on a line, 1/3 (N(.3, .01) + N(.5, .1) + N(.7, .1)), variances.",
        table(result, "mix1d", "kl"),
        "![Ring](images/sampling_ring.png)",
        "![Three Gaussians](images/sampling_mix1d.png)",
        "![NLL and mode coverage](images/sampling_metrics.png)",
        prose(
            "The negative log likelihood in the picture is KL plus the entropy of P, {ring:.3f} "
            "for the ring and {mix1d:.3f} for three Gaussians.",
            **entropies(result),
        ),
        prose(
            "Random Gaussians of variance .01 with means uniform on the unit interval or square, "
            "1,000 records, MBDE by Adam, epsilon = 1; spreads are over targets too."
        ),
        random_table(result),
        "![Random Gaussians](images/sampling_random.png)",
        "## Mode coverage",
        prose(COVERAGE),
        table(result, "ring", "coverage"),
        table(result, "mix1d", "coverage"),
        "## The paper's claims",
        prose(CHAINS, target=chains["target"], losses=losses),
        prose(THEOREMS, share=max(one["largest_log_ratio"] / one["bound"] for one in facts)),
        prose(FACTORS),
        factor_table(result),
        "## Cost",
        prose(
            COST,
            records=result["records"],
            printed=costs["default"] / costs["mbde printed"],
            adam=costs["default"] / costs["mbde adam"],
            draws=draws["draws"],
            auc=draws["auc"],
            error=draws["auc_sd"],
        ),
        "## A fleet",
        prose(
            FLEET,
            undone=undone,
            **{key: fleet[key] for key in FLEET_KEYS},
        ),
        "![A fleet](images/sampling_fleet.png)",
    ]
    return "\n\n".join(parts) + "\n"


def entropies(result: dict[str, Any]) -> dict[str, float]:
    return {
        row["target"]: row["nll"] - row["kl"] for row in result["rows"] if "limit" in row["method"]
    }


def factor_table(result: dict[str, Any]) -> str:
    lines = ["| radius | epsilon of MBDE | its KL | DPB (sup, shift) | DPB (tight, clip) |"]
    lines.append("|---:|---:|---:|---:|---:|")
    for row in result["factors"]:
        reached = " | ".join(_reached(row, name) for name in ("dpb paper", "dpb tight"))
        lines.append(f"| {row['radius']:g} | {row['epsilon']:g} | {row['mbde']:.3f} | {reached} |")
    return "\n".join(lines)


def _reached(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return f"above 100 (KL {row[name + ' least']:.3f} at best)"
    least = "at most " if row[name] == 0.1 else ""
    return f"{least}{row[name]:g}"


def random_table(result: dict[str, Any]) -> str:
    known = [row for row in result["random"] if row["epsilon"] == 1.0]
    names = [name for name in LABELS if any(row["method"] == name for row in known)]
    lines = ["| Gaussians |" + "".join(f" {LABELS[name]} |" for name in names)]
    lines.append("|---|" + "---:|" * len(names))
    for target in dict.fromkeys(row["target"] for row in known):
        found = {row["method"]: row for row in known if row["target"] == target}
        dim, count = target.removeprefix("random").split("d-")
        cells = "".join(
            f" {found[name]['kl']:.3f} ({found[name]['kl_sd']:.3f}) |" for name in names
        )
        lines.append(f"| {count} in {dim}-D |{cells}")
    return "\n".join(lines)


def write(result: dict[str, Any], docs: Path) -> None:
    """The page and its pictures."""
    (docs / "sampling.md").write_text(page(result))
    sampling_pictures.draw(result, docs / "images")
