import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { projectFile } from '../../shared/process/project-root.js';
import { runToEnd, UsageError } from '../servers/run-to-end.js';
import { GroupProcess } from './group-process.js';
import { Progress } from './progress.js';
import { failuresText, filesToRepeat, flakyText, replaceResult, timesText, totalsOf, totalsText } from './report.js';
import { isFull, matchingTests, testFiles, testGroups } from './test-files.js';

/*
 * `npm test`: all tests in several Mocha processes, at most one a core. A file that failed runs once more, alone, at
 * the end. See docs/contributing.md.
 */

const usageText = `Runs the tests.

npm test                       all but the long ones (*.full.test.ts), in several Mocha processes, at most one a core
npm run test:full              all tests
npm test -- PATTERN [options]  the test files whose path contains PATTERN, in one Mocha, with options of Mocha
npm test -- --times            also writes how long each test file took to .local/test-times.txt
`;

const timesFile = '.local/test-times.txt';

/** Runs Mocha itself for some files, with its options and its output. */
async function runMocha(files: readonly string[], options: readonly string[]): Promise<void> {
  const mocha = spawn(process.execPath, [projectFile('node_modules/mocha/bin/mocha.js'), ...options, ...files], {
    cwd: projectFile('.'),
    stdio: 'inherit',
  });
  process.exitCode = await new Promise<number>((resolve) => mocha.once('exit', (code) => resolve(code ?? 1)));
}

async function runGroups(files: readonly string[], options: { readonly withTimes: boolean }): Promise<void> {
  const stages = testGroups(files);
  const processes: GroupProcess[] = [];
  const progress = new Progress(processes, process.stderr);
  progress.start();
  for (const stage of stages) {
    const waiting = [...stage];
    const runInTurn = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const group = new GroupProcess(next, (line) => progress.say(line));
        processes.push(group);
        await group.ended;
        progress.clear();
        process.stdout.write(`\n== ${group.name}: ${totalsText(totalsOf([group]))}\n${group.output}`);
      }
    };
    // A group starts several processes. More groups than cores save no time, and their tests miss time limits.
    await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, runInTurn));
  }
  const flaky: string[] = [];
  for (const file of filesToRepeat(processes)) {
    progress.say(`runs again, alone: ${file}`);
    const again = new GroupProcess({ name: `${file}, second run`, files: [file] }, (line) => progress.say(line));
    await again.ended;
    progress.clear();
    process.stdout.write(`\n== ${again.name}: ${totalsText(totalsOf([again]))}\n${again.output}`);
    const line = replaceResult(processes, file, again);
    if (line !== undefined) flaky.push(line);
  }
  progress.stop();
  process.stdout.write(failuresText(processes));
  process.stdout.write(flakyText(flaky));
  if (options.withTimes) {
    await writeFile(projectFile(timesFile), timesText(processes));
    process.stdout.write(`Times of all files: ${timesFile}\n`);
  }
  const totals = totalsOf(processes);
  process.stdout.write(`${totalsText(totals)}\n`);
  if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1;
}

await runToEnd(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(usageText);
    return;
  }
  const own = ['--full', '--times'];
  const others = args.filter((arg) => !own.includes(arg));
  const files = await testFiles();
  if (others.length === 0) {
    const chosen = files.filter((file) => args.includes('--full') || !isFull(file));
    await runGroups(chosen, { withTimes: args.includes('--times') });
    return;
  }
  const firstOption = others.findIndex((arg) => arg.startsWith('-'));
  const patterns = firstOption < 0 ? others : others.slice(0, firstOption);
  const chosen = matchingTests(files, patterns);
  if (chosen.length === 0) throw new UsageError(`no test file has ${patterns.join(' or ')} in its path`);
  await runMocha(chosen, others.slice(patterns.length));
}, 'The tests could not be run');
