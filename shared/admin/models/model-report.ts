import { stabilityIndex } from '../../contract/comparison/stability-index.js';
import { dayNumber, dayText, monthOf } from '../../contract/dates.js';
import { type BandRate, bandScores } from '../../contract/verdict.js';
import { CallDayStore } from '../../store/console/call-days.js';
import { loadStoredManifest } from '../../store/models/model-versions.js';
import type { StoredVerdict } from '../../store/validation/model-validation.js';
import { type DayScores, ValidationDailyStore } from '../../store/validation/validation-daily.js';
import { verdictOutlook } from '../../store/validation/verdict-outlook.js';
import { defineAction } from '../action.js';
import { modelReportSchema, reportInput } from '../schemas/models.js';
import { daysOf } from '../usage/show-usage.js';
import { fieldHeadOf, requireModel, unknownVersion, verdictsOf } from './read-models.js';

const daysShown = 365;
const recentDays = 28;
/** With fewer scores on either side, chance alone would move the index. */
const minScores = 200;

/** The evidence about one version of a model: its verdict and grade, calibration, scores over time, and its fields. */
export const reportModel = defineAction({
  name: 'model.report',
  description:
    "Read the evidence about a model's current version, or another one: verdict, grade, calibration, scores over time.",
  role: 'viewer',
  effect: 'read',
  input: reportInput,
  output: modelReportSchema,
  async run(context, input) {
    const { database, clock } = context;
    const current = await requireModel(context, input);
    const model = { ...current, version: input.version ?? current.version };
    const id = `${model._id}:${model.version}`;
    const today = dayNumber(clock.now());
    const [{ verdict, gates = [], stored: graded }, days, stored, records] = await Promise.all([
      verdictsOf(context).read(model),
      new ValidationDailyStore(database).scores(id, { maturedFrom: today - daysShown }),
      loadStoredManifest(database, model._id, model.version),
      new CallDayStore(database).recordsByModel(daysOf(model.organisation_id, monthOf(clock.now())), model._id),
    ]);
    if (stored === undefined && input.version !== undefined) throw unknownVersion(model._id, model.version);
    const isEarly = verdict.state === 'too_early_to_grade';
    const facts = stored?.manifest.validation;
    const outlook = isEarly ? { outlook: verdictOutlook(days, { nowMs: clock.now(), stored: graded, facts }) } : {};
    const shown = days.filter(({ day }) => day > today - daysShown).sort((one, other) => one.day - other.day);
    return {
      model_id: model._id,
      version: model.version,
      validation: verdict,
      gates,
      ...(graded?.grade === undefined ? {} : { grade: gradeOf(graded, graded.grade, days) }),
      ...outlook,
      days: shown.map(({ day, cohort }) => ({ day: dayText(day), bands: cohort })),
      stability: stabilityOf(shown, today),
      contributions: stored?.contributions ?? null,
      explain_method: stored?.explainMethod ?? 'occlusion',
      base_rate: stored?.manifest.validation?.base_rate ?? null,
      trained_at: stored?.manifest.trained_at ?? null,
      width: stored?.manifest.width ?? null,
      fields: (stored?.manifest.features ?? []).map((feature) => ({
        ...fieldHeadOf(feature),
        ...('categories' in feature ? { categories: feature.categories.length } : {}),
      })),
      records_this_month: records.get(model._id) ?? 0,
    };
  },
});

function gradeOf({ graded_at }: StoredVerdict, grade: NonNullable<StoredVerdict['grade']>, days: readonly DayScores[]) {
  const { as_of, horizon_days, bands } = grade;
  const matured = days.filter(({ matured_day: day }) => day <= dayNumber(as_of.getTime()));
  return {
    as_of: as_of.toISOString(),
    graded_at: graded_at.toISOString(),
    ...{ horizon_days, bands },
    calibration: bandScores.map((scores, band) =>
      calibrationOf(scores, bands[band], {
        joined: sumIn(matured, ({ joined }) => joined[band]),
        likelihood: sumIn(matured, ({ likelihood }) => likelihood[band]),
      }),
    ),
  };
}

/** The likelihood that one band was promised, against its conversions. */
function calibrationOf(
  scores: string,
  rate: BandRate | undefined,
  { joined, likelihood }: { readonly joined: number; readonly likelihood: number },
) {
  const hasRecords = rate !== undefined && rate.records > 0;
  return {
    scores,
    records: rate?.records ?? 0,
    promised: joined === 0 ? null : likelihood / joined / 10_000,
    converted: hasRecords ? rate.rate : null,
    low: rate?.low ?? 0,
    high: rate?.high ?? 1,
  };
}

const sumIn = (days: readonly DayScores[], of: (day: DayScores) => number | undefined): number =>
  days.reduce((sum, day) => sum + (of(day) ?? 0), 0);

/** The population stability index of the scores of the last four weeks against those before; null with too few. */
export function stabilityOf(days: readonly Pick<DayScores, 'day' | 'cohort'>[], today: number): number | null {
  const countsOf = (some: readonly Pick<DayScores, 'cohort'>[]): number[] =>
    bandScores.map((_, band) => some.reduce((sum, { cohort }) => sum + (cohort[band] ?? 0), 0));
  const recent = countsOf(days.filter(({ day }) => day > today - recentDays));
  const earlier = countsOf(days.filter(({ day }) => day <= today - recentDays));
  const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);
  if (total(recent) < minScores || total(earlier) < minScores) return null;
  return stabilityIndex(recent, earlier);
}
