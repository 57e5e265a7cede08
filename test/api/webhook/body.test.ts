import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import Koa, { type Context } from 'koa';
import { parseWebhookBody, webhookForm } from '../../../api/webhook/body.js';
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

const parse = async (contentType: string | undefined, body: string | Buffer, length = body.length): Promise<unknown> =>
  await parseWebhookBody(Buffer.from(body), webhookForm(contextOf(contentType, length)));

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
    'text/json',
    'text/json; charset=ISO-8859-1',
    'application/json; charset=latin1',
    'application/json; charset=windows-1252',
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

  it('refuses another content type with 422, and multipart with advice of its own', async () => {
    for (const type of [undefined, '', 'json', 'text/xml'])
      expect(await refusalOf(parse(type, '{}')), String(type)).to.match(/^422 Send the record as application\/json/);
    expect(await refusalOf(parse('multipart/form-data; boundary=x', '--x--'))).to.equal(
      '422 multipart/form-data is not read: send the same fields as application/json or application/x-www-form-urlencoded.',
    );
  });

  it('refuses UTF-16 and other charsets with 422, and names them', async () => {
    const advice = 'send UTF-8, and declare utf-8 or none.';
    for (const charset of ['utf-16', 'shift_jis', 'x'.repeat(40)])
      expect(await refusalOf(parse(`${form}; charset=${charset}`, 'a=1'))).to.equal(
        `422 The Content-Type declares the charset "${charset}": ${advice}`,
      );
    for (const text of ['\ufeff{"a":1}', '{"a":1}']) {
      const littleEndian = Buffer.from(text, 'utf16le');
      for (const body of [littleEndian, Buffer.from(littleEndian).swap16()])
        expect(await refusalOf(parse('application/json', body))).to.equal(
          '422 The body must be UTF-8, and this is UTF-16: encode it as UTF-8.',
        );
    }
    expect(await refusalOf(parse('application/json', Buffer.from('{"a":"ü"}', 'latin1')))).to.match(/must be UTF-8\.$/);
  });

  it('decodes a body that is declared as windows-1252, or as ISO-8859-1, which browsers read as that', async () => {
    const text = 'M\u00fcller \u2019\u20ac';
    const bytes = Buffer.from([0x4d, 0xfc, 0x6c, 0x6c, 0x65, 0x72, 0x20, 0x92, 0x80]);
    const json = Buffer.concat([Buffer.from('{"a":"'), bytes, Buffer.from('"}')]);
    for (const charset of ['ISO-8859-1', 'windows-1252', 'Latin1', 'us-ascii']) {
      expect(await parse(`application/json; charset=${charset}`, json)).to.deep.equal({ a: text });
      const inForm = Buffer.concat([Buffer.from('a='), bytes, Buffer.from('&b=M%FCller+%92%80&c=M%C3%BCller')]);
      const expected = { a: text, b: text, c: 'M\u00fcller' };
      expect(await parse(`${form}; charset=${charset}`, inForm)).to.deep.equal(expected);
    }
  });

  it('reads UTF-8 that is declared as ISO-8859-1 as UTF-8', async () => {
    const type = 'application/json; charset=ISO-8859-1';
    expect(await parse(type, '{"a":"M\u00fcller \u20ac"}')).to.deep.equal({ a: 'M\u00fcller \u20ac' });
  });

  it('refuses percent signs without digits in any charset', async () => {
    for (const charset of ['utf-8', 'iso-8859-1'])
      for (const text of ['a=%FC%', 'a=%FC%2', 'a=%FC%g0', '%FC%0G=1'])
        expect(await refusalOf(parse(`${form}; charset=${charset}`, text)), text).to.match(/not percent-encoded UTF-8/);
  });

  it('decodes 3 MB of windows-1252 in less than 2 s', async () => {
    const type = `${form}; charset=iso-8859-1`;
    const bodies = [`a=${'%92'.repeat(1_000_000)}`, Buffer.concat([Buffer.from('a='), Buffer.alloc(3_000_000, 0x92)])];
    for (const body of bodies) {
      const parsed: unknown[] = [];
      const took = await bestMs(2_000, () => durationMs(async () => parsed.push(await parse(type, body))));
      expect(took).to.be.below(2_000);
      const [{ a = '' }] = parsed as [{ a?: string }];
      expect(/^\u2019+$/.test(a) && a.length).to.be.oneOf([1_000_000, 3_000_000]);
    }
  });
});
