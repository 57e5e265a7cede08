import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObjectId } from 'mongodb';
import { readBundle } from '../../bundle/archive/read-bundle.js';
import { type CheckedBundle, checkBundle } from '../../bundle/check-bundle.js';
import type { ShapeOf } from '../../contract/schema.js';
import type { UploadState } from '../../contract/upload-states.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { type Upload, UploadStore } from '../../store/console/uploads.js';
import { type AdminContext, defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { importModelOutput } from '../schemas/models.js';
import { createUploadInput, importUploadInput, uploadInput, uploadSchema } from '../schemas/uploads.js';
import { importModel } from './import-model.js';

/** Stores an uploaded bundle. The caller then queues its check. */
export const createUpload = defineAction({
  name: 'upload.create',
  description: 'Upload a bundle (.tar.gz) as the raw body. A worker reads it and scores its golden records.',
  role: 'admin',
  effect: 'change',
  input: createUploadInput,
  output: uploadSchema,
  async prepare({ database }, { org_id: organisationId }, bytes: Buffer) {
    await requireOrganisation(new OrganisationStore(database), organisationId);
    return { bytes: bytes.length, file: await new UploadStore(database).storeFile(bytes) };
  },
  async run({ database, session, clock, record }, { org_id: org }, { bytes, file }) {
    const created_at = new Date(clock.now());
    const upload: Upload = { _id: new ObjectId(), org, state: 'received', bytes, created_at, file };
    await new UploadStore(database, session).create(upload);
    await record({ organisationId: org, target: String(upload._id), after: { bytes } });
    return uploadDocument(upload);
  },
});

export const showUpload = defineAction({
  name: 'upload.show',
  description: 'Read how far the check of an uploaded bundle came.',
  role: 'admin',
  effect: 'read',
  input: uploadInput,
  output: uploadSchema,
  run: async ({ database }, input) => uploadDocument(await requireUpload({ database }, input)),
});

/** Stores an uploaded bundle that has passed its check as a model or a version. */
export const importUpload = defineAction({
  name: 'upload.import',
  description:
    'Store an uploaded bundle that has passed as a new model, or as a version that serves or is a candidate.',
  role: 'admin',
  effect: 'change',
  input: importUploadInput,
  output: importModelOutput,
  async prepare(context, input, _material: undefined) {
    const upload = await requireUpload(context, input);
    const { state, explain_method: explainMethod, contributions = [] } = upload;
    if (state !== 'passed' || explainMethod === undefined) throw notPassed(state);
    const bundle = await bundleOf(context, upload);
    const { upload_id: _, ...given } = input;
    const prepared = await importModel.prepare?.(context, given, { bundle, explainMethod, contributions });
    if (prepared === undefined) throw new Error('the import of a model has no preparation');
    return { upload, prepared };
  },
  async run(context, input, { upload, prepared }) {
    const { upload_id: _, ...given } = input;
    const model = await importModel.run(context, given, prepared);
    const uploads = new UploadStore(context.database, context.session);
    // Another import may have come first after this one was prepared: one upload becomes one model.
    if (!(await uploads.markImported(upload._id, model.model_id))) throw notPassed('imported');
    return model;
  },
});

const notPassed = (state: UploadState): AdminError =>
  new AdminError('conflict', `This upload is ${state}, and only one that has passed can be imported.`);

/** Reads the archive again. Its content was checked, and its model is not run here. */
async function bundleOf({ database }: AdminContext, upload: Upload): Promise<CheckedBundle> {
  const bytes = await new UploadStore(database).readFile(upload).catch((cause: unknown) => {
    throw new AdminError('conflict', 'This upload is too old to be imported. Upload the bundle again.', { cause });
  });
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-upload-'));
  try {
    const archive = join(directory, 'bundle.tar.gz');
    await writeFile(archive, bytes);
    return checkBundle(await readBundle(archive));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function requireUpload(
  { database }: Pick<AdminContext, 'database'>,
  { org_id: organisationId, upload_id: id }: { readonly org_id: string; readonly upload_id: string },
): Promise<Upload> {
  const upload = await new UploadStore(database).find(id);
  if (upload === undefined || upload.org !== organisationId)
    throw new AdminError('not_found', `There is no upload ${id}`);
  return upload;
}

const uploadDocument = (upload: Upload): ShapeOf<typeof uploadSchema> => ({
  upload_id: String(upload._id),
  org_id: upload.org,
  state: upload.state,
  bytes: upload.bytes,
  created_at: upload.created_at.toISOString(),
  ...(upload.manifest === undefined ? {} : { manifest: upload.manifest }),
  ...(upload.golden === undefined ? {} : { golden: upload.golden }),
  problem: upload.problem ?? null,
  notes: upload.notes ?? [],
  ...(upload.model_id === undefined ? {} : { model_id: upload.model_id }),
});
