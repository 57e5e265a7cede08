import { type Attack, gzipped, refused, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';

/* Hostile names of fields, and crm_ids. */

const maxBodyBytes = 8 * 1024 * 1024;
/** NFKC makes this letter 18 characters long. It takes three bytes. */
const wideLetter = '\ufdfa';
const objects = Object.fromEntries(
  ['Industry', 'Country', 'Seniority', 'Annual Revenue', 'Email Opens'].map((field) => [field, {}]),
);

/** As many different names of a length as fit into a body. */
function wideNames(characters: number): Record<string, number> {
  const bytes = 3 * characters + '"00000":1,'.length;
  const count = Math.floor((maxBodyBytes - 10_000) / bytes);
  const names = Array.from({ length: count }, (_, index) => [wideLetter.repeat(characters - 5) + (10_000 + index), 1]);
  return Object.fromEntries(names) as Record<string, number>;
}

async function webhooks(hostile: Hostile, record: Readonly<Record<string, unknown>>): Promise<void> {
  const body = gzipped({ model_id: hostile.modelId, record });
  await hostile.atRate(10, () => hostile.callGzipped({ path: '/v1/webhooks/score', key: 'test', body }));
}

export const names: readonly Attack[] = [
  {
    name: 'wide-names',
    does: 'sends thousands of unknown names of 512 wide letters beside five values that are refused',
    answers: [...refused, ...slowDown],
    run: (hostile) => webhooks(hostile, { ...objects, ...wideNames(512) }),
  },
  {
    name: 'short-wide-names',
    does: 'sends eighty thousand unknown names of 30 wide letters',
    answers: ['200', ...refused, ...slowDown],
    run: (hostile) => webhooks(hostile, { Industry: 'Retail', ...wideNames(30) }),
  },
  {
    name: 'new-names',
    does: 'sends 200,000 names a call that no record has used before, to fill caches of names',
    answers: [...refused, ...slowDown],
    run: async (hostile) => {
      let used = 0;
      const newNames = () => {
        const first = used;
        used += 200;
        return Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`Spälte ${first + index}`, 1]));
      };
      const bodies = Array.from({ length: 2 }, () =>
        gzipped({
          model_id: hostile.modelId,
          records: Array.from({ length: 1_000 }, () => ({ Industry: {}, ...newNames() })),
        }),
      );
      await hostile.callers(2, (index) =>
        hostile.callGzipped({ path: '/v1/score', key: 'test', body: bodies[index % bodies.length] ?? Buffer.of() }),
      );
    },
  },
  {
    name: 'spelled-names',
    does: 'spells one known name in thousands of ways that all match',
    answers: ['200', ...refused, ...slowDown],
    run: async (hostile) => {
      const spelled = Array.from({ length: 30_000 }, (_, index) => {
        const gaps = index.toString(2).padStart(15, '0');
        return [[...'numberofemployees'].map((letter, at) => (gaps[at] === '1' ? `${letter}_` : letter)).join(''), 5];
      });
      await webhooks(hostile, Object.fromEntries(spelled) as Record<string, number>);
    },
  },
  {
    name: 'refused-leads',
    does: 'sends a thousand new crm_ids of 254 characters a call in records that are refused',
    answers: [...refused, ...slowDown],
    run: async (hostile) => {
      let used = 0;
      const bodyOf = () =>
        gzipped({
          model_id: hostile.modelId,
          records: Array.from({ length: 1_000 }, () => ({ crm_id: `${used++}`.padStart(254, 'x'), Industry: {} })),
        });
      await hostile.atRate(10, () => hostile.callGzipped({ path: '/v1/score', key: 'test', body: bodyOf() }));
    },
  },
  {
    name: 'new-leads',
    does: 'scores a thousand new crm_ids of 254 characters a call until the quota is reached',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      let used = 0;
      const bodyOf = () =>
        gzipped({
          model_id: hostile.modelId,
          records: Array.from({ length: 1_000 }, () => ({
            crm_id: `${used++}`.padStart(254, 'y'),
            Industry: 'Retail',
          })),
        });
      await hostile.callers(2, () => hostile.callGzipped({ path: '/v1/score', body: bodyOf() }));
    },
  },
];
