import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { InputFault } from '../../../../api/bulk/reading/read-input.js';
import { parseRows } from '../../../../api/bulk/rows/parse-rows.js';
import { longestIterationMs } from '../../../support/beats.js';
import { itInFull } from '../../../support/tier.js';
import { faultOf, knownFields, type ReadWith, readAll } from './file-rig.js';

const mib = 1024 * 1024;
const missing = 'Not in the file: "Visits" (of 2 fields that the model knows)';
const zipped = gzipSync('Size\n1\n2\n');
const jsonl = { options: { format: 'jsonl' } } as const;

/** A file, how it is read, and its fault: message, line and column. */
const broken: Readonly<Record<string, readonly [string | Uint8Array, string, ReadWith?, number?, number?]>> = {
  'an empty file': ['', 'The file has no header: it is empty. Begin it with a line that names the columns'],
  'only blank lines': [
    '\n\r\n,,\n',
    'The file has no header: it is empty. Begin it with a line that names the columns',
  ],
  'a header alone': ['Size\n\n\n', 'The file has a header, but no rows'],
  'blank rows alone': ['Size,b\n,\n" ", \n', 'The file has a header, but no rows with content'],
  'blank rows and a footer alone': ['Size,b\n,\nBy Ada on Monday\n', 'The file has a header, but no rows with content'],
  'an empty JSONL file': ['\n\n', 'The file has no rows', jsonl],
  'a JSONL file of spaces': ['  \n\t\n', 'The file has no rows with content', jsonl],
  'no header': [
    '1,2\n3,4\n',
    'The header (line 1) has no column that the model knows. Its columns: "1", "2". Fields of the model: "Size", "Visits"',
    {},
    1,
  ],
  'two columns of one name': [
    '\nSize,b,Size\n1,2,3\n',
    'Two columns have the name "Size" (line 2, columns 1 and 3). Rename or remove one of them',
    {},
    2,
  ],
  'no column for the crm_id': [
    'Size\n1\n',
    'The header (line 1) has no column "Id" for the crm_id. Its columns: "Size". The columns were separated at commas',
    { options: { crm_id_field: 'Id' } },
    1,
  ],
  'an unclosed quote': [
    'Size,b\n1,2\n3,"é\n",é"4\n"5\n6\n',
    'The quote in line 5, column 1 is not closed. Close it, or write the cell in quotes and each quote in it twice',
    {},
    5,
    1,
  ],
  'an unclosed quote before a row without end': [
    `Size,b\n1,2\né,"${'4\n'.repeat(mib)}`,
    'Row 2 (line 3, column 1) has more than 1 MiB: the quote in line 3, column 3 is perhaps not closed. Shorten it',
    {},
    3,
    3,
  ],
  'half a character of UTF-16': [
    Buffer.concat([Buffer.from('\uFEFFSize\n1\n', 'utf16le'), Buffer.from([0, 0xd8, 0x31, 0])]),
    'The file is not UTF-16 throughout (line 3, column 1). Save it as UTF-8',
    {},
    3,
    1,
  ],
  'a NUL': [
    'Size\n1\né2\0\n',
    'The file contains a NUL character (line 3, column 3), so it is perhaps no text. Save it as UTF-8',
    {},
    3,
    3,
  ],
  Latin1: [
    Buffer.from('Size,b\n1,2\n3,Müller\n', 'latin1'),
    'The file is not UTF-8 (line 3, column 4). Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE',
    {},
    3,
    4,
  ],
  'half a character at the end': [
    Buffer.from('Size\n1\n日').subarray(0, -1),
    'The file is not UTF-8 (line 3, column 1). Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE',
    {},
    3,
    1,
  ],
  'a ZIP archive': [
    Buffer.from('PK\x03\x04...'),
    'The file is a ZIP archive (line 1, column 1). Unpack it: unzip FILE',
    {},
    1,
    1,
  ],
  'a row of 2 MB': [
    `Size\n1\n${'2'.repeat(2 * mib)}\n`,
    'Row 2 (line 3, column 1) has more than 1 MiB. Shorten it',
    {},
    3,
    1,
  ],
  'a header of 2 MB': [`Size${'x'.repeat(2 * mib)}\n`, 'The header (line 1) has more than 1 MiB', {}, 1],
  'a million columns': [`Size${','.repeat(mib - 9)}\n1\n`, 'The header (line 1) has more than 20000 columns', {}, 1],
  'too many rows': ['Size\n1\n\n\n2\n', 'The file has more than 3 rows. Split it', { limits: { rows: 3 } }],
  'gzip that ends early': [
    zipped.subarray(0, -9),
    'The gzip file ends early (read up to line 4, column 1). Take the complete file',
    {},
    4,
    1,
  ],
  'gzip of two members that ends early': [
    Buffer.concat([zipped, zipped.subarray(0, 20)]),
    'The gzip file ends early (read up to line 7, column 1). Take the complete file',
    {},
    7,
    1,
  ],
  'gzip with a wrong checksum': [
    Buffer.concat([zipped.subarray(0, -8), Buffer.alloc(8)]),
    'The gzip file is corrupt: incorrect data check (read up to line 1, column 1). Compress the file again',
    {},
    1,
    1,
  ],
  'bytes after gzip': [
    Buffer.concat([zipped, Buffer.from('garbage')]),
    'The gzip file is corrupt: incorrect header check (read up to line 1, column 1). Compress the file again',
    {},
    1,
    1,
  ],
  'a gzip member after zeros': [
    Buffer.concat([zipped, Buffer.alloc(9), zipped]),
    'The gzip file has other bytes after its end (read up to line 4, column 1). Compress the file again',
    {},
    4,
    1,
  ],
  'gzip that inflates without end': [
    gzipSync(`Size\n${'1\n'.repeat(mib)}`),
    'The file has more than 1 MiB when it is inflated (read up to line 524287, column 2). Split it',
    { limits: { inflatedBytes: mib } },
    524_287,
    2,
  ],
};

describe('reading the file of a bulk job', () => {
  for (const [name, [file, message, how = {}, line, column]] of Object.entries(broken)) {
    it(`refuses ${name} with one sentence`, async () => {
      for (const chunkBytes of [100_000, mib]) {
        const fault = await faultOf(file, { ...how, chunkBytes });
        expect(fault).to.include({ name: 'InputFault', message });
        expect([fault.line, fault.column]).to.deep.equal([line, column]);
      }
    });
  }

  it('accepts a mixture of line ends, a byte order mark, gzip of several members and chunks of one byte', async () => {
    const text = '\uFEFF\n\r\nSize;Nämé\r\n1;2\n"3\r\n";4\r5;6\r\n\n\r7;8\r\n\n';
    const half = Math.floor(Buffer.byteLength(text) / 2);
    const bytes = Buffer.from(text);
    const members = Buffer.concat([gzipSync(bytes.subarray(0, half)), gzipSync(bytes.subarray(half))]);
    for (const file of [bytes, members]) {
      const read = await readAll(file, { chunkBytes: 1, limits: { rowsPerSlice: 2 } });
      expect(read.shape).to.include({ delimiter: ';', crm_id_field: undefined });
      expect(
        read.raw.map(({ number, rows, first_row, first_line }) => [number, rows, first_row, first_line]),
      ).to.deep.equal([
        [0, 2, 1, 4],
        [1, 2, 3, 7],
        [2, 2, 5, 9],
      ]);
      expect(read).to.include({ rows: 6, slices: 3 });
      expect(read.progress.at(-1)).to.equal(file.length);
    }
  });

  it('finds the rows that csv-parse finds, in any text and for any size of slice', async () => {
    const unit = fc.constantFrom('a', ',', ',', '"', '"', '""', '\n', '\r\n', '\r', 'é', ' ');
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit, maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (body, rowsPerSlice) => {
          // Spaces around quotes do not count, which csv-parse does not know.
          fc.pre(!/ "|" /.test(body));
          let expected: string[][];
          try {
            // Blank lines at the end do not count.
            expected = parse(body.replace(/[\r\n]+$/, ''), {
              relax_column_count: true,
              relax_quotes: true,
              record_delimiter: ['\r\n', '\n', '\r'],
            });
          } catch {
            expect((await faultOf(`Size,b\n${body}`)).message).to.match(/is not closed|no rows|opens a cell/);
            return;
          }
          if (expected.length === 0) {
            expect((await faultOf(`Size,b\n${body}`)).message).to.include('no rows');
            return;
          }
          const read = await readAll(`Size,b\n${body}`, { limits: { rowsPerSlice }, chunkBytes: 3 }).catch(
            (error: Error) => error,
          );
          if (read instanceof Error && read.message.endsWith('with content')) {
            // Blank rows, and perhaps the footer of a report.
            for (const [first = '', ...others] of expected)
              expect(others.every((cell) => cell === '' || `${first}${cell}`.trim() === '')).to.equal(true);
            return;
          }
          if (read instanceof Error) {
            expect(read.message).to.match(/^The quote in line \d+, column \d+ opens a cell/);
            expect(expected.flat().some((cell) => /[\r\n]/.test(cell) && /[",]/.test(cell))).to.equal(true);
            return;
          }
          const counts: number[] = [];
          for (const [index, slice] of read.raw.entries()) {
            const start = { row: slice.first_row, line: slice.first_line };
            const form = { shape: read.shape, knownFields };
            const rows = await parseRows(Buffer.from(read.texts[index] ?? ''), form, start);
            expect(rows).to.have.length(slice.rows);
            for (const { text } of rows)
              counts.push(text === '' ? 1 : (parse(text, { relax_quotes: true })[0]?.length ?? 0));
          }
          expect(counts).to.deep.equal(expected.map((cells) => cells.length));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('counts short rows and repeated ids, and quotes no id', async () => {
    const csv = { options: { crm_id_field: 'Id' } } as const;
    const short = (rows: string) =>
      `${rows} fewer cells than the header, first in line 2. The missing cells are read as empty`;
    const repeated = (rows: string, line: number) => `${rows} a crm_id that an earlier row has, first in line ${line}`;
    const notices = async (file: string, how: ReadWith = csv) => {
      const all = (await readAll(file, { ...how, chunkBytes: 5 })).notices;
      expect(all.at(-1)).to.equal(missing);
      return all.slice(0, -1);
    };
    expect(await notices('Size,Id\n1,a\n2,b\n,NULL\n,NULL\n')).to.deep.equal([]);
    expect(await notices('Size,Id\n1\n2,a\n3\n\n4,a\n5,a\n')).to.deep.equal([
      short('2 rows have'),
      repeated('2 rows have', 6),
    ]);
    // A row that cannot be scored is no lead.
    expect(await notices('Size,Id\n1,a\n2,a,x\n')).to.deep.equal([]);
    expect(await notices("Id,Size\n=a,1\n'=a,2\n")).to.deep.equal([repeated('1 row has', 3)]);
    const lines = '{"Id":"a"}\n\n{"Id":7,"Size":1}\n{"Size":1}\n{"Id":"a}\n{"Id":7.0}\n{"\\u0049d":"a"}\n';
    expect(await notices(lines, { options: { format: 'jsonl', crm_id_field: 'Id' } })).to.deep.equal([
      repeated('2 rows have', 6),
    ]);
  });

  it('counts no row of a footer, and each row of what only seems to be one', async () => {
    const ids = 'Id,Size\na,1\n\na\nsome text\n';
    const how = { options: { crm_id_field: 'Id' } } as const;
    expect((await readAll(ids, how)).notices).to.deep.equal([
      'Lines 4 to 5 are the footer of a report and were passed over',
      missing,
    ]);
    expect((await readAll(`${ids}b,2\n`, how)).notices).to.deep.equal([
      '2 rows have fewer cells than the header, first in line 4. The missing cells are read as empty',
      '1 row has a crm_id that an earlier row has, first in line 4',
      missing,
    ]);
    expect((await readAll('Id,Size\na,1\n\na\n', how)).notices).to.deep.equal([
      '1 row has fewer cells than the header, first in line 4. The missing cells are read as empty',
      '1 row has a crm_id that an earlier row has, first in line 4',
      missing,
    ]);
  });

  it('names odd rows, cells after the header, odd ends of ids and doubtful points', async () => {
    const notices = async (file: string) =>
      (await readAll(file, { options: { crm_id_field: 'Id' }, chunkBytes: 5 })).notices;
    expect(await notices('Id,Size,Visits\na,1,1\nTotal,1,\nb,2,2\nSumme:,2,\n')).to.deep.equal([
      'Line 5 is the footer of a report and was passed over',
      'Line 3 looks like a total and is read as a lead. Delete it if it is one',
    ]);
    expect(await notices('Id,Size,Visits\na,1,1\n,1,\nb,2,2\n\nTotal,2,\nc,1,1\n')).to.deep.equal([
      '2 rows look like totals and are read as leads, first in line 3. Delete them if they are totals',
    ]);
    // The row of units fails, and so no lead is without an id.
    expect(await notices('Id,Size,Visits\n,EUR,#\na,1,1\n,1,1\n')).to.deep.equal([
      'Line 4 is the footer of a report and was passed over',
    ]);
    expect(await notices('Id,Size,Visits\na,1,1,,\nb,2,2,,\n')).to.deep.equal([
      'Each row has 2 empty cells after the columns of the header. If values are in a wrong column, quote cells that contain a delimiter',
    ]);
    expect(await notices('Id,Size,Visits\n,1,1\na,2,2,2\n')).to.deep.equal([
      'No row has a crm_id: its column is empty. Scores without one cannot be looked up later and cannot be graded',
    ]);
    expect(await notices('Id,Size,Visits\na,2,2,2\n')).to.deep.equal([]);
    expect(await notices('Id,Size,Visits\na,1,1\nId,Size,Visits\nb,1,1\nId,Size,Visits\n')).to.deep.equal([
      '2 lines repeat the header and were passed over, first line 3',
    ]);
    expect(await notices('Id,Size,Visits\n a,1,1\nb,1,1\n"c\u200b",1,1\n\ufeffd,1,1\n')).to.deep.equal([
      '2 ids begin or end with white space or an invisible character, first in line 2. Without it, each is the id of another lead',
    ]);
    const points =
      'The column "Size" has points before three digits, and the file has decimal commas. A value such as 1.200 is read as 1.2. Remove points that separate thousands';
    expect(await notices('Id;Size;Visits\na;1.200;0,5\nb;30;1\n')).to.deep.equal([points]);
    expect(await notices('Id;Size;Visits\na;1.200;5\nb;1.5;1,5\n')).to.deep.equal([]);
    expect(await notices('Id;Size;Visits\na;1.200;5\n')).to.deep.equal([]);
  });

  it('names fields that the file lacks, unknown names and a missing crm_id before a row is scored', async () => {
    const noIds = (noun: string, name: string) =>
      `Records have no crm_id. Their scores cannot be looked up later and cannot be graded. Name the ${noun} that identifies a lead, such as "crm_id_field": "${name}" in "input" of the job`;
    expect((await readAll('Size,Total Vsits,Record ID\n1,2,a\n')).notices).to.deep.equal([
      missing,
      'Unknown to the model: 2 columns, "Total Vsits" (perhaps "Visits"), "Record ID"',
      noIds('column', 'Record ID'),
    ]);
    expect((await readAll('{"Size":1,"LeadId":"a"}\n{"other":2}\n', jsonl)).notices).to.deep.equal([
      missing,
      'Unknown to the model: 2 keys, "LeadId", "other"',
      noIds('key', 'LeadId'),
    ]);
    const many = '{"Size":1,"crm_id":"a"}\n'.repeat(1_001);
    expect((await readAll(many, jsonl)).notices.at(-1)).to.equal(
      missing.replace('the file', 'the first 1,000 records'),
    );
  });

  it('fails when no record of JSONL has the member with the ids that the job names', async () => {
    const how = { options: { format: 'jsonl', crm_id_field: 'Lead ID' } } as const;
    const fault = await faultOf('{"id":"a","Size":1}\n{"Size":2}\n', how);
    expect(fault.message).to.equal(
      'No record has the member "Lead ID" for the crm_id. Members of the first record: "id", "Size"',
    );
    expect((await readAll('{"Size":1}\n{"lead_id":"a","Size":1}\n', how)).rows).to.equal(2);
  });

  it('refuses a file of another format, with the member of the request that names it', async () => {
    expect((await faultOf('{"Size":1}\n{"Size":2}\n')).message).to.equal(
      'The file has records of JSON and is no CSV (line 1, column 1). Create the job with "format": "jsonl" in "input"',
    );
    expect((await faultOf('\nSize,Visits\n1,2\n', jsonl)).message).to.equal(
      'The line is no JSON object, so the file is no JSONL (line 2, column 1). If it is a CSV, create the job with "format": "csv" in "input"',
    );
    // One such line among records fails alone.
    expect((await readAll('Size,Visits\n{"Size":1}\n', jsonl)).rows).to.equal(2);
  });

  const hostile: Readonly<Record<string, () => string>> = {
    'a quote without end': () => `Size,b\n"${'x'.repeat(10 * mib)}`,
    'line ends': () => '\n'.repeat(10 * mib),
    'blank lines before a row': () => `Size\n${'\n'.repeat(3 * mib)}1\n`,
    'a row of delimiters': () => `Size,b\n${','.repeat(1_000_000)}\n`,
    'a row of curly quotes': () => `Size,b\n${'“,'.repeat(300_000)}\n`,
    'spaces in an escaped quote': () => `Size,b\nx\\,"${' '.repeat(500_000)}"x"\n`,
    'curly quotes in wide rows': () =>
      `Size${',b'.repeat(19_999)}\n${`${'“a,'.repeat(20)}${','.repeat(19_979)}\n`.repeat(12)}`,
    'cells of a megabyte': () => `Size,b\n${`${'é'.repeat(500_000)},1\n`.repeat(4)}`,
    'a header of umlauts': () => `Size${',ü ä ö'.repeat(19_999)}\n1\n`,
    'a header without end': () => 'x'.repeat(10 * mib),
    'rows of a delimiter': () => ',\n'.repeat(4 * mib),
    'a header of empty quoted cells': () => '"",'.repeat(300_000),
  };
  const hostileJson: Readonly<Record<string, () => string>> = {
    'JSON numbers': () => '1\n'.repeat(mib),
    spaces: () => ' \n'.repeat(mib),
    'JSON values of a megabyte': () => `{"Size":"${'x'.repeat(mib - 20)}"}\n`.repeat(4),
    'JSON names of a megabyte': () => `{"${'é'.repeat(400_000)}":1}\n`.repeat(4),
  };
  const allHostile = [
    ...Object.entries(hostile).map(([name, file]) => ({ name, file, how: {} })),
    ...Object.entries(hostileJson).map(([name, file]) => ({ name, file, how: jsonl })),
  ];
  for (const { name, file, how } of allHostile) {
    const inTier = name === 'rows of a delimiter' ? itInFull : it; // four million rows
    inTier(`keeps the event loop free on a hostile file: ${name}`, async function () {
      this.timeout(60_000);
      const maxIterationMs = 100; // nothing but other files waits for a runner
      const bytes = Buffer.from(file());
      const read = () =>
        readAll(bytes, how).catch((error: unknown) => {
          if (!(error instanceof InputFault)) throw error;
        });
      const iterationMs = await longestIterationMs(read, maxIterationMs);
      expect(iterationMs).to.be.below(maxIterationMs);
    });
  }
});
