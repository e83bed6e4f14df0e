"""Assignments: which of a survey's questions each person is asked."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Flags
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.inversion import permutation, weighted

Whole = npt.NDArray[np.int64]


BITS = 16
"""The share of people who are asked for a pair is a multiple of 2**-16."""


def numbered(cells: npt.ArrayLike) -> Whole:
    """The number of each person's cell, as whole numbers; anything else is refused.

    Parameters
    ----------
    cells
        Whole numbers, of any numeric type.

    Examples
    --------
    >>> numbered([0.0, 2.0]).tolist()
    [0, 2]
    """
    given = _checks.array(cells=cells)
    plain = given.ndim == 1 and (given.dtype.kind in "iuf" or not given.size)
    own = given.astype(np.float64) if plain else np.array([np.nan])
    if not (np.abs(own) < 2**53).all() or (own != np.round(own)).any():
        raise InvalidInput(
            "cells as one whole number for each person",
            "something else",
            "Number the public groups: numpy.unique(groups, return_inverse=True)[1].",
        )
    return own.astype(np.int64)


def assigned(
    entropy: Entropy,
    cells: npt.ArrayLike,
    *,
    questions: int,
    ask: int,
    pairs: int = 0,
    share: float = 0.0,
) -> Flags:
    """Draw which questions, or which one pair of questions, each person is asked.

    There is a row for each person and a column for each question, then one for each pair. Where
    there are pairs, the people of a cell are put in a random order and every so many of them is
    asked for a pair, so that their number in any cell is its share but for a difference of one.
    They are dealt one pair each, the others ``ask`` questions each, as `dealt` says.

    Parameters
    ----------
    entropy
        Source of fair words.
    cells
        For each person the number of a cell: people in the same public groups share it.
    questions
        How many questions there are.
    ask
        How many of them a person is asked who is asked for no pair.
    pairs
        How many pairs there are.
    share
        The share of people who are asked for a pair.

    Examples
    --------
    >>> from confide.exact.entropy import SystemEntropy
    >>> asked = assigned(SystemEntropy(), [0] * 12, questions=3, ask=1, pairs=2, share=0.5)
    >>> asked.sum(axis=0).tolist(), asked.sum(axis=1).tolist() == [1] * 12
    ([2, 2, 2, 3, 3], True)
    """
    own = numbered(cells)
    if not pairs:
        return dealt(entropy, own, questions=questions, ask=ask)
    order = permutation(entropy, own.size)
    order = order[np.argsort(own[order], kind="stable")]
    step, start = round(share * 2**BITS), int(entropy.words(1, BITS)[0])
    reached = (step * np.arange(own.size + 1) + start) >> BITS
    paired = np.zeros(own.size, dtype=bool)
    paired[order] = np.diff(reached) > 0
    asked = np.zeros((own.size, questions + pairs), dtype=bool)
    asked[~paired, :questions] = dealt(entropy, own[~paired], questions=questions, ask=ask)
    asked[paired, questions:] = dealt(entropy, own[paired], questions=pairs, ask=1)
    return asked


def dealt(entropy: Entropy, cells: npt.ArrayLike, *, questions: int, ask: int) -> Flags:
    """Draw which questions each person is asked: a row for each person, a column for each question.

    Questions are dealt like cards. The people of a cell are put in a random order. A deck has every
    question once, in a random order, and is dealt round and round, ``ask`` cards to each person,
    until every question came equally often; the next people get a new deck. What is left over in
    the cells is dealt from one last deck, cell after cell.

    So every question is asked equally often in every cell, and of all people, but for a difference
    of one; every set of ``ask`` questions is equally likely for every person; and neither the order
    of the people nor anything about them but their cells matters.

    Parameters
    ----------
    entropy
        Source of fair words.
    cells
        For each person the number of a cell: people in the same public groups share it.
    questions
        How many questions there are.
    ask
        How many of them each person is asked.

    Examples
    --------
    >>> from confide.exact.entropy import SystemEntropy
    >>> asked = dealt(SystemEntropy(), [0] * 12 + [1] * 6, questions=6, ask=1)
    >>> asked[:12].sum(axis=0).tolist(), asked[12:].sum(axis=0).tolist()
    ([2, 2, 2, 2, 2, 2], [1, 1, 1, 1, 1, 1])
    """
    own = numbered(cells)
    order = permutation(entropy, own.size)
    order = order[np.argsort(own[order], kind="stable")]
    sizes = np.unique(own, return_counts=True)[1]
    # So many people together are dealt every question equally often.
    block = questions // math.gcd(questions, ask)
    place = np.arange(own.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    whole = place < np.repeat(sizes // block * block, sizes)
    asked = np.zeros((own.size, questions), dtype=bool)
    many = int(whole.sum()) // block
    _deal(asked, order[whole], _decks(entropy, many, questions), block, ask)
    left = order[~whole]
    _deal(asked, left, _decks(entropy, 1, questions), left.size, ask)
    return asked


def _decks(entropy: Entropy, many: int, questions: int) -> Whole:
    """Random orders of the questions, one a row, by Fisher and Yates."""
    decks = np.tile(np.arange(questions), (many, 1))
    rows = np.arange(many)
    for end in range(questions - 1, 0, -1):
        chosen = weighted([1] * (end + 1)).draw(entropy, many)
        decks[rows, end], decks[rows, chosen] = decks[rows, chosen], decks[rows, end]
    return decks


def _deal(asked: Flags, people: Whole, decks: Whole, block: int, ask: int) -> None:
    """Deal the people of each block the cards of its deck, in turn and round and round."""
    person = np.arange(people.size)
    deck = person // max(block, 1)
    for card in range(ask):
        place = (ask * person + card) % decks.shape[1]
        asked[people, decks[deck, place]] = True
