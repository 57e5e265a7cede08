import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { csvRecords } from '../../../../scripts/cli/score/input/csv-records.js';
import { formatOf, type InputRecord, openInput } from '../../../../scripts/cli/score/input/input-file.js';
import { jsonlRecords } from '../../../../scripts/cli/score/input/jsonl-records.js';
import { type Batch, recordBatches } from '../../../../scripts/cli/score/input/record-batches.js';
import { FileDigest } from '../../../../scripts/cli/score/progress/row-digests.js';

describe('score input', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-input-'));
  });

  after(() => rm(directory, { recursive: true, force: true }));

  const read = async (name: string, content: string | Buffer, crmIdField?: string): Promise<InputRecord[]> => {
    const path = join(directory, name);
    await writeFile(path, content);
    const input = await openInput(path);
    const records: InputRecord[] = [];
    const source = input.format === 'csv' ? csvRecords(input, { crmIdField }) : jsonlRecords(input, { crmIdField });
    for await (const record of source) records.push(record);
    return records;
  };
  const parsed = async (...given: Parameters<typeof read>): Promise<unknown[]> =>
    (await read(...given)).map(({ text }) => (text === undefined ? undefined : JSON.parse(text)));
  const problem = (name: string, content: string | Buffer, crmIdField?: string): Promise<string> =>
    read(name, content, crmIdField).then(
      () => 'no problem',
      (error: Error) => error.message,
    );

  describe('CSV', () => {
    it('reads a CSV with byte order mark, CRLF, quoted line breaks and an unnamed last column', async () => {
      const text = '\uFEFFName,Note,\r\n"A ""B""","two\r\nlines",\r\nC,,\r\n';
      expect(await parsed('a.csv', text)).to.deep.equal([{ Name: 'A "B"', Note: 'two\r\nlines' }, { Name: 'C' }]);
    });

    it('returns the first line of each CSV record', async () => {
      const records = await read('a.csv', 'a,b\n1,"x\ny"\n2,z\n\n3,w\n');
      expect(records.map(({ row, line }) => [row, line])).to.deep.equal([
        [1, 2],
        [2, 4],
        [3, 5],
        [4, 6],
      ]);
      expect(records[2]?.text, 'an empty line').to.equal(undefined);
    });

    for (const [name, delimiter] of [
      ['semicolon', ';'],
      ['tab', '\t'],
      ['bar', '|'],
      ['comma', ','],
    ] as const) {
      it(`detects a ${name} as the delimiter`, async () => {
        const text = `"a,b;c"${delimiter}b${delimiter}c\n1${delimiter}2${delimiter}3\n`;
        expect(await parsed('a.csv', text)).to.deep.equal([{ 'a,b;c': '1', b: '2', c: '3' }]);
      });
    }

    it('reads the crm_id from the given column, or else from the column crm_id', async () => {
      const text = 'Id,crm_id,n\n7,old,1\n,old,2\n';
      expect(await parsed('a.csv', text, 'Id')).to.deep.equal([{ n: '1', crm_id: '7' }, { n: '2' }]);
      expect(await parsed('a.csv', text)).to.deep.equal([
        { Id: '7', n: '1', crm_id: 'old' },
        { n: '2', crm_id: 'old' },
      ]);
    });

    it('sends columns named __proto__ and constructor like others', async () => {
      const [record] = await read('a.csv', '__proto__,constructor\n1,2\n');
      expect(record?.text).to.equal('{"__proto__":"1","constructor":"2"}');
    });

    it('counts empty CSV rows but returns no record for them', async () => {
      const records = await read('a.csv', 'a,b\n,\n1,2\n,\n');
      expect(records.map(({ row, text }) => [row, text])).to.deep.equal([
        [1, undefined],
        [2, '{"a":"1","b":"2"}'],
        [3, undefined],
      ]);
    });

    it('names the problem of a row with too many cells, and reads missing ones as empty', async () => {
      const records = await read('a.csv', 'a,b\n1,2\n"x\ny",2,3\n4\n5,6,,\n');
      expect(records.map(({ line, text, problem }) => [line, text ?? problem])).to.deep.equal([
        [2, '{"a":"1","b":"2"}'],
        [
          3,
          'The row has 3 cells, but the header has 2 columns. Cell 3 begins at column 6. Quote cells that contain a delimiter',
        ],
        [5, '{"a":"4"}'],
        [
          6,
          'The row has 4 cells, but the header has 2 columns. Cell 3 begins at column 5. Quote cells that contain a delimiter',
        ],
      ]);
    });

    it('reads rows of which each has as many empty cells after the header, and stops when a later one has not', async () => {
      const rows = (count: number): string => 'a,b\n'.concat('1,2,\n'.repeat(count));
      expect((await read('a.csv', rows(1_500))).every(({ text }) => text === '{"a":"1","b":"2"}')).to.equal(true);
      expect(await problem('a.csv', `${rows(1_500)}1,2\n`)).to.equal(
        'a.csv: The rows before line 1502 have 1 more cell than the header, but this row has 0. Quote cells that contain a delimiter',
      );
      const few = await read('a.csv', `${rows(900)}1,2\n`);
      expect(few.slice(0, -1).every(({ problem: each }) => each?.startsWith('The row has 3 cells'))).to.equal(true);
      expect(few.at(-1)?.text).to.equal('{"a":"1","b":"2"}');
    });

    it('names the problem of an invalid CSV file', async () => {
      expect(await problem('a.csv', '')).to.equal(
        'a.csv: The file has no header: it is empty. Begin it with a line that names the columns',
      );
      expect(await problem('a.csv', 'a,b\n,\n')).to.equal('a.csv: The file has a header, but no rows with content');
      expect(await problem('a.csv', 'a,b,a\n1,2,3\n')).to.include(
        'Two columns have the name "a" (line 1, columns 1 and 3)',
      );
      expect(await problem('a.csv', 'a,b\n1,2\n', 'Id')).to.include('has no column "Id". Its columns: "a", "b"');
      expect(await problem('a.csv', 'a,b\u001b[31m\n1,2\n', 'Id')).to.include('Its columns: "a", "b\\u001b[31m"');
      const unclosed = 'a,b\n1,2\n"3,4\n5,6\n';
      expect(await problem('a.csv', unclosed)).to.equal(
        'a.csv: The quote in line 3, column 1 is not closed. Close it, or write the cell in quotes and each quote in it twice',
      );
      const endless = unclosed + 'x\n'.repeat(5 * 1024 * 1024);
      expect(await problem('a.csv', endless)).to.equal(
        'a.csv: Row 2 (line 3, column 1) has more than 8 MiB: the quote in line 3, column 1 is perhaps not closed. Shorten it',
      );
      expect(await problem('a.csv', Buffer.from('a,b\nM\xfcller,2\n', 'latin1'))).to.include(
        'is not UTF-8 (line 2, col',
      );
      expect(await problem('a.csv.gz', gzipSync('a,b\n1,2\n'.repeat(999)).subarray(0, 40))).to.equal(
        'a.csv.gz: The gzip file ends early (read up to line 1099, column 4). Take the complete file',
      );
      expect(await problem('a.xlsx', 'x')).to.include('must end in .csv');
      expect(await problem('leads.zip', Buffer.from('PK\x03\x04', 'latin1'))).to.equal(
        'leads.zip: The file is a ZIP archive (line 1, column 1). Unpack it: unzip FILE',
      );
    });

    it('returns every cell of any table that was written as quoted CSV', async () => {
      const cell = fc.string({
        unit: fc.constantFrom('a', ',', ';', '"', '\n', '\r\n', ' ', 'é', '日'),
        maxLength: 6,
      });
      const table = fc.array(
        fc.tuple(cell, cell).filter((row) => row.join('').trim() !== ''),
        { minLength: 1, maxLength: 8 },
      );
      const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
      await fc.assert(
        fc.asyncProperty(table, async (rows) => {
          const text = [['a', 'b'], ...rows].map((row) => row.map(quoted).join(',')).join('\n');
          const expected = rows.map(([a, b]) => ({ ...(a === '' ? {} : { a }), ...(b === '' ? {} : { b }) }));
          expect(await parsed('property.csv', text)).to.deep.equal(expected);
        }),
        { numRuns: 50 },
      );
    });
  });

  describe('JSONL', () => {
    it('sends JSONL records byte for byte and skips blank lines', async () => {
      const records = await read('a.jsonl', '{"id":  70000000000000001, "x":null}\r\n\n{"n":1e400}');
      expect(records.map(({ row, line, text }) => [row, line, text])).to.deep.equal([
        [1, 1, '{"id":  70000000000000001, "x":null}'],
        [2, 3, '{"n":1e400}'],
      ]);
    });

    it('sends the given JSONL field as crm_id, as a string', async () => {
      const text = '{"Id":7,"crm_id":"old"}\n{"n":1}\n{"Id":"","n":2}\n';
      expect(await parsed('a.ndjson', text, 'Id')).to.deep.equal([{ crm_id: '7' }, { n: 1 }, { n: 2 }]);
    });

    it('names the problem of a JSONL line that is no object', async () => {
      const records = await read('a.jsonl', '{"a":1}\n[1]\n\n{"a":\n{"crm_id":1.5}\n');
      expect(records.map(({ line, text }) => [line, text])).to.deep.equal([
        [1, '{"a":1}'],
        ...[2, 4, 5].map((line) => [line, undefined]),
      ]);
      const [, list, open, number] = records.map((record) => record.problem);
      expect(list).to.equal('The line is not a JSON object. Write one record per line, such as {"field": "value"}');
      expect(open).to.match(/^The line is not JSON: /);
      expect(number).to.equal('The crm_id must be a text or a whole number');
      expect(await problem('a.jsonl', '\n')).to.equal('a.jsonl: The file has no records');
    });

    it('keeps the digits of a number as crm_id, and the other members as they are written', async () => {
      const text = '{"id": 90071992547409931, "n":1e400 , "crm_id":"old","s":"\\"}{"}\n{"crm_id":90071992547409932}\n';
      expect((await read('a.jsonl', text, 'id')).map((record) => record.text)).to.deep.equal([
        '{"n":1e400,"s":"\\"}{","crm_id":"90071992547409931"}',
        '{}',
      ]);
      expect((await read('a.jsonl', text))[1]?.text).to.equal('{"crm_id":"90071992547409932"}');
    });

    it('refuses a file with a crm_id that a spreadsheet has shortened', async () => {
      expect(await problem('a.jsonl', '{"crm_id":"a"}\n{"crm_id":"1.20214E+17"}\n')).to.match(
        /^a\.jsonl: Line 2: The crm_id/,
      );
    });
  });

  it('detects the format by the file name, ignoring .gz', () => {
    expect(['a.csv', 'A.TSV', 'a.csv.gz', 'a.jsonl.gz', 'a.ndjson', 'a.json', 'csv'].map(formatOf)).to.deep.equal([
      ...['csv', 'csv', 'csv', 'jsonl', 'jsonl', undefined, undefined],
    ]);
  });

  it('reports growing read progress up to 1 for plain and gzipped files', async () => {
    const text = `a\n${'some value\n'.repeat(20_000)}`;
    for (const [name, content] of [
      ['a.csv', text],
      ['b.csv.gz', gzipSync(text)],
    ] as const) {
      await writeFile(join(directory, name), content);
      const input = await openInput(join(directory, name));
      const shares: number[] = [];
      for await (const record of csvRecords(input, { crmIdField: undefined }))
        if (record.row % 5_000 === 0) shares.push(record.endByte / input.inflatedBytes());
      expect(shares.at(-1)).to.be.closeTo(1, 0.01);
      expect([...shares].sort((one, other) => one - other)).to.deep.equal(shares);
    }
  });
});

describe('record batches', () => {
  async function* recordsOf(texts: readonly (string | undefined)[]): AsyncGenerator<InputRecord> {
    for (const [index, text] of texts.entries()) yield { row: index + 1, line: index + 2, text, endByte: index };
  }
  const batchesOf = async (texts: readonly (string | undefined)[], limits: { records: number; bytes: number }) => {
    const batches: Batch[] = [];
    const from = { digest: new FileDigest(false), pool: { take: () => undefined } };
    for await (const batch of recordBatches(recordsOf(texts), from, limits)) batches.push(batch);
    return batches;
  };

  it('contain every record once, in order and within both limits, and cover every row', async () => {
    const text = fc.option(fc.string({ unit: fc.constantFrom('x', 'ü'), maxLength: 30 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), async (texts, maxRecords) => {
        const batches = await batchesOf(texts, { records: maxRecords, bytes: 100 });
        const sent = batches.flatMap((batch) => batch.rows.map(({ record }) => record.text));
        expect(sent).to.deep.equal(texts.filter((each) => each !== undefined));
        for (const { rows } of batches) {
          expect(rows.length).to.be.at.most(maxRecords);
          const bytes = rows.map(({ record }) => Buffer.byteLength(record.text ?? '') + 1);
          expect(bytes.reduce((sum, each) => sum + each, 0)).to.be.at.most(100);
        }
        expect(batches.at(-1)?.lastRow ?? 0).to.equal(texts.length);
        const skipped = batches.reduce((sum, batch) => sum + batch.emptyRows, 0);
        expect(skipped).to.equal(texts.filter((each) => each === undefined).length);
      }),
    );
  });

  it('give a record that alone exceeds the size limit a problem, and none to its neighbours', async () => {
    const [batch] = await batchesOf(['x', 'x'.repeat(200), 'y'], { records: 5, bytes: 100 });
    const problems = batch?.rows.map(({ problem }) => problem);
    expect(problems).to.deep.equal([undefined, 'The row is too large for a call: 201 bytes, maximum 100', undefined]);
  });
});
