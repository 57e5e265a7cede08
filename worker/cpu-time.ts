import { readFileSync } from 'node:fs';

/** Of the clock that Linux counts processes' time in: 100 a second on every machine that Node runs on. */
const tickMs = 10;

/** User and system time that a process has used, in ms; undefined where the system does not tell, or it has gone. */
export function cpuTimeMs(pid: number | undefined): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields 14 and 15 of proc(5); the name, which is the second, may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return tickMs * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return undefined;
  }
}
