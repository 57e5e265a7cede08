import type { ReplyUsage } from '../../cli/score/api-reply.js';
import { gauge } from '../../terminal/bar.js';
import { readableCount } from '../../terminal/readable-numbers.js';
import type { Screen } from './screen.js';
import type { TourResult } from './tour-result.js';

/** Shows the month's usage after the last call. */
export function showUsage(screen: Screen, result: Pick<TourResult, 'reply' | 'second'>): void {
  const { current, limit, remaining, backstop } = lastUsage(result);
  const drawn = screen.styled('cyan', gauge(current / Math.max(1, limit), 40));
  screen.heading('Usage this month');
  screen.print(`  ${drawn}  ${readableCount(current)} of ${readableCount(limit)} records`);
  screen.print();
  const left =
    remaining >= 0
      ? `${readableCount(remaining)} are left`
      : `These are ${readableCount(-remaining)} into the grace band`;
  const stop =
    backstop === null
      ? ''
      : remaining >= 0
        ? `; then comes a grace band, and at ${readableCount(backstop)} calls are refused until the month ends`
        : `; at ${readableCount(backstop)} calls are refused until the month ends`;
  screen.note(`Each scored record counts one, a call that fails none. ${left}${stop}.`);
}

/** What the last answer says of the usage. */
export function lastUsage({ reply, second }: Pick<TourResult, 'reply' | 'second'>): ReplyUsage {
  return isUsage(reply.usage) ? reply.usage : second.usage;
}

function isUsage(value: unknown): value is ReplyUsage {
  if (typeof value !== 'object' || value === null) return false;
  return ['current', 'limit', 'remaining', 'backstop'].every((name) => name in value);
}
