"""Direct encoding, which is randomized response over all categories."""

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from shares import ANSWERS, EPSILON, SIZE, N, error
from timing import best, tell


def shares(answers):
    client, server = DEClient(epsilon=EPSILON, d=SIZE), DEServer(epsilon=EPSILON, d=SIZE)
    for answer in answers:
        server.aggregate(client.privatise(answer + 1))
    return np.array(server.estimate_all(range(1, SIZE + 1), suppress_warnings=True)) / N


seconds = best(lambda: shares(ANSWERS[0]), rounds=2)
tell("pure-ldp", seconds, error([shares(answers) for answers in ANSWERS]))
