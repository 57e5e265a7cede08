import { gzipSync } from 'node:zlib';
import { type Attack, json, refused, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';

/* Hostile bodies: their size, encoding and syntax. */

const maxBodyBytes = 8 * 1024 * 1024;
const batch = '/v1/score';

/** Sends one body ten times a second with the test key, which costs the caller nothing. */
async function repeat(hostile: Hostile, body: Buffer, path = batch, headers = {}): Promise<void> {
  const compressed = gzipSync(body, { level: 1 });
  await hostile.atRate(10, () => hostile.callGzipped({ path, key: 'test', headers, body: compressed }));
}

/** A body of the maximum size, or of another. */
function filled({ modelId }: Hostile, item: string, { open = '', close = '', bytes = maxBodyBytes } = {}): Buffer {
  const head = `{"model_id":"${modelId}","records":[{"Industry":"Retail"}],"x":[${open}`;
  const tail = `0${close}]}`;
  const count = Math.floor((bytes - head.length - tail.length) / item.length);
  return Buffer.from(head + item.repeat(count) + tail);
}

export const bodies: readonly Attack[] = [
  {
    name: 'gzip-bombs',
    does: 'sends 100 KB of gzip that inflates to 100 MB',
    answers: ['400 bad_request', ...slowDown],
    run: (hostile) => repeat(hostile, Buffer.alloc(100_000_000, ' ')),
  },
  {
    name: 'broken-gzip',
    does: 'sends gzip that is cut off, or whose checksum is wrong',
    answers: ['422 bad_request', ...slowDown],
    run: async (hostile) => {
      const whole = gzipSync(Buffer.alloc(8_000_000, ' '), { level: 1 });
      const broken = [whole.subarray(0, whole.length / 2), Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8, 7)])];
      await hostile.atRate(10, (index) =>
        hostile.callGzipped({ path: batch, body: broken[index % 2] ?? whole, key: 'test' }),
      );
    },
  },
  {
    name: 'deep-json',
    does: 'nests arrays four million levels deep',
    answers: [...refused, ...slowDown],
    run: (hostile) => repeat(hostile, Buffer.from('['.repeat(4_000_000) + ']'.repeat(4_000_000))),
  },
  {
    name: 'broken-json',
    does: 'sends 8 MiB of JSON with the first mistake at the end',
    answers: [...refused, ...slowDown],
    run: (hostile) => {
      const body = filled(hostile, '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",');
      body[body.length - 1] = 0x7d + 1;
      return repeat(hostile, body);
    },
  },
  {
    name: 'many-values',
    does: 'sends 8 MiB of empty arrays, of which each costs a hundred times its bytes',
    answers: ['400 bad_request', ...slowDown],
    run: (hostile) => repeat(hostile, filled(hostile, '[],')),
  },
  {
    name: 'parsed-values',
    does: 'sends 1 MiB of empty arrays, which is parsed before the values are counted',
    answers: ['400 bad_request', ...slowDown],
    run: (hostile) => repeat(hostile, filled(hostile, '[],', { bytes: 1024 * 1024 })),
  },
  {
    name: 'most-values',
    does: 'sends just fewer objects and arrays than are refused',
    answers: [...refused, ...slowDown],
    run: (hostile) => {
      const records = Array(1_000).fill({ Industry: {}, x: Array(140).fill([]) });
      return repeat(hostile, json({ model_id: hostile.modelId, records }));
    },
  },
  {
    name: 'full-bodies',
    does: 'sends batches of 8 MiB without compression from eight connections',
    answers: ['200', ...refused, ...slowDown],
    run: async (hostile) => {
      const records = Array(100).fill({ Industry: 'Retail', Notes: 'a note '.repeat(11_500) });
      const body = json({ model_id: hostile.modelId, records });
      await hostile.callers(8, () => hostile.call({ path: batch, body }));
    },
  },
  {
    name: 'many-records',
    does: 'sends batches of a hundred thousand records',
    answers: ['400 record_limit_exceeded', ...slowDown],
    run: (hostile) => repeat(hostile, json({ model_id: hostile.modelId, records: Array(100_000).fill({}) })),
  },
  {
    name: 'forms',
    does: 'sends webhooks as forms of 8 MiB: one value, and ten thousand names',
    answers: ['200', ...refused, ...slowDown],
    run: async (hostile) => {
      const names = Array.from({ length: 9_990 }, (_, index) => `n${index}=${'%EF%B7%BA'.repeat(80)}`).join('&');
      const compressed = [`Industry=${'%EF%B7%BA'.repeat(900_000)}`, `Industry=Retail&${names}`].map((form) =>
        gzipSync(`model_id=${hostile.modelId}&${form}`),
      );
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      await hostile.atRate(10, (index) => {
        const body = compressed[index % 2] ?? Buffer.of();
        return hostile.callGzipped({ path: '/v1/webhooks/score', key: 'test', headers, body });
      });
    },
  },
  {
    name: 'other-types',
    does: 'declares types, charsets and encodings that are not served',
    answers: ['422 bad_request', ...slowDown],
    run: async (hostile) => {
      const heads: Readonly<Record<string, string>>[] = [
        { 'content-type': 'application/xml' },
        { 'content-type': 'application/json; charset=utf-7' },
        { 'content-type': `application/json; ${'a=b;'.repeat(2_000)}charset=x` },
        { 'content-encoding': 'br' },
        { 'content-encoding': 'gzip, gzip' },
      ];
      const body = json({ model_id: hostile.modelId, records: [{ Industry: 'Retail' }] });
      await hostile.atRate(10, (index) =>
        hostile.call({ path: batch, key: 'test', headers: heads[index % heads.length] ?? {}, body }),
      );
    },
  },
];
