import type { Db, Document } from 'mongodb';
import { callIdPrefix, organisationNumber } from '../../contract/identifiers.js';
import { idsOfOrganisation } from '../calls/prediction-segment.js';

/** The index for the predictions of a lead, latest first, and the filters that it answers. */
export interface LeadIndex {
  readonly key: Readonly<Record<string, 1 | -1>>;
  /** Selects the segments of an organisation. MongoDB may have to read them. */
  readonly segmentsOf: (organisationId: string) => Document;
  /**
   * Selects the entries of an organisation by the index alone. With the number, it also selects those of an
   * organisation whose id begins with the same six characters.
   */
  readonly entriesOf: (organisationId: string) => Document;
}

const withIds = (org: string, others: Document): Document => ({ _id: idsOfOrganisation(org), ...others });

/** The index of databases that an earlier release made. */
export const indexByText: LeadIndex = {
  key: { org: 1, crm_ids: 1, model: 1, _id: -1 },
  segmentsOf: (org) => withIds(org, { org }),
  entriesOf: (org) => withIds(org, { org }),
};

/** The same with a number for the organisation, which makes an entry 17 bytes shorter. */
export const indexByNumber: LeadIndex = {
  key: { o: 1, crm_ids: 1, model: 1, _id: -1 },
  segmentsOf: (org) => withIds(org, { o: organisationNumber(org), org }),
  entriesOf: (org) => withIds(org, { o: organisationNumber(org) }),
};

/**
 * How far the lead index of a database is. Without a step, gateways write `o` and read by the text.
 * - `filling`: `leadscore lead-index` adds `o` to older segments, in the order of their ids;
 * - `complete`: each segment has `o`, and MongoDB refuses others. All processes read by the number.
 */
export interface LeadIndexStep {
  readonly _id: 'lead_index';
  readonly step: 'filling' | 'complete';
  /** While `filling`: the segments up to this id have their number. */
  readonly filled_to?: string;
}

export const leadIndexStep = (database: Db) => database.collection<LeadIndexStep>('settings');

/** How long a process reads by the text after the last step. */
export const indexSeenWithinMs = 5_000;

interface Known {
  readonly index: Promise<LeadIndex>;
  readonly untilMs: number;
}

/** By database, because a process of the tests uses several. */
const knownByClient = new WeakMap<object, Map<string, Known>>();

function knownOf({ client }: Db): Map<string, Known> {
  const known = knownByClient.get(client) ?? new Map<string, Known>();
  knownByClient.set(client, known);
  return known;
}

/**
 * The lead index that this database has. Costs a read every five seconds until the step is `complete`.
 * @throws the driver's error
 */
export function leadIndexOf(database: Db): Promise<LeadIndex> {
  const known = knownOf(database);
  const found = known.get(database.databaseName);
  if (found !== undefined && performance.now() < found.untilMs) return found.index;
  const index = readIndex(database);
  known.set(database.databaseName, { index, untilMs: performance.now() + indexSeenWithinMs });
  index.then(
    (read) => {
      if (read === indexByNumber) noteNumbers(database);
    },
    () => known.delete(database.databaseName),
  );
  return index;
}

/** Keeps the index by the number, which will not change again. */
export function noteNumbers(database: Db): void {
  const index = Promise.resolve(indexByNumber);
  knownOf(database).set(database.databaseName, { index, untilMs: Number.POSITIVE_INFINITY });
}

async function readIndex(database: Db): Promise<LeadIndex> {
  const stored = await leadIndexStep(database).findOne({ _id: 'lead_index' });
  return stored?.step === 'complete' ? indexByNumber : indexByText;
}

/**
 * A filter for queries that skip through the index, which is only possible without reading segments. It costs a seek in
 * `orgs`: if another organisation has the same number, the filter is exact and slower.
 * @throws the driver's error
 */
export async function skippingFilter(database: Db, index: LeadIndex, organisationId: string): Promise<Document> {
  if (index === indexByText) return index.entriesOf(organisationId);
  const prefix = `org_${callIdPrefix(organisationId)}`;
  const alike = await database
    .collection<{ _id: string }>('orgs')
    .find({ _id: { $gte: prefix, $lt: `${prefix}~` } }, { projection: { _id: 1 } })
    .limit(2)
    .toArray();
  return alike.length < 2 ? index.entriesOf(organisationId) : index.segmentsOf(organisationId);
}
