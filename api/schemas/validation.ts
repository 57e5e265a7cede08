import { count, described, describedObject, instant, list, text } from '../../shared/contract/schema.js';
import { bandScores, validationGates, validationStates } from '../../shared/contract/verdict.js';

export const validationStateSchema = {
  type: 'string',
  enum: validationStates,
  description:
    '`passed`: every gate was cleared. `failed`: a gate was reached and did not clear. ' +
    '`too_early_to_grade`: a gate could not be reached yet. `unresolved`: the state could not be read; ' +
    'nothing is claimed about the model. `not_applicable`: models of this family are not graded.',
} as const;

/** V1Validation: the verdict on a model. The contract also allows the text "null"; this service sends null. */
export const validationSchema = describedObject(
  'Whether the model has earned the right to be used, judged by the outcomes of the leads it scored.',
  {
    state: validationStateSchema,
    failing_gate: {
      type: ['string', 'null'],
      enum: [...validationGates, 'null', null],
      description:
        'The first gate that did not clear. Null when the state is `passed`, `unresolved` or ' +
        '`not_applicable`. Treat the text "null" as null.',
    },
    summary: described('One sentence with the state and the gate.', text),
  },
  {
    examples: [
      {
        state: 'passed',
        failing_gate: null,
        summary: 'Passed: all six validation gates cleared on 1,240 matured predictions, with top-band lift 2.1x.',
      },
    ],
  },
);

const gateSchema = describedObject('One of the six gates.', {
  gate: { type: 'string', enum: validationGates, description: 'The gate.' },
  state: {
    type: 'string',
    enum: ['cleared', 'too_early', 'failed', 'not_reached'],
    description:
      'The state in the last grade. Gates after the first one that did not clear are `not_reached`. So are all gates ' +
      'of a version that was never graded.',
  },
  figures: {
    type: 'object',
    additionalProperties: { type: 'number' },
    description:
      'The figures behind the state: counts, rates, p values and their required values. Empty before the first grade.',
  },
  'needs?': described(
    'The missing or failed requirement, or the gate that must clear first. Absent when the gate cleared.',
    text,
  ),
});

const share = (description: string) => ({ type: 'number', minimum: 0, maximum: 1, description }) as const;

const bandSchema = describedObject('The outcomes of one score band.', {
  scores: { type: 'string', enum: bandScores, description: 'The range of scores.' },
  records: described('Leads with a completed horizon and an outcome.', count),
  conversions: described('The number of these leads that converted within the horizon.', count),
  rate: share('Conversions divided by records.'),
  low: share('Lower end of the 95 % interval of the rate.'),
  high: share('Upper end of the 95 % interval of the rate.'),
});

/** The verdict of `GET /v1/models/{model_id}`, with the grade behind it. */
export const validationDetailSchema = {
  ...validationSchema,
  properties: {
    ...validationSchema.properties,
    as_of: described(
      'The model was graded on data up to this instant. Absent before the first grade, like `graded_at` and `bands`.',
      instant,
    ),
    graded_at: described('When the grade was computed.', instant),
    gates: described(
      'The six gates, in order. Absent when the state is `unresolved` or `not_applicable`.',
      list(gateSchema),
    ),
    bands: described('The five score bands, lowest scores first.', list(bandSchema)),
  },
} as const;
