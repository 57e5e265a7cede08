import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { type ParsedRow, parseRows } from '../../../../api/bulk/rows/parse-rows.js';
import { errorText, type RowResult, resultText } from '../../../../api/bulk/rows/result-text.js';
import { CsvRows } from '../../../../shared/files/csv-rows.js';
import { errorsWithoutLead, resultsWithoutLead } from '../../../../shared/files/erase-rows.js';
import type { FileForm, FileShape } from '../../../../shared/files/file-form.js';
import { RecordEnds } from '../../../../shared/files/reading/record-ends.js';
import { errorHeader, resultHeader } from '../../../../shared/files/result-columns.js';
import { kindOfRow } from '../../../../shared/files/rows/footer-watch.js';
import { compileKnownFields, type KnownFields } from '../../../../shared/messages/field-slots.js';

const csvShape = (columns: readonly string[], crmIdField?: string, delimiter = ','): FileShape => ({
  format: 'csv',
  columns,
  delimiter,
  crm_id_field: crmIdField,
});
const jsonlShape = (crmIdField = 'crm_id'): FileShape => ({
  format: 'jsonl',
  columns: [],
  delimiter: '',
  crm_id_field: crmIdField,
});
/** A model that knows all columns. */
const fieldsOf = ({ columns }: FileShape): KnownFields =>
  compileKnownFields({
    features: columns.map((field, index) => ({ type: 'number', field, label: field, columns: [index] })),
  });
const rowsOf = (text: string, shape: FileShape): Promise<ParsedRow[]> =>
  parseRows(Buffer.from(text), { shape, knownFields: fieldsOf(shape) }, { row: 1, line: 2 });
const recordsOf = async (text: string, shape: FileShape): Promise<unknown[]> =>
  (await rowsOf(text, shape)).map(
    ({ crmId, record, problem }) => problem ?? [crmId, record && (record.packed ?? record.fields)],
  );
const result: RowResult = {
  score: 70,
  conversion_likelihood: 0.5,
  enriched: true,
  previous_score: 90,
  warnings: ['=a', 'b,c'],
};

describe('the rows of a bulk job', () => {
  it('have the cells that csv-parse reads', () => {
    const unit = fc.constantFrom('a', ',', ',', '"', '"', '""', '\n', '\r\n', '\r', 'é', ' ', ';');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.constantFrom(',', ';'), (text, delimiter) => {
        fc.pre(!/ "|" /.test(text));
        const rows = new CsvRows(text, { delimiter, maxCells: 99, firstLine: 1 });
        const found: string[][] = [];
        while (rows.next()) found.push([...rows.cells]);
        const options = { delimiter, relax_column_count: true, relax_quotes: true };
        let expected: unknown;
        try {
          expected = parse(text, { ...options, record_delimiter: ['\r\n', '\n', '\r'] });
        } catch {
          expect(rows.isUnclosed).to.equal(true);
          return;
        }
        expect(found).to.deep.equal(expected);
        expect(rows.isUnclosed).to.equal(false);
      }),
      { numRuns: 3_000 },
    );
  });

  it('have the cells of their quotes when spaces and tabs stand around these', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', ';', '"', '\n', '\r\n', ' ', '\t'), maxLength: 5 });
    const blanks = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 2 });
    const row = fc.array(fc.tuple(blanks, cell, blanks), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), fc.constantFrom(',', ';'), (rows, delimiter) => {
        const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
        const lineOf = (cells: (typeof rows)[number]): string =>
          cells.map(([before, text, after]) => before + quoted(text) + after).join(delimiter);
        const read = new CsvRows(rows.map(lineOf).join('\n'), { delimiter, maxCells: 4, firstLine: 1 });
        for (const cells of rows) {
          expect(read.next()).to.equal(true);
          expect(read.cells).to.deep.equal(cells.map(([, text]) => text));
        }
        expect(read.next()).to.equal(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it('end where the scan of the bytes ends them, in any text', () => {
    const unit = fc.constantFrom(
      'a',
      ',',
      ',',
      '"',
      '"',
      '""',
      '\n',
      '\r\n',
      '\r',
      'é',
      ' ',
      '\t',
      '\ufeff',
      '\ufeff"',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (text, pieceBytes) => {
        const bytes = Buffer.from(text);
        const scan = new RecordEnds('csv', ',', bytes.length + 1);
        const ends: number[] = [];
        for (let start = 0, scanned = 0; scanned < bytes.length; ) {
          const to = Math.min(scanned + pieceBytes, bytes.length);
          const count = scan.scan(bytes.subarray(start, to), scanned - start);
          for (let index = 0; index < count; index += 1) ends.push(start + (scan.ends[index] ?? 0));
          if (scan.stray !== undefined) return;
          start = ends.at(-1) ?? 0;
          scanned = to;
        }
        if (scan.openQuote !== undefined) return;
        const rows = new CsvRows(text, { delimiter: ',', maxCells: 99, firstLine: 1 });
        const found: number[] = [];
        while (rows.next()) found.push(Buffer.byteLength(text.slice(0, rows.end)));
        expect(rows.isUnclosed).to.equal(false);
        const lineEnds = (end: number): number => /^(?:\r\n|\n|\r)?/.exec(bytes.toString('utf8', end))?.[0].length ?? 0;
        const whole = found.map((end) => end + lineEnds(end));
        expect(whole).to.deep.equal(
          ends.at(-1) === bytes.length ? ends : [...ends, bytes.length].slice(text === '' ? 1 : 0),
        );
      }),
      { numRuns: 3_000 },
    );
  });

  it('are of the same kinds when only their first cells become texts', () => {
    const unit = fc.constantFrom('a', ',', ',', ',', '"', '"', '\n', '\r\n', ' ');
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (text, maxTexts) => {
        const options = { delimiter: ',', maxCells: 4, firstLine: 1 };
        const [all, first] = [new CsvRows(text, options), new CsvRows(text, { ...options, maxTexts })];
        while (all.next()) {
          expect(first.next()).to.equal(true);
          expect(first.cells).to.deep.equal(all.cells.slice(0, maxTexts));
          expect([first.count, first.hasMore, first.line]).to.deep.equal([all.count, all.hasMore, all.line]);
          expect(kindOfRow(first)).to.equal(kindOfRow(all));
          seen.add(kindOfRow(all));
        }
        expect(first.next()).to.equal(false);
      }),
      { numRuns: 3_000 },
    );
    expect(seen).to.have.keys('blank', 'one', 'other');
  });

  it('omit empty cells and columns without a name, and take the crm_id from its column', async () => {
    const shape = csvShape(['Id', '', 'crm_id', '__proto__', 'n'], 'Id');
    const text = "7,x,old,p,1\n'=8,,,,\n,,,,\n\n,y,,,2\n";
    expect(await recordsOf(text, shape)).to.deep.equal([
      ['7', '[null,null,"7","p","1"]'],
      ['=8', '[null,null,"=8",null,null]'],
      [null, undefined],
      [null, undefined],
      [null, '[null,null,null,null,"2"]'],
    ]);
  });

  it('fail with surplus cells, also empty ones, unless each row of the file has as many', async () => {
    const shape = csvShape(['Id', 'Company', 'n', 'o'], 'Id');
    const advice = 'Cell 5 begins at column';
    const read = (text: string, surplus?: number) =>
      recordsOf(text, surplus === undefined ? shape : { ...shape, surplus });
    const problem = (column: number, has = 5) => ({
      field: '',
      message: `The row has ${has} cells, but the header has 4 columns. ${advice} ${column}. Quote cells that contain a delimiter`,
    });
    expect(await read('a,b,1,2\na,b, c,1,\na,b,1,2,\n')).to.deep.equal([
      ['a', '[null,"b","1","2"]'],
      problem(10),
      problem(9),
    ]);
    expect(await read('a,b,1,2,\na,b,1,2,x\na,b,1,2,,\n', 1)).to.deep.equal([
      ['a', '[null,"b","1","2"]'],
      problem(9),
      problem(9, 6),
    ]);
  });

  it('fail when a delimiter splits a cell whose quotes are not those of a CSV, and name these', async () => {
    const shape = csvShape(['Id', 'Company', 'n', 'o'], 'Id');
    const split = (advice: string) =>
      `A delimiter splits the cell that begins at column 3 into cells 2 to 3. ${advice}`;
    const twice = 'It has \\" inside. Write each quote in a quoted cell twice';
    const straight = (quotes: string) => `It has the quotes ${quotes}. Use straight double quotes instead`;
    const formula = 'It has the form ="…". Write it as "=""…"""';
    const unseen = 'An invisible character stands before its quote. Remove this character';
    const rows: readonly (readonly [string, string])[] = [
      ['a,"said \\"yes\\", twice",x', split(twice)],
      ['a,"said \\"yes\\", twice",x,', split(twice)],
      ['a,"x\\",\\"y",1', split(twice)],
      ['a,“Acme, Inc”,1,', split(straight('“…”'))],
      ['a,“Acme, Inc”,1,2', split(straight('“…”'))],
      ['a,„Acme, Inc“,1', split(straight('„…“'))],
      ['a,«Acme, Inc»,1', split(straight('«…»'))],
      ['a,‘Acme, Inc’,1', split(straight('‘…’'))],
      ['a,″Acme, Inc″,1', split(straight('″…″'))],
      ['a,＂Acme, Inc＂,1', split(straight('＂…＂'))],
      ["a,'Acme, Inc',1,", split(straight("'…'"))],
      ['a,="Acme, Inc",1', split(formula)],
      ['a,\u00a0"Acme, Inc",1', split(unseen)],
      ['a,\u200b"Acme, Inc",1', split(unseen)],
    ];
    for (const [row, message] of rows)
      expect(await recordsOf(`${row}\n`, shape), row).to.deep.equal([{ field: '', message }]);
    const whole: readonly (readonly [string, string])[] = [
      ['a,"Acme, ""Inc""",1', 'Acme, "Inc"'],
      ['a, "Acme, Inc" ,1', 'Acme, Inc'],
      ['a,"Alpha" S.A.,1', '"Alpha" S.A.'],
      ['a,"C:\\",1', 'C:\\'],
      ['a,"said \\"yes\\"",1', '"said \\"yes\\""'],
      ["a,'t Hooft,1", "'t Hooft"],
      ['a,3" pipe,1', '3" pipe'],
    ];
    for (const [row, cell] of whole)
      expect(await recordsOf(`${row}\n`, shape), row).to.deep.equal([['a', JSON.stringify([null, cell, '1', null])]]);
  });

  it('read cells that were left out as empty, and state the problem of too many cells and of an unusable crm_id', async () => {
    const shape = csvShape(['crm_id', 'n', ''], 'crm_id');
    const message =
      'The row has 4 cells, but the header has 3 columns. Cell 4 begins at column 7. Quote cells that contain a delimiter';
    expect(await recordsOf(`a\na,1,2,3\n"a\nb",12,2,3\n${'x'.repeat(256)},1\n`, shape)).to.deep.equal([
      ['a', '["a",null,null]'],
      { field: '', message },
      { field: '', message: message.replace('column 7', 'column 9') },
      { field: 'crm_id', message: 'The crm_id must have at most 255 characters' },
    ]);
  });

  it('keep JSONL values, and state the problem of a line that is no record', async () => {
    const text = `{"Id":7,"crm_id":"old","n":[1]}\r\n\n{"Id":null,"n":2}\n{"Id":70000000000000001}\n{"Id":12.0}\n{"Id":1.2E+15}\n{"Id":true}\n[1]\n{"a":NaN}\n${'['.repeat(50_000)}\n{"\\u0000":1}\n{"Id":"\\ud800"}`;
    const rows = await rowsOf(text, jsonlShape('Id'));
    expect(rows.map(({ line }) => line)).to.deep.equal([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    expect(await recordsOf(text, jsonlShape('Id'))).to.deep.equal([
      ['7', { n: [1], crm_id: '7' }],
      [null, undefined],
      [null, { n: 2 }],
      ['70000000000000001', { crm_id: '70000000000000001' }],
      ['12', { crm_id: '12' }],
      {
        field: 'Id',
        message:
          'The crm_id is a number that a spreadsheet has shortened. Export the file from the CRM again and do not save it in a spreadsheet',
      },
      { field: 'Id', message: 'The crm_id must be a text or a whole number' },
      { field: '', message: 'The line is not a JSON object. Write one record in each line' },
      {
        field: '',
        message: 'The line is not valid JSON: unexpected text at position 5: NaN is not JSON, write null',
      },
      { field: '', message: 'The line is nested deeper than 32 levels' },
      { field: '', message: 'A key in the line contains a NUL character' },
      {
        field: 'Id',
        message: 'The crm_id contains a character that is not allowed (NUL or half of a surrogate pair)',
      },
    ]);
  });
});

describe('the result lines of a bulk job', () => {
  const shape = csvShape(['Id', 'Score', 'n'], 'Id');
  const withInput: FileForm = { shape, options: { include_input: true, explain: true } };
  const text = 'a,"1",x"y\nb,2\n\nc,1,2,3\n';
  const linesOf = async (form: FileForm, from = text) => {
    const rows = await rowsOf(from, form.shape);
    const reasons = ['x', null, null];
    const scored = { ...result, reasons };
    return resultText(
      rows,
      (row) => (row.record === undefined ? undefined : scored),
      (row) => row.problem,
      form,
    );
  };

  it('keep the cells of the input, pad short rows and cut long ones, under names that are free', async () => {
    expect(resultHeader(shape, withInput.options)).to.match(/^Id,Score,n,leadscore_score,.*,leadscore_error\n$/);
    const results = await linesOf(withInput);
    const message =
      'The row has 4 cells, but the header has 3 columns. Cell 4 begins at column 7. Quote cells that contain a delimiter';
    expect(results).to.equal(
      [
        'a,"1",x"y,70,0.5,true,90,-20,"\'=a; b,c",x,,,',
        'b,2,,70,0.5,true,90,-20,"\'=a; b,c",x,,,',
        ',,,,,,,,,,,,',
        `c,1,2,,,,,,,,,,"${message}"`,
        '',
      ].join('\n'),
    );
    const header = resultHeader(shape, withInput.options);
    expect(parse(header + results, { columns: true, relax_quotes: true })).to.have.length(4);
  });

  it('begin with row and crm_id without the input', async () => {
    const form = { shape: csvShape(['crm_id', 'n'], 'crm_id', ';'), options: { include_input: false, explain: false } };
    expect(resultHeader(form.shape, form.options)).to.equal(
      'row;crm_id;score;conversion_likelihood;enriched;previous_score;delta;warnings;error\n',
    );
    expect(await linesOf(form, '@a;1\n')).to.equal('1;\'@a;70;0.5;true;90;-20;"\'=a; b,c";\n');
  });

  it('are a row of the batch reply in JSONL, with the input as it was', async () => {
    const form = { shape: jsonlShape(), options: { include_input: true, explain: false } };
    expect(await linesOf(form, '{"crm_id":"a","n":1.0}\n\nx\n')).to.equal(
      [
        '{"row":1,"score":70,"conversion_likelihood":0.5,"enriched":true,"crm_id":"a","previous_score":90,"delta":-20,"top_reason_1":"x","top_reason_2":null,"top_reason_3":null,"warnings":["=a","b,c"],"input":{"crm_id":"a","n":1.0}}',
        '{"row":2,"empty":true,"input":null}',
        '{"row":3,"error":"The line is not valid JSON: unexpected text at position 0","input":"x"}',
        '',
      ].join('\n'),
    );
  });

  it('list the rows with a problem', async () => {
    const text = 'a,1,2\nb,1,2,3\n\nc,1,2,"3, ""x""",4\nd,1,2, ,\ne,1,2,=1+1\n';
    const rows = await rowsOf(text, shape);
    const errors = errorText(rows, (row) => row.problem, withInput);
    expect(errorHeader(shape)).to.equal('row,line,crm_id,field,message,surplus\n');
    expect(parse(errors).map((cells: string[]) => cells.toSpliced(4, 1))).to.deep.equal([
      ['2', '3', 'b', '', '3'],
      ['4', '5', 'c', '', '"3, ""x""",4'],
      ['5', '6', 'd', '', ''],
      ['6', '7', 'e', '', "'=1+1"],
    ]);
    const withoutInput = { shape, options: { ...withInput.options, include_input: false } };
    for (const cells of parse(errorText(rows, (row) => row.problem, withoutInput))) expect(cells.at(-1)).to.equal('');
    expect(errorsWithoutLead(errors, 'b', withInput)).to.match(/^2,3,,,The lead was erased,\n4,5,c,,"The row/);
    expect(errorsWithoutLead(errors, 'x', withInput)).to.equal(undefined);
  });

  it('lose the data of an erased lead, and keep its scores and the other lines', async () => {
    const results = await linesOf(withInput);
    expect(resultsWithoutLead(results, 'zzz', withInput)).to.equal(undefined);
    const [, ...others] = results.split('\n');
    expect(resultsWithoutLead(results, 'a', withInput)).to.equal([',,,70,0.5,true,90,-20,,,,,', ...others].join('\n'));
    expect(resultsWithoutLead(results, 'c', withInput)?.split('\n')[3]).to.equal(',,,,,,,,,,,,The lead was erased');
    expect(resultsWithoutLead(await linesOf(withInput, "'d,1,2\n"), 'd', withInput)).to.match(/^,,,70,0.5,/);
    const withoutInput = { shape, options: { ...withInput.options, include_input: false } };
    for (const form of [withInput, withoutInput]) {
      const hof = await linesOf(form, "'t Hof,1,2\n");
      expect(resultsWithoutLead(hof, 't Hof', form)).to.equal(undefined);
      expect(resultsWithoutLead(hof, "'t Hof", form)).to.be.a('string');
    }
    const bare = { shape, options: { include_input: false, explain: false } };
    expect(resultsWithoutLead(await linesOf(bare), 'a', bare)).to.match(/^1,,70,0.5,true,90,-20,,\n2,b,/);
    const json = { shape: jsonlShape(), options: { include_input: true, explain: false } };
    const lines = await linesOf(json, '{"crm_id":"a","n":1}\n{"crm_id":"b","n":{"crm_id":"a"}}\n');
    expect(resultsWithoutLead(lines, 'a', json)).to.equal(
      `{"row":1,"score":70,"conversion_likelihood":0.5,"enriched":true,"previous_score":90,"delta":-20}\n${lines.split('\n')[1]}\n`,
    );
  });
});
