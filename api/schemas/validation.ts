import { bandScores, validationGates, validationStates } from '../../shared/verdict.js';

export const validationStateSchema = {
  type: 'string',
  enum: validationStates,
  description:
    '`passed`: every gate was cleared. `failed`: a gate was reached and did not clear. `too_early_to_grade`: a gate could ' +
    'not be reached yet. `unresolved`: the state could not be read, and nothing is claimed. `not_applicable`: models of ' +
    'this family are not graded.',
} as const;

/** V1Validation: whether a model has earned its use. The contract also allows the text "null"; this service sends null. */
export const validationSchema = {
  type: 'object',
  required: ['state', 'failing_gate', 'summary'],
  properties: {
    state: validationStateSchema,
    failing_gate: {
      type: ['string', 'null'],
      enum: [...validationGates, 'null', null],
      description:
        'The first gate that did not clear. Null when the state is `passed`, `unresolved` or `not_applicable`; read the ' +
        'text "null" as null too.',
    },
    summary: { type: 'string', description: 'One sentence that names the state and the gate.' },
  },
  description:
    'Whether the model has earned the right to be used, judged by what became of the leads it scored.',
  examples: [
    {
      state: 'passed',
      failing_gate: null,
      summary:
        'Passed: all six validation gates cleared on 1,240 matured predictions, with top-band lift 2.1x.',
    },
  ],
} as const;

const gateSchema = {
  type: 'object',
  required: ['gate', 'state', 'figures'],
  properties: {
    gate: { type: 'string', enum: validationGates, description: 'Which gate.' },
    state: {
      type: 'string',
      enum: ['cleared', 'too_early', 'failed', 'not_reached'],
      description: 'How it stands in the last grade; gates behind one that did not clear are `not_reached`.',
    },
    figures: {
      type: 'object',
      additionalProperties: { type: 'number' },
      description: 'What the gate goes by: counts, rates and p values, and what is required of them.',
    },
    needs: { type: 'string', description: 'What is missing or wrong. Absent when the gate cleared.' },
  },
  description: 'One of the six gates.',
} as const;

const share = (description: string) => ({ type: 'number', minimum: 0, maximum: 1, description }) as const;

const bandSchema = {
  type: 'object',
  required: ['scores', 'records', 'conversions', 'rate', 'low', 'high'],
  properties: {
    scores: { type: 'string', enum: bandScores, description: 'The scores of the band.' },
    records: {
      type: 'integer',
      minimum: 0,
      description: 'Leads whose horizon is over and that outcome data names.',
    },
    conversions: { type: 'integer', minimum: 0, description: 'Those of them that converted within it.' },
    rate: share('Conversions by records.'),
    low: share('Lower end of the 95 % interval of the rate.'),
    high: share('Upper end of the 95 % interval of the rate.'),
  },
  description: 'What became of the leads of one score band.',
} as const;

/** The verdict of `GET /v1/models/{model_id}`: with the grade that it comes from. */
export const validationDetailSchema = {
  ...validationSchema,
  properties: {
    ...validationSchema.properties,
    as_of: {
      type: 'string',
      format: 'date-time',
      description:
        'The instant as of which the model was graded. Absent, as all that follows, before the first grade.',
    },
    graded_at: { type: 'string', format: 'date-time', description: 'When that was done.' },
    gates: { type: 'array', items: gateSchema, description: 'The six gates, in their order.' },
    bands: { type: 'array', items: bandSchema, description: 'The five score bands, lowest scores first.' },
  },
} as const;
