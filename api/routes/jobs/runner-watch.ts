import type { ProcessRegister } from '../../../shared/redis/process-register.js';

/** A reading of the register serves the replies of this time. */
const maxAgeMs = 2_000;

/**
 * Looks for a runner of bulk jobs among the running processes.
 * @returns (the function) whether one runs; true when Redis cannot say
 */
export function runnerWatch(processes: Pick<ProcessRegister, 'list'>): () => Promise<boolean> {
  let readMs = Number.NEGATIVE_INFINITY;
  let found: Promise<boolean> = Promise.resolve(true);
  return () => {
    if (performance.now() - readMs > maxAgeMs) {
      readMs = performance.now();
      found = processes.list().then(
        (list) => list.some(({ kind }) => kind === 'bulk'),
        () => true,
      );
    }
    return found;
  };
}
