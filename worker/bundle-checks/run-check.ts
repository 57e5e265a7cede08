import { fork } from 'node:child_process';
import { trialLimits } from '../../shared/bundle/limits.js';
import { workerEnvironment } from '../../shared/config/config.js';
import type {
  BundleCheckMessage,
  CheckedModel,
  FailedCheck,
  ReadBundle,
} from '../../shared/messages/bundle-check-job.js';
import { projectFile } from '../../shared/process/project-root.js';

/** The result of the check of one bundle. */
export interface BundleCheck {
  /** Undefined if the bundle could not be read. */
  readonly read: ReadBundle | undefined;
  readonly result: CheckedModel | FailedCheck;
}

export interface CheckRequest {
  /** A folder or an archive. */
  readonly path: string;
  /** Request time for golden records without `now`, Unix ms. */
  readonly nowMs: number;
  readonly timeoutMs?: number | undefined;
  /** Ends the check. */
  readonly signal?: AbortSignal;
  /** Called when the bundle is read, before its model runs. */
  readonly onRead?: (read: ReadBundle) => void;
}

/**
 * Checks a bundle in a process of its own, which ends with the check. The model comes from outside, and native code may
 * crash or hang the process that runs it. Then the bundle has failed.
 * @throws AbortError when the signal ends the check; the error of starting a process
 */
export async function runCheck(request: CheckRequest): Promise<BundleCheck> {
  const { path, nowMs, timeoutMs = trialLimits.checkMs, signal, onRead } = request;
  const program = projectFile('dist/worker/bundle-checks/check-process.js');
  const child = fork(program, [path, String(nowMs)], {
    env: workerEnvironment(),
    // A model may make native code print.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // JSON would convert NaN to null.
    serialization: 'advanced',
    ...(signal === undefined ? {} : { signal }),
    killSignal: 'SIGKILL',
  });
  let read: ReadBundle | undefined;
  let result: CheckedModel | FailedCheck | undefined;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  child.on('message', (message: BundleCheckMessage) => {
    if (message.kind !== 'read') result = message;
    else {
      read = message;
      onRead?.(message);
    }
  });
  const { code, killedBy } = await new Promise<{ code: number | null; killedBy: string | null }>((resolve, reject) => {
    child.once('error', reject);
    // Not `exit`, which may come before the last message.
    child.once('close', (code, killedBy) => resolve({ code, killedBy }));
  }).finally(() => clearTimeout(timer));
  if (result !== undefined) return { read, result };
  if (killedBy === null) {
    const problem = `The process of the check ended with exit code ${code}. Check the bundle again.`;
    return { read, result: { problem, isRefusal: false } };
  }
  const problem = isLate
    ? `The check took longer than ${timeoutMs / 1000} seconds. Train a smaller model, or give fewer golden records.`
    : `The model ended the process that checked it (${killedBy}). Run it in onnxruntime before the export.`;
  return { read, result: { problem, isRefusal: true } };
}
