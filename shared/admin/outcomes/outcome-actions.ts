import { OrganisationStore } from '../../store/accounts/organisations.js';
import { ModelStore } from '../../store/models/models.js';
import { nextGradeMs } from '../../store/validation/model-validation.js';
import { defineAction } from '../action.js';
import { verdictsOf } from '../models/read-models.js';
import { setOrganisation } from '../organisations/change-organisations.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { outcomesSchema, setOutcomesInput, setOutcomesOutput, showOutcomesInput } from '../schemas/outcomes.js';

export const showOutcomes = defineAction({
  name: 'outcomes.show',
  description: "Read the values that mean won and lost, and each model's gates with the next grade.",
  role: 'admin',
  effect: 'read',
  input: showOutcomesInput,
  output: outcomesSchema,
  async run(context, { org_id: organisationId }) {
    const { database, clock } = context;
    const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
    const models = await new ModelStore(database).list(organisationId);
    const verdicts = verdictsOf(context);
    return {
      won_values: organisation.won_values ?? [],
      lost_values: organisation.lost_values ?? [],
      models: await Promise.all(
        models.map(async (model) => {
          const { verdict, gates = [], stored } = await verdicts.read(model);
          const { _id: model_id, name, version } = model;
          const nextGrade = new Date(nextGradeMs(stored, clock.now())).toISOString();
          return {
            ...{ model_id, name, version, validation: verdict, gates },
            ...(stored?.grade === undefined ? {} : { graded_at: stored.graded_at.toISOString() }),
            ...(model.family === 'timing' ? {} : { next_grade_at: nextGrade }),
          };
        }),
      ),
    };
  },
});

/** Sets the values that mean won and lost, also in webhooks. An admin imports outcomes, so an admin may set them. */
export const setOutcomes = defineAction({
  name: 'outcomes.set',
  description: 'Set the values of outcomes that mean won and lost.',
  role: 'admin',
  effect: 'change',
  input: setOutcomesInput,
  output: setOutcomesOutput,
  async run(context, input) {
    const { won_values = [], lost_values = [] } = await setOrganisation.run(context, input, undefined);
    return { won_values, lost_values };
  },
});
