/** Probabilities are kept so far from 0 and 1, where the log-odds are infinite. */
const EDGE = 1e-7;

/** The log-odds of a probability. */
export function logOdds(probability: number): number {
  const inside = Math.min(Math.max(probability, EDGE), 1 - EDGE);
  return Math.log(inside / (1 - inside));
}

/** The probability of log-odds. */
export function logistic(margin: number): number {
  const decayed = Math.exp(-Math.abs(margin));
  return margin >= 0 ? 1 / (1 + decayed) : decayed / (1 + decayed);
}

/** A probability so close to the mean output says nothing about the scale. */
const SAME = 1e-7;

/**
 * Scales contributions to a probability so that they add up in log-odds. A forest averages probabilities, so its margin
 * is no sum; contributions to its probability are, and one factor for all of them keeps their order and their signs.
 * @param contributions of all records, changed in place
 * @param of `base`: the mean output; `fields`: numbers a record
 */
export function scaleToLogOdds(
  contributions: Float64Array,
  { base, fields }: { readonly base: number; readonly fields: number },
): void {
  const baseLogOdds = logOdds(base);
  for (let first = 0; first < contributions.length; first += fields) {
    let moved = 0;
    for (let at = first; at < first + fields; at += 1) moved += contributions[at] ?? 0;
    if (Math.abs(moved) <= SAME) continue;
    const factor = (logOdds(base + moved) - baseLogOdds) / moved;
    for (let at = first; at < first + fields; at += 1) contributions[at] = (contributions[at] ?? 0) * factor;
  }
}
