import { expect } from 'chai';
import type { FileResult } from '../../scripts/test/group-process.js';
import {
  failuresText,
  filesToRepeat,
  flakyText,
  replaceResult,
  timesText,
  totalsOf,
  totalsText,
} from '../../scripts/test/report.js';
import { isFull, matchingTests, testFiles, testGroups } from '../../scripts/test/test-files.js';

const compiled = (...names: string[]) => names.map((name) => `dist/test/${name}.test.js`);

describe('the runner of npm test', () => {
  it('runs every test file in exactly one process', async () => {
    const files = await testFiles();
    expect(files).to.include('dist/test/scripts/test-runner.test.js');
    const grouped = testGroups(files).flatMap((stage) => stage.flatMap((group) => group.files));
    expect(grouped.toSorted()).to.deep.equal(files);
  });

  it('groups files by folder, puts unknown folders first and measurements of the machine last', () => {
    const files = compiled(
      'rooms',
      'api/a',
      'new/b',
      'http/c',
      'faults/d',
      'chaos/chaos.full',
      'faults/bulk/e',
      'overload/attack',
    );
    expect(testGroups(files)).to.deep.equal([
      [
        { name: 'units', files: compiled('rooms', 'api/a', 'new/b') },
        { name: 'faults', files: compiled('faults/d') },
        { name: 'http', files: compiled('http/c') },
      ],
      [{ name: 'alone', files: compiled('chaos/chaos.full', 'faults/bulk/e', 'overload/attack') }],
    ]);
  });

  it('makes no process without files', () => {
    expect(testGroups(compiled('faults/a'))).to.deep.equal([[{ name: 'faults', files: compiled('faults/a') }]]);
  });

  it('finds a test file by its source, by its compiled file and by a part of its path', () => {
    const files = compiled('api/a', 'api/http/ab', 'chaos/chaos.full');
    for (const pattern of ['test/api/a.test.ts', './test/api/a.test.ts', 'dist/test/api/a.test.js'])
      expect(matchingTests(files, [pattern])).to.deep.equal(compiled('api/a'));
    expect(matchingTests(files, ['http/', 'chaos'])).to.deep.equal(compiled('api/http/ab', 'chaos/chaos.full'));
    expect(matchingTests(files, ['no such test'])).to.deep.equal([]);
  });

  it('leaves only *.full.test.ts files to test:full', () => {
    expect(compiled('a', 'b.full', 'full').filter(isFull)).to.deep.equal(compiled('b.full'));
  });

  it('adds up the totals, repeats the failures and lists the slowest files first', () => {
    const report = { failures: '', fileMs: new Map<string, number>() };
    const groups = [
      {
        ...report,
        name: 'units',
        passed: 3,
        failed: 0,
        skipped: 1,
        fileMs: new Map([
          ['a', 40],
          ['b', 1_500],
        ]),
      },
      { ...report, name: 'faults', passed: 2, failed: 1, skipped: 0, failures: '  1) it fails\n' },
    ];
    expect(totalsText(totalsOf(groups))).to.equal('5 passed, 1 failed, 1 skipped');
    expect(failuresText(groups)).to.equal('\n== Failures: faults\n  1) it fails\n');
    expect(timesText(groups)).to.equal('    1.5 units\n    1.5   b\n    0.0   a\n\n    0.0 faults\n');
  });

  describe('after a failure', () => {
    const groupOf = (results: Record<string, FileResult>) => ({ results: new Map(Object.entries(results)) });
    const passedTwo: FileResult = { passed: 2, failed: 0, skipped: 0 };
    const failedOne: FileResult = { passed: 1, failed: 1, skipped: 0, firstError: 'it waits: Error: Timeout' };

    it('repeats each failed file, and no other', () => {
      const groups = [groupOf({ a: passedTwo, b: failedOne }), groupOf({ c: failedOne })];
      expect(filesToRepeat(groups)).to.deep.equal(['b', 'c']);
    });

    it('repeats nothing when a failure belongs to no file or more than twenty files failed', () => {
      expect(filesToRepeat([groupOf({ '': failedOne, b: failedOne })])).to.deep.equal([]);
      const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`file ${index}`, failedOne]));
      expect(filesToRepeat([groupOf(many)])).to.deep.equal([]);
    });

    it('counts the second run of a file that passes then, and prints its first error', () => {
      const groups = [groupOf({ a: passedTwo, b: { ...failedOne } })];
      const line = replaceResult(groups, 'b', groupOf({ b: passedTwo }));
      expect(line).to.equal('b: it waits: Error: Timeout');
      expect(groups[0]?.results.get('b')).to.deep.equal(passedTwo);
      expect(flakyText([String(line)])).to.equal('\nFlaky:\n  b: it waits: Error: Timeout\n');
      expect(flakyText([])).to.equal('');
    });

    it('keeps the failure of a file that fails again, crashes, or runs no test', () => {
      for (const second of [{ b: failedOne }, { b: passedTwo, '': failedOne }, { '': failedOne }, {}]) {
        const groups = [groupOf({ b: { ...failedOne } })];
        expect(replaceResult(groups, 'b', groupOf(second))).to.equal(undefined);
        expect(groups[0]?.results.get('b')?.failed).to.equal(1);
      }
    });
  });
});
