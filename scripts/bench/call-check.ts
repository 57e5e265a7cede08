import { scoredAtHeader } from './bare-messages.js';
import type { HttpReply } from './http-connection.js';
import type { CallShape } from './scenarios.js';

const rowMark = '"score":';

/**
 * Checks a reply: 200, as many rows as records, and all of them counted.
 * @throws Error with the beginning of a reply that is wrong
 */
export function checkReply(
  reply: HttpReply,
  sent: { readonly shape: CallShape; readonly records: number },
): void {
  const rows = reply.status === 200 ? countOf(reply.body, rowMark) : 0;
  const isCounted = sent.shape === 'webhook' || reply.body.includes(`"records_scored":${sent.records},`);
  if (reply.status === 200 && rows === sent.records && isCounted) return;
  const beginning = reply.body.toString('utf8', 0, 300);
  throw new Error(
    `a call of ${sent.records} records was answered ${reply.status} with ${rows} rows: ${beginning}`,
  );
}

/** The id by which the ledger knows a call whose caller gave none; empty where there is none. */
export const requestIdOf = ({ head }: HttpReply): string =>
  /^x-request-id: (.+)$/im.exec(head)?.[1]?.trim() ?? '';

/** Unix ms that ages were counted to, when the reply says so. */
export function scoredAtMsOf({ head }: HttpReply): number | undefined {
  const text = new RegExp(`^${scoredAtHeader}: (\\d+)`, 'im').exec(head)?.[1];
  return text === undefined ? undefined : Number(text);
}

function countOf(bytes: Buffer, mark: string): number {
  let count = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) count += 1;
  return count;
}
