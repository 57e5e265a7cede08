import { ProgressLines } from '../bench/report/progress-lines.js';
import { type RunEnd, runToEnd } from '../servers/run-to-end.js';
import { type AttackCommand, readAttackOptions } from './attack-options.js';
import { type AttackResult, attackText, readableReport } from './attack-report.js';
import { type AttackRow, type BrokenPromise, judge } from './judge.js';
import { AttackRun, attacksNamed } from './run-attacks.js';

/** `npm run attack`: hostile callers in turn beside a victim. See docs/security.md. */

async function measure(command: AttackCommand, { onEnd }: RunEnd): Promise<AttackResult> {
  const chosen = attacksNamed(command.only);
  const progress = new ProgressLines(chosen.length);
  progress.say('starting Redis, MongoDB, a gateway and a worker pool');
  const run = await AttackRun.start(command, onEnd);
  const rows: AttackRow[] = [];
  const problems: BrokenPromise[] = [];
  const notJudged: BrokenPromise[] = [];
  for (const attack of chosen) {
    progress.doing(`${attack.name}: ${attack.does}`);
    const row = await run.attack(attack);
    const found = judge(row);
    rows.push(row);
    problems.push(...found.problems);
    notJudged.push(...found.notJudged);
    progress.finished(attackText(row, found.problems));
  }
  problems.push(...(await run.lateProblems()));
  return { seconds: command.seconds, rows, problems, not_judged: notJudged };
}

await runToEnd(async (ends) => {
  const command = readAttackOptions(process.argv.slice(2));
  if (typeof command === 'string') {
    process.stdout.write(command);
    return;
  }
  const result = await measure(command, ends);
  await ends.end();
  process.stdout.write(command.json ? `${JSON.stringify(result)}\n` : readableReport(result, process.stdout.columns));
  if (result.problems.length + result.not_judged.length > 0) process.exitCode = 1;
}, 'The run failed');
