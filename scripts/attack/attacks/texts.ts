import { type Attack, gzipped, json, refused, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';

/*
 * Hostile values in records of valid calls. The fields are those of the demo's model: a list ("Products of Interest"),
 * categories, numbers and dates.
 */

const list = 'Products of Interest';

/** Sends one body ten times a second, in turn with the live and the test key. */
const repeated = (bodyOf: (hostile: Hostile) => Buffer, path = '/v1/score') => {
  return async (hostile: Hostile): Promise<void> => {
    const body = bodyOf(hostile);
    const send = (index: number) => hostile.callGzipped({ path, key: index % 2 === 0 ? 'test' : 'live', body });
    await hostile.atRate(10, send);
  };
};

const batchOf = (hostile: Hostile, records: readonly unknown[]): Buffer =>
  gzipped({ model_id: hostile.modelId, records });

/** Bytes in front and behind may be no UTF-8. */
const withRecord = (hostile: Hostile, recordText: string): Buffer =>
  gzipped(`{"model_id":${JSON.stringify(hostile.modelId)},"records":[${recordText}]}`);

/** Three kinds of marks in an order that canonical ordering must reverse. The text is just short enough for a list. */
const marks = `a${'\u0345'.repeat(20_000)}${'\u0301'.repeat(25_000)}${'\u0316'.repeat(20_000)}`;
/** NFKC makes this letter 18 characters long. */
const wideLetter = '\ufdfa';

export const texts: readonly Attack[] = [
  {
    name: 'marks',
    does: 'sends lists of 65,001 combining marks, whose normalisation takes quadratic time',
    answers: ['200', ...slowDown],
    run: repeated((hostile) => batchOf(hostile, Array(60).fill({ [list]: marks }))),
  },
  {
    name: 'marks-in-turn',
    does: 'sends lists with runs of thirty marks of alternating classes, so that no run is cut',
    answers: ['200', ...slowDown],
    run: repeated((hostile) => {
      const text = `a${'\u0345\u0301\u0316'.repeat(10)}`.repeat(2_100).slice(0, 65_000);
      return batchOf(hostile, Array(60).fill({ [list]: text }));
    }),
  },
  {
    name: 'wide-lists',
    does: 'sends lists of 60,000 letters that become 18 times as long when they are compared',
    answers: ['200', ...slowDown],
    run: repeated((hostile) => batchOf(hostile, Array(45).fill({ [list]: wideLetter.repeat(60_000) }))),
  },
  {
    name: 'wide-values',
    does: 'sends categories of 4,096 letters that become 18 times as long when they are compared',
    answers: ['200', ...slowDown],
    run: repeated((hostile) => {
      const value = wideLetter.repeat(4_096);
      return batchOf(hostile, Array(200).fill({ Industry: value, Country: value, Seniority: value }));
    }),
  },
  {
    name: 'long-lists',
    does: 'sends lists of ten thousand parts, as text and as arrays',
    answers: ['200', ...slowDown, ...refused],
    run: repeated((hostile) => {
      const parts = Array.from({ length: 10_000 }, (_, index) => index.toString(36));
      return batchOf(hostile, [
        ...Array(20).fill({ [list]: parts }),
        ...Array(60).fill({ [list]: ';x'.repeat(32_700) }),
      ]);
    }),
  },
  {
    name: 'numbers',
    does: 'sends numbers beyond every type, of ten thousand digits, and dates of impossible years',
    answers: ['200', ...slowDown, ...refused],
    run: async (hostile) => {
      const cells = ['1e999', '-1e-999', '9'.repeat(10_000), `0.${'1'.repeat(10_000)}`, '"1e308k"'];
      cells.push(`"${"1'".repeat(2_000)}"`, `"${'('.repeat(60)}1${')'.repeat(60)}"`, '"+275760-09-13"', '-8.64e15');
      const bodies = cells.map((cell) => withRecord(hostile, `{"Annual Revenue":${cell},"Created Date":${cell}}`));
      await hostile.atRate(10, (index) =>
        hostile.callGzipped({ path: '/v1/score', body: bodies[index % bodies.length] ?? bodies[0] ?? Buffer.of() }),
      );
    },
  },
  {
    name: 'surrogates',
    does: 'sends halves of surrogate pairs and NUL in values, names and crm_ids',
    answers: ['200', ...slowDown, ...refused],
    run: async (hostile) => {
      const bodiesOf = [
        (text: string) => `{"Industry":"${text}"}`,
        (text: string) => `{"Industry":"Retail","${text}":1}`,
        (text: string) => `{"Industry":"Retail","crm_id":"${text}"}`,
      ];
      const halves = ['\\ud800', '\\udc00x', '\\udfff\\ud800', '\\u0000', '\\uffff'];
      const bodies = bodiesOf.flatMap((bodyOf) => halves.map((half) => withRecord(hostile, bodyOf(half))));
      await hostile.atRate(10, (index) =>
        hostile.callGzipped({ path: '/v1/score', body: bodies[index % bodies.length] ?? Buffer.of() }),
      );
    },
  },
  {
    name: 'no-utf8',
    does: 'sends bodies with bytes that are not UTF-8, at their beginning and after megabytes',
    answers: ['422 bad_request', ...slowDown],
    run: repeated((hostile) => {
      const body = json({ model_id: hostile.modelId, records: [{ Industry: 'a'.repeat(7_000_000) }] });
      body[body.length - 10] = 0xff;
      return gzipped(body);
    }),
  },
  {
    name: 'prototypes',
    does: 'names fields after members of JavaScript objects, and sends names twice',
    answers: ['200', ...slowDown, ...refused],
    run: repeated((hostile) =>
      withRecord(
        hostile,
        '{"__proto__":{"crm_id":"x","Industry":"Retail"},"constructor":{"prototype":{"explain":true}},"toString":null,' +
          '"hasOwnProperty":1,"Industry":"Retail","Industry":"Software","crm_id":"a","crm_id":"b"}',
      ),
    ),
  },
];
