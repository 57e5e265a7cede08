import type { ChaosStage } from './fault.js';

interface LogEntry {
  readonly msg?: string;
  readonly pid?: number;
  readonly signal?: string | null;
  readonly code?: number | null;
}

/** What says, in the service's log, that a process has gone or an error was not caught. */
const telling = ['a worker died and is replaced', 'unhandled rejection', 'did not stop in time'];

/** How processes ended that were not told to, and errors that nobody caught, by what the service has logged. */
export async function unexpectedDeaths({ cluster, harmedWorkers }: ChaosStage): Promise<string[]> {
  const lines = (await cluster.readLog()).split('\n');
  const entries = lines
    .filter((line) => telling.some((text) => line.includes(text)))
    .map((line) => JSON.parse(line) as LogEntry)
    .filter(({ pid }) => pid === undefined || !harmedWorkers.has(pid));
  return [
    ...cluster.unexpectedDeaths,
    ...entries.map(
      ({ msg, pid, signal, code }) => `${msg} (process ${pid}: ${signal ?? `exit code ${code}`})`,
    ),
  ];
}
