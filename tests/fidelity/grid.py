"""What one combination of settings loses to the best of a grid, by rounds of measured rates (tests/peers/pasted)."""

import math
import statistics

KNOWN = 0.01  # standard error of a loss, as a logarithm
MOST_ROUNDS = 40
APART = 2.5  # standard errors: what is so far below the best is measured no more


def difference(rates, one, other):
    """Mean and standard error of ln(other / one), over the rounds in which both ran."""
    logs = [math.log(b / a) for a, b in zip(rates[one], rates[other])]
    return statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))


def best_of(rates, keys, start=0, step=1):
    return max(keys, key=lambda key: statistics.fmean(math.log(rate) for rate in rates[key][start::step]))


def contenders(rates, keys, offered):
    """Which of them may be the best, and the offered one."""
    best = best_of(rates, keys)
    known = {key: difference(rates, key, best) for key in keys}
    return [key for key, (mean, error) in known.items() if key == offered or mean <= APART * error]


def is_known(rates, keys, offered):
    return all(difference(rates, offered, key)[1] < KNOWN for key in keys if key != offered)


def loss(rates, keys, offered):
    """(best, loss, its standard error). Of many that are equal the one that was fastest is so by chance. So one half of the rounds says
    which is the best, and the other half what is lost to it; then the other way round. The mean of both is the loss."""
    logs = []
    for half in (0, 1):
        best = best_of(rates, keys, half, 2)
        logs += [math.log(b / a) for a, b in zip(rates[offered][1 - half::2], rates[best][1 - half::2])]
    return best_of(rates, keys), 1 - math.exp(-statistics.fmean(logs)), statistics.stdev(logs) / math.sqrt(len(logs))


def measure(run, grid, offered, n_rounds):
    """Runs all in rounds: run(round, keys) gives each one's rate. Then those that may be the best, until what is lost to each of them is
    known, or there are MOST_ROUNDS: a rule that sees how far rates differ from round to round. Returns rates and those that were left."""
    rates, keys = {key: [] for key in grid}, list(grid)
    for number in range(max(n_rounds, MOST_ROUNDS)):
        if number >= n_rounds:
            keys = contenders(rates, keys, offered)
            if is_known(rates, keys, offered):
                break
        for key, rate in run(number, keys).items():
            rates[key].append(rate)
    return rates, keys
