import { readFileSync } from 'node:fs';

/** A tick of the CPU times in /proc; see proc(5). Linux reports 100 ticks a second on all common machines. */
const tickMs = 10;

/** A process as /proc/<pid>/stat describes it. */
export interface ProcessStat {
  /** Whether it is in state T of proc(5), after a SIGSTOP. */
  readonly isStopped: boolean;
  /** CPU time of all its threads since its start. */
  readonly cpuMs: number;
}

/** Reads a process's state; undefined outside Linux, and once the pool has read its exit status. */
export function processStat(pid: number | undefined): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, in brackets, may contain spaces and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { isStopped: fields[0] === 'T', cpuMs: tickMs * (Number(fields[11]) + Number(fields[12])) };
  } catch {
    return undefined;
  }
}
