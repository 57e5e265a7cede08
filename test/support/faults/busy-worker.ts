import { readFileSync } from 'node:fs';
import { noteDescriptor } from '../../../worker/pool/crash-note.js';
import type { FaultService } from './fault-service.js';

/**
 * The process id of a worker that is running a model now.
 * @throws Error when none is
 */
export function busyWorker({ cluster }: Pick<FaultService, 'cluster'>): number {
  const pid = cluster.workerPids().find((each) => crashNoteOf(each) !== '');
  if (pid === undefined) throw new Error('no worker is running a model');
  return pid;
}

/** The model that a worker is running; empty when it runs none, or has exited. */
function crashNoteOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/fd/${noteDescriptor}`, 'utf8').trim();
  } catch {
    return '';
  }
}
