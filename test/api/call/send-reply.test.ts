import { expect } from 'chai';
import type { ScoreOutcome } from '../../../api/call/score-outcome.js';
import { scoreReplyWriter, sendReply } from '../../../api/call/score-reply.js';
import { iterationsDuring, longestIterationMs } from '../../support/beats.js';
import { noUsage, scoredPart, scoredRows, scoringCall } from '../../support/scoring/scoring-call.js';

const maxIterationMs = 50;

describe('a long reply', () => {
  async function sent(body: string): Promise<string | Buffer> {
    const context = { set: () => undefined, type: '', body: undefined as unknown };
    await sendReply(context, { body, isReplay: false });
    return context.body as string | Buffer;
  }

  it('is encoded in steps that keep each character whole', async () => {
    for (const filler of ['', 'x']) {
      const text = `${filler}${'\u{1f600}'.repeat(700_000)}`;
      let body: string | Buffer = '';
      const iterations = await iterationsDuring(async () => {
        body = await sent(text);
      });
      expect(Buffer.isBuffer(body)).to.equal(true);
      expect(String(body) === text, 'the same text').to.equal(true);
      expect(iterations).to.equal(3);
    }
  });

  it('is sent at once, as text, when it is short', async () => {
    expect(await iterationsDuring(async () => expect(await sent('{"score":50}')).to.equal('{"score":50}'))).to.equal(0);
  });

  it('is written in iterations of less than 50 ms of CPU time, for a thousand explained records', async () => {
    const count = 1_000;
    const column = Array.from({ length: count }, () => 50);
    const fields = Array.from(
      { length: 10 },
      (_, field) => [`${field}`.padEnd(255, '問'), `${field}`.padEnd(255, '答')] as const,
    );
    const drivers = column.map(() => fields.flatMap((_, index) => [index, -4_000, 'x'.repeat(200)]));
    const records = column.map((_, index) => ({ crmId: `L-${index}`, fields: {} }));
    const part = scoredPart(column, {
      ...{ likelihoods: column, matched: column.map(() => 1), previous: column },
      explained: { method: 'tree', fields, drivers },
    });
    const outcome: ScoreOutcome = {
      call: scoringCall({ records }),
      modelVersion: '1',
      rows: scoredRows([part]),
      usage: noUsage,
      verdict: { state: 'passed', failing_gate: null, summary: 'It passes.' },
      notices: [],
    };
    const write = scoreReplyWriter('conversion_likelihood');
    let text = '';
    const writeAll = async () => {
      const own = { ...outcome, rows: { ...outcome.rows } };
      await write.prepare?.(own);
      text = write(own);
      await sent(text);
    };
    expect(await iterationsDuring(writeAll)).to.be.above(20);
    const iterationMs = await longestIterationMs(writeAll, maxIterationMs);
    expect(text.length).to.be.above(9_000_000);
    const reply = JSON.parse(text) as { scores: readonly { crm_id: string; drivers: readonly unknown[] }[] };
    expect(reply.scores.map(({ crm_id }) => crm_id)).to.deep.equal(records.map(({ crmId }) => crmId));
    expect(iterationMs, 'ms of CPU time').to.be.below(maxIterationMs);
  });
});
