import { expect } from 'chai';
import fc from 'fast-check';
import { parseJson } from '../../../api/request/parse-json.js';
import { ApiError } from '../../../shared/contract/errors.js';

const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const objects = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

describe('parse JSON', () => {
  it('gives what JSON.parse gives, for everything that is not too deep', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'small', maxDepth: 30 }), (value) => {
        const text = JSON.stringify(value);
        if (text.includes('\\u0000')) return;
        expect(parseJson(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('throws nothing but a refusal with 422, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json(), spoiltJson()), (text) => {
        try {
          parseJson(text);
        } catch (error) {
          expect(refusalOf(error).status).to.equal(422);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('keeps keys that are on every object’s prototype as the caller’s own', () => {
    const value = parseJson('{"__proto__":{"admin":true},"constructor":1,"toString":null}') as object;
    expect(Object.keys(value)).to.deep.equal(['__proto__', 'constructor', 'toString']);
    expect(value).to.not.have.property('admin');
    expect({}).to.not.have.property('admin');
  });

  it('takes the last of duplicate keys', () => {
    expect(parseJson('{"a":1,"b":2,"a":3}')).to.deep.equal({ b: 2, a: 3 });
  });

  for (const [kind, of] of Object.entries({ arrays, objects })) {
    it(`reads ${kind} of depth 32, and refuses 33 and 100,000`, () => {
      expect(parseJson(of(32))).to.be.an(kind.slice(0, -1));
      for (const levels of [33, 100_000])
        expect(refusalBy(() => parseJson(of(levels))).message).to.match(/deeper than 32/);
    });
  }

  it('counts depth along each branch, not over all of them', () => {
    const branches = Array.from({ length: 100 }, () => arrays(31)).join();
    expect(parseJson(`[${branches}]`)).to.have.length(100);
    expect(refusalBy(() => parseJson(`[${branches},{"a":[${arrays(30)}]}]`)).message).to.match(/deeper/);
  });

  it('refuses NUL in a key wherever it stands, and leaves it in values', () => {
    for (const text of ['{"\\u0000":1}', '[{"a":[{"b\\u0000c":1}]}]'])
      expect(refusalBy(() => parseJson(text)).message).to.match(/NUL/);
    expect(parseJson('{"a":"\\u0000","\\\\u0000":1}')).to.deep.equal({ a: '\0', '\\u0000': 1 });
  });

  it('says that an empty body is empty', () => {
    for (const text of ['', ' ', '\r\n\t'])
      expect(refusalBy(() => parseJson(text)).message).to.equal('The body is empty: send a JSON object.');
  });

  it('says that a text ends too early, wherever it is broken off', () => {
    const text = '{"model_id":"mdl_1","records":[{"City":"K\\u00f6ln","visits":12,"known":true}]}';
    const parts = [...text].map((_, index) => text.slice(0, index + 1)).slice(0, -1);
    // A number or a word that is broken off may be another one, and so may the digits of an escape.
    for (const part of [...parts.filter((begun) => !/[a-z0-9]$/.test(begun)), '{"a": [1,\n', '[\n ']) {
      const { message } = refusalBy(() => parseJson(part));
      expect(message, part).to.equal('The body is not valid JSON: it ends too early.');
    }
  });

  const wrong: [string, string][] = [
    ['{"a":12345678901234567890.5e+20,"b":[NaN]}', 'at position 37: NaN is not JSON, write null'],
    ['{"a":"NaN \\" None","b":-Infinity}', 'at position 24: -Infinity is not JSON, write null'],
    ['{"a": None, "b": True}', 'at position 6: None is not JSON, write null'],
    ['{"a":[], "b":{}, "c": False}', 'at position 22: False is not JSON, write false'],
    ['{"a": , "b": 1}', 'at position 6: there is no value after the colon'],
    ['{"a":}', 'at position 5: there is no value after the colon'],
    ['[1,,NaN]', 'at position 3'],
    ['{"a":toString}', 'at position 5'],
    ['<?xml version="1.0"?>', 'at position 0'],
    ["{'a': None}", 'at position 1'],
    ['{"a":1}\u00a0', 'at position 7'],
  ];
  for (const [text, says] of wrong) {
    it(`says where ${JSON.stringify(text)} is wrong, and how, where that can be told`, () => {
      const { message } = refusalBy(() => parseJson(text));
      // Newer engines tell the line as well.
      const withoutLine = message.replace(/ \(line \d+ column \d+\)/, '');
      expect(withoutLine).to.equal(`The body is not valid JSON: unexpected text ${says}.`);
    });
  }

  it('says where the text is wrong without repeating it', () => {
    for (const text of ['{"secret":"x",}', 'secret', '{"a":secret}', '{"secret', '[1,2,secret]']) {
      const { message } = refusalBy(() => parseJson(text));
      expect(message).to.match(/^The body is not valid JSON: (unexpected text|it ends too early)/);
      expect(message).to.not.include('secret');
    }
  });
});

/** JSON with one character taken out or put in. */
const spoiltJson = () =>
  fc
    .tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 }))
    .map(([text, at, put]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + 1));

function refusalOf(error: unknown): { status: number; message: string } {
  if (!(error instanceof ApiError)) throw error;
  return { status: error.entry.status, message: error.message };
}

function refusalBy(work: () => unknown): { status: number; message: string } {
  try {
    work();
  } catch (error) {
    return refusalOf(error);
  }
  throw new Error('it was not refused');
}
