import { gzipSync } from 'node:zlib';
import type { TestWorkspace } from '../../support/service/workspace.js';
import { type BadInput, goodBody, lead, rowsAs, scoreCall } from './bad-input.js';
import type { BadInputRig } from './rig.js';

const megabyte = 1024 * 1024;

/** A call with a valid record, then `record`. */
const withRecord =
  (record: unknown): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, { ...goodBody(rig), records: [lead, record] });

/** A gzip body of 4 MB that inflates to 4 GB. */
const bomb = (): Buffer => Buffer.alloc(64 * 66_000, gzipSync(Buffer.alloc(64 * megabyte)));
const padded = (rig: BadInputRig, bytes: number): string => {
  const text = JSON.stringify(goodBody(rig));
  return text + ' '.repeat(bytes - text.length);
};
const several = (count: number): unknown[] => Array.from({ length: count }, () => lead);
const many = (count: number): number[] => Array.from({ length: count }, () => 1);
const tooLarge = /larger than 8388608 bytes/;

/** Fields with names of 40 characters. */
export const wideFields = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, field) => [`field_${field}`.padEnd(40, 'x'), 1]));
export const tooManyNames =
  /^The different field names of the call have more than 262144 characters in total: send fewer/;

/** 400 of `POST /v1/score`. */
export const badRecords = rowsAs('400 bad_request', [
  ['an empty records array', (rig) => scoreCall(rig, { ...goodBody(rig), records: [] }), /no records/],
  [
    '1e999 as a number',
    (rig) => scoreCall(rig, `{"model_id":"${rig.own.model._id}","records":[{"company_size":1e999}]}`),
    /records\[0\]\.company_size: expected a number, came a number beyond/,
  ],
  [
    '-1e999 in an array',
    (rig) => scoreCall(rig, `{"model_id":"${rig.own.model._id}","records":[{"company_size":[-1e999]}]}`),
    /records\[0\]\.company_size: expected a number, came a number beyond/,
  ],
  [
    'an object as a number',
    withRecord({ company_size: { value: 5 } }),
    /records\[1\]\.company_size: expected a number, came an object/,
  ],
  [
    'an array as a number',
    withRecord({ company_size: [1, 2] }),
    /records\[1\]\.company_size: expected a number, came an array of 2 values/,
  ],
  [
    'a nested array',
    withRecord({ company_size: [[1]] }),
    /records\[1\]\.company_size: expected a number, came a nested array/,
  ],
  [
    'an object as a category',
    withRecord({ lead_source: {} }),
    /records\[1\]\.lead_source: expected one text, came an object/,
  ],
  [
    'an array as a boolean',
    withRecord({ demo_requested: [true, false] }),
    /records\[1\]\.demo_requested: expected true or false, came an array/,
  ],
  [
    'a missing required field',
    (rig) => scoreCall(rig, { model_id: rig.strictModel._id, records: [{ lead_source: 'Webinar' }] }),
    /records\[0\]\.company_size: expected a number, came nothing/,
  ],
  [
    'an unreadable required field',
    (rig) => scoreCall(rig, { model_id: rig.strictModel._id, records: [{ company_size: '11-50' }] }),
    /records\[0\]\.company_size: expected a number, came a text/,
  ],
  ['an empty record', withRecord({}), /records\[1\]: expected at least one field that the model knows, came none/],
  [
    'a record of unknown fields',
    withRecord({ colour: 'red', size: 5 }),
    /records\[1\]: expected at least one field.*came none.*\. GET \/v1\/models\/mdl_\w+ lists the model's fields\. Nothing/,
  ],
  [
    'one invalid record among 999 valid ones',
    (rig) =>
      scoreCall(rig, {
        ...goodBody(rig),
        records: [...several(500), { company_size: {} }, ...several(499)],
      }),
    /^records\[500\]\.company_size: expected a number, came an object\. Nothing of the call was counted\.$/,
  ],
  [
    'a body of more than 300,000 values',
    withRecord({ numbers: many(300_000) }),
    /^The body has more than 300000 values: send fewer records in each call, or fewer fields of each\.$/,
  ],
  [
    'a body of more than 20,000 values in one record',
    withRecord({ company_size: 5, other: wideFields(20_001) }),
    /^The body has more than 20000 values in one record or outside of records: send fewer records in each call, or fewer fields of each\.$/,
  ],
  ['different field names of more than 262,144 characters', withRecord(wideFields(7_000)), tooManyNames],
  ['a body over the limit', (rig) => scoreCall(rig, padded(rig, 8 * megabyte + 1)), tooLarge],
  [
    'a Content-Length over the limit',
    (rig) => scoreCall(rig, '{', { 'Content-Length': String(Number.MAX_SAFE_INTEGER) }),
    tooLarge,
  ],
  [
    'a gzip body that inflates over the limit',
    (rig) => scoreCall(rig, gzipSync(padded(rig, 8 * megabyte + 1)), { 'Content-Encoding': 'gzip' }),
    tooLarge,
  ],
  ['a gzip bomb', (rig) => scoreCall(rig, bomb(), { 'Content-Encoding': 'gzip' }), tooLarge],
]);

/** 400 record_limit_exceeded of `POST /v1/score`. */
export const tooManyRecords: readonly BadInput[] = [
  {
    name: '1001 records',
    call: (rig) => scoreCall(rig, { ...goodBody(rig), records: several(1001) }),
    as: '400 record_limit_exceeded',
    says: /1001 records; at most 1000/,
  },
  {
    name: '1001 records with more values than a batch may have',
    call: (rig) => scoreCall(rig, { ...goodBody(rig), records: several(1001).map(() => ({ numbers: many(400) })) }),
    as: '400 record_limit_exceeded',
    says: /1001 records; at most 1000/,
  },
  {
    name: '1001 records after the quota is used up',
    call: ({ exhausted }) => scoreCall(exhausted.live, { model_id: exhausted.model._id, records: several(1001) }),
    as: '400 record_limit_exceeded',
    says: /1001 records; at most 1000/,
  },
];

const more = (own: TestWorkspace, count: number) =>
  scoreCall(own.live, { model_id: own.model._id, records: several(count) });

/** 429 of `POST /v1/score`. */
export const overQuota = rowsAs('429 quota_exceeded', [
  ['a live key on the Free plan', ({ onFree }) => more(onFree, 1), /Free plan has no Live API/],
  [
    'one record past the backstop',
    ({ exhausted }) => more(exhausted, 1),
    /^1 more record would pass the backstop of 2 for this month: 2 are used/,
  ],
  [
    'a batch that would pass the backstop',
    ({ nearlyExhausted }) => more(nearlyExhausted, 2),
    /2 more records would pass the backstop of 2 for this month: 1 is used.*refused whole/,
  ],
  [
    'two records when 999 of the test key’s 1000 are used',
    ({ nearlyExhausted: { test, model } }) => scoreCall(test, { model_id: model._id, records: several(2) }),
    /2 more records would pass the cap of test keys of 1000 for this month: 999 are used/,
  ],
]);
