import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from confide import Ledger
from confide.errors import BudgetExhausted, InvalidInput, Unsupported
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import SeededEntropy
from confide.lattice import Categories, Lattice
from confide.sampling import (
    KDE,
    Binned,
    Box,
    Classifier,
    FiniteMollifier,
    Gaussian,
    GaussianMixture,
    Mollifier,
    Product,
    Sample,
    reference_from_dict,
)
from confide.sampling.densities import _Shares
from confide.sampling.kernels import Kernels
from confide.sampling.mollification import TOTAL, mollify

PUBLIC = np.random.default_rng(11).normal(size=(60, 2)) * [1.0, 3.0]
REFERENCES = (
    Gaussian(dim=2, mean=[1, -1], sd=[2, 0.5]),
    Box(low=[0, -1], high=[2, 5]),
    Product([Gaussian(mean=3, sd=2), Box(low=0, high=1)]),
    Sample(PUBLIC),
)


def records(n=400, dim=2, seed=1):
    return np.random.default_rng(seed).normal(0.5, 0.2, size=(n, dim))


def flat(_records, _reference):
    return lambda x: np.zeros(len(x))


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda r: r.name)
def test_draws_of_a_reference_follow_its_density(reference):
    points = reference.sample(4000, seed=5)
    assert points.shape == (4000, 2)
    assert (points == reference.sample(4000, seed=5)).all()
    assert (points != reference.sample(4000, seed=6)).all()
    assert np.isfinite(reference.log_pdf(points)).all()
    spread = points.std(axis=0) / reference.scale
    assert np.abs(spread - 1).max() < 0.1
    # Importance weights of a wide normal around the draws average to one.
    wide = stats.multivariate_normal(points.mean(axis=0), 4 * np.cov(points.T))
    other = wide.rvs(40_000, random_state=7)
    weights = np.exp(reference.log_pdf(other) - wide.logpdf(other))
    assert abs(weights.mean() - 1) < 5 * weights.std() / 200
    text = json.dumps(reference.to_dict())
    copy = reference_from_dict(json.loads(text))
    assert (copy.sample(5, seed=1) == reference.sample(5, seed=1)).all()
    assert json.dumps(copy.to_dict()) == text


def test_references_agree_with_scipy():
    x = np.array([[0.5, -1.0], [1.0, 2.0]])
    expected = stats.norm([1, -1], [2, 0.5]).logpdf(x).sum(axis=1)
    assert REFERENCES[0].log_pdf(x) == pytest.approx(expected)
    assert REFERENCES[1].log_pdf(x) == pytest.approx([-math.log(12)] * 2)
    assert REFERENCES[2].log_pdf(x).tolist() == [-np.inf, -np.inf]
    assert REFERENCES[2].log_pdf([[0.5, 0.5]]) == pytest.approx(stats.norm(3, 2).logpdf(0.5))


@pytest.mark.parametrize(
    "reference",
    [Gaussian(mean=1, sd=2), Box(low=0, high=3), Sample(PUBLIC[:, 1]), REFERENCES[2]],
    ids=lambda r: r.name,
)
def test_cell_masses_are_those_of_the_draws(reference):
    edges = [np.array([-np.inf, 0.2, 0.7, 2.0, np.inf])] * reference.dim
    masses = reference.cell_masses(edges)
    assert masses.sum() == pytest.approx(1)
    points = reference.sample(20_000, seed=3)
    shares = np.histogramdd(points, [np.clip(line, -1e9, 1e9) for line in edges])[0] / 20_000
    assert np.abs(shares - masses).max() < 5 * 0.5 / math.sqrt(20_000)


def test_atoms_of_a_public_seed_never_change():
    # Whoever has the seed must find the same atoms with every later version.
    atoms = Gaussian(dim=2).sample(2, seed=1)
    raw = np.random.PCG64(np.random.SeedSequence(1, spawn_key=(0x61746F6D73,))).random_raw(4)
    expected = [stats.norm.ppf((int(word) // 2**12 + 0.5) / 2**52) for word in raw]
    assert atoms.ravel() == pytest.approx(expected, abs=1e-13)


def test_kernels_are_the_plain_average_of_normal_densities():
    points, x = records(50), np.array([[0.5, 0.5], [3.0, -2.0], [40.0, 0.0]])
    kernels = Kernels.of(points, np.full(2, 1e-3), bandwidth=0.4)
    covariance = 0.16 * (np.cov(points.T, bias=True) + 1e-6 * np.eye(2))
    expected = [
        np.logaddexp.reduce(stats.multivariate_normal(p, covariance).logpdf(points)) - math.log(50)
        for p in x
    ]
    assert kernels.log_pdf(x) == pytest.approx(expected, rel=1e-6)
    assert kernels.covariance == pytest.approx(covariance, rel=1e-6)


def test_the_bandwidth_has_the_largest_likelihood_without_the_point_itself():
    points = np.concatenate([records(100, 1), records(100, 1, seed=2) + 4])
    chosen = Kernels.of(points, np.zeros(1))

    def likelihood(h):
        own = [
            Kernels(chosen.center, chosen.transform * h, np.delete(chosen.points * h, i, axis=0))
            .log_pdf(points[i : i + 1])[0]
            for i in range(200)
        ]  # fmt: skip
        return np.sort(own)[4:].mean()

    best = likelihood(1.0)
    assert all(best >= likelihood(h) for h in (0.5, 1 / math.sqrt(2), math.sqrt(2), 2.0))


def test_an_outlier_and_repeated_records_leave_a_usable_estimate():
    reference = Gaussian(dim=2)
    typical = KDE()(records(), reference)(np.array([[0.5, 0.5], [-2.0, 0.0]]))
    for odd in (
        np.concatenate([records(), [[1e6, -1e6]]]),
        np.repeat(records(40), 10, axis=0),
        np.column_stack([records(dim=1)] * 2),
    ):
        found = KDE()(odd, reference)(np.array([[0.5, 0.5], [-2.0, 0.0]]))
        assert np.isfinite(found).all()
        assert found[0] - found[1] > 0.5 * (typical[0] - typical[1]) > 2
    single = KDE()(np.array([[0.3, 0.3]]), reference)(np.array([[0.3, 0.3], [0.5, 0.3]]))
    assert single[0] > single[1]


def test_binned_ratios_are_shares_over_exact_masses():
    values = records(500, 1)
    ratio = Binned(cells=8)(values, Gaussian())
    edges = np.linspace(-4, 4, 9)
    counts = np.histogram(values, edges)[0]
    masses = np.diff(stats.norm.cdf([-np.inf, *edges[1:-1], np.inf]))
    middles = ((edges[:-1] + edges[1:]) / 2)[:, None]
    with np.errstate(divide="ignore"):
        assert ratio(middles) == pytest.approx(np.log(counts / masses))
    two = Binned()(records(), Gaussian(dim=2))
    assert two(np.array([[0.5, 0.5]]))[0] > math.log(400)
    assert two(np.array([[-3.0, 3.0]]))[0] == -np.inf
    with pytest.raises(InvalidInput, match="one or two columns"):
        Binned()(records(dim=3), Gaussian(dim=3))
    with pytest.raises(Unsupported):
        Binned()(records(), Sample(PUBLIC))


@pytest.mark.parametrize("dim", [1, 5])
def test_every_ratio_finds_where_the_records_are(dim):
    linear = pytest.importorskip("sklearn.linear_model")
    ensemble = pytest.importorskip("sklearn.ensemble")
    reference, points = Gaussian(dim=dim), records(100, dim=dim)
    kinds = [KDE(), KDE(bandwidth=0.5), GaussianMixture(most=2)]
    kinds += [Classifier(linear.LogisticRegression()), Classifier(linear.RidgeClassifier())]
    kinds += [Classifier(ensemble.RandomForestClassifier(5, random_state=0))]
    if dim < 3:
        kinds.append(Binned())
    for kind in kinds:
        log_ratio = kind(points, reference)
        inside, outside = log_ratio(np.array([[0.5] * dim, [-1.5] * dim]))
        assert inside > outside
        assert len(Mollifier(reference=reference, epsilon=1.0, ratio=kind).privatize(points)) == 1


def odd_ratios():
    """What a careless or hostile estimator may return."""
    for value in (np.nan, np.inf, -np.inf, 1e308):
        yield lambda _r, _q, value=value: lambda x: np.full(len(x), value)
    yield lambda _r, _q: lambda x: np.where(x[:, 0] > 0, np.nan, -np.inf)
    yield lambda _r, _q: lambda x: np.where(x[:, 0] > 1, np.inf, -np.inf)
    yield lambda _r, _q: lambda x: x[:, 0] * 1e3
    for sign in (-1, 1):
        yield (
            lambda _r, _q, sign=sign: lambda x: np.where(np.arange(len(x)) == 3, sign * 200.0, 0.0)
        )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_no_two_data_sets_tell_atoms_apart_by_more_than_epsilon(epsilon):
    data = [
        np.zeros((1, 2)),
        np.full((300, 2), 3.0),
        records(),
        records() * 1e6,
        np.array([[1e-20, 1e20], [1e20, -1e-20]]),
    ]
    reference = Gaussian(dim=2)
    kinds = [(KDE(), own) for own in data] + [(kind, data[0]) for kind in odd_ratios()]
    kinds += [(Binned(), own) for own in data]
    rows = []
    for kind, own in kinds:
        sampler = Mollifier(reference=reference, epsilon=epsilon, ratio=kind, seed=3)
        rows.append(sampler.weigh(sampler.law_of(own).log_ratio))
    table = np.array(rows)
    assert set(table.sum(axis=1).tolist()) == {TOTAL}
    least, most = table.min(axis=0).tolist(), table.max(axis=0).tolist()
    realised = max(Fraction(b, a) for a, b in zip(least, most, strict=True))
    assert realised * 2**256 <= exp_enclosure(Fraction(epsilon), 256)[0]
    assert math.log(realised) > 0.99 * epsilon


def test_the_share_of_an_atom_is_equation_8_with_that_atom_among_the_others():
    rng = np.random.default_rng(4)
    for epsilon in (0.1, 1.0, 5.0, 12.0):
        for others in (
            rng.normal(size=300) * 2,
            np.where(rng.random(300) < 0.7, -np.inf, rng.normal(size=300)),
            np.full(300, -np.inf),
            np.full(300, np.nan),
            np.where(rng.random(300) < 0.2, np.inf, rng.normal(size=300)),
        ):
            table = _Shares.of(others, epsilon)
            scores = np.array([-np.inf, -3.0, -1.0, 0.0, 0.3, 1.0, 2.5, 8.0, np.inf, np.nan])
            expected = [
                301 * mollify(np.append(others, score), np.full(301, 1 / 301), epsilon)[-1]
                for score in scores
            ]
            assert table(scores) == pytest.approx(expected, rel=2e-4)


def test_the_law_is_a_density_that_its_samples_follow():
    sampler = Mollifier(reference=Gaussian(), epsilon=3.0)
    law = sampler.law_of(records(300, 1))
    x = np.linspace(-6, 6, 2001)
    pdf = law.pdf(x)
    assert pdf.sum() * (x[1] - x[0]) == pytest.approx(1, abs=5e-3)
    band = law.log_pdf(x) - Gaussian().log_pdf(x)
    assert np.abs(band).max() <= 1.5 + 1e-9
    points = law.sample(5000, seed=1)[:, 0]
    assert (points[:200] == law.sample(200, seed=1)[:, 0]).all()
    edges = np.array([-7, -1, 0, 0.3, 0.4, 0.5, 0.6, 0.7, 1, 7])
    counts = np.histogram(points, edges)[0]
    cdf = np.cumsum(pdf) / pdf.sum()
    masses = np.diff(np.interp(edges, x, cdf))
    # Draws of one set of atoms share them, which adds a little to the spread.
    assert np.abs(counts / 5000 - masses).max() < 6 * 0.5 / math.sqrt(5000)


def test_the_default_is_near_the_information_limit():
    # Three Gaussians of Husain et al. (2020); the limit is equation (8) on the density itself.
    rng = np.random.default_rng(1)
    means, sds = np.array([0.3, 0.5, 0.7]), np.sqrt([0.01, 0.1, 0.1])
    pick = rng.integers(3, size=2000)
    own = rng.normal(means[pick], sds[pick])
    x = np.linspace(-3, 4, 3501)
    p = stats.norm(means, sds).pdf(x[:, None]).mean(axis=1)
    q = stats.norm.pdf(x)
    step = x[1] - x[0]
    for epsilon in (1.0, 3.0):
        limit = mollify(np.log(p / q), q / q.sum(), epsilon) / step
        law = Mollifier(reference=Gaussian(), epsilon=epsilon).law_of(own)
        excess = (p * (np.log(limit) - law.log_pdf(x))).sum() * step
        assert abs(excess) < 0.01


def test_a_release_names_atoms_of_a_fresh_public_seed():
    sampler = Mollifier(reference=Gaussian(dim=2), epsilon=0.5)
    first, second = (sampler.privatize(records(), k=4) for _ in range(2))
    assert first.mechanism.seed != second.mechanism.seed
    assert first.spend.epsilon == 2.0
    assert not first.simulated
    atoms = Gaussian(dim=2).sample(sampler.size, seed=first.mechanism.seed)
    assert (first.points == atoms[first.numbers]).all()
    document = json.loads(json.dumps(first.to_dict()))
    assert document["samples"] == first.points.tolist()
    assert document["mechanism"]["seed"] == first.mechanism.seed
    with pytest.raises(InvalidInput, match="public seed"):
        _ = sampler.points


def test_draws_fit_the_weights_of_the_atoms():
    sampler = Mollifier(reference=Gaussian(), epsilon=2.0, atoms=40, seed=5)
    own = records(200, 1)
    weights = sampler.weigh(sampler.law_of(own).log_ratio)
    drawn = sampler.simulate(own, 20_000, seed=9)
    assert drawn.simulated
    assert drawn.numbers.tolist() == sampler.simulate(own, 20_000, seed=9).numbers.tolist()
    counts = np.bincount(drawn.numbers, minlength=40)
    assert stats.chisquare(counts, weights / TOTAL * 20_000).pvalue > 1e-3
    free = Mollifier(reference=Gaussian(), epsilon=2.0)
    assert (free.simulate(own, 5, seed=1).points == free.simulate(own, 5, seed=1).points).all()


def test_the_number_of_atoms_is_a_public_rule():
    sizes = [Mollifier(reference=Gaussian(), epsilon=e).size for e in (0.1, 4.6, 5.0, 10.0)]
    assert sizes == [2000, 2000, 2969, 20_000]
    assert Mollifier(reference=Gaussian(), epsilon=1.0, atoms=77).size == 77


def test_a_ledger_pays_for_all_samples_once(tmp_path):
    ledger = Ledger(tmp_path / "own.ledger", epsilon=1.0)
    sampler = Mollifier(reference=Gaussian(dim=2), epsilon=0.1, ratio=flat)
    samples = sampler.privatize(records(), k=3, ledger=ledger, key="a")
    again = sampler.privatize(records()[::-1], k=3, ledger=ledger, key="a")
    assert (samples.points == again.points).all()
    assert ledger.spent.epsilon == 0.3
    with pytest.raises(BudgetExhausted):
        sampler.privatize(records(), k=8, ledger=ledger, key="b")
    assert ledger.spent.epsilon == 0.3
    (entry,) = ledger.entries()
    assert entry.release["samples"] == samples.points.tolist()


BOX = Mollifier(reference=Box(low=[0, 0], high=[1, 1]), epsilon=0.5, ratio=flat)


@pytest.mark.parametrize(
    ("sampler", "own", "words"),
    [
        (BOX, [[0.5, 0.5], [0.5, 1.5]], "some outside"),
        (BOX, [[0.5], [0.5]], "records of 2 columns"),
        (BOX, [0.5, 0.5], "records of 2 columns"),
        (BOX, [[0.5, float("nan")]], "finite numbers"),
        (BOX, np.empty((0, 2)), "at least one number"),
        (BOX, [["a", "b"]], "numbers in records"),
        (Mollifier(reference=Gaussian(dim=2), epsilon=0.5), [[1.0, 1e200]], "within"),
        (
            Mollifier(
                reference=Gaussian(), epsilon=0.5, ratio=lambda _r, _q: lambda x: np.zeros((9, 9))
            ),
            [0.5],
            "one log ratio for each point",
        ),
    ],
)
def test_bad_records_release_and_charge_nothing(tmp_path, sampler, own, words):
    ledger = Ledger(tmp_path / "own.ledger", epsilon=1.0)
    with pytest.raises(InvalidInput, match=words):
        sampler.privatize(own, ledger=ledger, key="a")
    assert ledger.spent.epsilon == 0
    assert ledger.entries() == ()


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"epsilon": 1e-17},
        {"epsilon": 101},
        {"reference": "gaussian"},
        {"ratio": "kde"},
        {"atoms": 1},
        {"seed": -1},
        {"seed": 2**53},
    ],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(InvalidInput):
        Mollifier(**{"reference": Gaussian(), "epsilon": 1.0, **bad})


@pytest.mark.parametrize("k", [0, -1, 1.5, True, 2**21])
def test_a_bad_number_of_samples_is_refused(k):
    with pytest.raises(InvalidInput, match="k"):
        BOX.privatize([[0.5, 0.5]], k=k)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(dim=0),
        lambda: Gaussian(dim=2, sd=[1, 0]),
        lambda: Gaussian(dim=2, mean=[1, 2, 3]),
        lambda: Box(low=[0, 0], high=[1]),
        lambda: Box(low=1, high=0),
        lambda: Box(low=0, high=math.inf),
        lambda: Product([]),
        lambda: Product(["gaussian"]),
        lambda: Sample([[1.0, 2.0]]),
        lambda: Sample([[1.0, 2.0], [1.0, 3.0]]),
        lambda: Sample([1.0, math.nan]),
        lambda: Sample(PUBLIC, bandwidth=0),
        lambda: KDE(bandwidth=-1),
        lambda: Binned(cells=1),
        lambda: GaussianMixture(most=0),
        lambda: Classifier("trees"),
        lambda: reference_from_dict([]),
        lambda: reference_from_dict({"reference": "gauss"}),
        lambda: reference_from_dict({"reference": "box", "low": [0]}),
        lambda: reference_from_dict({"reference": "box", "low": [0], "high": [1], "sd": 1}),
        lambda: reference_from_dict({"reference": "product", "parts": {}}),
        lambda: Gaussian().sample(0, seed=1),
        lambda: Gaussian().sample(1, seed=-1),
    ],
)
def test_bad_references_and_ratios_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


def moody(table, _reference):
    """A ratio that fails at sets of points that begin on the other side of zero than the records.

    At the few points that it is tried at, it never does.
    """
    side = np.sign(table.mean())

    def log_ratio(x):
        if len(x) > 10 and side * x[0, 0] < 0:
            raise FloatingPointError
        return np.full(len(x), side) * x[:, 0]

    return log_ratio


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_records_do_not_choose_the_seed_by_a_ratio_that_fails(side):
    sampler = Mollifier(reference=Gaussian(), epsilon=1.0, ratio=moody, atoms=50)
    held = np.full(5, side)
    # Whichever seed is drawn there is a release, so that its law is that of the operating system.
    settled = [sampler.reseeded(SeededEntropy(seed)) for seed in range(20)]
    firsts = np.array([one.points[0, 0] for one in settled])
    assert (firsts > 0).any()
    assert (firsts < 0).any()
    for one, first in zip(settled, firsts, strict=True):
        weights = one.prepare(held)
        assert (len(set(weights.tolist())) > 2) == (side * first > 0)


@pytest.mark.parametrize("wrong", [lambda x: x, lambda x: 0.0, lambda x: np.zeros(len(x) + 1)])
def test_a_ratio_of_another_shape_is_refused_whatever_the_seed(wrong):
    sampler = Mollifier(reference=Gaussian(dim=2), epsilon=1.0, ratio=lambda *_: wrong)
    with pytest.raises(InvalidInput, match="one log ratio for each point"):
        sampler.privatize(records())


def test_hostile_descriptions_of_references_are_refused():
    nested = {"reference": "gaussian", "dim": 1, "mean": 0, "sd": 1}
    for _ in range(5000):
        nested = {"reference": "product", "parts": [nested]}
    with pytest.raises(InvalidInput, match="a few levels"):
        reference_from_dict(nested)
    with pytest.raises(InvalidInput, match="low as a plain array"):
        reference_from_dict({"reference": "box", "low": [[1], [2, 3]], "high": [3, 4]})
    with pytest.raises(InvalidInput, match="from 1 to 1,024"):
        Product([Gaussian(1024), Gaussian()])
    with pytest.raises(InvalidInput, match="at most 1024 columns"):
        Sample(np.zeros((2, 1025)))
    with pytest.raises(InvalidInput, match="bandwidth within"):
        Sample([0.0, 1.0], bandwidth=1e308)  # a fifth of its draws would overflow
    widest = Sample([-1e150, 1e150], bandwidth=1e150)
    assert np.isfinite(widest.sample(2000, seed=1)).all()


def test_records_that_no_mixture_fits_are_sampled_all_the_same():
    sampler = Mollifier(reference=Gaussian(dim=2), epsilon=1.0, ratio=GaussianMixture(), atoms=50)
    assert len(sampler.privatize(np.full((5, 2), 1e150))) == 1


def test_a_ratio_that_works_in_place_leaves_the_atoms_as_they_are():
    def in_place(table, _reference):
        def log_ratio(x):
            x.flags.writeable = True
            x -= table.mean(axis=0)
            return -(x**2).sum(axis=1)

        return log_ratio

    sampler = Mollifier(reference=Gaussian(dim=2), epsilon=1.0, ratio=in_place, atoms=50, seed=3)
    weights = sampler.prepare(records())
    assert (sampler.points == Gaussian(dim=2).sample(50, seed=3)).all()
    expected = sampler.weigh(lambda x: -((x - records().mean(axis=0)) ** 2).sum(axis=1))
    assert (weights == expected).all()
    assert len(set(expected.tolist())) > 2


@pytest.mark.parametrize("k", [1, 2])
def test_samples_of_named_columns_are_shown_by_name(k: int) -> None:
    columns = {"smokes": Categories(("no", "yes")), "age": Lattice(low=0, high=100, size=10)}
    samples = FiniteMollifier(columns, epsilon=1.0).simulate(
        {"smokes": ["no", "yes"], "age": [31, 44]}, k=k, seed=1
    )
    shown = samples._repr_html_()
    assert shown.count("<tr") == k + 1
    assert "smokes" in shown
    assert "age" in shown
