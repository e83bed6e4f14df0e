"""The page of the sampling study."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from evidence.sampling import pictures as sampling_pictures
from evidence.sampling.baselines import DPB
from evidence.sampling.claims import CHAINS
from evidence.sampling.targets import EPSILONS, LABELS, SCATTERED, Mixture, mix1d, ring

GAN_RESULTS = Path(__file__).parents[1] / "dpgan" / "results.json"

PREFACE = """# Private sampling

Written by `make evidence NAME=sampling`, which also writes `evidence/sampling/results.json`.

A respondent holds a whole data set and releases a few synthetic records that look like it. [How
to release synthetic records](../how-to/sampling.md) has the code. Husain, Balle, Cranko and Nock
(2020) keep the law of a sample within e^(+-epsilon/2) of a public reference Q0, so samples are
nearer to the records than Q0 by at most epsilon/2 nats (a nat is a factor of e in the odds, 1.44
bits). The default sampler draws many public atoms from Q0, weighs them by the best law that this
band allows (their equation (8)), and releases the number of one atom, drawn in integers.

"""

WORDS = """
KL(P, Q) says how far the law Q of a sample is from the law P of the records: 0 where they are the
same, and else the mean under P of log P/Q. Compared are

- the default sampler, `Mollifier`;
- A_R, the naive sampler: it draws one record and adds the noise of a mechanism for single values;
- MBDE, mollified boosted density estimation, the paper's algorithm: it starts from Q0 and lets one
  classifier after another tell its draws from the records, within the band;
- DPB, the paper's contender, a density by Bernstein polynomials with noise (Alda and Rubinstein
  2017), the private KDE of its figure 1. *Cross-validated* is the paper's: noise by a loose bound
  (sup), the density shifted until nothing is negative, and a kernel's bandwidth by ten-fold
  cross-validation on the records, which is not private, since nobody pays for it. *Tight, clip* is
  `confide.releases.Bernstein`;
- DPGAN, its other contender, a neural network that generates samples and is trained with noise,
  for a weaker promise: [see below](#dpgan).
"""

ABOUT = """
Mean over {seeds} seeds, half as many for MBDE as printed around the box, whose networks take long
and vary little; and the standard deviation where it shows. The default sampler and DPB have
{records:,} records (the default sampler {training:,} on the box). MBDE has {training:,} and as many
draws, the paper's network and optimizer (Nesterov, 750 epochs, all records at a time); with the
full budget it is the same classifiers with larger steps. Q0 is a standard normal, as in the paper,
unless it says otherwise. What needs bounds (A_R, DPB, the box) is judged inside them. A_R by
randomized response takes the best of four numbers of cells and DPB the best of some degrees by the
truth, which favors them. DPB is a curator's release: its epsilon protects a single record, where
the others protect the respondent's whole data set.
"""

GAN = """
`make evidence NAME=dpgan` trains it, in an environment of its own ({needs}), and writes
`evidence/dpgan/results.json`. A generator turns noise into samples, and a critic tells them from
the records (Xie et al. 2018, the paper's third contender); both have two hidden layers of 64. The
critic learns by DP-SGD (Abadi et al. 2016): in each step every record is taken with a chance of
{rate:g}, the gradient at each is clipped to a norm of {clip:g}, and Gaussian noise is added to
their sum. How much follows from the number of steps by an accountant of Renyi differential
privacy (RDP). The promise is weaker than that of all others here: it is (epsilon, delta)-privacy
with delta = {delta}, which may fail altogether with a chance of about delta, and, as DPB's, for a
single record (added or left out), not for a respondent's whole data set. Noise is in floating
point: fit for a comparison, not for a release. (The paper takes delta = .1: it may then fail for
one record in ten.)
"""

FAIR = """
DPGAN has the same {records:,} records and box as DPB, and the same seeds. Its density is known
from {draws:,} draws under the best of some kernels, and its steps are the best of {steps} for each
seed, both by the truth, which favors it; the share of a uniform law is 1 %, as for DPB. Learning
rates, batch, norm, loss and averaging were tuned a little at epsilon 5, on random Gaussians that
are not reported (`python -m evidence dpgan --tune`). The logistic loss won there by
far; the paper's model, a WGAN (the critic's weights are
bounded by .1, and its mean values compared), is the last line of each measure on the ring, with
{most:,} steps. All others know the same box here, as Q0 or as bounds: MBDE and the default sampler
from 2,000 records. Only MBDE around N(0, I), as the paper has it, knows no box. Means over {seeds}
seeds, and standard errors.
"""

FOUND = """
The generator finds {few:g} of the ring's 8 modes at epsilon 1 and {modes:g} at 10 (a quarter of a
mode's due within two deviations), and so it does without any noise, with a KL of {ring:.3f} on the
ring and {mix1d:.3f} on three Gaussians: here it is the number of steps that counts, more than the
noise. But it owes much to the kernel: its draws lie on a thin line through the ring's modes, as
the picture shows, and without a kernel, in the picture's cells, KL at epsilon 10 is {bare:.3f} on
the ring and {bare1:.3f} on three Gaussians (first seed; with the kernel {kept:.3f} and
{kept1:.3f}). The WGAN finds {wgan:g} at epsilon 10 in as many steps. The paper's
10,000 epochs, some 780,000 steps, were not run.
"""

COVERAGE = """
P(q > t) where Q(q > t) = .95. The paper prints both inequalities the other way round, and then
Q0, which misses every mode of the ring, scores 1. Higher is not better: P itself scores .95, and
a law that is spread too widely scores 1.
"""

SAME_BOX = """
**One record or the whole data set.** The naive sampler needs bounds, so it is compared on the same
box as Q0. On the ring, epsilon {epsilons}: A_R {naive}, MBDE by Adam {mbde}, the default sampler
{default}. On three Gaussians: A_R {naive1}, MBDE by Adam {mbde1}, the default sampler {default1}.
To know the whole data set is worth much, as the paper says. (By the printed optimizer, all records
at a time, the networks are far from trained on the box: see the table.)
"""

DEGREE = """
**DPB by its degree**, which the paper does not print; bandwidth by cross-validation, {seeds} seeds.
With a small degree the polynomial's own bias is all that is left from epsilon 1 on, the plateau
that the paper shows; with a larger one the noise is, and the error goes on falling.
"""

TURN = """
**Mode coverage against epsilon.** The paper sees it fall until epsilon is about 1 and then rise.
MBDE's, by Adam, as printed and the other way round, on the two targets, on random Gaussians in one
dimension (the mean over their numbers) and in two:
"""

WALKS = """
**Metropolis-Hastings** draws the paper's training samples of Q_(t-1); ours come from exact
rejection. MBDE trained on random walks ({chains} chains, every tenth step) instead has a KL of
{walks} on three Gaussians, epsilon {epsilons}, by rejection {rejection}, by Adam: it makes no
difference to the density. Nor is a release by such a chain proposed in the paper. It would not keep
epsilon: two users whose laws differ by a loss of {target:.2f} each run a random walk for their own
law, and the exact loss of what they release is {losses} steps. `MBDE` here releases by rejection,
with a fixed number of proposals that are all evaluated; were it left open, the number that it took
would tell two users apart by a loss of 10.5 at the fifth proposal.
"""

THEOREMS = """
**The theorems.** Theorem 4 holds: in {runs} runs (the first seed of each MBDE in the first two
tables, other than by Adam) the log ratio of Q_T to Q0 reached {share:.3f} of its bound. Theorem 5
needs two corrections: Hoeffding's lemma gives a factor c* that is missing in the low boosting
regime, and in the high one Gamma is right for c* = log 2 only. Equation (13) of theorem 6 is
printed as a lower bound of what boosting gains; with the advantages that a run has, if they are the
same in every round, Jensen's inequality makes it an upper bound. Theorem 7 holds all the same, by a
[proof](papers.md#theorem-7) without it. `MBDE(...).law_of(records).facts` reports bounds that hold,
beside the one printed.
"""

FACTORS = """
**The same results as DPB for an epsilon 400 times smaller.** That depends on the ring, whose size
the paper does not give, on DPB's loose sensitivity, and on shifting its density instead of
clipping it. The least epsilon of DPB, of thirteen tried from .1 to 2,000 (nine up to 100 with tight
sensitivity), that is as near as MBDE by Adam, with the paper's steps; means over {seeds} seeds,
covariance in units of I. No recipe takes an epsilon above 100: there the noise alone is that of the
larger one.
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
            for row in (*result["rows"], *result["boxed"], *result["adam"])
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


FIGURE = {
    "mbde": "MBDE as printed, Q0 = N(0, I)",
    "mbde box adam": "MBDE by Adam",
    "default box": "default sampler",
    "dpb cv": "DPB, cross-validated",
    "dpb tight": "DPB, tight",
    "dpgan": "DPGAN, best steps",
}
MEASURES = {"nll": "NLL", "kl": "KL", "coverage": "mode coverage"}


def gan_parts(result: dict[str, Any], gan: dict[str, Any]) -> list[str]:
    """DPGAN beside the others of the paper's figure 1."""
    rows = {(r["target"], r["method"], r["epsilon"]): r for r in gan["rows"]}
    return [
        prose(
            GAN,
            **gan
            | gan["settings"]
            | {
                "needs": " and ".join(gan["needs"]).replace("==", " "),
                "delta": f"{gan['delta']:g}".replace("e-0", "e-"),
            },
        ),
        prose(
            FAIR,
            **gan | {"steps": _list(f"{k:,}" for k in gan["steps"]), "most": max(gan["steps"])},
        ),
        figure_table(result, gan, "ring"),
        figure_table(result, gan, "mix1d"),
        prose(
            FOUND,
            modes=rows["ring", "dpgan", 10.0]["modes"],
            few=rows["ring", "dpgan", 1.0]["modes"],
            wgan=gan["wgan"][-1]["modes"],
            bare=bare(gan, ring()),
            bare1=bare(gan, mix1d()),
            kept=gan["pictures"]["ring"]["kl"],
            kept1=gan["pictures"]["mix1d"]["kl"],
            ring=rows["ring", "gan", None]["kl"],
            mix1d=rows["mix1d", "gan", None]["kl"],
        ),
    ]


def bare(gan: dict[str, Any], target: Mixture) -> float:
    """KL of the draws that are kept for the picture, in its cells, with the same uniform share."""
    heights = sampling_pictures.generated(gan, target).ravel()
    even = 1 / (target.boxed.volume * heights.size)
    return target.boxed.kl(lambda _: np.log(0.99 * heights + 0.01 * even))


def figure_table(result: dict[str, Any], gan: dict[str, Any], target: str) -> str:
    """All measures of all contenders, with standard errors."""
    labels = FIGURE | {f"dpgan {steps}": f"DPGAN, {steps:,} steps" for steps in gan["steps"]}
    labels |= {"dpgan wgan": "DPGAN, WGAN"} if target == gan["wgan"][0]["target"] else {}
    both = (*result["rows"], *result["boxed"], *result["adam"], *gan["rows"], *gan["wgan"])
    known = {(r["method"], r["epsilon"]): r for r in both if r["target"] == target}
    epsilons = sorted({r["epsilon"] for r in gan["rows"] if r["epsilon"]})
    lines = [f"| {target} |" + "".join(f" {epsilon:g} |" for epsilon in epsilons)]
    lines.append("|---|" + "---:|" * len(epsilons))
    for what, words in MEASURES.items():
        for name, label in labels.items():
            cells = ""
            for epsilon in epsilons:
                row = known.get((name, epsilon))
                if row is None:
                    cells += " |"
                    continue
                error = row[f"{what}_sd"] / row.get("seeds", result["seeds"]) ** 0.5
                cells += f" {row[what]:.3f} ({error:.3f}) |"
            lines.append(f"| {words}: {label} |{cells}")
    return "\n".join(lines)


RING = """
What was learned of the ring, first seed: figure 1 of the paper, with more panels. *(box)* has Q0
uniform on the square that is shown, which DPB and DPGAN know too; MBDE is by Adam there. Every
panel has a color scale of its own.
"""


def page(result: dict[str, Any], gan: dict[str, Any]) -> str:
    """The whole page."""
    chains, costs, draws, fleet = (result[key] for key in ("chains", "costs", "draws", "fleet"))
    losses = ", ".join(f"{chains[key]:.2f} after {key}" for key in chains if key != "target")
    undone = ", ".join(f"{kl:.3f} from {int(n):,}" for n, kl in fleet["undone"].items())
    facts = [row["facts"] for row in (*result["rows"], *result["boxed"]) if "facts" in row]
    share = max(one["largest_log_ratio"] / one["bound"] for one in facts)
    parts = [
        PREFACE.strip(),
        "## KL(P, Q) in nats",
        WORDS.strip(),
        prose(ABOUT, **result),
        "Ring: 8 Gaussians of covariance .5 I on a circle of radius 4, by epsilon.",
        table(result, "ring", "kl"),
        "Three Gaussians on a line, 1/3 (N(.3, .01) + N(.5, .1) + N(.7, .1)), variances.",
        table(result, "mix1d", "kl"),
        prose(RING),
        "![Twelve maps: the ring of eight Gaussians, the reference, and what each method learned]"
        "(../images/sampling_ring.png)",
        "![Curves of the three Gaussians, the reference, and what each method learned]"
        "(../images/sampling_mix1d.png)",
        "![Four panels: NLL and mode coverage of each method by epsilon]"
        "(../images/sampling_metrics.png)",
        prose(
            "The negative log likelihood in the picture is KL plus the entropy of P, {ring:.3f} "
            "for the ring and {mix1d:.3f} for three Gaussians.",
            **entropies(result),
        ),
        prose(
            "Random Gaussians of variance .01 with means uniform on the unit interval or square, "
            "1,000 records, MBDE by Adam; spreads are over targets too."
        ),
        *random_tables(result),
        "![Two panels: divergence and mode coverage by the number of Gaussians]"
        "(../images/sampling_random.png)",
        "## Mode coverage",
        prose(COVERAGE),
        table(result, "ring", "coverage"),
        table(result, "mix1d", "coverage"),
        "## DPGAN",
        *gan_parts(result, gan),
        "## The paper's claims",
        prose(SAME_BOX, **same_box(result)),
        prose(DEGREE, **result),
        degree_table(result, "ring"),
        degree_table(result, "mix1d"),
        prose(TURN),
        turn_table(result),
        prose(
            WALKS,
            chains=CHAINS,
            target=chains["target"],
            losses=losses,
            epsilons=_list(row["epsilon"] for row in result["walks"]),
            walks=_list(f"{row['walks']:.3f}" for row in result["walks"]),
            rejection=_list(f"{row['rejection']:.3f}" for row in result["walks"]),
        ),
        prose(THEOREMS, share=share, runs=len(facts)),
        prose(FACTORS, **result),
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
        "![The target, the reference, pooled samples and an estimate from noised records]"
        "(../images/sampling_fleet.png)",
    ]
    return "\n\n".join(parts) + "\n"


def entropies(result: dict[str, Any]) -> dict[str, float]:
    return {
        row["target"]: row["nll"] - row["kl"] for row in result["rows"] if "limit" in row["method"]
    }


def _list(values: Iterable[Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def same_box(result: dict[str, Any]) -> dict[str, str]:
    """KL of what knows the box, at some epsilons."""
    both = (*result["rows"], *result["boxed"], *result["adam"])
    known = {(r["target"], r["method"], r["epsilon"]): r["kl"] for r in both}
    chosen = (1.0, 2.0, 5.0)
    names = {"naive": "responded", "mbde": "mbde box adam", "default": "default box"}
    found = {"epsilons": _list(chosen)}
    for target, suffix in (("ring", ""), ("mix1d", "1")):
        for key, name in names.items():
            found[key + suffix] = _list(f"{known[target, name, e]:.3f}" for e in chosen)
    return found


def degree_table(result: dict[str, Any], target: str) -> str:
    """KL of cross-validated DPB by degree, with MBDE as printed below."""
    known = {
        (row["method"].removeprefix("dpb cv "), row["epsilon"]): row
        for row in result["boxed"]
        if row["target"] == target and row["method"].startswith("dpb cv ")
    }
    lines = [f"| {target}, degree |" + "".join(f" {epsilon:g} |" for epsilon in EPSILONS)]
    lines.append("|---|" + "---:|" * len(EPSILONS))
    for degree in dict.fromkeys(degree for degree, _ in known):
        cells = "".join(
            f" {known[degree, e]['kl']:.3f} ({known[degree, e]['kl_sd']:.3f}) |" for e in EPSILONS
        )
        lines.append(f"| {degree} |{cells}")
    own = {
        row["epsilon"]: row["kl"]
        for row in result["rows"]
        if (row["target"], row["method"]) == (target, "mbde")
    }
    lines.append("| MBDE as printed |" + "".join(f" {own[e]:.3f} |" for e in EPSILONS))
    box = {
        row["epsilon"]: row["kl"]
        for row in result["adam"]
        if (row["target"], row["method"]) == (target, "mbde box adam")
    }
    lines.append("| MBDE by Adam, Q0 the box |" + "".join(f" {box[e]:.3f} |" for e in EPSILONS))
    return "\n".join(lines)


def turn_table(result: dict[str, Any]) -> str:
    """Both mode coverages of MBDE as printed against epsilon."""
    found: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in (*result["adam"], *result["random"]):
        scattered = row["target"].startswith("random")
        if row["method"] == ("mbde" if scattered else "mbde adam"):
            name = re.sub(r"^random1d-.*", "random 1-D", row["target"])
            name = re.sub(r"^random2d-(.*)", r"\1 in 2-D", name)
            found.setdefault((name, row["epsilon"]), []).append(row)
    epsilons = sorted({epsilon for _, epsilon in found})
    lines = ["| |" + "".join(f" {epsilon:g} |" for epsilon in epsilons)]
    lines.append("|---|" + "---:|" * len(epsilons))
    for name in dict.fromkeys(name for name, _ in found):
        for what, label in (("printed", "P(q < t)"), ("coverage", "P(q > t)")):
            cells = ""
            for epsilon in epsilons:
                rows = found.get((name, epsilon), [])
                mean = sum(row[what] for row in rows) / max(len(rows), 1)
                cells += f" {mean:.3f} |" if rows else " |"
            lines.append(f"| {name}, {label} |{cells}")
    return "\n".join(lines)


def factor_table(result: dict[str, Any]) -> str:
    heads = " | ".join(LABELS[kind] for kind in DPB)
    lines = [f"| radius | covariance | epsilon of MBDE | its KL | {heads} |"]
    lines.append("|---:|---:|---:|---:|" + "---:|" * len(DPB))
    for row in result["factors"]:
        reached = " | ".join(_reached(row, name) for name in DPB)
        ring = f"{row['radius']:g} | {row['variance']:g}"
        lines.append(f"| {ring} | {row['epsilon']:g} | {row['mbde']:.3f} | {reached} |")
    return "\n".join(lines)


def _reached(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return f"above 2,000 (KL {row[name + ' least']:.3f} at best)"
    least = "at most " if row[name] == 0.1 else ""
    return f"{least}{row[name]:g}"


RANDOM = ("responded", "mbde", "default", "limit", *DPB)


def random_tables(result: dict[str, Any]) -> list[str]:
    """One table for each epsilon."""
    found = []
    for epsilon in sorted({row["epsilon"] for row in result["random"]}):
        known = [row for row in result["random"] if row["epsilon"] == epsilon]
        labels = LABELS | SCATTERED
        lines = [f"| epsilon {epsilon:g} |" + "".join(f" {labels[name]} |" for name in RANDOM)]
        lines.append("|---|" + "---:|" * len(RANDOM))
        for target in dict.fromkeys(row["target"] for row in known):
            own = {row["method"]: row for row in known if row["target"] == target}
            dim, count = target.removeprefix("random").split("d-")
            cells = "".join(
                f" {own[name]['kl']:.3f} ({own[name]['kl_sd']:.3f}) |" for name in RANDOM
            )
            lines.append(f"| {count} in {dim}-D |{cells}")
        found.append("\n".join(lines))
    return found


def write(result: dict[str, Any], docs: Path) -> None:
    """The page and its pictures."""
    gan = json.loads(GAN_RESULTS.read_text())
    (docs / "evidence" / "sampling.md").write_text(page(result, gan))
    sampling_pictures.draw(result, gan, docs / "images")
