import { projectFile } from '../../../shared/process/project-root.js';
import { cliDocument } from '../../scripts/cli/cli-call.js';

/** A model, and a key of its organisation. */
export interface ModelAccess {
  readonly model: string;
  readonly key: string;
}

/**
 * Imports the bundle of the demo for a new organisation. Runs in this process, because each start of npx takes a
 * second.
 */
export async function demoModel(settings: Readonly<Record<string, string>>): Promise<ModelAccess> {
  const { org_id: organisation } = await cliDocument(['org', 'create', '--name', 'Acme', '--plan', 'pro'], settings);
  const bundle = projectFile('scripts/demo/bundle');
  const model = await cliDocument(['model', 'import', bundle, '--org', String(organisation)], settings);
  const key = await cliDocument(['key', 'create', String(organisation)], settings);
  return { model: String(model.model_id), key: String(key.secret) };
}

/** Scores one record over HTTP, and returns how many the service says that it scored. */
export async function scoredRecords(url: string | undefined, { model, key }: ModelAccess): Promise<unknown> {
  const reply = await fetch(`${url}/v1/score`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model_id: model, records: [{ 'Lead Source': 'Referral' }] }),
  });
  const body: unknown = await reply.json();
  return typeof body === 'object' && body !== null && 'records_scored' in body ? body.records_scored : body;
}
