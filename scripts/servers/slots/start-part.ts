import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../../shared/contract/errors.js';
import { endWithThisProcess, type ServiceKind, type ServiceProcess, startService } from '../service-process.js';

/** The file to which all processes of a service log. */
export interface SharedLog {
  readonly file: string;
  readonly descriptor: number;
}

/**
 * Starts a process of a service, which ends with this one.
 * @throws Error with the fatal line of the log if it does not become ready
 */
export async function startPart(
  kind: ServiceKind,
  environment: Readonly<Record<string, string | undefined>>,
  { file, descriptor }: SharedLog,
): Promise<ServiceProcess> {
  const loggedBefore = statSync(file).size;
  try {
    const part = await startService({ kind, environment, log: descriptor });
    endWithThisProcess(part);
    return part;
  } catch (cause) {
    const lines = (await readFile(file)).subarray(loggedBefore).toString('utf8').split('\n');
    const last = lines.findLast((line) => line.includes('"level":"fatal"'));
    throw new Error(`${messageOf(cause)}${last === undefined ? '' : `; ${last}`}`, { cause });
  }
}
