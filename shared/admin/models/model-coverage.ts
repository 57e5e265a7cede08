import { compileKnownFields } from '../../messages/field-slots.js';
import { maxDaysOf, readCoverage, usualCoverageDays } from '../../store/models/coverage.js';
import { FieldDayStore } from '../../store/models/field-days.js';
import { loadManifest } from '../../store/models/model-versions.js';
import { defineAction } from '../action.js';
import { invalid } from '../admin-error.js';
import { dayStart } from '../day-start.js';
import { coverageInput, coverageOutput } from '../schemas/models.js';
import { attentionOf } from './field-attention.js';
import { requireModel, unknownVersion } from './read-models.js';

/** How the fields of live calls were read, by day. Admins only: unseen values are those of leads. */
export const showCoverage = defineAction({
  name: 'model.coverage',
  description: "Read how a model's fields were read on the last days: sent, missing, unreadable, not seen in training.",
  role: 'admin',
  effect: 'read',
  input: coverageInput,
  output: coverageOutput,
  async run({ database, clock }, input) {
    const model = await requireModel({ database }, input);
    const { version = model.version } = input;
    const manifest = await loadManifest(database, model._id, version);
    if (manifest === undefined) throw unknownVersion(model._id, version);
    const knownFields = compileKnownFields(manifest);
    const maxDays = maxDaysOf(knownFields);
    const { days = Math.min(usualCoverageDays, maxDays) } = input;
    if (days > maxDays) throw invalid('days', `must be at most ${maxDays} for a model with so many fields.`);
    const last = input.to === undefined ? Number.POSITIVE_INFINITY : dayStart('to', input.to).getTime();
    const nowMs = Math.min(clock.now(), last);
    const owner = { org: model.organisation_id, model: model._id, version };
    const coverage = await readCoverage(new FieldDayStore(database), owner, { knownFields, days, nowMs });
    return { model_id: model._id, name: model.name, version, ...coverage, attention: attentionOf(coverage) };
  },
});
