import { randomUUID } from 'node:crypto';
import { generateLeads } from '../../leads/lead-generator.js';
import { type Attack, json, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';
import { overloaded } from '../caller/messages.js';

/* Valid calls, chosen for what they cost. */

const batch = '/v1/score';
const webhook = '/v1/webhooks/score';
/** Names of calls change the answer, so each call has its own. */
const newKey = (): string => randomUUID().padEnd(255, 'k');

/** The records of a batch. `from` shifts their crm_ids. */
const leads = (count: number): readonly Readonly<Record<string, unknown>>[] =>
  generateLeads({ seed: 1, count, now: new Date() }).map(({ record }) => record);

const batchBody = ({ modelId }: Hostile, count: number, more = {}): Buffer =>
  json({ model_id: modelId, records: leads(count), ...more });

export const scoring: readonly Attack[] = [
  {
    name: 'explained-batches',
    does: 'asks for the reasons of a thousand records a call, four calls at a time',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = batchBody(hostile, 1_000, { explain: true });
      await hostile.callers(4, () => hostile.call({ path: batch, body }));
    },
  },
  {
    name: 'occluded-batches',
    does: 'asks for the reasons of a thousand records of a model that is explained by occlusion',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = json({ model_id: hostile.slowModelId, records: leads(1_000), explain: true });
      await hostile.callers(4, () => hostile.call({ path: batch, body }));
    },
  },
  {
    name: 'batches-at-rate',
    does: 'sends ten batches of a thousand records a second, whether they are answered or not',
    answers: ['200', ...slowDown, overloaded],
    run: async (hostile) => {
      const body = batchBody(hostile, 1_000);
      await hostile.atRate(10, () => hostile.call({ path: batch, body }));
    },
  },
  {
    name: 'used-up-quota',
    does: 'sends batches that pass the quota of the test key, which are refused after their admission',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = batchBody(hostile, 600);
      await hostile.atRate(10, () => hostile.call({ path: batch, key: 'test', body }));
    },
  },
  {
    name: 'hang-ups',
    does: 'closes the connection while its batches are scored',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = batchBody(hostile, 500);
      await hostile.atRate(10, (index) => hostile.call({ path: batch, body, hangUpAfterMs: 2 + 5 * (index % 20) }));
    },
  },
  {
    name: 'unknown-models',
    does: 'names models that do not exist, ten scoring calls and a hundred reads a second',
    answers: ['404 model_not_found', ...slowDown, '422 bad_request'],
    run: async (hostile) => {
      const id = () => `mdl_${randomUUID().slice(0, 16)}`;
      await Promise.all([
        hostile.atRate(10, () =>
          hostile.call({ path: batch, body: json({ model_id: id(), records: [{ Industry: 'Retail' }] }) }),
        ),
        hostile.atRate(100, () => hostile.call({ path: `/v1/models/${id()}` })),
      ]);
    },
  },
  {
    name: 'one-idempotency-key',
    does: 'sends fifty calls at once under one Idempotency-Key, with equal and different bodies',
    answers: ['200', '422 bad_request', ...slowDown],
    run: async (hostile) => {
      const [first = Buffer.of(), other = Buffer.of()] = [1, 2].map((count) => batchBody(hostile, count));
      while (!hostile.isOver) {
        const headers = { 'idempotency-key': newKey() };
        const calls = Array.from({ length: 50 }, (_, index) =>
          hostile.call({ path: batch, headers, body: index % 5 === 0 ? other : first }),
        );
        await Promise.all(calls);
      }
    },
  },
  {
    name: 'many-idempotency-keys',
    does: 'stores an explained reply under a new Idempotency-Key of 255 characters with every call',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = batchBody(hostile, 100, { explain: true });
      await hostile.atRate(10, () => hostile.call({ path: batch, headers: { 'idempotency-key': newKey() }, body }));
    },
  },
  {
    name: 'replays',
    does: 'gets one large stored reply again and again, at no cost',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = batchBody(hostile, 1_000, { explain: true });
      const headers = { 'idempotency-key': newKey() };
      await hostile.call({ path: batch, headers, body });
      await hostile.atRate(10, () => hostile.call({ path: batch, headers, body }));
    },
  },
  {
    name: 'largest-replies',
    does: 'stores replies of a thousand reasons with the longest labels and values under Idempotency-Keys',
    answers: ['200', '400 bad_request', ...slowDown],
    run: async (hostile) => {
      const wide = '\u8abf'.repeat(255);
      const texts = ['Lead Source', 'Industry', 'Country', 'Seniority', 'Current Solution', 'Products of Interest'];
      const record = Object.fromEntries(texts.map((field) => [field, wide]));
      const records = leads(1_000).map((lead) => ({ ...lead, ...record }));
      const body = json({ model_id: hostile.slowModelId, records, explain: true });
      await hostile.callers(2, () => hostile.call({ path: batch, headers: { 'idempotency-key': newKey() }, body }));
    },
  },
  {
    name: 'callbacks',
    does: 'sends webhooks of a workflow with one callbackId, and with new ones',
    answers: ['200', '422 bad_request', ...slowDown],
    run: async (hostile) => {
      await hostile.atRate(10, (index) => {
        const callbackId = index % 2 === 0 ? 'ap-1' : randomUUID();
        const body = json({ callbackId, inputFields: { Industry: 'Retail' }, fields: { Industry: 'Retail' } });
        return hostile.call({ path: `${webhook}?model_id=${hostile.modelId}`, body });
      });
    },
  },
];
