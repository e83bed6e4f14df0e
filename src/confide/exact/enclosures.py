"""Exponentials and logarithms as exact integers: floors, ceilings and enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction


def exp_enclosure(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``(lower, upper)`` with lower <= 2**bits e**x <= upper, by integer arithmetic.

    The argument is halved until it is below 1/2, the Taylor series is summed with the remainder
    bounded, and the result is squared back; every step rounds outwards.
    """
    if x < 0:
        lower, upper = exp_enclosure(-x, bits + 2)
        one = 1 << (2 * bits + 2)
        return one // upper, -(-one // lower)
    halvings = max(0, math.ceil(x).bit_length() + 1)
    # Squaring doubles the relative error each time, and the value itself needs about x/ln 2 bits.
    work = bits + 2 * halvings + 2 * int(x) + 64
    y = x / 2**halvings
    numerator, denominator = y.numerator, y.denominator
    low = high = term_low = term_high = 1 << work
    k = 0
    while term_high > 1:
        k += 1
        term_low = term_low * numerator // (denominator * k)
        term_high = -(-term_high * numerator // (denominator * k))
        low += term_low
        high += term_high
    # y < 1/2: what is left of the series is below the last term kept.
    high += term_high
    for _ in range(halvings):
        low = (low * low) >> work
        high = -((-high * high) >> work)
    return low >> (work - bits), -(-high >> (work - bits))


def exp_floor(x: Fraction, scale: int) -> int:
    """floor(scale e**x), exactly."""
    return _settled(x, lambda lower, upper, bits: (scale * lower >> bits, scale * upper >> bits))


def exp_ceiling(x: Fraction, scale: int) -> int:
    """ceil(scale e**x), exactly."""
    return _settled(
        x, lambda lower, upper, bits: (-(-scale * lower >> bits), -(-scale * upper >> bits))
    )


def _settled(x: Fraction, rounded: Callable[[int, int, int], tuple[int, int]]) -> int:
    bits = 128
    while True:
        lower, upper = exp_enclosure(x, bits)
        low, high = rounded(lower, upper, bits)
        # e**x is irrational for every rational x but 0, so the two finally meet.
        if low == high:
            return low
        bits *= 2


def log_enclosure(ratio: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``(lower, upper)`` with lower <= 2**bits ln(ratio >= 1) <= upper.

    With ratio = e**y (1 + t), t / (1 + t) <= ln(ratio) - y <= t: a guess y of d right digits gives
    2 d, and every step rounds outwards.
    """
    work = bits + 64
    over, under = ratio.numerator, ratio.denominator
    shift = max(0, over.bit_length() - under.bit_length() - 1)
    guess = math.log1p(float(ratio / 2**shift - 1)) + shift * math.log(2)
    y = int(guess * 2**64) << (work - 64)
    while True:
        lower, upper = exp_enclosure(Fraction(y, 1 << work), work)
        low = y + (1 << work) + (-upper * under // over)
        high = y - (1 << work) - (-(over << 2 * work) // (lower * under))
        if high - low < 1 << (work - bits):
            return low >> (work - bits), -(-high >> (work - bits))
        y = (low + high) // 2


def log_ceiling(ratio: Fraction) -> float:
    """The smallest float that is at least ln(ratio >= 1), as it is and as it is written."""
    return logs_ceiling([(ratio, 1)])


def logs_ceiling(powers: Iterable[tuple[Fraction, int]]) -> float:
    """The smallest float that is at least the sum of k ln(ratio) over pairs (ratio >= 1, k).

    It is decided in integers: where the sum is at most epsilon, so is the float. Ledgers count
    what is written, which may be the smaller, so it is at least the sum as it is and as written.
    """
    powers = [(ratio, k) for ratio, k in powers if ratio != 1]
    bits = 256
    while True:
        ends = [(k, log_enclosure(ratio, bits)) for ratio, k in powers]
        least, most = (
            float_ceiling(Fraction(sum(k * end[at] for k, end in ends), 1 << bits)) for at in (0, 1)
        )
        # The sum is 0 or irrational, so the two finally meet.
        if least == most:
            return least
        bits *= 2


def float_ceiling(x: Fraction) -> float:
    """The smallest float that is at least x >= 0, as it is and as it is written."""
    found = float(x)
    for _ in range(4):
        found = math.nextafter(found, 0)
    while min(Fraction(found), Fraction(repr(found))) < x:
        found = math.nextafter(found, math.inf)
    return found
