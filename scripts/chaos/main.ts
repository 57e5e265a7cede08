/** `npm run chaos`: random faults under load, and what they did to metering. See docs/reliability.md. */
import { messageOf } from '../../shared/errors.js';
import { type ChaosCommand, readChaosOptions, UsageError, usageText } from './chaos-options.js';
import { readableReport } from './chaos-report.js';
import type { FaultEvent } from './history.js';
import { runChaos } from './run-chaos.js';

const undoings: (() => Promise<unknown>)[] = [];
let ending: Promise<void> | undefined;

/** Undoes in reverse what was started; a part that cannot be undone does not keep the others. */
function end(): Promise<void> {
  ending ??= (async () => {
    for (const undo of undoings.reverse()) {
      try {
        await undo();
      } catch (error) {
        process.stderr.write(`${messageOf(error)}\n`);
      }
    }
  })();
  return ending;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    process.exitCode = 130;
    void end().then(() => process.exit(130));
  });
}

const clockText = (ms: number): string =>
  `${String(Math.floor(ms / 60_000)).padStart(2, '0')}:${String(Math.floor(ms / 1_000) % 60).padStart(2, '0')}`;

const faultLine = ({ beganMs, name, failure }: FaultEvent, { minutes }: ChaosCommand): string =>
  `[${clockText(beganMs)}/${clockText(60_000 * minutes)}]  ${name}${failure === undefined ? '' : `: ${failure}`}\n`;

async function run(command: ChaosCommand): Promise<void> {
  const result = await runChaos(command, {
    onStep: (step) => process.stderr.write(`${step}\n`),
    onFault: (fault) => process.stderr.write(faultLine(fault, command)),
    onEnd: (undo) => undoings.push(undo),
  });
  await end();
  await written(command.json ? `${JSON.stringify(result)}\n` : readableReport(result));
  if (result.problems.length > 0) process.exitCode = 1;
}

const written = (text: string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(text, () => resolve());
  });

try {
  const command = readChaosOptions(process.argv.slice(2));
  if (command === undefined) await written(usageText);
  else await run(command);
} catch (error) {
  if (ending === undefined) {
    process.stderr.write(`${error instanceof UsageError ? '' : 'The run failed: '}${messageOf(error)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
} finally {
  await end();
  // Node was seen to spin for ever while it cleaned up what such a run leaves behind.
  process.exit();
}
