import { type RunEnd, runToEnd } from '../servers/run-to-end.js';
import { type AttackCommand, readAttackOptions } from './attack-options.js';
import { AttackProgress, readableReport } from './attack-report.js';
import { attacks } from './attacks/table.js';
import { runAttacks } from './run-attacks.js';

/** `npm run attack`: hostile callers in turn beside a victim. See docs/security.md. */

async function run(command: AttackCommand, { onEnd, end }: RunEnd): Promise<void> {
  const progress = new AttackProgress(process.stderr, command.only.length || attacks.length);
  const result = await runAttacks(command, {
    onStep: (step) => process.stderr.write(`${step}\n`),
    onBegin: (attack) => progress.begin(attack),
    onRow: (row, problems) => progress.end(row, problems),
    onEnd,
  });
  await end();
  process.stdout.write(command.json ? `${JSON.stringify(result)}\n` : readableReport(result, process.stdout.columns));
  if (result.problems.length + result.not_judged.length > 0) process.exitCode = 1;
}

await runToEnd(async (ends) => {
  const command = readAttackOptions(process.argv.slice(2));
  if (typeof command === 'string') process.stdout.write(command);
  else await run(command, ends);
}, 'The run failed');
