import { createHash } from 'node:crypto';
import { Limit } from '../../../shared/async/at-once.js';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { goldenFile, manifestFile } from '../../../shared/bundle/bundle-files.js';
import { type CheckedBundle, checkBundle } from '../../../shared/bundle/check-bundle.js';
import { defaultKeyBrand } from '../../../shared/config/config.js';
import { newId } from '../../../shared/contract/identifiers.js';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { versionId, versions } from '../../../shared/store/models/model-versions.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import type { StoredVerdict } from '../../../shared/store/validation/model-validation.js';
import { loadedBytes } from '../../../worker/models/model-registry.js';
import { unreachedLimit } from '../../load/load-organisation.js';
import type { FleetSize } from './fleet-size.js';

/** An organisation of the fleet with its live key. */
export interface FleetOrganisation {
  /** Its number. */
  readonly _id: number;
  readonly organisationId: string;
  readonly keyId: string;
  readonly secret: string;
  /** Its models; the first is called. */
  readonly modelIds: readonly string[];
}

export const fleetPepper = 'pepper-of-the-fleet-benchmark';
/** The service's limit of loaded models in a process, and how many large models it shall hold. */
const processModelBytes = 512 * 1024 * 1024;
export const heldLargeModels = 60;

const writesAtOnce = 32;
const unreachedRatePerSecond = 1_000_000;

/** Bundle of the fleet's models, without golden records: they are 3 times as large as all else. */
export async function fleetBundle(bundlePath: string): Promise<CheckedBundle> {
  const files = await readBundle(bundlePath);
  files.delete(goldenFile);
  return checkBundle(files);
}

/**
 * The same model, with a documentation text so long that a worker process holds `heldLargeModels` of them.
 * @throws Error if the model is larger than that
 */
export async function largeBundle(bundlePath: string): Promise<CheckedBundle> {
  const files = await readBundle(bundlePath);
  files.delete(goldenFile);
  const { manifest, onnx } = checkBundle(files);
  const bytesOf = (length: number) => loadedBytes({ manifest, onnx: { length } as Buffer }, false);
  const perByte = bytesOf(1) - bytesOf(0);
  const wanted = Math.floor((processModelBytes / heldLargeModels - bytesOf(0)) / perByte);
  if (wanted <= onnx.length) throw new Error(`a model of ${onnx.length} bytes is too large for the row of cache hits`);
  const longer = Buffer.concat([onnx, documentation(wanted - onnx.length - 16)]);
  files.set(manifest.onnx.file, longer);
  const { sha256 } = manifest.onnx;
  const text = files
    .get(manifestFile)
    ?.toString('utf8')
    .replace(sha256, createHash('sha256').update(longer).digest('hex'));
  files.set(manifestFile, Buffer.from(text ?? ''));
  return checkBundle(files);
}

/** The member `doc_string` (6) of ONNX's ModelProto, which may follow all others. */
function documentation(length: number): Buffer {
  const head = [0x32];
  let rest = length;
  for (; rest >= 0x80; rest >>>= 7) head.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, rest]), Buffer.alloc(length, ' ')]);
}

/** Creates organisations, each with a live key and with its models, by the service's own stores. */
export async function writeOrganisations(
  database: Db,
  { bundlePath, size }: { readonly bundlePath: string; readonly size: FleetSize },
  say: (line: string) => void,
): Promise<FleetOrganisation[]> {
  const now = new Date();
  const organisations = new OrganisationStore(database);
  const keys = new ApiKeyStore(database);
  const key = { kind: 'live', name: 'live', ratePerSecond: unreachedRatePerSecond, brand: defaultKeyBrand } as const;
  const create = async (number: number) => {
    const fields = { name: `Fleet ${number}`, plan: 'enterprise', policy: 'warn', limit: unreachedLimit } as const;
    const { _id: organisationId } = await organisations.create(fields, now);
    const made = await keys.create({ ...key, organisationId, pepper: fleetPepper, now });
    return { _id: number, organisationId, keyId: made.key._id, secret: made.secret };
  };
  const limit = new Limit(writesAtOnce);
  const created = await Promise.all(
    Array.from({ length: size.organisations }, (_, number) => limit.run(() => create(number))),
  );
  say(`${size.organisations} organisations are written`);
  const [usual, large] = [await fleetBundle(bundlePath), await largeBundle(bundlePath)];
  const written = created.map((organisation) => ({ ...organisation, modelIds: [] as string[] }));
  const [alone, among] = coldOrganisations(size);
  const ownersOf = {
    usual: written.filter(({ _id }) => _id < size.models || _id === alone || _id === among),
    large: written.slice(0, size.models),
  };
  const others = Array.from({ length: size.otherModels }, () => written[among] as WrittenOrganisation);
  await writeModels(database, usual, [...ownersOf.usual, ...others], now);
  await writeModels(database, large, ownersOf.large, now);
  return written;
}

type WrittenOrganisation = FleetOrganisation & { readonly modelIds: string[] };

/** Stores a bundle once as the first owner's model, and copies the documents for the others. They share its files. */
async function writeModels(
  database: Db,
  bundle: CheckedBundle,
  owners: readonly WrittenOrganisation[],
  now: Date,
): Promise<void> {
  const [first] = owners;
  if (first === undefined) return;
  const model = await createModel(database, { organisationId: first.organisationId, bundle, now });
  const version = await versions(database).findOne({ _id: versionId(model._id, model.version) });
  if (version === null) throw new Error(`version ${model.version} of ${model._id} is not stored`);
  const copies = owners.map(({ organisationId }, index) => ({
    id: index === 0 ? model._id : newId('mdl'),
    organisation_id: organisationId,
  }));
  for (const [index, { id }] of copies.entries()) owners[index]?.modelIds.push(id);
  const further = copies.slice(1);
  if (further.length > 0) {
    await database
      .collection<Model>('models')
      .insertMany(further.map(({ id, ...of }) => ({ ...model, ...of, _id: id })));
    await versions(database).insertMany(
      further.map(({ id, ...of }) => ({ ...version, ...of, model_id: id, _id: versionId(id, model.version) })),
    );
  }
  // A version without a verdict would be graded during the first windows.
  const verdict = { state: 'too_early_to_grade', failing_gate: null, graded_at: now } as const;
  const summary = 'Not graded: the benchmark has written this verdict.';
  await database
    .collection<StoredVerdict>('model_validation')
    .insertMany(copies.map(({ id, ...of }) => ({ ...of, _id: versionId(id, model.version), ...verdict, summary })));
}

/** Numbers of two further organisations with a model: one has no other models, the other has `otherModels`. */
export const coldOrganisations = ({ models }: Pick<FleetSize, 'models'>): readonly [alone: number, among: number] => [
  models,
  models + 1,
];
