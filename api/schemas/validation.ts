import { validationGates, validationStates } from '../../shared/verdict.js';

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
