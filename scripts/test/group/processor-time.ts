import { descendantIds, readUsage } from '../../servers/process-usage.js';

/** The processor time that this process and all its descendants have used so far, ms. */
export function processorTimeMs(): number {
  const used = (pid: number): number => {
    try {
      return readUsage({ one: [pid] }).one.cpuMs;
    } catch {
      return 0; // it has just ended, and its parent has its time
    }
  };
  return [process.pid, ...descendantIds(process.pid)].reduce((sum, pid) => sum + used(pid), 0);
}
