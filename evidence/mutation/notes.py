"""Changes that no test can notice, by their keys, each with the reason."""

from __future__ import annotations

NOTES: dict[str, str] = {
    "4b9a554cf358": "Versions fit into one byte, and SQLite is asked again before any change.",
    "5395a53517ee": "The name under which a thread keeps its own set: any will do.",
    "3eb5effb4ced": "Only the exponent of the unit is used to round.",
    "111f0a9f9b5f": "The line before has cut everything but NaN, which fails both comparisons.",
    "519f8915d1e4": "The wording of an error.",
    "23bdbab79ea4": "Any number far above every epsilon will do.",
    "390ded04219b": "How many cells are worked on at once: the result is the same.",
    "6ea434aa5df8": "How many cells are worked on at once: the result is the same.",
    "b4b868c0b0d8": "So many cells are refused that the quotient is never below 1.",
    "97fbc8e3e8f1": "Fewer keys leave more ties, which are drawn anew: the law is the same.",
    "f558ff1b815c": "Ties come in twos at least, so there is never exactly one.",
    "47ccf9732b80": "Ties come in twos at least, so there is never exactly one.",
    "c604abf4eee2": "Digits to spare: 64 more are enough, and every step rounds outwards.",
    "fabbd9c58caf": "Only the first guess, around which the bounds are proved whatever it is.",
    "c4f82eb1b9a8": "A wider start of a bisection, which ends at the same point.",
    "105a967cb5f5": "Both bounds of the fourth moment leave 0 or more, and a square is added.",
    "7da9da16e833": "The last of the noise's steps weighs e**-30, less than can be seen.",
    "56090b22296e": "Two sums of floats would have to be equal to the last digit.",
    "cdf8d6355d20": "How levels are cut into blocks changes the time of a draw, not its law.",
    "62b4b357e14d": "The first of one draw is its last.",
    "fbf889e03bdb": "An upper bound that is larger by 1e-15 of itself: it is one all the same.",
    "e078285d5631": "Only for a delta of 1 to nine digits; none above 0.1 can be declared.",
    "94820d21a105": "How far a guess grows at a time: what is returned has been proved.",
    "9da98b182f8b": "A coarser kernel: sensitivity and noise are those of the table as it is.",
    "ef3407169d71": "A shortcut that is not taken: the smallest product is 0 all the same.",
    "9238b843801e": "The wording of an error.",
    "a88bdb5d664a": "The first weight is far above the one looked for: it is never found there.",
}
