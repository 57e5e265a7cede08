import type { PredictionStore } from '../../store/calls/predictions.js';
import type { OutcomeStore } from '../../store/validation/outcomes.js';
import type { OutcomeSink } from './import-outcomes.js';

const lookUpTimeoutMs = 10_000; // of a batch

export interface DatabaseSinkOptions {
  readonly organisationId: string;
  readonly store: Pick<OutcomeStore, 'record'>;
  readonly predictions: Pick<PredictionStore, 'scoredAmong' | 'scoredLeadNear'>;
  /** Time of the import by the service's clock. */
  readonly receivedAt: Date;
  readonly batchRows: number;
  /** See `OutcomeStore.record`. */
  readonly perWrite?: number;
  /** Receives what each batch has changed. */
  readonly onStored?: (stored: { readonly added: number; readonly changed: number }) => void;
}

/** Stores the outcomes of a file in the database. @throws (its methods) errors of MongoDB */
export const databaseSink = ({ organisationId, store, predictions, ...options }: DatabaseSinkOptions): OutcomeSink => ({
  batchRows: options.batchRows,
  async record(rows, newLeads) {
    const { receivedAt, perWrite, onStored } = options;
    const outcomes = rows.map(({ outcome }) => outcome);
    const [scored, stored] = await Promise.all([
      predictions.scoredAmong({ organisationId, crmIds: [...newLeads.keys()] }, lookUpTimeoutMs),
      store.record({ organisationId, outcomes, receivedAt, ...(perWrite !== undefined && { perWrite }) }),
    ]);
    onStored?.(stored);
    const unknownExample = [...newLeads].find(([crmId]) => !scored.has(crmId))?.[1];
    return { known: scored.size, unknown: newLeads.size - scored.size, unknownExample };
  },
  scoredNear: (crmId) => predictions.scoredLeadNear({ organisationId, crmId }, lookUpTimeoutMs),
});
