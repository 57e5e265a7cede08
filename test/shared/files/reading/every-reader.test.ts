import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { leaveOut } from '../../../support/leave-out.js';
import { fileCases } from './file-cases.js';
import { messageIn, messageOf, readersOf } from './file-readers.js';

const names = ['Lead Source', 'Industry', 'Number of Employees', 'Demo Requested', 'Last Activity Date'];
const fields = compileKnownFields({
  features: names.map((field, index) => ({ type: 'number', field, label: field, columns: [index] })),
});

const readers = readersOf(fields);
const { 'a bulk job': bulkReader, 'outcomes import': outcomeReader } = readers;

describe('a file as people send it', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-files-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const fileOf = async (
    content: string | Buffer,
    { format = 'csv', crmId }: { format?: string; crmId?: string | undefined },
  ) => {
    const path = join(directory, `file.${format}`);
    await writeFile(path, content);
    return { path, bytes: Buffer.from(content), crmId };
  };

  for (const [reader, read] of Object.entries(readers)) {
    for (const [name, file] of Object.entries(fileCases)) {
      if (file.format === 'jsonl' && read === outcomeReader) continue;
      if ('tidy' in file)
        it(`is read as its tidy form by ${reader}: ${name}`, async () => {
          const found = await read(await fileOf(file.file, file));
          expect(found).to.not.deep.equal([]);
          expect(found).to.deep.equal(await read(await fileOf(file.tidy, { ...file, crmId: undefined })));
        });
      else
        it(`is refused with advice by ${reader}: ${name}`, async () => {
          expect(await messageOf(read(await fileOf(file.file, file)))).to.equal(file.message);
        });
    }
  }

  describe('among the reported ones', () => {
    const folder = projectFile('../shared/cases');

    /** The records of each file, or the message that refuses it. The outcomes of these files are not the subject. */
    const expected: Readonly<Record<string, number | RegExp>> = {
      'csv-crm-id-header-other-case.csv': 1,
      'csv-dmy-slashes-half-wrong.csv': 6,
      'csv-duplicate-header-unknown-to-model.csv': 1,
      'csv-european-dates-unreadable-untold.csv': 6,
      'csv-excel-sep-line-quoted-tab.csv': 1,
      'csv-excel-sep-line.csv': 2,
      'csv-html-table-of-an-xls-export.csv': /^The file is an HTML or XML page/,
      'csv-ids-in-scientific-notation.csv': /^The crm_id in line 2, column 1 is 1\.20214E\+17/,
      'csv-one-lead-without-any-field.csv': 3,
      'csv-pandas-boolean-1.0.csv': 3,
      'csv-preamble-line.csv': /^Line 1 stands before the names of the columns, which are in line 3/,
      'csv-salesforce-report-with-footer.csv': 2,
      'csv-stray-opening-quote-swallows-rows.csv': /^The quote in line 2, column 4 opens a cell of several lines/,
      'csv-trailing-empty-cells-omitted.csv': 3,
      'csv-utf16-gzipped.csv.gz': 1,
      'csv-utf16-without-mark.csv': 1,
      'csv-whitespace-only-rows.csv': 2,
      'jsonl-number-ids-above-2-53.jsonl': 2,
    };
    const idColumns: Readonly<Record<string, string>> = {
      'csv-ids-in-scientific-notation.csv': 'Lead ID',
      'csv-salesforce-report-with-footer.csv': 'Lead ID',
      'jsonl-number-ids-above-2-53.jsonl': 'id',
    };

    for (const [name, records] of Object.entries(expected))
      it(`is read or refused by a bulk job: ${name}`, async function () {
        const path = join(folder, name);
        const bytes = await readFile(path).catch(() =>
          leaveOut(this, `${name} is not beside the project`, 'put it into ../shared/cases'),
        );
        const reading = bulkReader({ path, bytes, crmId: idColumns[name] });
        if (typeof records !== 'number') {
          expect(await messageOf(reading)).to.match(records);
          return;
        }
        const ids = (await reading).map((record) => (record as { crm_id?: string }).crm_id);
        expect(new Set(ids).size, 'different leads').to.equal(records);
        expect(ids).to.have.length(records).and.not.include(undefined);
      });
  });

  it('has a row failed whose cells a delimiter has moved, also into an empty cell at its end', async () => {
    const header = 'crm_id,Company,Lead Source,converted\n';
    const moved =
      'The row has 5 cells, but the header has 4 columns. Cell 5 begins at column 15. Quote cells that contain a delimiter';
    const curly =
      'A delimiter splits the cell that begins at column 3 into cells 2 to 3. It has the quotes “…”. Use straight double quotes instead';
    const file = await fileOf(`${header}a,Acme, Inc,1,\nb,“Acme, Inc”,1\nc,x,y,1\n`, {});
    for (const [reader, read] of Object.entries(readers)) {
      const found = (await read(file)).map(messageIn);
      expect(found.slice(0, 2), reader).to.deep.equal([moved, curly]);
      expect(found, reader).to.have.length(3);
    }
  });

  it('has the columns of names with invisible characters', async () => {
    const header = '\ufeff\ufeffcrm_id,Lead\u200bSource,\u202aIndustry\u202c,conver\u00adted\n';
    const rows = 'a,Referral,Software,1\n';
    const tidy = await fileOf(`crm_id,Lead Source,Industry,converted\n${rows}`, {});
    const expected = await Promise.all([bulkReader, outcomeReader].map((read) => read(tidy)));
    const file = await fileOf(header + rows, {});
    expect(await Promise.all([bulkReader, outcomeReader].map((read) => read(file)))).to.deep.equal(expected);
  });

  it('has rows of units and of dashes failed by name', async () => {
    const file = await fileOf(
      'crm_id,Lead Source,Industry,converted\n,,EUR,yes/no\n----,----,----,----\na,Referral,Software,1\n',
      {},
    );
    for (const [reader, read] of Object.entries(readers)) {
      const found = (await read(file)).map(messageIn);
      expect(found.slice(0, 2), reader).to.deep.equal([
        'The row has units or types of columns, such as "EUR". Delete it',
        'The row has only dashes, as between a header and its rows. Delete it',
      ]);
      expect(found, reader).to.have.length(3);
    }
  });

  it('has a record of JSON failed that has its fields inside a member, or two ids', async () => {
    const text =
      '{"crm_id":"a","Industry":"x"}\n{"crm_id":"b","record":{"Industry":"x"}}\n{"CRM_ID":"c","Crm Id":"d"}\n';
    expect((await bulkReader(await fileOf(text, { format: 'jsonl' }))).slice(1)).to.deep.equal([
      `The fields of the record are inside "record". Write them at its top, for example with jq -c '. + .["record"] | del(.["record"])' FILE`,
      'Two members can be the crm_id: "CRM_ID" and "Crm Id". Rename one of them',
    ]);
  });

  it('is refused without a column that the model knows, and the message names some', async () => {
    const file = await fileOf('a,b\n1,2\n', {});
    const message =
      'The header (line 1) has no column that the model knows. Its columns: "a", "b". Fields of the model: "Lead Source", "Industry", "Number of Employees", "Demo Requested", "Last Activity Date"';
    expect(await messageOf(bulkReader(file))).to.equal(message);
    expect(await messageOf(outcomeReader(file))).to.equal(
      'The header (line 1) has no column "crm_id". Name the column with --crm-id. Its columns: "a", "b"',
    );
  });
});
