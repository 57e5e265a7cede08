/*
 * Bodies that cost a gateway as much CPU time as possible, in each format. All have at most 8 MiB.
 */

/** The body of a call, with its path. */
export interface HostileBody {
  /** Completes the title of a failure. */
  readonly name: string;
  readonly path: '/v1/score' | '/v1/webhooks/score' | '/v1/outcomes';
  readonly body: Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const mebibyte = 1024 * 1024;
const maxBytes = 8 * mebibyte;
const [score, webhook, outcomes] = ['/v1/score', '/v1/webhooks/score', '/v1/outcomes'] as const;
const form = 'application/x-www-form-urlencoded';
/** NFKC makes it 18 characters. */
const widest = '\ufdfa';
const marked = `a${'\u0345\u0301'.repeat(14)}`;

/** Writes up to `count` items between a head and a tail, as many as fit. */
function filled(head: string, item: (index: number) => string, tail: string, count: number): Buffer {
  const items: string[] = [];
  let left = maxBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
  while (items.length < count) {
    const text = item(items.length);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) break;
    items.push(text);
  }
  return Buffer.from(`${head}${items.join()}${tail}`);
}

/** Names that are slow to parse, to hash or to fold, each different from the others. */
const nameStyles: Readonly<Record<string, (index: number) => string>> = {
  'short names': (index) => `field_${index}`,
  'names that are numbers': (index) => String(index * 7_919),
  'names of 400 characters': (index) => `f${index}`.padEnd(400, 'x'),
  'names that NFKC expands': (index) => `${index}${widest.repeat(20)}`,
  'long names that NFKC expands': (index) => `${index}${widest.repeat(500)}`,
  'names of many marks': (index) => `${index}${marked.repeat(15)}`,
  'escaped names': (index) => `${'\\u0041'.repeat(10)}${index}`,
};

/** The start and the end of a record's fields in each format. */
const envelopes = (modelId: string): Readonly<Record<string, readonly [HostileBody['path'], string, string]>> => {
  const model = `"model_id":"${modelId}"`;
  const known = '"company_size":{},"demo_requested":{},"lead_source":{}';
  return {
    'a batch of one record': [score, `{${model},"records":[{${known},`, '}]}'],
    'a batch with extra members': [score, `{${model},"records":[{${known}}],`, '}'],
    'a flat webhook': [webhook, `{${model},${known},`, '}'],
    'a flat webhook without a known field': [webhook, `{${model},`, '}'],
    'a plain webhook with settings in the record': [webhook, `{"record":{${model},"crm_id":"a",${known},`, '}}'],
    'a HubSpot action': [webhook, `{${model},"callbackId":"c","inputFields":{${known},`, '}}'],
    'a HubSpot workflow': [webhook, `{${model},"properties":{"company_size":{"value":1},`, '}}'],
    'a Pipedrive event': [webhook, `{${model},"meta":{},"data":{${known},"custom_fields":{`, '}}}'],
    'an n8n item': [webhook, `{${model},"crm_id":"a","json":{${model},${known},`, '}}'],
    'an n8n webhook node': [webhook, `{"headers":{},${model},"explain":true,"body":[{${known},`, '}]}'],
    'an array of one webhook': [webhook, `[{${model},${known},`, '}]'],
    outcomes: [outcomes, '{"outcomes":[{"crm_id":"a","converted":true,"at":"2026-01-01",', '}]}'],
  };
};

/** More fields than any format allows. */
const tooMany = 120_000;
const mostAllowed = 19_900;

/**
 * Wide records: each format with as many fields as are allowed, and two formats with all kinds of names and too many.
 */
export function* wideBodies(modelId: string): Generator<HostileBody> {
  for (const [envelope, [path, head, tail]] of Object.entries(envelopes(modelId))) {
    const isMain = ['a batch of one record', 'a flat webhook'].includes(envelope);
    for (const [style, nameOf] of Object.entries(nameStyles).slice(0, isMain ? undefined : 2)) {
      for (const count of isMain ? [mostAllowed, tooMany] : [mostAllowed]) {
        const body = filled(head, (index) => `"${nameOf(index)}":1`, tail, count);
        yield { name: `${envelope} with ${count} ${style}`, path, body };
      }
    }
  }
}

/** Bodies that are large, deep or broken in other ways. */
export function* largeBodies(modelId: string): Generator<HostileBody> {
  const of = (records: string, members = '') => `{"model_id":"${modelId}",${members}"records":[${records}]}`;
  const batch = (record: (index: number) => string, members = ''): Buffer => {
    const [head = '', tail = ''] = of('|', members).split('|');
    return filled(head, record, tail, 1_000);
  };
  const inOne = (item: (index: number) => string, count: number) => {
    const [head = '', tail = ''] = of('{"company_size":1,"x":[|]}').split('|');
    return filled(head, item, tail, count);
  };
  const lead = (index: number, value: string) =>
    `{"crm_id":"L${index}","company_size":${index},"lead_source":"${value}"}`;
  const wide = (index: number, nameOf: (field: number) => string, value: string) =>
    `{"company_size":${index},${Array.from({ length: 290 }, (_, field) => `"${nameOf(field)}":${value}`).join()}}`;
  const inScore = {
    'a thousand records of the same 290 fields': batch((index) => wide(index, (field) => `fi_${field}`, '"a value"')),
    'a thousand records of 290 different fields': batch((index) => wide(index, (field) => `${index}_${field}`, '1')),
    'a thousand large records': batch((index) => lead(index, 'x'.repeat(8_000))),
    'a thousand large records with explain': batch((index) => lead(index, '語'.repeat(2_700)), '"explain":true,'),
    'a thousand problems': batch(() => '{"company_size":{},"demo_requested":[1,2],"lead_source":{}}'),
    'a thousand leads of one id': batch(() => `{"crm_id":"same","company_size":1,"y":"${'x'.repeat(7_000)}"}`),
    'a last record that is no object': batch((index) => (index < 999 ? lead(index, 'x'.repeat(7_000)) : '5')),
    'a crm_id of megabytes': Buffer.from(of(`{"crm_id":"${'é'.repeat(4 * mebibyte - 200)}"}`)),
    'a model_id of megabytes': Buffer.from(`{"model_id":"${'é'.repeat(4 * mebibyte - 200)}","records":[]}`),
    'a text of escapes': Buffer.from(of(`{"lead_source":"${'\\n'.repeat(4 * mebibyte - 200)}"}`)),
    'a text of NUL': Buffer.from(of(`{"lead_source":"${'\\u0000'.repeat(mebibyte)}"}`)),
    'a list of texts': inOne((index) => `"v${index}"`, 299_000),
    'a list of numbers': inOne((index) => `1.2345678901234567e-${index % 300}`, 299_000),
    'a list of empty objects': inOne(() => '{"a":{}}', 99_000),
    'lists of the deepest allowed': inOne(() => `${'['.repeat(28)}1${']'.repeat(28)}`, 10_000),
    'lists one too deep': inOne(() => `${'['.repeat(29)}1${']'.repeat(29)}`, 10_000),
    'too many records': Buffer.from(of(Array(2_700_000).fill('{}').join())),
    'commas alone': Buffer.alloc(maxBytes, ','),
    'opened arrays': Buffer.alloc(maxBytes, '['),
    'opened objects': Buffer.alloc(maxBytes, '{"a":'),
    'quotes alone': Buffer.alloc(maxBytes, '"'),
    'spaces alone': Buffer.alloc(maxBytes, ' '),
    'a fault after spaces': Buffer.concat([Buffer.alloc(maxBytes - 3, ' '), Buffer.from('NaN')]),
    'a cut off batch': batch((index) => lead(index, 'x'.repeat(8_000))).subarray(0, -20),
    'a batch with a fault at its end': Buffer.concat([inOne((index) => `"v${index}"`, 200_000), Buffer.from(']')]),
    'bytes that are not UTF-8': Buffer.alloc(maxBytes, 0xff),
  };
  for (const [name, body] of Object.entries(inScore)) yield { name, path: score, body };
  const inForm = {
    'a form of 10,000 fields': Array.from({ length: 10_000 }, (_, index) => `f${index}=${'%C3%A9'.repeat(130)}`).join(
      '&',
    ),
    'a form of escapes': `x=${'%61'.repeat(2.6 * mebibyte)}`,
    'a form of plus signs': `x=${'+'.repeat(maxBytes - 200)}`,
    'a form of alternating plus signs': `x=${'+a'.repeat(maxBytes / 2 - 200)}`,
    'a form of separators': '&'.repeat(maxBytes - 200),
    'a form with a fault at its end': `x=${'%61'.repeat(2.6 * mebibyte)}%`,
    'a form of white space': `${' '.repeat(maxBytes - 200)}=1`,
    'a form of one repeated name': 'a=1&'.repeat(9_900),
  };
  for (const [name, text] of Object.entries(inForm))
    yield { name, path: webhook, type: form, body: Buffer.from(`model_id=${modelId}&company_size=1&${text}`) };
  const outcome = (index: number, id: string, rest = '') =>
    `{"crm_id":"${index}${id}","converted":true,"at":"2026-01-01"${rest}}`;
  const outcomesOf = (count: number, item: (index: number) => string) => filled('{"outcomes":[', item, ']}', count);
  const inOutcomes = {
    'a thousand large outcomes': outcomesOf(1_000, (index) => outcome(index, '', `,"y":"${'x'.repeat(8_000)}"`)),
    'a thousand outcomes of long ids': outcomesOf(1_000, (index) => outcome(index, '語'.repeat(250))),
    'too many outcomes': outcomesOf(tooMany, (index) => outcome(index, '')),
  };
  for (const [name, body] of Object.entries(inOutcomes)) yield { name, path: outcomes, body };
}
