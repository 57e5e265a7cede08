import { setImmediate as nextStep } from 'node:timers/promises';
import { ApiError } from '../../shared/contract/errors.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import type { SentNames } from '../../shared/messages/sent-names.js';
import type { ScoringCall } from '../call/scoring-call.js';

/** Characters of the different field names of one call. A CRM with a thousand fields has some fifty thousand. */
export const maxNameCharacters = 256 * 1024;
/** Folding so many takes up to 10 ms. A small body, which the main thread reads, may have four times as many. */
const charactersPerStep = 16 * 1024;

/**
 * Matches the different field names of a call with the fields of its model, in several iterations of the event loop.
 * @throws ApiError refusedRequest when they have too many characters, unless the call is tolerant
 */
export async function sentNamesOf(
  call: Pick<ScoringCall, 'records' | 'tolerant'>,
  knownFields: Pick<KnownFields, 'sentNames'>,
): Promise<SentNames> {
  const names = knownFields.sentNames();
  const maxNames = call.tolerant === true ? Number.POSITIVE_INFINITY : maxNameCharacters;
  let stepEnd = charactersPerStep;
  for (const { fields } of call.records) {
    for (const name in fields) {
      names.targetsOf(name);
      if (names.foldedCharacters < stepEnd) continue;
      if (names.foldedCharacters > maxNames) throw tooManyNames();
      await nextStep();
      stepEnd = Math.min(names.foldedCharacters + charactersPerStep, maxNames + 1);
    }
  }
  return names;
}

const tooManyNames = (): ApiError =>
  new ApiError(
    'refusedRequest',
    `The different field names of the call have more than ${maxNameCharacters} characters in total: ` +
      'send fewer fields, for example only those that the model knows. Nothing of the call was counted.',
  );
