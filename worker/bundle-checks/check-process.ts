import { readBundle } from '../../shared/bundle/archive/read-bundle.js';
import { BundleError } from '../../shared/bundle/bundle-error.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { silenceOnnxRuntime } from '../../shared/config/config.js';
import { messageOf } from '../../shared/contract/errors.js';
import type { BundleCheckMessage } from '../../shared/messages/bundle-check-job.js';
import { runBundle } from './golden-check.js';

/*
 * A process that checks one bundle and ends: `check-process.js PATH NOW_MS`. The bundle comes from a customer, so its
 * model may crash or hang the process that runs it.
 */

async function check(path: string, nowMs: number): Promise<BundleCheckMessage> {
  silenceOnnxRuntime();
  const files = await readBundle(path);
  const bundle = checkBundle(files);
  const { name, version, family, features } = bundle.manifest;
  const notes = [
    ...files.ignored.map((file) => `The file ${file} was ignored.`),
    ...bundle.unknownKeys.map((key) => `The manifest key "${key}" is unknown and was ignored.`),
  ];
  const manifest = { name, version, family, features: features.length };
  await send({ kind: 'read', manifest, digest: bundle.digest, notes });
  return { kind: 'checked', ...(await runBundle(bundle, { nowMs })) };
}

const failed = (error: unknown): BundleCheckMessage => ({
  ...{ kind: 'failed', problem: messageOf(error), isRefusal: error instanceof BundleError },
  ...(error instanceof BundleError && { member: error.member }),
});

const send = (message: BundleCheckMessage): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });

const [path = '', nowMs = ''] = process.argv.slice(2);
process.once('disconnect', () => process.exit(1));
check(path, Number(nowMs))
  .catch(failed)
  .then(send)
  .finally(() => process.exit(0));
