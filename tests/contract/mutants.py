"""Broken mechanisms, releases and samplers, each with one fault, that the audits must catch.

A fault is "stated" where the mechanism's own law tells of it and only the claim is wrong, and
"hidden" where the law says one thing and the code draws another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from confide import audits
from confide.audits import Finding
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    laplace,
    laplace_parameter,
    laplace_sampler,
    laplace_table,
    laplace_weights,
)
from confide.exact.inversion import FEW, Inversion, Part, weighted
from confide.lattice import Categories, Lattice
from confide.mechanisms import Joint, Laplace, Mechanism
from confide.mechanisms.laws import Clamped, Dense
from confide.mechanisms.protocol import Reports
from confide.releases import Choice, GaussianProcess, Histogram, Query, Series
from confide.sampling.mollifier import FiniteMollifier

LATTICE = Lattice(low=0, high=100, size=101)
M = 100
EPSILON = 1.0


class Mutant(Laplace):
    """Claims epsilon = 1, draws by code of its own and states the right law."""

    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return self.sampler.draw(entropy, n) - M

    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        return np.clip(self.noise(entropy, indices.size) + indices, 0, M).astype(np.int32)


class Short(Laplace):
    """A parameter for less noise, which law and draws share."""

    factor: float = 1.0
    cells: int = M

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "parameter", laplace_parameter(self.epsilon / self.factor, self.cells)
        )


class HalfStated(Short):
    factor = 0.5


class FiveStated(Short):
    factor = 0.95


class OneStated(Short):
    factor = 0.99


class OffByOneStated(Short):
    cells = M - 1


class RoundedDown(Laplace):
    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "parameter", self.parameter - 1)


class Hidden(Mutant):
    """The right law in words, another parameter in the draws."""

    factor: float = 1.0
    cells: int = M

    @cached_property
    def sampler(self) -> Inversion:
        return laplace_sampler(laplace_parameter(self.epsilon / self.factor, self.cells), M)


class HalfHidden(Hidden):
    factor = 0.5


class FiveHidden(Hidden):
    factor = 0.95


class OneHidden(Hidden):
    factor = 0.99


class TwoFaced(FiveHidden):
    """A law whose floats are those of the draws, and whose integers are not."""

    @cached_property
    def law(self) -> Clamped:
        short = laplace_parameter(self.epsilon / self.factor, M)
        return Clamped(
            laplace_table(short, M), lambda: laplace_weights(laplace_parameter(EPSILON, M), M)
        )


class LargeTwoFaced(Laplace):
    """Half the noise in draws and floats on a large lattice, the whole in integers."""

    @cached_property
    def law(self) -> Clamped:
        right, m = super().law, self.lattice.size - 1
        return Clamped(laplace_table(self.half, m), right.exact)

    @cached_property
    def sampler(self) -> Inversion:
        return laplace_sampler(self.half, self.lattice.size - 1)

    @property
    def half(self) -> int:
        return laplace_parameter(2 * self.epsilon, self.lattice.size - 1)


class ThousandthHidden(Hidden):
    factor = 0.999


class OffByOneHidden(Hidden):
    cells = M - 1


def doubled() -> list[int]:
    """Weights of noise -M .. M where zero comes out of both signs."""
    table = laplace_weights(laplace_parameter(EPSILON, M), M)
    return [*table[:0:-1], 2 * table[0], *table[1:]]


class ZeroTwiceStated(Mutant):
    @cached_property
    def law(self) -> Dense:
        weights = doubled()
        columns = []
        for index in range(M + 1):
            column = [0] * (M + 1)
            for noise, weight in zip(range(-M, M + 1), weights, strict=True):
                column[min(max(index + noise, 0), M)] += weight
            columns.append(tuple(column))
        return Dense(tuple(columns))

    @cached_property
    def sampler(self) -> Inversion:
        return weighted(doubled())

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        return (Part("noise", self.sampler, doubled()),)


class ZeroTwiceHidden(Mutant):
    @cached_property
    def sampler(self) -> Inversion:
        return weighted(doubled())


class OneSided(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return np.abs(super().noise(entropy, n))


class TailCut(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return np.clip(super().noise(entropy, n), -95, 95)


class TailCutStated(TailCut):
    @cached_property
    def law(self) -> Clamped:
        parameter = laplace_parameter(EPSILON, M)
        cut = laplace_weights(parameter, M)
        cut[95] += sum(cut[96:])
        cut[96:] = [0] * 5
        masses = np.array([float(Fraction(w, 2 * sum(cut) - cut[0])) for w in cut])
        return Clamped(masses, lambda: cut)


class EvenOnly(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return super().noise(entropy, n) // 2 * 2


class RoundedFloat(Mutant):
    """Float noise that is rounded to the lattice."""

    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        u = (entropy.words(n, 64) >> np.uint64(11)) * 2.0**-53 - 0.5
        scale = M / EPSILON
        return np.round(-scale * np.sign(u) * np.log1p(-2 * np.abs(u))).astype(np.int64)


class Ungated(Laplace):
    """No check between the index and the noise."""

    def _run(self, values: Any, entropy: Entropy) -> np.ndarray:
        return self.draw(self.index(values), entropy)


class NoClipping(Ungated):
    def index(self, values: Any) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.floor(np.asarray(values, dtype=np.float64) * 1.01).astype(np.int32)


class PastTheTop(Ungated):
    """The upper bound itself becomes cell m + 1."""

    def index(self, values: Any) -> np.ndarray:
        part = np.clip(self.lattice.index(values), 0, M)
        top = np.asarray(values, dtype=np.float64) >= self.lattice.high
        return (part + top).astype(np.int32)


class NaNThrough(Ungated):
    def index(self, values: Any) -> np.ndarray:
        clipped = np.clip(np.asarray(values, dtype=np.float64), 0, 100)
        with np.errstate(invalid="ignore"):
            return np.minimum(clipped * 1.01, M).astype(np.int32)


class SharedNoise(Joint):
    """Both questions answered with the same noise."""

    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        (one, _) = self.mechanisms.values()
        noise = one.sampler.draw(entropy, len(indices)) - M
        return np.clip(noise[:, None] + indices, 0, M).astype(np.int32)


class SameWords(Entropy):
    """A source that says the same at every call."""

    def words(self, n: int, bits: int) -> np.ndarray:
        return np.random.default_rng(7).integers(0, 2**bits, n, dtype=np.uint64)


class ConstantSeed(Laplace):
    def privatize(self, values: Any) -> Reports:
        return Reports(self._run(values, SameWords()), self, simulated=False)

    def simulate(self, values: Any, *, seed: int) -> Reports:
        return Reports(self._run(values, SameWords()), self, simulated=True)


def retrying(value: float) -> list[int]:
    """A device that draws afresh at each of ten retries."""
    return RIGHT.privatize(np.full(10, value)).indices.tolist()


def remembering(value: float) -> list[int]:
    """The right one: it sends its first report again."""
    return RIGHT.privatize([value]).indices.tolist() * 10


class FloatLaplace:
    """Ordinary float noise, as it is found everywhere."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale, self.generator = scale, np.random.default_rng(11)

    def __call__(self, value: float) -> float:
        return float(value + self.generator.laplace(scale=self.scale))


class HalfHistogram(Histogram):
    """Counts change by 2 in all when a record moves, and noise is made for a change of 1."""

    @cached_property
    def noise(self) -> DiscreteLaplace:
        right = Histogram(self.lattice, epsilon=self.epsilon).noise
        wrong = DiscreteLaplace(right.epsilon, right.sensitivity)
        object.__setattr__(wrong, "parameter", DiscreteLaplace(right.epsilon, 1).parameter)
        return wrong


class OneCount(Histogram):
    """The same, stated: a record that moves is thought to change one count."""

    @property
    def noise(self) -> DiscreteLaplace:
        return laplace(Fraction(self.epsilon), 1)


class HalfSum(Query):
    """Noise for half of what a record can change a sum by, stated so and drawn so."""

    def noises(self, n: int) -> tuple[DiscreteLaplace, ...]:
        return tuple(
            laplace(noise.epsilon, -(-noise.sensitivity // 2)) for noise in super().noises(n)
        )


class HalfSteps(Series):
    def sensitivity(self, n: int) -> int:
        return super().sensitivity(n) // 2


class HalfProcess(GaussianProcess):
    def squared_sensitivity(self, n: int) -> int:
        return super().squared_sensitivity(n) // 2


class FewCells(Histogram):
    """Four cells, and a right noise that it states and does not keep to."""

    def counts(self, prepared: np.ndarray) -> np.ndarray:
        return np.bincount(prepared[:, 0], minlength=4)


class Forgetful(FewCells):
    def draw(self, prepared: np.ndarray, entropy: Entropy) -> list[int]:
        return [int(self.counts(prepared)[0]), *super().draw(prepared, entropy)[1:]]


class OneNoise(FewCells):
    def draw(self, prepared: np.ndarray, entropy: Entropy) -> list[int]:
        return (self.counts(prepared) + self.noise.draw(entropy, 1)).tolist()


class FiveShort(FewCells):
    def draw(self, prepared: np.ndarray, entropy: Entropy) -> list[int]:
        noise = laplace(Fraction(self.epsilon) / Fraction(95, 100), 2)
        return (self.counts(prepared) + noise.draw(entropy, 4)).tolist()


class ShortGaussian(DiscreteGaussian):
    """A right variance, and draws of a deviation that is 1 % less."""

    def draw(self, entropy: Entropy, n: int) -> np.ndarray:
        return DiscreteGaussian(self.variance * 9801 // 10_000).draw(entropy, n)


class ShortProcess(GaussianProcess):
    def noise(self, n: int) -> DiscreteGaussian:
        return ShortGaussian(super().noise(n).variance)


class Hasty(Inversion):
    """Does not refine: a word that decides nothing counts as the lower outcome."""

    def _refine(self, word: int, entropy: Entropy) -> int:
        return sum(threshold < word for threshold in self.enclosure(self.bits)[0])


class Small(Inversion):
    """Another path for few draws, with a fault of its own."""

    def draw(self, entropy: Entropy, n: int) -> np.ndarray:
        outcomes = super().draw(entropy, n)
        return outcomes // 2 * 2 if n <= FEW else outcomes


class Unrefined(Laplace):
    @cached_property
    def sampler(self) -> Inversion:
        return Hasty(laplace_sampler(self.parameter, M).enclosure)


class OnDevices(Laplace):
    @cached_property
    def sampler(self) -> Inversion:
        return Small(laplace_sampler(self.parameter, M).enclosure)


class Unmollified(FiniteMollifier):
    """Draws from the records' own shares."""

    def draw(self, prepared: Any, entropy: Entropy, k: int) -> np.ndarray:
        return weighted(prepared.tolist()).draw(entropy, k)

    def prepare(self, records: Any) -> np.ndarray:
        return np.bincount(self.index(records), minlength=self.outcomes) + 1


RIGHT = Laplace(LATTICE, epsilon=EPSILON)
TWO = dict.fromkeys("ab", RIGHT)
ANSWERS = Categories(("no", "yes", "perhaps"))
RECORDS = ({"said": ["no"] * 30}, {"said": ["yes"] * 30})
SETS = ([10.0] * 20, [10.0] * 19 + [90.0])


@dataclass(frozen=True)
class Case:
    """A subject with one fault, or none, and the layers that must find it."""

    name: str
    subject: Any
    caught: frozenset[str]
    pairs: Any = None
    claimed: float | None = None
    n: int = 100_000
    layers: tuple[str, ...] = ("exact", "grid", "index", "goodness", "sampled", "joint")


LAYERS: dict[str, Callable[[Case, int | None], Finding]] = {
    "exact": lambda case, _: audits.exact(case.subject, n=20),
    "grid": lambda case, _: audits.grid(case.subject, n=2**20),
    "index": lambda case, _: audits.index(case.subject),
    "goodness": lambda case, seed: audits.goodness(case.subject, seed=seed),
    "sampled": lambda case, seed: audits.sampled(
        case.subject, case.pairs, claimed=case.claimed, n=case.n, seed=seed
    ),
    "joint": lambda case, seed: audits.joint(
        case.subject, case.pairs, claimed=case.claimed, n=min(case.n, 20_000), seed=seed
    ),
}
FOREIGN = ("sampled",)
DEVICE = ("joint",)
RELEASE = ("exact", "grid", "index", "goodness", "sampled")


def mutant(name: str, kind: type[Mechanism], caught: str, **more: Any) -> Case:
    subject = kind(LATTICE, epsilon=EPSILON)  # type: ignore[call-arg]
    return Case(name, subject, frozenset(caught.split()), **more)


def release(name: str, kind: type[FewCells], caught: str) -> Case:
    subject = kind(LATTICE, epsilon=EPSILON, cells=4)
    return Case(name, subject, frozenset(caught.split()), [SETS], None, 4000, RELEASE)


def cases() -> list[Case]:
    """All mutants, with the layers that must catch each."""
    both = SharedNoise(TWO)
    half = HalfHistogram(LATTICE, epsilon=EPSILON, cells=4)
    halves = [HalfHistogram(LATTICE, epsilon=0.8, cells=cells) for cells in (4, 8)]
    process = ShortProcess(LATTICE, epsilon=EPSILON, delta=1e-6)
    one = OneCount(LATTICE, epsilon=EPSILON, cells=4)
    total = HalfSum("sum", LATTICE, epsilon=EPSILON, spread=0)
    mean = HalfSum("mean", LATTICE, epsilon=EPSILON)
    steps = HalfSteps(LATTICE, epsilon=EPSILON, terms=3)
    heights = HalfProcess(LATTICE, epsilon=EPSILON, delta=1e-6)
    large = LargeTwoFaced(Lattice(low=0, high=100, size=1025), epsilon=EPSILON)
    own = Unmollified({"said": ANSWERS}, epsilon=EPSILON)
    ends = [(0.0, 100.0)]
    sampled, joint = frozenset(["sampled"]), frozenset(["joint"])
    return [
        mutant("half the noise, stated", HalfStated, "exact sampled joint"),
        mutant("half the noise, hidden", HalfHidden, "grid goodness sampled joint"),
        mutant("5 % short, stated", FiveStated, "exact"),
        mutant("5 % short, hidden", FiveHidden, "grid"),
        mutant("5 % short, stated in floats only", TwoFaced, "grid"),
        Case("half the noise, in floats only, 1025 cells", large,
             frozenset(["grid", "goodness", "sampled", "joint"])),
        mutant("1 % short, stated", OneStated, "exact"),
        mutant("1 % short, hidden", OneHidden, "grid"),
        mutant("0.1 % short, hidden", ThousandthHidden, "grid"),
        mutant("sensitivity off by one, stated", OffByOneStated, "exact"),
        mutant("sensitivity off by one, hidden", OffByOneHidden, "grid"),
        mutant("parameter rounded down, stated", RoundedDown, "exact"),
        mutant("zero counted twice, stated", ZeroTwiceStated, "exact"),
        mutant("zero counted twice, hidden", ZeroTwiceHidden, "grid goodness"),
        mutant("one-sided noise", OneSided, "grid goodness sampled joint"),
        mutant("tail cut before adding, stated", TailCutStated, "exact"),
        mutant("tail cut before adding, hidden", TailCut, "grid goodness"),
        mutant("even noise only", EvenOnly, "grid goodness sampled"),
        mutant("float noise, rounded", RoundedFloat, "grid"),
        mutant("undecided words not refined", Unrefined, "grid"),
        mutant("even noise only, on devices", OnDevices, "grid"),
        mutant("no clipping", NoClipping, "index sampled"),
        mutant("index m + 1", PastTheTop, "index"),
        mutant("NaN through clip", NaNThrough, "index"),
        Case("noise reused for two questions", both, frozenset(["goodness", "sampled", "joint"])),
        mutant("the same words at every call", ConstantSeed, "joint"),
        Case("fresh noise on retry", retrying, joint, ends, 1.0, 4000, DEVICE),
        Case("float noise", FloatLaplace(), sampled, [(0.0, 1.0)], 1.0, 20_000, FOREIGN),
        Case("float noise of half the scale", FloatLaplace(0.5), sampled, [(0.0, 1.0)], 1.0,
             20_000, FOREIGN),
        Case("release: noise for half the sensitivity", half, sampled | {"exact"}, [SETS], None,
             6000, RELEASE),
        Case("release: a choice among such", Choice(halves, epsilon=EPSILON),
             frozenset(["exact"]), [SETS], None, 400, RELEASE),
        Case("release: counts that change by 1, stated", one, sampled | {"exact"}, [SETS], None,
             6000, RELEASE),
        Case("release: half the sensitivity of a sum, stated", total, sampled | {"exact"}, None,
             None, 1500, RELEASE),
        Case("release: half the sensitivity of a mean, stated", mean, frozenset(["exact"]), None,
             None, 100, RELEASE),
        Case("release: half the sensitivity of a series, stated", steps, frozenset(["exact"]),
             None, None, 100, RELEASE),
        Case("release: half the sensitivity of a process, stated", heights, frozenset(["exact"]),
             [SETS], None, 100, RELEASE),
        release("release: one count without noise", Forgetful, "exact grid sampled"),
        release("release: the same noise on all counts", OneNoise, "exact grid sampled"),
        release("release: 5 % short, hidden", FiveShort, "exact grid"),
        Case("release: Gaussian noise 1 % short, hidden", process, frozenset(["grid"]), [SETS],
             None, 100, RELEASE),
        Case("sampler: the records' own shares", own, sampled | {"grid"}, [RECORDS], None, 20_000,
             RELEASE),
    ]  # fmt: skip


def run(case: Case, seed: int | None = 1) -> dict[str, Finding]:
    """Every layer that can look at this subject."""
    return {layer: LAYERS[layer](case, seed) for layer in case.layers}
