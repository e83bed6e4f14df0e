"""The figures on the page about the papers are those of the studies that its rows name."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.ghatak.page import unpaired_error
from evidence.sampling.page import bare
from evidence.sampling.targets import mix1d, ring
from evidence.utility.rates import rule_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "papers.md").read_text()


def results(name: str) -> Any:
    return json.loads((ROOT / "evidence" / name / "results.json").read_text())


def row(start: str) -> str:
    """The row of a claim."""
    (found,) = [line for line in PAGE.splitlines() if line.startswith(f"| {start}")]
    return found


def short(values: Any, digits: int = 3, between: str = ", ") -> str:
    """Numbers as the page has them: no zero in front."""
    return between.join(re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}") for value in values)


@pytest.fixture(scope="module")
def sampling() -> dict[tuple[str, str, float], dict[str, Any]]:
    found = results("sampling")
    rows = [each for part in ("rows", "boxed", "adam", "random") for each in found[part]]
    return {(each["target"], each["method"], each["epsilon"]): each for each in rows}


def test_every_paper_with_rows_is_cited_for_what_it_gave() -> None:
    """The table on top links to each part of the page by the name that the site gives it."""
    table = PAGE.split("## What you used", 1)[1].split("\n## ", 1)[0]
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)[2:]
    plain = [
        unicodedata.normalize("NFKD", one).encode("ascii", "ignore").decode() for one in titles
    ]
    names = [re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", one).strip().lower()) for one in plain]
    assert set(re.findall(r"\]\(#([^)]*)\)", table)) == set(names)


ALL = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


@pytest.mark.parametrize(
    ("start", "target", "method", "epsilons"),
    [
        ("A_R is limited", "ring", "responded", (1.0, 2.0, 5.0)),
        ("A_R is limited", "ring", "mbde box adam", (1.0, 2.0, 5.0)),
        ("A_R is limited", "ring", "default box", (1.0, 2.0, 5.0)),
        ("A_R is limited", "mix1d", "responded", (1.0, 2.0, 5.0)),
        ("A_R is limited", "mix1d", "mbde box adam", (1.0, 2.0, 5.0)),
        ("A_R is limited", "mix1d", "default box", (1.0, 2.0, 5.0)),
        ("figures 1 and 3", "ring", "mbde", (0.1, 1.0, 2.0, 5.0, 10.0)),
        ("figures 1 and 3", "ring", "default", (0.1, 1.0, 2.0, 5.0, 10.0)),
        ("figure 4: the negative", "mix1d", "mbde", (0.1, 1.0, 2.0, 5.0, 10.0)),
        ("figure 4: the negative", "mix1d", "default", (0.1, 1.0, 2.0, 5.0, 10.0)),
        ("on the ring MBDE", "ring", "mbde box adam", ALL),
        ("on the ring MBDE", "ring", "dpb cv", ALL),
        ("randomly placed", "random1d-5", "mbde", (0.1, 0.5, 1.0, 2.0)),
        ("randomly placed", "random1d-10", "mbde", (0.1, 0.5, 1.0, 2.0)),
    ],
)
def test_divergences_of_samplers(
    start: str, target: str, method: str, epsilons: tuple[float, ...], sampling: Any
) -> None:
    assert short(sampling[target, method, e]["kl"] for e in epsilons) in row(start)


def test_other_figures_of_sampling(sampling: Any) -> None:
    plateau, beats = row("figure 4, text: on three"), row("figure 4, text: MBDE")
    for degree in (8, 16, 32, 64):
        ends = (sampling["mix1d", f"dpb cv {degree}", e]["kl"] for e in (1.0, 10.0))
        assert f"from {short(ends, between=' to ')}" in plateau
    ends = [sampling["mix1d", f"dpb cv {degree}", 10.0]["kl"] for degree in (8, 16, 32, 64)]
    own = [sampling["mix1d", "mbde", e]["kl"] for e in (5.0, 10.0)]
    assert short(ends) in beats
    assert f"MBDE {short(own[:1])} at epsilon 5, {short(own[1:])} at 10" in beats
    assert ends[1] > own[1] > ends[2]
    counts = ("random2d-1", "random2d-4", "random2d-10")
    for method in ("mbde", "dpb cv"):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 10.0):
            values = short(sampling[target, method, epsilon]["kl"] for target in counts)
            assert values in row("on random Gaussians")
    for target in ("ring", "mix1d"):
        spreads = [[sampling[target, m, e]["kl_sd"] for e in ALL] for m in ("dpb cv", "mbde")]
        ratios = ", ".join(f"{dpb / own:,.0f}" for dpb, own in zip(*spreads, strict=True))
        assert ratios in row("MBDE's standard deviation")
    assert "the factor is below 4" in row("MBDE's standard deviation")
    for target, method, epsilon in sampling:
        if target.startswith("random") and method == "mbde":
            dpb, own = (sampling[target, m, epsilon] for m in ("dpb cv", "mbde"))
            assert max(dpb["kl_sd"] / own["kl_sd"], dpb["nll_sd"] / own["nll_sd"]) < 4
    turn = row("mode coverage falls")
    assert short(sampling["mix1d", "mbde adam", e]["printed"] for e in ALL) in turn
    several = [f"random1d-{count}" for count in (1, 3, 5, 10)]
    means = [sum(sampling[t, "mbde", e]["printed"] for t in several) / 4 for e in (0.1, 0.5, 1, 2)]
    assert short(means) in turn
    late = (sum(sampling[t, "mbde", 10.0]["printed"] for t in several) / 4,)
    assert f"at .1 to 2, {short(late)} at 10" in turn
    for count in (1, 4, 10):
        own = (sampling[f"random2d-{count}", "mbde", e]["printed"] for e in (0.1, 0.5, 1, 2, 10))
        assert short(own) in turn
    assert short(sampling["ring", "mbde adam", e]["printed"] for e in ALL) == short([1.0] * 6)
    right = [sampling["ring", "mbde adam", e]["coverage"] for e in ALL]
    assert right == sorted(right)
    assert f"from {short((right[0], right[-1]), between=' to ')}" in turn
    others = [("mix1d", "mbde adam", e) for e in ALL]
    others += [(t, m, e) for t, m, e in sampling if t.startswith("random") and m == "mbde"]
    assert min(sampling[each]["coverage"] for each in others) > 0.98
    late = (sampling["ring", method, 10.0]["kl"] for method in ("mbde box adam", "responded"))
    assert f"at epsilon 10, {short(late, between=' to ')}" in row("A_R is limited")
    assert sampling["ring", "default box", 10.0]["kl"] == pytest.approx(0.042, abs=6e-4)


def test_walks_limits_and_bandwidths_of_sampling(sampling: Any) -> None:
    found = results("sampling")
    walks = row("section 5: random walk Metropolis")
    for kind, words in (("walks", "random walks MBDE has a KL of"), ("rejection", "exact draws")):
        assert f"{words} {short((one[kind] for one in found['walks']), 3, ' and ')}" in walks
    chains = [short([found["chains"][steps]], 2) for steps in ("1", "2", "5")]
    assert "{} after one step at a declared 1, {} after two, {} after five".format(*chains) in walks
    limits = row("Theorem 6: with both advantages")
    for method, digits in (("best mbde", (4, 3, 3)), ("limit", (4, 4, 3))):
        ends = zip((1.0, 5.0, 10.0), digits, strict=True)
        assert ", ".join(short([sampling["ring", method, e]["kl"]], d) for e, d in ends) in limits
    bandwidths = row("DPB's bandwidth is learned")
    for target, degree in (("mix1d", 64), ("ring", 8)):
        for epsilon in (1.0, 10.0):
            own = short([sampling[target, f"dpb cv {degree}", epsilon]["kl"]])
            assert f"{own} and ." in bandwidths


def test_bound_of_theorem_4(sampling: Any) -> None:
    facts = [one["facts"] for one in sampling.values() if "facts" in one]
    share = max(one["largest_log_ratio"] / one["bound"] for one in facts)
    assert f"{short([share])} of the bound at most in {len(facts)} runs" in row("Theorem 4: Q_T")


def test_epsilons_of_dpb_for_the_same_result() -> None:
    factors = results("sampling")["factors"]

    def found(name: str, radius: float, variance: float) -> list[float | None]:
        ring = (radius, variance)
        return [one[name] for one in factors if (one["radius"], one["variance"]) == ring]

    assert [one["epsilon"] for one in factors] == [0.25, 1.0, 2.0, 5.0] * 3
    own = row("figure 1 and text")
    assert found("dpb cv", 4.0, 0.5) == [0.1] * 4
    assert found("dpb cv", 1.5, 0.5) == [50.0, 100.0, 2000.0, None]
    assert found("dpb cv", 1.5, 0.05) == [2.0, 20.0, 200.0, 2000.0]
    assert "a DPB at 50, 100, 2,000, factors of up to 200, 100, 1,000, and at 5 one above" in own
    assert "one at 2, 20, 200, 2,000, factors of up to 8, 20, 100, 400" in own
    assert found("dpb tight", 1.5, 0.5) == [0.1, 0.1, 0.5, 10.0]
    assert found("dpb tight", 1.5, 0.05) == [0.1, 0.1, 0.1, 0.5]
    assert ".1, .1, .5, 10 at most on the first, .1, .1, .1, .5 on the second" in own
    one, two = found("mbde", 1.5, 0.5)[1:3]
    assert f"MBDE at 1 {short([one], 4)}, and" in own
    assert f"MBDE at 2 {short([two], 4)};" in own
    one, two = found("mbde", 1.5, 0.05)[::2]
    assert f"MBDE at .25 {short([one], 4)}, and" in own
    assert f"MBDE at 2 {short([two], 4)})" in own


def test_figures_of_dpgan(sampling: Any) -> None:
    found, own = results("dpgan"), row("figure 1, DPGAN")
    epsilons = (1.0, 2.0, 5.0, 10.0)
    rows = [*found["rows"], *found["wgan"]]
    known = {(one["target"], one["method"], one["epsilon"]): one for one in rows} | sampling
    for method in ("dpgan", "dpb cv", "mbde box adam"):
        assert short(known["ring", method, epsilon]["kl"] for epsilon in epsilons) in own
    for method in ("dpgan wgan", "mbde"):
        assert short(known["ring", method, epsilon]["kl"] for epsilon in (1.0, 10.0)) in own
    for epsilon, nearer in ((1.0, ["mbde box adam"]), (10.0, ["mbde box adam", "dpb cv"])):
        others = {m: known["ring", m, epsilon]["kl"] for m in ("mbde box adam", "dpb cv", "mbde")}
        wgan = known["ring", "dpgan wgan", epsilon]
        assert [m for m, kl in others.items() if kl < wgan["kl"]] == nearer
        assert wgan["modes"] == 0
    assert short(known["mix1d", "dpgan", epsilon]["kl"] for epsilon in epsilons) in own
    assert f"without it {short([bare(found, ring())])} at 10" in own
    assert f"without the kernel {short([bare(found, mix1d())])} at 10" in own


def test_figures_of_partitions() -> None:
    found = results("partition")
    error = {(e["d"], e["epsilon"], e["n"]): e["error"] for e in found["classification"]}
    least = {each["d"]: each["bayes"] for each in found["classification"]}
    late, falls = error[2, 4.0, 10**6], row("Theorems 2 and 4")
    assert f"{short([late])} at n = 1e6, {short([error[2, 4.0, 10**7]])} at 1e7" in falls
    assert f"the least possible is {short([least[2]])}" in falls
    steps = [(d, e, n) for d, e, n in error if n < 10**7]
    rises = [(d, e, n) for d, e, n in steps if error[d, e, 10 * n] >= error[d, e, n]]
    assert rises == [(2, 4.0, 10**6)]
    ends = f"{short([error[1, 1.0, 10**7]])} at n = 1e7 where the least possible is"
    assert f"{ends} {short([least[1]])}" in row("classification by the sign")
    slope = {(e["d"], e["epsilon"], e["method"]): e["slope"] for e in found["slopes"]}
    for method, start in (("ours", "Theorem 3: error"), ("paper", "(11): h")):
        one, two = (short([slope[d, 1.0, method]], 2) for d in (1, 2))
        assert f"{one} (d = 1) and {two} (d = 2)" in row(start)
    early = {e["method"]: e["error"] for e in found["regression"]
             if (e["d"], e["epsilon"], e["n"]) == (2, 1.0, 10**4)}  # fmt: skip
    assert f"is {early['paper']:.1f} at n = 1e4" in row("(11): h")
    of_noise = f"our noise it is {short([early['paper, our noise']], 2)}"
    assert f"{of_noise}, and by our estimate it is {short([early['ours']], 2)}" in row("(11): h")
    flat = f"and {short([error[2, 1.0, 10**7]])} where it is {short([least[2]])} (d = 2)"
    assert flat in row("classification by the sign")
    assert found["surveys"] == 40


def test_figures_of_farokhi() -> None:
    found = results("farokhi")
    for key, start, digits in (("LC", "figure 6:", 2), ("Adult", "figure 9:", 3)):
        rows = found[f"by_epsilon_{key}"]
        pairs = [
            short((one["kernel as in the paper"], one["line on z"]), digits, " and ")
            for one in rows
        ]
        assert ", ".join(pairs) in row(start)
        assert all(one["kernel as in the paper"] < one["line on z"] for one in rows)
    assert short(one["ours"] for one in found["loans"]) in row("figures 4 and 5: mean squared")
    kernel, line = (one["ours"] for one in found["loans"][2:])
    assert f"by {1 - kernel / line:.0%} ({short((kernel, line), 3, ' and ')})".replace(
        "%", " %"
    ) in row("figure 6:")
    five = found["by_epsilon_LC"][3]
    gain = f"by {1 - five['kernel as in the paper'] / five['line on z']:.0%} at 5"
    assert gain.replace("%", " %") in row("figure 6:")
    fits = {
        (one["data"], one["epsilon"]): one
        for one in found["real"]
        if one["method"] == "corrected line / logistic curve"
    }
    assert {one["draws"] for one in fits.values()} == {40}
    two, five = (short([fits["LC", e]["mean"]], 2) for e in (2.0, 5.0))
    assert f"over 40 draws {two} at 2 and {five} at 5" in row("figure 6:")
    one, five = (short([fits["Adult", e]["mean"]]) for e in (1.0, 5.0))
    assert f"has {one} at 1 and {five} at 5, over 40 draws" in row("figure 9:")
    assert short(one["ours"] for one in found["printed"]) in row("figures 7 and 8")
    exact = [round(one["ours"], 2) == one["printed"] for one in found["printed"]]
    assert exact == [True, False, False, True]
    assert found["by_epsilon_draws"] == 4
    for key, open_fits, digits in (("LC", found["loans"], 2), ("Adult", found["printed"], 3)):
        rows = found[f"by_epsilon_{key}"]
        ends = [
            f"from {short((rows[0][name], rows[-1][name]), digits, ' to ')}"
            for name in ("kernel as in the paper", "line on z")
        ]
        without = short((abs(one["ours"]) for one in open_fits[:2]), digits, " and ")
        for said in (*ends, f"without noise {without}"):
            assert said in row("figures 6 and 9")
    chosen, without = row("the bandwidths of the figures"), []
    for key in ("LC", "Adult"):
        both = found[f"bandwidths_{key}"]
        assert len(both["true"]) == len(both["noised"]) == 4
        assert f"prints {short([both['printed']], 2)}" in chosen
        true, noised = (
            short((min(both[at]), max(both[at])), 2, " to ") for at in ("true", "noised")
        )
        assert f"(8) gives {true}, the same at the noisy values {noised}" in chosen
        without.append(both["without_noise"])
    (loans, own_loans), (adult, own_adult) = without
    assert f"figure 4 prints {short([loans], 2)} and figure 7 {short([adult], 2)}" in chosen
    assert f"where (8) gives {short((own_loans, own_adult), 3, ' and ')}" in chosen
    fits = {
        (one["population"], one["curve"], one["n"]): one
        for one in found["simulated"]
        if one["method"] == "Cauchy, oracle (8)"
    }
    pairs = [
        short((fits[x, g, n]["mean"] for n in (1000, 10_000)), 2, " and ")
        for x in ("mixture", "chi-squared")
        for g in ("g1", "g2")
    ]
    g1, g2, chi1, chi2 = pairs
    said = f"is {g1} for g1 on the mixture, {g2} for g2, on the chi-squared values {chi1}, {chi2}"
    assert said in row("figures 1 and 2")
    assert {(n, one["draws"]) for (_, _, n), one in fits.items()} == {(1000, 5), (10_000, 2)}
    surfaces = {(one["case"], one["method"]): one["mean"] for one in found["covariates"]}
    shares = [
        surfaces[case, "KernelRegression()"] / surfaces[case, "kernel, noise ignored"]
        for case in {case for case, _ in surfaces}
    ]
    ends = short((min(shares), max(shares)), 2, " to ")
    assert f"error is {ends} times" in row("(5), (7) for several")
    errors = {
        method: [one["mean"] for one in found["simulated"] if one["method"] == method]
        for method in ("Cauchy, CV at z", "Cauchy, oracle (8)")
    }
    ratios = np.divide(*errors.values())
    assert f"{min(ratios):.1f} to {max(ratios):.1f} times" in chosen
    curves = row("figures 1 and 2: simulated")
    for method, between in (("Cauchy, oracle (8)", "for g1"), ("KernelRegression()", "on the")):
        own = [
            one["mean"]
            for one in found["simulated"]
            if (one["population"], one["curve"], one["method"]) == ("mixture", "g1", method)
        ]
        assert f"{short(own, 2, ' and ')} {between}" in curves
    density = found["figure_3"]
    assert density["draws"] == 40
    assert f"it is {short([density['distance_mean']])} from" in row("figure 3: density")
    assert (
        f"is {short([density['distance_adjusted']])} from it, the one that is not adjusted "
        f"{short([density['distance_not_adjusted']])}" in row("figure 3: density")
    )


def test_figures_of_ghatak() -> None:
    found = results("ghatak")
    assert {one["seeds"] for one in found["optima"]} == {40}
    cells, sums = (
        [one for one in found["optima"] if one["z"] == z] for z in ("64 cells", "sums at 100 z")
    )

    def best(criterion: str, each: Any = cells) -> str:
        return short((one[criterion]["shape"][0] for one in each), 2)

    full, integral = best("full error, 36"), best("variance integral, 36")
    least = row("figure 2, as the least of the full error")
    assert f"about {full}" in least
    assert f"at 100 z {best('full error, 36', sums)})" in least
    assert f"{integral} where the full error takes {full}" in row("minimizing the variance")
    assert integral == "1.00, .82, .97, .59"
    assert "1.00, .82, .97. That of U(0, 10) does not: .59" in row("figure 2, best shapes")
    printed = row("with 11520 and the")
    assert f"about {best('variance integral, 11520')} in place" in printed
    assert f"at 100 z, {best('variance integral, 11520', sums)})" in printed
    above = [f"{100 * one['samples_above_published']:.0f}" for one in cells]
    assert f"{', '.join(above[:3])} and {above[3]} % need more" in row("scales 1.11")
    scales = [pair[1] for pair in found["checks"]["scales"].values()]
    assert scales == pytest.approx([1.158, 0.5247, 8.540, 1.3387], abs=6e-4)
    assert "1.158, .5247, 8.540, 1.3387" in row("scales 1.11")
    known = {one["population"]: one for one in found["exact"]["known"] if one["n"] == 1000}
    shapes = row("the AIMSE, with the curvature")
    for name, said in (("Exp(1)", ".7 for Exp(1) in place of .85"),
                       ("Laplace(10)", ".6 for Laplace(10) in place of .8"),
                       ("U(0,10)", ".25 for U(0, 10) in place of .3")):  # fmt: skip
        limit, exact = known[name]["shapes"]
        assert said.startswith(f"{exact:g}".lstrip("0"))
        assert said.endswith(f" {limit:g}".replace(" 0", " "))
        assert said in shapes
    assert known["N(0,1)"]["shapes"] == [0.45, 0.45]
    assert known["Exp(1)"]["errors"][0] > 10 * known["Exp(1)"]["limit"]
    errors = row("the table of errors")
    own, right = (
        " and ".join(f"{one['ratio'] - 1:.0%}".replace("%", " %") for one in each)
        for each in ([one["as_printed"] for one in found["table"]], found["table"])
    )
    assert f"{own} with 11520 as printed, {right} with 36" in errors
    assert all(one["draws"] == 3000 for one in found["table"])
    errors_of_gains = [one["as_printed"]["ratio_error"] for one in found["table"]]
    errors_of_gains += [one["ratio_error"] for one in found["table"]]
    assert round(max(errors_of_gains), 3) == 0.004
    apart = [unpaired_error(one) for one in found["table"]]
    assert f"of {apart[0]:.0%} and {apart[1]:.0%}, so".replace("%", " %") in errors
    for one, error in zip(found["table"], apart, strict=True):
        off, paired = one["printed"][3] - one["as_printed"]["ratio"], 6**0.5
        paired *= one["as_printed"]["ratio_error"]
        assert 2 * paired < off < 2 * error
        assert paired < 0.01
    flat = [f"{1e4 * mean:.2f}e-4" for mean in found["table"][1]["as_printed"]["means"][1:]]
    assert f"the pair {flat[0]} and {flat[1]}, printed 1.80e-4 and 1.62e-4" in errors
    exact = [f"{1e5 * one['sampling_error_exact']:.3g}e-5" for one in found["table"]]
    assert f"{exact[0]} and {exact[1]} on the points" in errors


def test_figures_of_private_models() -> None:
    adult = results("models")["studies"][0]["rows"]
    known = {(one["degree"], one["epsilon"], one["delta"]): one for one in adult}
    pair = (known[4, epsilon, 0] for epsilon in (1, None))
    right, without = (f"{short([one['mean']])} ({short([one['se']])})" for one in pair)
    own = row("section 6.4, Bernstein mechanism (Alda")
    assert f"is right in {right} of the records set aside, {without} without noise" in own


def test_figures_of_the_notes() -> None:
    found = results("utility")
    (series,) = (
        one["slope"]
        for one in found["slopes"]
        if (one["release"], one["part"]) == ("series", "sampling")
    )
    assert f"slope {short([series], 2)}, theory" in row("section 6.3, minimax rate")
    slopes, distances = found["synthetic_slopes"], row("section 6.1, the distance")
    for rule, digits in (("0.5 n^0.67", "(.02)"), ("0.5 n^0.67, 512 cells", "(.01)")):
        own = [one["distance"] for one in found["synthetic"] if rule_of(one) == rule]
        assert short(own) in distances
        assert f"slope {short(slopes[rule][:1], 2)} {digits}" in distances
        assert short(slopes[rule][1:], 2, "") == digits.strip("()")
    largest = {rule_of(one): one["distance"] for one in found["synthetic"] if one["n"] == 6000}
    halves = [f"0.5 n^{power}" for power in ("0.50", "0.67", "0.83")]
    optimal = row("section 6.1, k ~ n^(2/3) is optimal")
    assert short(largest[rule] for rule in halves) in optimal
    assert short((largest["2 n^0.50"], largest["0.125 n^0.83"]), 3, " and ") in optimal
    rules = ("0.5 n^0.50", "2 n^0.50", "0.5 n^0.67", "0.125 n^0.83")
    fine = [f"{rule}, 512 cells" for rule in rules]
    assert f"Slopes {short((slopes[rule][0] for rule in fine), 2)} (.01)" in optimal
    assert all(round(slopes[rule][1], 2) == 0.01 for rule in fine)
    assert f"at n = 6,000 {short(largest[rule] for rule in fine)}." in optimal
    assert f"slopes {short((slopes[rule][0] for rule in halves), 2)} (.02)" in optimal
    assert all(round(slopes[rule][1], 2) == 0.02 for rule in halves)
    for name in ("open", "released"):
        slope, error = found["process_slopes"][name]
        assert f"{short([slope], 2)} ({short([error], 2)})" in row("section 6.4, the same rate")
    one, two = (
        short([each["slope"]], 2)
        for each in found["slopes"]
        if each["release"] == "histogram" and each["part"] == "sampling"
    )
    assert f"slopes {one} (d = 1) and {two} (d = 2) at epsilon 10" in row("section 6.2, minimax")
    assert f"{found['clusters'][0]['mass']:.0%}".replace("%", " %") in row("section 6.2, empty")
    assert [each["n"] for each in found["point"]] == [10**3, 10**5, 10**7]
    assert min(each["distance"] for each in found["point"]) > 0.5
