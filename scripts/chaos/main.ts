import { type RunEnd, runToEnd } from '../servers/run-to-end.js';
import { type ChaosCommand, readChaosOptions, usageText } from './chaos-options.js';
import { readableReport } from './chaos-report.js';
import type { FaultEvent } from './check/history.js';
import { runChaos } from './run-chaos.js';

/** `npm run chaos`: random faults under load, and their effect on metering. See docs/reliability.md. */

const clockText = (ms: number): string =>
  `${String(Math.floor(ms / 60_000)).padStart(2, '0')}:${String(Math.floor(ms / 1_000) % 60).padStart(2, '0')}`;

const faultLine = ({ beganMs, name, failure }: FaultEvent, { minutes }: ChaosCommand): string =>
  `[${clockText(beganMs)}/${clockText(60_000 * minutes)}]  ${name}${failure === undefined ? '' : `: ${failure}`}\n`;

async function run(command: ChaosCommand, { onEnd, end }: RunEnd): Promise<void> {
  const result = await runChaos(command, {
    onStep: (step) => process.stderr.write(`${step}\n`),
    onFault: (fault) => process.stderr.write(faultLine(fault, command)),
    onEnd,
  });
  await end();
  process.stdout.write(command.json ? `${JSON.stringify(result)}\n` : readableReport(result));
  if (result.problems.length + result.not_judged.length > 0) process.exitCode = 1;
}

await runToEnd(async (ends) => {
  const command = readChaosOptions(process.argv.slice(2));
  if (command === undefined) process.stdout.write(usageText);
  else await run(command, ends);
}, 'The run failed');
