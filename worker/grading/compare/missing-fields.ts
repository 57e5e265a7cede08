import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { loadManifest } from '../../../shared/store/models/model-versions.js';

/** A field counts as recorded if at most this share of the leads lacks it: some were scored by an older version. */
const lackingShare = 0.05;

/**
 * Finds the fields of a candidate that were not recorded with the leads, because the version that scored them does not
 * read them. The candidate scored these leads as if nothing had been sent.
 * @param leadsBy leads by the version that recorded them. Versions that are no longer stored are left out
 * @returns the names of the fields in the order of the bundle
 */
export async function missingFields(
  database: Db,
  {
    modelId,
    version,
    leadsBy,
  }: { readonly modelId: string; readonly version: string; readonly leadsBy: ReadonlyMap<string, number> },
): Promise<readonly string[]> {
  const manifest = await loadManifest(database, modelId, version);
  if (manifest === undefined) return [];
  const { slotNames, scoredSlotCount, sentNames } = knownFieldsOf(manifest);
  const lacking = new Array<number>(scoredSlotCount).fill(0);
  let leads = 0;
  for (const [recordedBy, count] of leadsBy) {
    const recorded = await loadManifest(database, modelId, recordedBy);
    if (recorded === undefined) continue;
    leads += count;
    const targets = compileKnownFields(recorded).slotNames.flatMap((name) => sentNames.targetsOf(name));
    const filled = new Set(targets.map(({ slot }) => slot));
    for (let slot = 0; slot < scoredSlotCount; slot += 1)
      if (!filled.has(slot)) lacking[slot] = (lacking[slot] ?? 0) + count;
  }
  return [...new Set(slotNames.filter((_, slot) => (lacking[slot] ?? 0) > lackingShare * leads))];
}

function knownFieldsOf(manifest: Parameters<typeof compileKnownFields>[0]) {
  const fields = compileKnownFields(manifest);
  return { slotNames: fields.slotNames, scoredSlotCount: fields.scoredSlotCount, sentNames: fields.sentNames() };
}
