import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFile } from '../../shared/process/project-root.js';
import { runToEnd, UsageError } from '../servers/run-to-end.js';
import { FileTimes } from './file-times.js';
import { GroupProcess, type TestRun } from './group-process.js';
import { Progress } from './progress.js';
import { failuresText, filesToRepeat, flakyText, replaceResult, totalsOf, totalsText } from './report.js';
import { isFull, matchingTests, testFiles } from './test-files.js';
import { type TestGroup, testGroups } from './test-groups.js';

/*
 * `npm test`: the tests in several Mocha processes, at most one a core and one more. A file that failed runs once
 * more, alone, at the end. See docs/contributing.md.
 */

const usageText = `Runs the tests.

npm test                       all but the long ones (*.full.test.ts), in several Mocha processes
npm run test:full              all tests
npm test -- PATTERN [options]  the test files whose path contains PATTERN, in one Mocha, with options of Mocha
npm test -- --times            also writes how long each test file took to test/test-times.txt, by which files are grouped
`;

/** Runs Mocha itself for some files, with its options and its output. */
async function runMocha(files: readonly string[], options: readonly string[]): Promise<void> {
  const mocha = spawn(process.execPath, [projectFile('node_modules/mocha/bin/mocha.js'), ...options, ...files], {
    cwd: projectFile('.'),
    stdio: 'inherit',
  });
  process.exitCode = await new Promise<number>((resolve) => mocha.once('exit', (code) => resolve(code ?? 1)));
}

interface RunOptions {
  /** All test files, also those that do not run. */
  readonly all: readonly string[];
  readonly withTimes: boolean;
}

/** Runs groups, each in a Mocha process of its own, and reports what they found. */
async function runGroups(files: readonly string[], { all, withTimes }: RunOptions, testRun: TestRun): Promise<void> {
  const times = await FileTimes.read();
  const groups = testGroups(files, times, (file) => readFileSync(projectFile(file), 'utf8'));
  const processes: GroupProcess[] = [];
  const count = groups.working.length + groups.waiting.length + groups.alone.length;
  const progress = new Progress(processes, count, process.stderr);
  progress.start();
  const run = async (group: TestGroup): Promise<GroupProcess> => {
    const started = new GroupProcess(group, testRun, (line) => progress.say(line));
    processes.push(started);
    await started.ended;
    progress.clear();
    process.stdout.write(`\n== ${group.name}: ${totalsText(totalsOf([started]))}\n${started.output}`);
    return started;
  };
  const runInTurn = async (...queues: TestGroup[][]): Promise<void> => {
    const take = () => queues.find((queue) => queue.length > 0)?.shift();
    for (let next = take(); next !== undefined; next = take()) await run(next);
  };
  const [working, waiting] = [[...groups.working], [...groups.waiting]];
  // A group starts several processes, and waits for a third of its time. With more at once, tests miss time limits.
  const cores = Math.max(2, availableParallelism());
  await Promise.all([runInTurn(waiting, working), ...Array.from({ length: cores }, () => runInTurn(working, waiting))]);
  await runInTurn([...groups.alone]);

  const flaky: string[] = [];
  for (const file of filesToRepeat(processes)) {
    progress.say(`runs again, alone: ${file}`);
    const again = new GroupProcess({ name: `${file}, second run`, files: [file] }, testRun, (line) =>
      progress.say(line),
    );
    await again.ended;
    progress.clear();
    process.stdout.write(`\n== ${again.name}: ${totalsText(totalsOf([again]))}\n${again.output}`);
    const line = replaceResult(processes, file, again);
    if (line !== undefined) flaky.push(line);
  }
  progress.stop();
  process.stdout.write(failuresText(processes));
  process.stdout.write(flakyText(flaky));
  if (withTimes) {
    const measured = new Map(processes.flatMap((group) => [...group.times]));
    process.stdout.write(`Times of all files: ${await times.write(all, measured)}\n`);
  }
  const totals = totalsOf(processes);
  process.stdout.write(`${totalsText(totals)}\n`);
  if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1;
}

await runToEnd(async ({ onEnd }) => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(usageText);
    return;
  }
  const own = ['--full', '--times'];
  const others = args.filter((arg) => !own.includes(arg));
  const files = await testFiles();
  if (others.length === 0) {
    const tier = args.includes('--full') ? 'full' : 'first';
    const chosen = files.filter((file) => tier === 'full' || !isFull(file));
    const compileCache = await mkdtemp(join(tmpdir(), 'leadscore-test-code-'));
    onEnd(() => rm(compileCache, { recursive: true, force: true }));
    const testRun = { tier, compileCache } as const;
    await runGroups(chosen, { all: files, withTimes: args.includes('--times') }, testRun);
    return;
  }
  const firstOption = others.findIndex((arg) => arg.startsWith('-'));
  const patterns = firstOption < 0 ? others : others.slice(0, firstOption);
  const chosen = matchingTests(files, patterns);
  if (chosen.length === 0) throw new UsageError(`no test file has ${patterns.join(' or ')} in its path`);
  await runMocha(chosen, others.slice(patterns.length));
}, 'The tests could not be run');
