import { gzipSync } from 'node:zlib';
import type { RawCall } from '../../support/http/raw-connection.js';
import { type SampleLead, sampleAnswer } from '../../support/models/sample-answer.js';
import { goodBody, lead, scoreCall, webhookCall } from './bad-input.js';
import type { BadInputRig } from './rig.js';

/** An input that looks invalid but is valid. */
export interface OddInput {
  /** Completes the title "scores ...". */
  readonly name: string;
  readonly call: (rig: BadInputRig) => RawCall;
  /** The expected answer for each record. */
  readonly rows: readonly ReturnType<typeof sampleAnswer>[];
}

const answers = (...leads: readonly SampleLead[]): OddInput['rows'] => leads.map(sampleAnswer);
const one = answers(lead);
const text = (rig: BadInputRig): string => JSON.stringify(goodBody(rig));

/** A valid body with other headers. */
const under =
  (headers: Readonly<Record<string, string>>): OddInput['call'] =>
  (rig) =>
    scoreCall(rig, text(rig), headers);

/** A call with records given as JSON. */
const record =
  (json: string): OddInput['call'] =>
  (rig) =>
    scoreCall(rig, `{"model_id":"${rig.own.model._id}","records":[${json}]}`);

/** A lead with about two hundred unknown fields, half of them arrays. */
const wideLead = {
  ...lead,
  ...Object.fromEntries(Array.from({ length: 100 }, (_, field) => [`custom_field_${field}`, 'a, {b}'])),
  ...Object.fromEntries(Array.from({ length: 95 }, (_, field) => [`custom_list_${field}`, ['a']])),
};

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const chunked = (body: string): string => {
  const half = Math.floor(body.length / 2);
  const chunks = [body.slice(0, half), body.slice(half)].map(
    (chunk) => `${chunk.length.toString(16)};note="x"\r\n${chunk}\r\n`,
  );
  return `${chunks.join('')}0\r\nX-Checksum: 1\r\n\r\n`;
};

/** Odd but valid inputs of `POST /v1/score`, and some webhooks. */
export const oddInputs: readonly OddInput[] = (
  [
    ['a body with a byte order mark', (rig) => scoreCall(rig, `\ufeff${text(rig)}`), one],
    ['a body with whitespace around it', (rig) => scoreCall(rig, `\r\n\t ${text(rig)} \n`), one],
    ['a gzip body', (rig) => scoreCall(rig, gzipSync(text(rig)), { 'Content-Encoding': 'gzip' }), one],
    ['Content-Encoding: GZIP', (rig) => scoreCall(rig, gzipSync(text(rig)), { 'Content-Encoding': 'GZIP' }), one],
    ['Content-Encoding: x-gzip', (rig) => scoreCall(rig, gzipSync(text(rig)), { 'Content-Encoding': 'x-gzip' }), one],
    [
      'a gzip body of two members',
      (rig) =>
        scoreCall(rig, Buffer.concat([gzipSync(text(rig).slice(0, 9)), gzipSync(text(rig).slice(9))]), {
          'Content-Encoding': 'gzip',
        }),
      one,
    ],
    ['Content-Encoding: identity', under({ 'Content-Encoding': 'identity' }), one],
    ['a Content-Type in capitals', under({ 'Content-Type': 'APPLICATION/JSON' }), one],
    ['a charset in capitals and quotes', under({ 'Content-Type': 'application/json ; Charset="UTF-8"' }), one],
    ['a Content-Type with charset=utf8', under({ 'Content-Type': 'application/json;charset=utf8' }), one],
    ['a Content-Type with other parameters', under({ 'Content-Type': 'application/json; odata=verbose; q=1' }), one],
    ['a Content-Type that ends in a semicolon', under({ 'Content-Type': 'application/json;' }), one],
    [
      'the scheme bearer in lower case',
      (rig) => scoreCall(rig, goodBody(rig), { Authorization: `bearer ${rig.secret}` }),
      one,
    ],
    [
      'several spaces after Bearer',
      (rig) => scoreCall(rig, goodBody(rig), { Authorization: `Bearer   ${rig.secret}  ` }),
      one,
    ],
    ['an empty Idempotency-Key', under({ 'Idempotency-Key': '' }), one],
    ['an Idempotency-Key that is not ASCII', under({ 'Idempotency-Key': 'clé \xff' }), one],
    ['a malformed X-Request-Id', under({ 'X-Request-Id': 'a b\xe9' }), one],
    ['an Accept header of another type', under({ Accept: 'text/html', 'Accept-Encoding': 'br' }), one],
    ['a call with Expect: 100-continue', under({ Expect: '100-continue' }), one],
    ['an unknown Expect header', under({ Expect: 'a-miracle' }), one],
    ['an Upgrade header', under({ Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' }), one],
    [
      'chunks with extensions and trailers',
      (rig) => scoreCall(rig, chunked(text(rig)), { 'Transfer-Encoding': 'chunked', Trailer: 'X-Checksum' }),
      one,
    ],
    ['an address with a trailing slash', (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: '/v1/score/' }), one],
    ['an address in capitals', (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: '/V1/Score' }), one],
    [
      'an absolute address in the request line',
      (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: 'http://test/v1/score' }),
      one,
    ],
    [
      'a query of 12 kB',
      (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: `/v1/score?${'a=%E0%A4%A&'.repeat(1_100)}` }),
      one,
    ],
    [
      'unknown members of the body',
      (rig) => scoreCall(rig, { ...goodBody(rig), metadata: { a: [1] }, explian: 'typo' }),
      one,
    ],
    [
      'the last of duplicate record keys',
      record('{"company_size":"x","company_size":5,"crm_id":null,"crm_id":"L-dup"}'),
      answers({ company_size: 5 }),
    ],
    ['the last of duplicate model_ids', (rig) => scoreCall(rig, text(rig).replace('{', '{"model_id":5,')), one],
    [
      'a record with the field __proto__',
      record('{"__proto__":{"company_size":900},"company_size":5}'),
      answers({ company_size: 5 }),
    ],
    [
      'a record with the field constructor',
      record('{"constructor":{"prototype":{"a":1}},"company_size":5}'),
      answers({ company_size: 5 }),
    ],
    [
      'a record with the fields $where, a.b, toString, toJSON and _bsontype',
      record('{"$where":"sleep(9)","a.b":1,"toString":null,"toJSON":{"a":1},"_bsontype":"ObjectId","company_size":5}'),
      answers({ company_size: 5 }),
    ],
    ['a record with an empty field name', record('{"":1,"company_size":5}'), answers({ company_size: 5 })],
    [
      'a record with a field name of 100 kB',
      record(`{"${'n'.repeat(100_000)}":1,"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'a record with 10,000 unknown fields',
      record(`{${Array.from({ length: 10_000 }, (_, field) => `"field_${field}":${field}`).join()},"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'an unknown field at nesting depth 32',
      record(`{"x":${nested(29)},"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'NUL and lone surrogates in values',
      record('{"note":"\\u0000\\ud800","lead_source":"\\udfff\\u0000","company_size":5}'),
      answers({ company_size: 5, lead_source: 'other' }),
    ],
    [
      'a number of 30 decimals',
      record('{"company_size":0.000000000000000000000000000005}'),
      answers({ company_size: 0 }),
    ],
    [
      'an unknown field with a number of 400 digits',
      record(`{"x":${'9'.repeat(400)},"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'a string that is not a number as missing',
      record('{"company_size":"many","lead_source":"Webinar"}'),
      answers({ lead_source: 'Webinar' }),
    ],
    ['a record with one known field', record('{"lead_source":"Referral"}'), answers({ lead_source: 'Referral' })],
    ['a record whose only known field is null', record('{"lead_source":null}'), answers({})],
    ['an array of one value as that value', record('{"company_size":[5]}'), answers({ company_size: 5 })],
    ['a record with an empty crm_id', record('{"crm_id":"","company_size":5}'), answers({ company_size: 5 })],
    [
      'a crm_id of 255 astral characters',
      record(`{"crm_id":"${'🦊'.repeat(255)}","company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'two records with one crm_id',
      record('{"crm_id":"L-twice","company_size":5},{"crm_id":"L-twice","company_size":9}'),
      answers({ company_size: 5 }, { company_size: 9 }),
    ],
    [
      '1000 records',
      (rig) => scoreCall(rig, { ...goodBody(rig), records: Array.from({ length: 1000 }, () => lead) }),
      Array.from({ length: 1000 }, () => sampleAnswer(lead)),
    ],
    [
      '1000 records of 200 fields',
      (rig) => scoreCall(rig, { ...goodBody(rig), records: Array.from({ length: 1000 }, () => wideLead) }),
      Array.from({ length: 1000 }, () => sampleAnswer(lead)),
    ],
    [
      'a call that reaches the backstop exactly',
      ({ nearlyExhausted: { live, model } }) => scoreCall(live, { model_id: model._id, records: [lead] }),
      one,
    ],
    [
      'a call that reaches the cap of test keys exactly',
      ({ nearlyExhausted: { test, model } }) => scoreCall(test, { model_id: model._id, records: [lead] }),
      one,
    ],
    [
      'with an ungraded timing model under policy block',
      ({ blocked: { live, model } }) => scoreCall(live, { model_id: model._id, records: [lead] }),
      one,
    ],
    ['text/json that is declared as ISO-8859-1', under({ 'Content-Type': 'text/json; charset=ISO-8859-1' }), one],
    [
      'a webhook with JSON declared as a form',
      (rig) =>
        webhookCall(
          rig,
          { model_id: rig.own.model._id, ...lead },
          { 'Content-Type': 'application/x-www-form-urlencoded' },
        ),
      one,
    ],
    [
      'a webhook in Latin-1 that is declared as such',
      (rig) => {
        const body = { model_id: rig.own.model._id, ...lead, note: 'Übung' };
        return webhookCall(rig, Buffer.from(JSON.stringify(body), 'latin1'), {
          'Content-Type': 'application/json; charset=ISO-8859-1',
        });
      },
      one,
    ],
  ] satisfies [string, OddInput['call'], OddInput['rows']][]
).map(([name, call, rows]) => ({ name, call, rows }));
