import { expect } from 'chai';
import fc from 'fast-check';
import { boundValues, parseJson, parseJsonBody, sizeOf, valuesIn } from '../../../api/request/parse-json.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { iterationsDuring } from '../../support/beats.js';
import { failureOf } from '../../support/failure-of.js';
import { threadCpuMsOf } from '../../support/thread-cpu.js';

const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const objects = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

describe('parseJson', () => {
  it('gives the value that JSON.parse gives, unless it is too deep', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'small', maxDepth: 30 }), (value) => {
        const text = JSON.stringify(value);
        if (text.includes('\\u0000')) return;
        expect(parseJson(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('gives a value or throws 422 for any text', () => {
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

  it('keeps keys such as __proto__ as own members', () => {
    const value = parseJson('{"__proto__":{"admin":true},"constructor":1,"toString":null}') as object;
    expect(Object.keys(value)).to.deep.equal(['__proto__', 'constructor', 'toString']);
    expect(value).to.not.have.property('admin');
    expect({}).to.not.have.property('admin');
  });

  it('takes the value of the last of duplicate keys', () => {
    expect(parseJson('{"a":1,"b":2,"a":3}')).to.deep.equal({ b: 2, a: 3 });
  });

  for (const [kind, of] of Object.entries({ arrays, objects })) {
    it(`parses ${kind} of depth 32, and refuses depths 33 and 100,000`, () => {
      expect(parseJson(of(32))).to.be.an(kind.slice(0, -1));
      for (const levels of [33, 100_000])
        expect(refusalBy(() => parseJson(of(levels))).message).to.match(/deeper than 32/);
    });
  }

  it('counts depth along each branch, not over all branches', () => {
    const branches = Array.from({ length: 100 }, () => arrays(31)).join();
    expect(parseJson(`[${branches}]`)).to.have.length(100);
    expect(refusalBy(() => parseJson(`[${branches},{"a":[${arrays(30)}]}]`)).message).to.match(/deeper/);
  });

  it('refuses NUL in a key at any depth, and keeps it in values', () => {
    for (const text of ['{"\\u0000":1}', '[{"a":[{"b\\u0000c":1}]}]'])
      expect(refusalBy(() => parseJson(text)).message).to.match(/NUL/);
    for (const key of ['\\\\\\u0000', 'a\\"\\u0000', '\\u0000\\u0000\\\\'])
      expect(refusalBy(() => parseJson(`{"x":"\\u0000","${key}" \n:1}`)).message, key).to.match(/NUL/);
    expect(parseJson('["\\u0000","a:\\\\\\u0000",":"]')).to.deep.equal(['\0', 'a:\\\0', ':']);
    expect(parseJson('{"a":"\\u0000","\\\\u0000":1}')).to.deep.equal({ a: '\0', '\\u0000': 1 });
  });

  it('refuses an empty or blank body with a message of its own', () => {
    for (const text of ['', ' ', '\r\n\t'])
      expect(refusalBy(() => parseJson(text)).message).to.equal('The body is empty: send a JSON object.');
  });

  it('says that a text ends too early, wherever it is cut off', () => {
    const text = '{"model_id":"mdl_1","records":[{"City":"K\\u00f6ln","visits":12,"known":true}]}';
    const parts = [...text].map((_, index) => text.slice(0, index + 1)).slice(0, -1);
    // A number or a word that is cut off may be another one, and so may the digits of an escape.
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
    it(`names position and fault of ${JSON.stringify(text)}`, () => {
      const { message } = refusalBy(() => parseJson(text));
      // Newer engines state the line too.
      const withoutLine = message.replace(/ \(line \d+ column \d+\)/, '');
      expect(withoutLine).to.equal(`The body is not valid JSON: unexpected text ${says}.`);
    });
  }

  it('ignores a position that newer engines quote from the text', () => {
    expect(refusalBy(() => parseJson('end of JSON')).message).to.include('unexpected text');
    expect(refusalBy(() => parseJson('["x", no at position 9]')).message).to.include('at position 6');
  });

  it('finds a fault at the end of 8 MB within a second of CPU time', () => {
    const filler = 8_000_000;
    for (const text of [`${' '.repeat(filler)}NaN`, `{"a":"${'\\n'.repeat(filler / 2)}","b":NaN}`]) {
      const tookMs = threadCpuMsOf(() =>
        expect(refusalBy(() => parseJson(text)).message).to.include('NaN is not JSON'),
      );
      expect(tookMs, 'ms of CPU time').to.be.below(1_000);
    }
  });

  it('never repeats the text in its message', () => {
    for (const text of ['{"secret":"x",}', 'secret', '{"a":secret}', '{"secret', '[1,2,secret]']) {
      const { message } = refusalBy(() => parseJson(text));
      expect(message).to.match(/^The body is not valid JSON: (unexpected text|it ends too early)/);
      expect(message).to.not.include('secret');
    }
  });
});

describe('boundValues', () => {
  it('counts the values of any JSON without parsing it', async () => {
    const json = fc.jsonValue({ stringUnit: 'binary' });
    const odd = fc.dictionary(fc.constantFrom('"', '\\', '\\"', ',', '{', ']', 'a'), json);
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, odd), fc.constantFrom(undefined, 1), async (value, indent) => {
        expect((await valuesIn(JSON.stringify(value, undefined, indent))).count).to.equal(countOf(value));
      }),
    );
  });

  it('counts the values of a large body in steps of half a million characters', async () => {
    for (const part of ['x', '\u0345', '\\"', '{},', '[1],', '"records":[],']) {
      const text = part.repeat(Math.floor((8 * 1024 * 1024) / part.length));
      expect(await iterationsDuring(() => valuesIn(text)), `iterations between the steps, ${part}`).to.be.within(
        14,
        16,
      );
    }
  });

  it('finds the length of the array records directly in the body', async () => {
    const object = `{"d":${list(9)},"e":1,"f":1,"g":1,"h":1,"i":1}`;
    const inner = `{"records":${list(9)}}`;
    const body = `{"a":${list(7)},"records" : ${list(5)},"b":[${list(9)}],"c":${object},"d":${inner}}`;
    expect((await valuesIn(body)).records).to.equal(5);
    expect((await valuesIn(`{"a":${list(7)},"b":"\\"records\\":"}`)).records).to.equal(0);
  });

  it('finds the values of the largest record, and those outside of records', async () => {
    for (const [text, maxOfRecord] of [
      ['{"a":1,"records":[{"b":1},{"b":[1,2,{"c":3}],"d":4},{}]}', 7],
      ['{"a":[1,2,3,4],"records":[{"b":1}]}', 7],
      ['[[1,2],[3]]', 5],
    ] as const)
      expect((await valuesIn(text)).maxOfRecord, text).to.equal(maxOfRecord);
  });

  it('refuses a body of more than 20,000 values in one record or outside of records with 400', async () => {
    const body = (before: number, members: number, last = 1) => {
      const object = `{${Array.from({ length: members }, (_, index) => `"${index}":1`).join()}}`;
      return `{"a":${list(before)},"records":[1,${object},${list(last)}]}`;
    };
    const limit = { max: 300_000, advice: 'send less' };
    await boundValues(body(19_900, 19_900, 19_900), limit);
    for (const text of [body(1, 20_001), body(20_001, 1), body(1, 1, 20_001)]) {
      const { message } = refusalOf(await failureOf(boundValues(text, limit)));
      const exceeded = '20000 values in one record or outside of records';
      expect(message).to.equal(`The body has more than ${exceeded}: send less.`);
    }
  });

  it('counts a body that is not JSON without an error', async () => {
    for (const text of ['', '"', '\\', ']]]', '{"a\\', '[[[[', ',,,,'])
      expect((await valuesIn(text)).count).to.be.within(0, 4);
  });

  it('finds the depth of a body, and whether it is cut off', async () => {
    for (const [text, levels, isWhole] of [
      ['{"a":[1,{}],"b":[[]]}', 3, true],
      ['1', 0, true],
      ['[[1],', 2, false],
      ['["]', 1, false],
    ] as const)
      expect(await valuesIn(text)).to.include({ levels, isWhole });
  });

  it('refuses a body with more than the maximum with 400, or with 422 if it is cut off or too deep', async () => {
    const bound = (text: string) => boundValues(text, { max: 10, advice: 'send less' });
    await bound(list(10));
    const tooMany = { status: 400, message: 'The body has more than 10 values: send less.' };
    expect(refusalOf(await failureOf(bound(list(11))))).to.deep.equal(tooMany);
    for (const [text, says] of [
      [list(20).slice(1, -1).padStart(50, '['), /ends too early/],
      ['['.repeat(33) + ']'.repeat(33), /deeper than 32/],
    ] as const) {
      const { status, message } = refusalOf(await failureOf(bound(text)));
      expect(message).to.match(says);
      expect(status).to.equal(422);
    }
  });
});

/** JSON with one character replaced by up to two others. */
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

/** Counts the values of a parsed body. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value);
  return Math.max(1, inside.length) + inside.reduce<number>((sum, one) => sum + countOf(one), 0);
}

const list = (length: number): string => `[${Array.from({ length }, () => '1').join()}]`;

const isList = (value: unknown): boolean => Array.isArray((value as { records?: unknown } | null)?.records);

describe('sizeOf', () => {
  it('counts a parsed body as the text of it is counted', async () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const body = fc.record({ a: json, records: fc.oneof(fc.array(json), json), __proto__: json }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, body), async (value) => {
        const { count, records, maxOfRecord } = await valuesIn(JSON.stringify(value));
        const size = sizeOf(value);
        expect(size).to.include({ count, maxOfRecord });
        // An empty list has the text of one record.
        expect(Math.max(size.records, isList(value) ? 1 : 0)).to.equal(records);
      }),
    );
  });
});

describe('parseJsonBody', () => {
  it('refuses the same bodies, before it parses a text and after', async () => {
    const limit = { max: 30_000, advice: 'send less' };
    const record = (values: number) => `{${list(values - 2).replace('[', '"a":[')}}`;
    for (const [text, says] of [
      [`{"records":[${record(19_000)},${record(10_000)}]}`, undefined],
      [`{"records":[${record(19_000)},${record(11_500)}]}`, 'more than 30000 values: send less.'],
      [`{"records":[${record(1)},${record(20_100)}]}`, 'more than 20000 values in one record or outside of records'],
      [`{"a":${list(20_100)},"records":[1]}`, 'more than 20000 values in one record or outside of records'],
      [`${'['.repeat(30_000)}${']'.repeat(30_000)}`, 'deeper than 32 levels'],
      [`{"records":[${record(19_000)},{"\\u0000":1},${list(5_000)}]}`, 'NUL'],
      [`{"records":[${record(19_000)},${record(10_000)}`, 'ends too early'],
    ] as const)
      for (const parsedCharacters of [0, 1024 * 1024]) {
        const parse = parseJsonBody(Buffer.from(text), { ...limit, parsedCharacters });
        if (says === undefined) expect(await parse).to.deep.equal(JSON.parse(text));
        else expect(refusalOf(await failureOf(parse)).message, text.slice(0, 40)).to.include(says);
      }
  });

  it('gives the caller of a body the more specific error', async () => {
    const refuse = ({ records }: { readonly records: number }) => {
      throw new Error(`${records} records`);
    };
    for (const parsedCharacters of [0, 1024 * 1024]) {
      const text = `{"records":${list(30_001)}}`;
      const parse = parseJsonBody(Buffer.from(text), { max: 30_000, advice: '', parsedCharacters, refuse });
      expect(await failureOf(parse)).to.include({ message: '30001 records' });
    }
  });

  it('calls a large body of white space empty, as it does a small one', async () => {
    for (const length of [0, 10, 100_000]) {
      const failure = await parseJsonBody(Buffer.alloc(length, ' '), { max: 300_000, advice: '' }).catch(String);
      expect(failure, `${length} spaces`).to.include('The body is empty: send a JSON object.');
    }
  });
});
