import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import Koa, { type Context } from 'koa';
import { parseWebhookBody } from '../../../api/webhook/body.js';
import { ApiError } from '../../../shared/contract/errors.js';

const form = 'application/x-www-form-urlencoded';

function contextOf(contentType: string | undefined, length = 1): Context {
  const request = new IncomingMessage(new Socket());
  request.headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(length === 0 ? {} : { 'content-length': String(length) }),
  };
  return new Koa().createContext(request, new ServerResponse(request));
}

const parse = (contentType: string | undefined, body: string | Buffer): unknown =>
  parseWebhookBody(contextOf(contentType, body.length), Buffer.from(body));

function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return `${error.entry.status} ${error.message}`;
    throw error;
  }
  throw new Error('the body was not refused');
}

describe('parseWebhookBody', () => {
  it('refuses a body of more than 100,000 values with 400, nested or not, and accepts 100,000', () => {
    const members = (count: number, of: string) =>
      Array.from({ length: count }, (_, index) => `"${index}\\"" :${of}`).join(',');
    expect(parse('application/json', `{${members(100_000, '":"')}}`)).to.have.property('99999"', ':');
    const lists = `{"a":[${'[],'.repeat(99_999)}[]]}`;
    for (const body of [`{${members(100_001, '1')}}`, `[{"a":{${members(50_000, '{"b":1}')}}}]`, lists]) {
      for (const type of ['application/json', 'text/plain', form])
        expect(refusalOf(() => parse(type, body))).to.match(/^400 .*more than 100000 values: send the fields/);
    }
  });

  for (const type of [
    'application/json',
    'APPLICATION/JSON; charset="UTF-8"',
    'application/json;',
    'application/ld+json',
    'text/plain',
    'text/plain; charset=us-ascii',
  ]) {
    it(`parses ${type} as JSON`, () => {
      expect(parse(type, '{"a":[1]}')).to.deep.equal({ a: [1] });
    });
  }

  it('parses JSON that was sent as a form', () => {
    expect(parse(form, ' {"a":"1 + 1 = %32"}')).to.deep.equal({ a: '1 + 1 = %32' });
    expect(parse(form, '[{"a":1}]')).to.deep.equal([{ a: 1 }]);
    expect(parse(form, '%7B%22a%22%3A1%7D')).to.deep.equal({ '{"a":1}': '' });
  });

  it('parses any URL-encoded form, with repeated names as arrays', () => {
    const pairs = fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), {
      minLength: 1,
      maxLength: 8,
    });
    const property = fc.property(pairs, (sent) => {
      const expected: Record<string, unknown> = Object.create(null);
      for (const [name] of sent) {
        const values = sent.filter(([other]) => other === name).map(([, value]) => value);
        expected[name] = values.length === 1 ? values[0] : values;
      }
      const parsed = parse(form, new URLSearchParams(sent).toString());
      expect(Object.entries(parsed as object)).to.have.deep.members(Object.entries(expected));
    });
    fc.assert(property, {
      examples: [
        [[['__proto__', 'a']]],
        [[['', '']]],
        [
          [
            ['a', '1'],
            ['a', '2'],
          ],
        ],
      ],
    });
  });

  it('parses a form with empty pairs and missing values', () => {
    expect(parse(form, '&a&&b=&c=d=e&')).to.deep.equal({ a: '', b: '', c: 'd=e' });
  });

  it('refuses a form of more than 10,000 fields quickly', () => {
    const startMs = performance.now();
    for (const field of ['a&', '&', 'a=b&'])
      expect(refusalOf(() => parse(form, field.repeat(2_000_000)))).to.equal(
        '400 The form has more than 10000 fields.',
      );
    expect(parse(form, Array(10_000).fill('a=1').join('&'))).to.deep.equal({ a: Array(10_000).fill('1') });
    expect(performance.now() - startMs).to.be.below(5_000);
  });

  it('refuses an empty body and an empty form with 422', () => {
    expect(refusalOf(() => parse('application/json', ''))).to.equal(
      '422 The body is empty: send the fields of one record.',
    );
    expect(refusalOf(() => parseWebhookBody(contextOf(form), Buffer.from('')))).to.match(/^422 The form is empty/);
    expect(refusalOf(() => parseWebhookBody(contextOf('text/plain'), Buffer.from(' ')))).to.match(
      /^422 The body is empty/,
    );
  });

  it('refuses another content type or charset with 422', () => {
    for (const type of [
      undefined,
      '',
      'json',
      'text/xml',
      'multipart/form-data; boundary=x',
      `${form}; charset=utf-16`,
    ])
      expect(
        refusalOf(() => parse(type, '{}')),
        String(type),
      ).to.match(/^422 Send the record as application\/json/);
  });
});
