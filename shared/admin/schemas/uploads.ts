import { closedObject, count, instant, list, text, textOrNull } from '../../contract/schema.js';
import { uploadStates } from '../../contract/upload-states.js';
import { organisationId } from './members.js';
import { importMembers } from './models.js';

const uploadId = { type: 'string', pattern: '^[0-9a-f]{24}$' } as const;

/** A bundle that was uploaded (`POST /uploads`, a raw tar.gz), and how far its check came. */
export const uploadSchema = closedObject({
  upload_id: text,
  org_id: text,
  state: { type: 'string', enum: uploadStates },
  bytes: count,
  created_at: instant,
  /** Known once the manifest was read. */
  'manifest?': closedObject({
    name: text,
    version: text,
    family: { type: 'string', enum: ['forward', 'timing'] },
    features: count,
  }),
  /** Absent until the golden records are scored, and for a bundle without any. */
  'golden?': closedObject({ records: count, matching: count }),
  /** Why the bundle cannot be imported. */
  problem: textOrNull,
  /** Files and manifest keys that were ignored. */
  notes: list(text),
  'model_id?': text,
});

export const createUploadInput = closedObject({ org_id: organisationId });
export const uploadInput = closedObject({ org_id: organisationId, upload_id: uploadId });
export const importUploadInput = closedObject({ ...importMembers(), upload_id: uploadId });
