import { boundedNfkc, shortenedText } from '../../../shared/contract/texts.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';

const latestOutcomes = 200;
const timeoutMs = 10_000;
const maxForm = 30;

/** How the latest outcomes of an organisation agree with its scored leads. */
export interface LatestOutcomes {
  readonly outcomes: number;
  /** Outcomes of leads without a prediction under any model. */
  readonly unscored: number;
  /** The form of a crm_id of these, and of a scored lead's: see `formOf`. */
  readonly forms: { readonly ofOutcome: string; readonly ofScore: string } | undefined;
}

/**
 * Compares the outcomes that changed last with the scored leads.
 * @throws MongoDB errors
 */
export async function compareLatestOutcomes(database: Db, organisationId: string): Promise<LatestOutcomes> {
  const predictions = new PredictionStore(database);
  const crmIds = await new OutcomeStore(database).latest(organisationId, latestOutcomes);
  const scored = await predictions.scoredAmong({ organisationId, crmIds }, timeoutMs);
  const crmId = crmIds.find((each) => !scored.has(each));
  const near = crmId && (await predictions.scoredLeadNear({ organisationId, crmId }, timeoutMs));
  return {
    outcomes: crmIds.length,
    unscored: crmIds.length - scored.size,
    forms: crmId && near ? { ofOutcome: formOf(crmId), ofScore: formOf(near) } : undefined,
  };
}

/**
 * The form of an id: `AAA-999` for `LED-042`. A verdict is stored and shown to every user, and an id may be a mail
 * address, so a verdict quotes none.
 */
export function formOf(crmId: string): string {
  const form = boundedNfkc(crmId)
    .replace(/\p{Lu}/gu, 'A')
    .replace(/[\p{L}\p{M}]/gu, (letter) => (letter === 'A' ? 'A' : 'a'))
    .replace(/\p{N}/gu, '9')
    .replace(/[^\x20-\x7e]/gu, '?');
  return shortenedText(form, maxForm);
}
