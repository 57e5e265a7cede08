import { randomUUID } from 'node:crypto';
import { type Attack, gzipped, json, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';

/* Hostile use of leads: their history, erasure, stored fields and outcomes. */

const batch = '/v1/score';
const webhook = '/v1/webhooks/score';
const readsPerSecond = 100;

/** Scores one lead a thousand times a call. */
async function scoreOften(hostile: Hostile, { calls, crmId }: { calls: number; crmId: string }): Promise<void> {
  const record = { crm_id: crmId, Industry: 'Retail' };
  const body = gzipped({ model_id: hostile.modelId, records: Array(1_000).fill(record) });
  await Promise.all(Array.from({ length: calls }, () => hostile.callGzipped({ path: batch, body })));
}

export const leads: readonly Attack[] = [
  {
    name: 'long-history',
    does: 'scores one lead ten thousand times, then reads its history a hundred times a second',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      await scoreOften(hostile, { calls: 10, crmId: 'L' });
      const cursors = [''];
      await hostile.atRate(readsPerSecond, async (index) => {
        const answer = await hostile.call({ path: `/v1/scores/L?limit=100${cursors[index % cursors.length]}` });
        const cursor = /"next_cursor":"([^"]+)"/.exec(answer?.text ?? '')?.[1];
        if (cursor !== undefined && cursors.length < 50) cursors.push(`&cursor=${cursor}`);
      });
    },
  },
  {
    name: 'history-of-large-calls',
    does: 'reads the history of a lead whose calls stored the longest fields that are kept',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const record = { crm_id: 'W', 'Products of Interest': 'x;'.repeat(32_700), Industry: 'y'.repeat(4_096) };
      const body = gzipped({ model_id: hostile.modelId, records: Array(100).fill(record) });
      await Promise.all(Array.from({ length: 5 }, () => hostile.callGzipped({ path: batch, body })));
      await hostile.atRate(readsPerSecond, () => hostile.call({ path: '/v1/scores/W?limit=100' }));
    },
  },
  {
    name: 'large-fill-in',
    does: 'stores the longest fields of leads, then scores these leads by crm_id alone, explained',
    answers: ['200', '400 bad_request', ...slowDown],
    run: async (hostile) => {
      const ids = Array.from({ length: 55 }, (_, index) => `F-${index}`);
      const large = { 'Products of Interest': 'x;'.repeat(32_700), Industry: 'y'.repeat(4_096) };
      const records = ids.map((crm_id) => ({ crm_id, ...large }));
      await hostile.callGzipped({ path: batch, body: gzipped({ model_id: hostile.modelId, records }) });
      const alone = ids.map((crm_id) => ({ crm_id, Country: 'Germany' }));
      const body = json({ model_id: hostile.modelId, records: alone, explain: true });
      await hostile.atRate(10, () => hostile.call({ path: batch, body }));
    },
  },
  {
    name: 'unknown-erasures',
    does: 'erases leads that were never scored, a hundred a second',
    answers: ['404 not_found', ...slowDown],
    run: async (hostile) => {
      await hostile.atRate(readsPerSecond, () =>
        hostile.call({ method: 'DELETE', path: `/v1/scores/${randomUUID().padEnd(200, 'z')}` }),
      );
    },
  },
  {
    name: 'erasures',
    does: 'scores and erases the same leads at the same time',
    answers: ['200', '204', '404 not_found', ...slowDown],
    run: async (hostile) => {
      const body = json({
        model_id: hostile.modelId,
        records: Array.from({ length: 20 }, (_, index) => ({ crm_id: `E-${index}`, Industry: 'Retail' })),
      });
      await Promise.all([
        hostile.atRate(10, () => hostile.call({ path: batch, body })),
        hostile.atRate(readsPerSecond, (index) =>
          hostile.call({ method: 'DELETE', path: `/v1/scores/E-${index % 20}` }),
        ),
      ]);
    },
  },
  {
    name: 'erasure-of-long-history',
    does: 'erases a lead that was scored five thousand times, again and again while it is scored',
    answers: ['200', '204', '404 not_found', ...slowDown],
    run: async (hostile) => {
      while (!hostile.isOver) {
        await scoreOften(hostile, { calls: 5, crmId: 'H' });
        const erase = () => hostile.call({ method: 'DELETE', path: '/v1/scores/H' });
        await Promise.all([erase(), erase()]);
      }
    },
  },
  {
    name: 'outcomes',
    does: 'reports a thousand outcomes of unknown leads a call, ten calls at a time',
    answers: ['200', '400 bad_request', ...slowDown],
    run: async (hostile) => {
      let used = 0;
      await hostile.callers(10, () => {
        const outcomes = Array.from({ length: 1_000 }, () => ({
          crm_id: `${used++}`.padStart(200, 'o'),
          converted: used % 2 === 0,
          at: '2026-11-01',
        }));
        return hostile.call({ path: '/v1/outcomes', body: json({ outcomes }) });
      });
    },
  },
  {
    name: 'bad-outcomes',
    does: 'reports outcomes with texts of megabytes, wrong types and too many entries',
    answers: ['400 bad_request', '422 bad_request', ...slowDown],
    run: async (hostile) => {
      const outcome = { crm_id: 'x', converted: true, at: '2026-11-01' };
      const bodies = [
        gzipped({ outcomes: [{ ...outcome, at: '1'.repeat(8_000_000) }] }),
        gzipped({ outcomes: Array(90_000).fill(outcome) }),
        gzipped({ outcomes: Array(30_000).fill({ ...outcome, converted: 'yes' }) }),
        gzipped({ outcomes: [{ ...outcome, crm_id: '\ud800' }] }),
      ];
      await hostile.atRate(readsPerSecond, (index) =>
        hostile.callGzipped({ path: '/v1/outcomes', body: bodies[index % bodies.length] ?? Buffer.of() }),
      );
    },
  },
  {
    name: 'one-lead-in-webhooks',
    does: 'scores one lead in ten webhooks a second and reads its history meanwhile',
    answers: ['200', '404 not_found', ...slowDown],
    run: async (hostile) => {
      const body = json({ model_id: hostile.modelId, crm_id: 'O', record: { Industry: 'Retail' }, explain: true });
      await Promise.all([
        hostile.atRate(10, () => hostile.call({ path: webhook, body })),
        hostile.atRate(readsPerSecond, () => hostile.call({ path: '/v1/scores/O' })),
      ]);
    },
  },
];
