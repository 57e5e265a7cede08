import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import Koa, { type Context } from 'koa';
import { parseWebhookBody } from '../../../api/webhook/body.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { bestMs, durationMs } from '../../support/beats.js';
import { failureOf } from '../../support/failure-of.js';

const form = 'application/x-www-form-urlencoded';

function contextOf(contentType: string | undefined, length = 1): Context {
  const request = new IncomingMessage(new Socket());
  request.headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(length === 0 ? {} : { 'content-length': String(length) }),
  };
  return new Koa().createContext(request, new ServerResponse(request));
}

const turn = { yieldToEventLoop: async () => undefined };

const parse = (contentType: string | undefined, body: string | Buffer, length = body.length): Promise<unknown> =>
  parseWebhookBody(contextOf(contentType, length), Buffer.from(body), turn);

async function refusalOf(parsing: Promise<unknown>): Promise<string> {
  const error = await failureOf(parsing);
  if (error instanceof ApiError) return `${error.entry.status} ${error.message}`;
  throw error;
}

describe('parseWebhookBody', () => {
  it('refuses a body of more than 20,000 values with 400, nested or not, and accepts 20,000', async () => {
    const members = (count: number, of: string) =>
      Array.from({ length: count }, (_, index) => `"${index}\\"" :${of}`).join(',');
    expect(await parse('application/json', `{${members(20_000, '":"')}}`)).to.have.property('19999"', ':');
    const lists = `{"a":[${'[],'.repeat(19_999)}[]]}`;
    for (const body of [`{${members(20_001, '1')}}`, `[{"a":{${members(10_000, '{"b":1}')}}}]`, lists]) {
      for (const type of ['application/json', 'text/plain', form])
        expect(await refusalOf(parse(type, body))).to.match(/^400 .*more than 20000 values: send the fields/);
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
    it(`parses ${type} as JSON`, async () => {
      expect(await parse(type, '{"a":[1]}')).to.deep.equal({ a: [1] });
    });
  }

  it('parses JSON that was sent as a form', async () => {
    expect(await parse(form, ' {"a":"1 + 1 = %32"}')).to.deep.equal({ a: '1 + 1 = %32' });
    expect(await parse(form, '[{"a":1}]')).to.deep.equal([{ a: 1 }]);
    expect(await parse(form, '%7B%22a%22%3A1%7D')).to.deep.equal({ '{"a":1}': '' });
  });

  it('parses any URL-encoded form without brackets in names, with repeated names as arrays', async () => {
    const name = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes(']'));
    const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'grapheme' })), {
      minLength: 1,
      maxLength: 8,
    });
    const property = fc.asyncProperty(pairs, async (sent) => {
      const expected: Record<string, unknown> = Object.create(null);
      for (const [name] of sent) {
        const values = sent.filter(([other]) => other === name).map(([, value]) => value);
        expected[name] = values.length === 1 ? values[0] : values;
      }
      const parsed = await parse(form, new URLSearchParams(sent).toString());
      expect(Object.entries(parsed as object)).to.have.deep.members(Object.entries(expected));
    });
    await fc.assert(property, {
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

  it('parses a form with empty pairs and missing values', async () => {
    expect(await parse(form, '&a&&b=&c=d=e&')).to.deep.equal({ a: '', b: '', c: 'd=e' });
  });

  it('refuses a form of more than 10,000 fields quickly', async () => {
    const parseAll = async () => {
      for (const field of ['a&', '&', 'a=b&'])
        expect(await refusalOf(parse(form, field.repeat(2_000_000)))).to.equal(
          '400 The form has more than 10000 fields.',
        );
      expect(await parse(form, Array(10_000).fill('a=1').join('&'))).to.deep.equal({ a: Array(10_000).fill('1') });
    };
    expect(await bestMs(5_000, () => durationMs(parseAll))).to.be.below(5_000);
  });

  it('refuses an empty body and an empty form with 422', async () => {
    expect(await refusalOf(parse('application/json', ''))).to.equal(
      '422 The body is empty: send the fields of one record.',
    );
    expect(await refusalOf(parse(form, '', 1))).to.match(/^422 The form is empty/);
    expect(await refusalOf(parse('text/plain', ' '))).to.match(/^422 The body is empty/);
  });

  it('refuses another content type or charset with 422', async () => {
    for (const type of [
      undefined,
      '',
      'json',
      'text/xml',
      'multipart/form-data; boundary=x',
      `${form}; charset=utf-16`,
    ])
      expect(await refusalOf(parse(type, '{}')), String(type)).to.match(/^422 Send the record as application\/json/);
  });
});
