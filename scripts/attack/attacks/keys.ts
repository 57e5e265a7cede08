import { defaultKeyBrand } from '../../../shared/config/config.js';
import { newSecret } from '../../../shared/contract/identifiers.js';
import { type Attack, json, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';

/* Callers without a valid key, callers that ignore their rate, and floods of reads. */

const batch = '/v1/score';

const oneRecord = ({ modelId }: Hostile): Buffer => json({ model_id: modelId, records: [{ Industry: 'Retail' }] });

export const keys: readonly Attack[] = [
  {
    name: 'key-guesses',
    does: 'tries well-formed keys that do not exist, fifty a second',
    answers: ['401 invalid_api_key', '429 rate_limited'],
    run: async (hostile) => {
      const body = oneRecord(hostile);
      await hostile.atRate(50, () =>
        hostile.call({ path: batch, key: { secret: newSecret(defaultKeyBrand, 'live') }, body }),
      );
    },
  },
  {
    name: 'broken-keys',
    does: 'sends keys that are too long, cut off or of another brand',
    answers: ['401 invalid_api_key'],
    run: async (hostile) => {
      const live = hostile.secretOf('live');
      const secrets = ['x'.repeat(10_000), live.slice(0, -1), `${live}0`, live.replace(defaultKeyBrand, 'other'), '-'];
      await hostile.atRate(100, (index) =>
        hostile.call({ path: '/v1/usage', key: { secret: secrets[index % secrets.length] ?? '' } }),
      );
    },
  },
  {
    name: 'large-bodies-without-key',
    does: 'sends bodies of 8 MiB without a key',
    answers: ['401 invalid_api_key'],
    run: async (hostile) => {
      const body = Buffer.alloc(8_000_000, ' ');
      await hostile.callers(4, () => hostile.call({ path: batch, key: null, body }));
    },
  },
  {
    name: 'too-many-calls',
    does: 'ignores the rate limit from twenty connections',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const body = oneRecord(hostile);
      await hostile.callers(20, () => hostile.call({ path: batch, body }));
    },
  },
  {
    name: 'reads',
    does: 'reads usage and models a hundred times a second',
    answers: ['200', ...slowDown],
    run: async (hostile) => {
      const paths = ['/v1/models', '/v1/usage', `/v1/models/${hostile.modelId}`];
      await hostile.atRate(100, (index) => hostile.call({ path: paths[index % paths.length] ?? '' }));
    },
  },
  {
    name: 'odd-addresses',
    does: 'reads paths with percent signs, NUL, dots and eight thousand characters',
    answers: [
      '200',
      '400 bad_request',
      '404 not_found',
      '404 model_not_found',
      '405 method_not_allowed',
      '422 bad_request',
      ...slowDown,
    ],
    run: async (hostile) => {
      const paths = [
        ...['/v1/scores/%00', '/v1/scores/%ff', '/v1/scores/%', '/v1/scores/..%2f..%2fetc', '/v1/scores/%ed%a0%80'],
        ...[`/v1/scores/${'%F0%9F%98%80'.repeat(600)}`, `/v1/models/${'a'.repeat(8_000)}`, '//v1//usage', '/v1/usage/'],
        ...['/v1/scores/x?limit=1&limit=2', '/v1/scores/x?cursor=AAAA', `/v1/scores/x?${'a&'.repeat(3_000)}`],
      ];
      await hostile.atRate(100, (index) =>
        hostile.call({ path: paths[index % paths.length] ?? '', method: index % 5 === 0 ? 'PATCH' : 'GET' }),
      );
    },
  },
  {
    name: 'long-queries',
    does: 'sends queries of 15,000 characters, with one name and with thousands, a hundred a second',
    answers: ['200', '404 not_found', '422 bad_request', ...slowDown],
    run: async (hostile) => {
      const names = Array.from({ length: 4_000 }, (_, index) => index.toString(36))
        .join('&')
        .slice(0, 15_000);
      const paths = [
        `/v1/scores/x?${'a&'.repeat(7_500)}`,
        `/v1/scores/x?${names}`,
        `/v1/usage?${'%61&'.repeat(3_700)}`,
      ];
      await hostile.atRate(100, (index) => hostile.call({ path: paths[index % paths.length] ?? '', key: 'test' }));
    },
  },
  {
    name: 'pages',
    does: 'loads the pages of the documentation and paths that do not exist, from ten connections',
    answers: ['200', '304', '404 not_found'],
    run: async (hostile) => {
      const paths = ['/docs', '/openapi.json', '/openapi-3.0.json', '/docs/errors', '/nothing', '/readyz'];
      await hostile.callers(10, (index) => hostile.call({ path: paths[index % paths.length] ?? '', key: null }));
    },
  },
];
