import { gzipSync } from 'node:zlib';
import type { RawCall } from '../../support/http/raw-connection.js';
import { type SampleLead, sampleAnswer } from '../../support/models/sample-answer.js';
import { type BadInputRig, goodBody, lead, scoreCall, webhookCall } from './bad-input.js';

/** An input that looks bad and is good. */
export interface OddInput {
  readonly name: string;
  readonly call: (rig: BadInputRig) => RawCall;
  /** The answer to each of its records. */
  readonly rows: readonly ReturnType<typeof sampleAnswer>[];
}

const answers = (...leads: readonly SampleLead[]): OddInput['rows'] => leads.map(sampleAnswer);
const one = answers(lead);
const text = (rig: BadInputRig): string => JSON.stringify(goodBody(rig));

/** A good body under other headers. */
const under =
  (headers: Readonly<Record<string, string>>): OddInput['call'] =>
  (rig) =>
    scoreCall(rig, text(rig), headers);

/** A call of one record, written as JSON. */
const record =
  (json: string): OddInput['call'] =>
  (rig) =>
    scoreCall(rig, `{"model_id":"${rig.own.model._id}","records":[${json}]}`);

/** A lead with two hundred fields that the model does not know, many of them a list. */
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

/** 200: odd, and yet good. */
export const oddInputs: readonly OddInput[] = (
  [
    ['a byte order mark', (rig) => scoreCall(rig, `\ufeff${text(rig)}`), one],
    ['white space around', (rig) => scoreCall(rig, `\r\n\t ${text(rig)} \n`), one],
    ['gzip', (rig) => scoreCall(rig, gzipSync(text(rig)), { 'Content-Encoding': 'gzip' }), one],
    ['GZIP', (rig) => scoreCall(rig, gzipSync(text(rig)), { 'Content-Encoding': 'GZIP' }), one],
    ['x-gzip', (rig) => scoreCall(rig, gzipSync(text(rig)), { 'Content-Encoding': 'x-gzip' }), one],
    [
      'gzip in two members',
      (rig) =>
        scoreCall(rig, Buffer.concat([gzipSync(text(rig).slice(0, 9)), gzipSync(text(rig).slice(9))]), {
          'Content-Encoding': 'gzip',
        }),
      one,
    ],
    ['Content-Encoding: identity', under({ 'Content-Encoding': 'identity' }), one],
    ['a Content-Type in capitals', under({ 'Content-Type': 'APPLICATION/JSON' }), one],
    [
      'a charset in capitals and quotes',
      under({ 'Content-Type': 'application/json ; Charset="UTF-8"' }),
      one,
    ],
    ['charset=utf8', under({ 'Content-Type': 'application/json;charset=utf8' }), one],
    ['another parameter', under({ 'Content-Type': 'application/json; odata=verbose; q=1' }), one],
    ['a semicolon and no parameter', under({ 'Content-Type': 'application/json;' }), one],
    [
      'bearer in lower case',
      (rig) => scoreCall(rig, goodBody(rig), { Authorization: `bearer ${rig.secret}` }),
      one,
    ],
    [
      'more spaces after Bearer',
      (rig) => scoreCall(rig, goodBody(rig), { Authorization: `Bearer   ${rig.secret}  ` }),
      one,
    ],
    ['an empty Idempotency-Key', under({ 'Idempotency-Key': '' }), one],
    ['an Idempotency-Key that is not ASCII', under({ 'Idempotency-Key': 'clé \xff' }), one],
    ['an X-Request-Id of no allowed form', under({ 'X-Request-Id': 'a b\xe9' }), one],
    ['an Accept of something else', under({ Accept: 'text/html', 'Accept-Encoding': 'br' }), one],
    ['Expect: 100-continue', under({ Expect: '100-continue' }), one],
    ['an Expect of something else', under({ Expect: 'a-miracle' }), one],
    [
      'an Upgrade',
      under({ Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' }),
      one,
    ],
    [
      'chunks with extensions and a trailer',
      (rig) => scoreCall(rig, chunked(text(rig)), { 'Transfer-Encoding': 'chunked', Trailer: 'X-Checksum' }),
      one,
    ],
    [
      'a slash at the end of the address',
      (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: '/v1/score/' }),
      one,
    ],
    ['capitals in the address', (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: '/V1/Score' }), one],
    [
      'a whole address in the request line',
      (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: 'http://test/v1/score' }),
      one,
    ],
    [
      'a query of 12 kB',
      (rig) => ({ ...scoreCall(rig, goodBody(rig)), path: `/v1/score?${'a=%E0%A4%A&'.repeat(1_100)}` }),
      one,
    ],
    [
      'unknown members',
      (rig) => scoreCall(rig, { ...goodBody(rig), metadata: { a: [1] }, explian: 'typo' }),
      one,
    ],
    [
      'duplicate keys: the last wins',
      record('{"company_size":"x","company_size":5,"crm_id":null,"crm_id":"L-dup"}'),
      answers({ company_size: 5 }),
    ],
    [
      'duplicate model_id: the last wins',
      (rig) => scoreCall(rig, text(rig).replace('{', '{"model_id":5,')),
      one,
    ],
    [
      '__proto__ as a field',
      record('{"__proto__":{"company_size":900},"company_size":5}'),
      answers({ company_size: 5 }),
    ],
    [
      'constructor as a field',
      record('{"constructor":{"prototype":{"a":1}},"company_size":5}'),
      answers({ company_size: 5 }),
    ],
    [
      '$where, a.b, toString, toJSON, _bsontype',
      record(
        '{"$where":"sleep(9)","a.b":1,"toString":null,"toJSON":{"a":1},"_bsontype":"ObjectId","company_size":5}',
      ),
      answers({ company_size: 5 }),
    ],
    ['an empty name', record('{"":1,"company_size":5}'), answers({ company_size: 5 })],
    [
      'a name of 100 kB',
      record(`{"${'n'.repeat(100_000)}":1,"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      '10,000 unknown fields',
      record(
        `{${Array.from({ length: 10_000 }, (_, field) => `"field_${field}":${field}`).join()},"company_size":5}`,
      ),
      answers({ company_size: 5 }),
    ],
    [
      'nesting of 32 in an unknown field',
      record(`{"x":${nested(29)},"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'NUL and half a surrogate pair in a value',
      record('{"note":"\\u0000\\ud800","lead_source":"\\udfff\\u0000","company_size":5}'),
      answers({ company_size: 5, lead_source: 'other' }),
    ],
    [
      'a number of 30 digits',
      record('{"company_size":0.000000000000000000000000000005}'),
      answers({ company_size: 0 }),
    ],
    [
      'an unknown number of 400 digits',
      record(`{"x":${'9'.repeat(400)},"company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'a text that cannot be read as a number',
      record('{"company_size":"many","lead_source":"Webinar"}'),
      answers({ lead_source: 'Webinar' }),
    ],
    ['one field that is known', record('{"lead_source":"Referral"}'), answers({ lead_source: 'Referral' })],
    ['one known field that is null', record('{"lead_source":null}'), answers({})],
    ['a list of one', record('{"company_size":[5]}'), answers({ company_size: 5 })],
    ['an empty crm_id', record('{"crm_id":"","company_size":5}'), answers({ company_size: 5 })],
    [
      'a crm_id of 255 characters beyond the first plane',
      record(`{"crm_id":"${'🦊'.repeat(255)}","company_size":5}`),
      answers({ company_size: 5 }),
    ],
    [
      'a crm_id twice',
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
      'a call that lands on the backstop',
      ({ nearlyExhausted: { live, model } }) => scoreCall(live, { model_id: model._id, records: [lead] }),
      one,
    ],
    [
      'a call that lands on the cap of test keys',
      ({ nearlyExhausted: { test, model } }) => scoreCall(test, { model_id: model._id, records: [lead] }),
      one,
    ],
    [
      'a timing model without a verdict under policy block',
      ({ blocked: { live, model } }) => scoreCall(live, { model_id: model._id, records: [lead] }),
      one,
    ],
    [
      'JSON sent as a form to the webhook',
      (rig) =>
        webhookCall(
          rig,
          { model_id: rig.own.model._id, ...lead },
          { 'Content-Type': 'application/x-www-form-urlencoded' },
        ),
      one,
    ],
  ] satisfies [string, OddInput['call'], OddInput['rows']][]
).map(([name, call, rows]) => ({ name, call, rows }));
