import { readBundle } from '../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { silenceOnnxRuntime } from '../../shared/config/config.js';
import { messageOf } from '../../shared/contract/errors.js';
import type { BundleCheckMessage } from '../../shared/messages/bundle-check-job.js';
import { ModelUnavailable } from '../models/loaded-model.js';
import { runBundle } from './golden-check.js';

/*
 * A process that checks one bundle and ends: `check-process.js ARCHIVE NOW_MS`. The bundle comes from a customer, so its
 * model may crash or hang the process that runs it.
 */

const maxNotes = 20;

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
  await send({ kind: 'read', manifest, notes: notes.slice(0, maxNotes) });
  const { golden, fallbackReason, ...explained } = await runBundle(bundle, { nowMs });
  if (fallbackReason !== undefined) notes.unshift(`The model is explained by occlusion, because ${fallbackReason}.`);
  const checked = { kind: 'checked', ...explained, notes: notes.slice(0, maxNotes) } as const;
  if (golden === undefined) return { ...checked, golden: null, problem: null };
  const { records, passed, differences, scoreMismatches, likelihoodMismatches } = golden;
  const differing = Math.max(differences.length, scoreMismatches, likelihoodMismatches);
  const problem = passed ? null : `Its results differ from its golden records: ${differences[0] ?? 'see model check'}.`;
  return { ...checked, golden: { records, matching: records - differing }, problem };
}

const problemOf = (error: unknown): string =>
  error instanceof ModelUnavailable && error.cause !== undefined
    ? `${error.message}: ${messageOf(error.cause)}`
    : messageOf(error);

const send = (message: BundleCheckMessage): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });

const [path = '', nowMs = ''] = process.argv.slice(2);
process.once('disconnect', () => process.exit(1));
check(path, Number(nowMs))
  .catch((error: unknown): BundleCheckMessage => ({ kind: 'failed', problem: problemOf(error) }))
  .then(send)
  .finally(() => process.exit(0));
