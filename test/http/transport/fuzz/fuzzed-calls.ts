import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type RawCall, requestBytes } from '../../../support/http/raw-connection.js';
import { mutatedJson } from './json-mutations.js';

/** The parts of valid calls. */
export interface GoodParts {
  readonly modelId: string;
  /** Secrets of live and test keys. */
  readonly secrets: readonly string[];
}

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const lead = { company_size: 120, lead_source: 'Webinar', demo_requested: 'yes', crm_id: 'L-1' };

const batchBodies = ({ modelId: model_id }: GoodParts): readonly unknown[] => [
  { model_id, records: [lead] },
  {
    model_id,
    records: [lead, { company_size: '1,200' }, { lead_source: null, note: { a: [1] } }],
    explain: true,
  },
];

const webhookBodies = ({ modelId: model_id }: GoodParts): readonly unknown[] => [
  { model_id, ...lead },
  { model_id, explain: 'true', record: lead },
  [
    {
      model_id,
      vid: 5,
      properties: { company_size: { value: '5', versions: [] }, lead_source: { value: 'Webinar' } },
    },
  ],
  { callbackId: 'ap-1-2-3', origin: {}, object: { objectId: 7 }, inputFields: { model_id, ...lead } },
  {
    model_id,
    meta: { action: 'change' },
    data: { id: 9, company_size: 5, custom_fields: { lead_source: { value: 'x' } } },
  },
  [{ json: { model_id, ...lead }, pairedItem: { item: 0 } }],
];

const headerText = fc.string({
  unit: fc.constantFrom(...'aZ09 ;=,/*"\\:-_{}\t\x7e\x80\xe9\xff'),
  maxLength: 30,
});

/** Calls of the scoring endpoints and their aliases, each with some valid and some odd parts. */
export function fuzzedCalls(good: GoodParts): fc.Arbitrary<RawCall> {
  const body = (bodies: readonly unknown[]) =>
    fc.oneof(
      { weight: 8, arbitrary: mutatedJson(bodies).map((text) => Buffer.from(text)) },
      { weight: 2, arbitrary: fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    );
  const rest = {
    key: oftenOneOf(good.secrets, headerText),
    contentType: oftenOneOf(
      [json, `${json}; charset=utf-8`],
      fc.oneof(fc.constantFrom(form, 'text/plain', '*/*', 'application/ld+json'), headerText),
    ),
    encoding: fc.constantFrom('', '', '', '', 'gzip', 'gzip, but not so', 'identity', 'br'),
    isChunked: fc.boolean(),
    idempotencyKey: oftenOneOf([undefined], fc.constantFrom('a', 'b', '', 'k'.repeat(300))),
    header: fc.tuple(
      fc.constantFrom('Accept', 'X-Request-Id', 'X-API-Key', 'Cookie', 'Expect', 'Range', 'X-Forwarded-For'),
      headerText,
    ),
    query: oftenOneOf(
      [''],
      fc.constantFrom(
        '?',
        '?model_id=',
        `?model_id=${good.modelId}`,
        '?explain=1',
        '?explain=x&explain',
        '?%E0%A4%A',
        '?__proto__=1',
      ),
    ),
  };
  return fc.oneof(
    fc.record({ path: fc.constantFrom('/v1/score', '/score'), body: body(batchBodies(good)), ...rest }).map(asCall),
    fc
      .record({
        path: fc.constantFrom('/v1/webhooks/score', '/webhooks/score'),
        body: body(webhookBodies(good)),
        ...rest,
      })
      .map(asCall),
  );
}

/** The bytes of requests with bytes changed, inserted and removed, mostly in the head. */
export function fuzzedBytes(good: GoodParts): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.nat({ max: 400 }),
    cut: fc.nat({ max: 4 }),
    put: fc.oneof(
      fc.uint8Array({ maxLength: 3 }),
      fc
        .constantFrom('\r\n', '\r\n\r\n', '\0', ': ', ' ', '\t', '%', '\r\nTransfer-Encoding: chunked\r\n', 'ffff\r\n')
        .map((text) => Buffer.from(text)),
    ),
  });
  return fc
    .tuple(fuzzedCalls(good), fc.array(change, { maxLength: 4 }))
    .map(([call, changes]) =>
      changes.reduce<Buffer>(
        (bytes, { at, cut, put }) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]),
        requestBytes(call),
      ),
    );
}

interface FuzzedParts {
  readonly path: string;
  readonly query: string;
  readonly body: Buffer;
  readonly key: string;
  readonly contentType: string;
  readonly encoding: string;
  readonly isChunked: boolean;
  readonly idempotencyKey: string | undefined;
  readonly header: readonly [string, string];
}

function asCall({ path, query, body, header, ...parts }: FuzzedParts): RawCall {
  const sent = parts.encoding === 'gzip' ? gzipSync(body) : body;
  const [name, value] = header;
  const headers = {
    Authorization: `Bearer ${parts.key}`,
    'Content-Type': parts.contentType,
    ...(parts.encoding === '' ? {} : { 'Content-Encoding': parts.encoding }),
    ...(parts.idempotencyKey === undefined ? {} : { 'Idempotency-Key': parts.idempotencyKey }),
    [name]: value,
  };
  if (!parts.isChunked) return { path: path + query, headers, body: sent };
  return { path: path + query, headers: { ...headers, 'Transfer-Encoding': 'chunked' }, body: chunked(sent) };
}

function chunked(body: Buffer): Buffer {
  const chunk = (part: Buffer) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')];
  const half = body.length >> 1;
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  return Buffer.concat([...parts.flatMap(chunk), Buffer.from('0\r\n\r\n')]);
}

const oftenOneOf = <Value>(usual: readonly Value[], rare: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: rare });
