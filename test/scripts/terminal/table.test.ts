import { expect } from 'chai';
import fc from 'fast-check';
import { renderFields, renderTable } from '../../../scripts/cli/output/table.js';

describe('renderTable and renderFields', () => {
  const columns = [{ name: 'Key', whole: true }, { name: 'Name' }, { name: 'Calls', align: 'right' }] as const;

  it('aligns columns under a rule, right-aligned ones to the right', () => {
    const text = renderTable(columns, [
      ['key_1', 'HubSpot', '10'],
      ['key_2', 'x', '1,000'],
    ]);
    expect(text.split('\n')).to.deep.equal([
      'Key    Name     Calls',
      '─────  ───────  ─────',
      'key_1  HubSpot     10',
      'key_2  x        1,000',
    ]);
  });

  it('wraps long cells to the width, but not in a column marked `whole`', () => {
    const id = 'key_'.padEnd(30, 'x');
    const text = renderTable(columns, [[id, 'a rather long name of a key', '5']], { width: 50 });
    expect(Math.max(...text.split('\n').map((line) => line.length))).to.be.at.most(50);
    expect(text).to.include(id);
    const narrow = renderTable(columns, [[id, 'name', '5']], { width: 20 });
    expect(narrow).to.include(id);
  });

  it('cuts no number when the line is too narrow', () => {
    const text = renderTable(columns, [['key_1', 'HubSpot', '1,800,000,000']], { width: 20 });
    expect(text).to.include('1,800,000,000');
  });

  it('counts double-width characters as two columns', () => {
    const [, rule = ''] = renderTable([{ name: 'A' }, { name: 'B' }], [['日本', 'x']]).split('\n');
    expect(rule).to.equal('────  ─');
  });

  it('keeps every word of every cell, within the width and without trailing spaces', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'ü'), minLength: 1, maxLength: 8 });
    const cell = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));
    const rows = fc.array(fc.tuple(cell, cell, cell), { maxLength: 6 });
    fc.assert(
      fc.property(rows, (cells) => {
        const text = renderTable([{ name: 'A' }, { name: 'B' }, { name: 'C' }], cells, { width: 40 });
        const words = (all: string): string[] =>
          all
            .split(/\s+/)
            .filter((each) => each !== '')
            .sort();
        expect(words(text.split('\n').slice(2).join(' '))).to.deep.equal(words(cells.flat().join(' ')));
        for (const line of text.split('\n')) {
          expect(line.length).to.be.at.most(40);
          expect(line).to.equal(line.trimEnd());
        }
      }),
    );
  });

  it('renders one field a line, wraps values, and leaves out fields without a value', () => {
    const text = renderFields(
      [
        ['Model', 'mdl_1'],
        ['Validation', 'Too early to grade at this moment'],
        ['Override', undefined],
      ],
      { width: 30 },
    );
    expect(text).to.equal('Model       mdl_1\nValidation  Too early to grade\n            at this moment');
  });
});
