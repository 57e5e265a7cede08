import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FileTimes } from '../../scripts/test/file-times.js';
import type { FileResult } from '../../scripts/test/group-process.js';
import {
  failuresText,
  filesToRepeat,
  flakyText,
  replaceResult,
  totalsOf,
  totalsText,
} from '../../scripts/test/report.js';
import { isFull, matchingTests, testFiles } from '../../scripts/test/test-files.js';
import { testGroups } from '../../scripts/test/test-groups.js';
import { projectFile } from '../../shared/process/project-root.js';

const textOf = (file: string) => readFileSync(projectFile(file), 'utf8');
const compiled = (...names: string[]) => names.map((name) => `dist/test/${name}.test.js`);

describe('the runner of npm test', () => {
  it('runs every test file in exactly one process', async () => {
    const files = await testFiles();
    expect(files).to.include('dist/test/scripts/test-runner.test.js');
    const { working, waiting, alone } = testGroups(files, await FileTimes.read(), textOf);
    const grouped = [...working, ...waiting, ...alone].flatMap((group) => group.files);
    expect(grouped.toSorted()).to.deep.equal(files);
  });

  it('groups files by what they share, the longest first, and keeps apart those that wait or measure the machine', () => {
    const files = compiled(
      'rooms',
      'api/a',
      'new/b',
      'http/c',
      'http/f',
      'http/h',
      'http/i',
      'http/k',
      'http/l',
      'console/o',
      'console/p',
      'console/q',
      'entry/g',
      'faults/d',
      'chaos/chaos',
      'faults/bulk/e',
    );
    const texts: Record<string, string> = {
      'dist/test/http/c.test.js': 'service = await runningService();',
      'dist/test/http/f.test.js': "onOwnWorkspace((fresh) => {}, 'twoGateways');",
      'dist/test/faults/d.test.js': 'service = await sharedFaultService();',
      'dist/test/http/h.test.js': "service = await sharedService('bulk');",
      'dist/test/http/i.test.js': "onOwnWorkspace((fresh) => {}, 'disposable');",
      'dist/test/http/k.test.js': 'onShortTimeouts((running) => {});',
      'dist/test/http/l.test.js': 'service = await sharedService("shortTimeouts");',
      'dist/test/console/o.test.js': 'service = await sharedConsoleWithPool();',
      'dist/test/console/p.test.js': 'service = await consoleService({});',
      'dist/test/console/q.test.js': 'service = await sharedConsoleWithBulk();',
    };
    const times = FileTimes.parse('20 1 test/http/c.test.ts\n15 9 test/http/f.test.ts\n');
    const { working, waiting, alone } = testGroups(files, times, (file) => texts[file] ?? '');
    expect(working).to.deep.equal([
      { name: 'service', files: compiled('http/c') },
      { name: 'two gateways', files: compiled('http/f', 'http/i') },
      { name: 'units', files: compiled('api/a', 'new/b', 'rooms') },
      { name: 'console', files: compiled('console/o', 'console/p', 'console/q') },
      { name: 'short timeouts', files: compiled('http/k', 'http/l') },
      { name: 'bulk', files: compiled('http/h') },
      { name: 'entry', files: compiled('entry/g') },
    ]);
    expect(waiting).to.deep.equal([
      { name: 'shared faults', files: compiled('faults/d') },
      { name: 'faults', files: compiled('faults/bulk/e') },
    ]);
    expect(alone).to.deep.equal([{ name: 'alone', files: compiled('chaos/chaos') }]);
  });

  it('divides a kind into groups of about the same time', () => {
    const seconds = { a: 110, b: 100, c: 80, d: 65, e: 5 };
    const table = Object.entries(seconds).map(([name, took]) => `${took} ${took} test/api/${name}.test.ts\n`);
    const files = Object.keys(seconds).flatMap((name) => compiled(`api/${name}`));
    const { working } = testGroups(files, FileTimes.parse(table.join('')), () => '');
    expect(working.map((group) => group.files)).to.deep.equal([
      compiled('api/c', 'api/d'),
      compiled('api/a'),
      compiled('api/b', 'api/e'),
    ]);
  });

  it('makes no process without files', () => {
    const { working, waiting, alone } = testGroups(compiled('faults/a'), FileTimes.parse(''), () => '');
    expect([working, waiting.length, alone]).to.deep.equal([[], 1, []]);
  });

  it('keeps the times of files that did not run, and forgets those that are gone', () => {
    const times = FileTimes.parse('9.0 1.0 test/gone.test.ts\n2.5 0.5 test/kept.test.ts\n1.0 1.0 test/ran.test.ts\n');
    const measured = new Map(compiled('ran').map((file) => [file, { ms: 7_040, cpuMs: 1_400 }]));
    const table = times.after(compiled('kept', 'ran', 'new'), measured);
    expect(table).to.equal('   7.0    1.4 test/ran.test.ts\n   2.5    0.5 test/kept.test.ts\n');
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

  it('adds up the totals and repeats the failures', () => {
    const groups = [
      { name: 'units', passed: 3, failed: 0, skipped: 1, failures: '' },
      { name: 'faults', passed: 2, failed: 1, skipped: 0, failures: '  1) it fails\n' },
    ];
    expect(totalsText(totalsOf(groups))).to.equal('5 passed, 1 failed, 1 skipped');
    expect(failuresText(groups)).to.equal('\n== Failures: faults\n  1) it fails\n');
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
