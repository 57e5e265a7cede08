import { NotASum } from './not-a-sum.js';
import { type Sum, type SumColumn, scaled, weightedSum } from './sum.js';

export type PostTransform = 'NONE' | 'LOGISTIC' | 'SOFTMAX';

/**
 * @param name as the standard writes it
 * @throws NotASum for those that have no log-odds of a sum
 */
export function postTransformOf(name: string): PostTransform {
  if (name === 'NONE' || name === 'LOGISTIC' || name === 'SOFTMAX') return name;
  throw new NotASum(`the post-transform ${name} is not the logistic function of a sum`);
}

const plain = (sum: Sum): SumColumn => ({ sum, isLogistic: false });
const logistic = (sum: Sum): SumColumn => ({ sum, isLogistic: true });

/**
 * The two columns that ONNX Runtime makes of a classifier's one score s: 1/(1+e^s) and 1/(1+e^-s) after LOGISTIC; else
 * 1-s and s when no weight is negative (the score is taken for a probability), and -s and s otherwise.
 */
export function binaryColumns(
  score: Sum,
  { post, isPositive }: { readonly post: PostTransform; readonly isPositive: boolean },
): SumColumn[] {
  if (post === 'LOGISTIC') return [logistic(scaled(score, -1)), logistic(score)];
  return [plain(scaled(score, -1, isPositive ? 1 : 0)), plain(score)];
}

/**
 * The columns of several scores after a post-transform. A single score is left as it is, which is what ONNX Runtime does;
 * the softmax of two scores is the logistic function of their difference.
 * @throws NotASum for the softmax of more than two
 */
export function columnsOfScores(scores: readonly Sum[], post: PostTransform): SumColumn[] {
  if (scores.length === 1 || post === 'NONE') return scores.map(plain);
  if (post === 'LOGISTIC') return scores.map(logistic);
  return softmaxColumns(scores);
}

/**
 * @param scores two of them
 * @throws NotASum for more
 */
export function softmaxColumns(scores: readonly Sum[]): SumColumn[] {
  const [first, second] = scores;
  if (first === undefined || second === undefined || scores.length !== 2)
    throw new NotASum(`the softmax of ${scores.length} scores is not the logistic function of a sum`);
  const difference = weightedSum(
    [
      { sum: second, factor: 1 },
      { sum: first, factor: -1 },
    ],
    0,
  );
  return [logistic(scaled(difference, -1)), logistic(difference)];
}
