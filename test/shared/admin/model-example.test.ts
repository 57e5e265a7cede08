import { expect } from 'chai';
import { recordAt } from '../../../shared/admin/models/model-example.js';

describe('the example record of a model', () => {
  const lines = [
    '{"record":{"crm_id":"LEAD-1","Country":"Österreich","Size":5},"score":3}',
    '{"record":{"Tags":["a"]}}',
  ];
  const records = [{ Country: 'Österreich', Size: 5 }, { Tags: ['a'] }];

  it('is that of the line with the byte, at every byte of the file, without crm_id', () => {
    for (const ending of ['', '\n', '\n\n\n']) {
      const file = Buffer.from(lines.join('\n') + ending);
      const firstBytes = Buffer.byteLength(lines[0] ?? '');
      for (let at = 0; at <= file.length; at += 1)
        expect(recordAt(file, at), `${at} of ${file.length}`).to.deep.equal(records[at <= firstBytes ? 0 : 1]);
    }
  });

  it('is found among any number of blank lines, and after a byte order mark', () => {
    const blanks = ' \r\n'.repeat(100_000);
    const file = Buffer.from(`\uFEFF${lines[0]}\n${blanks}${lines[1]}${blanks}`);
    const second = file.lastIndexOf('{"record"');
    for (const [at, record] of [
      [0, 0],
      [second - 1, 0],
      [second, 1],
      [file.length, 1],
    ] as const)
      expect(recordAt(file, at), `${at}`).to.deep.equal(records[record]);
    expect(recordAt(Buffer.from(`${blanks}${lines[0]}`), 0)).to.deep.equal(records[0]);
  });

  it('leaves out values that a form cannot show, and is absent for an empty file or a very long line', () => {
    const untidy = '{"record":{"A":{"b":1},"C":null,"D":false}}';
    expect(recordAt(Buffer.from(untidy), 3)).to.deep.equal({ D: false });
    expect(recordAt(Buffer.from('\n\n'), 1)).to.equal(undefined);
    const long = Buffer.from(JSON.stringify({ record: { A: 'x'.repeat(70_000) } }));
    expect(recordAt(long, 3)).to.equal(undefined);
  });
});
