import type { Db } from '../../../../shared/store/connection/connect.js';
import { type Model, ModelStore } from '../../../../shared/store/models/models.js';
import type { StoredVerdict } from '../../../../shared/store/validation/model-validation.js';
import { type GradingDeps, gradeAndPublish } from '../../../../worker/grading/job/grade-models.js';
import {
  isStillScoring,
  type VersionToGrade,
  versionsToGrade,
} from '../../../../worker/grading/job/versions-to-grade.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { recordCommand } from '../../context/perform.js';
import { Progress } from '../../output/progress.js';
import { type Columns, tableOf } from '../../output/table.js';
import { wrapText } from '../../output/wrap-text.js';
import { requireModel } from '../models/show-model.js';
import { describeValidation } from './show-validation.js';

/** Parsed options of `validation run`. */
export interface RunValidationOptions {
  readonly asOf?: Date;
  readonly rebuild?: boolean;
  readonly json?: boolean;
}

interface GradedVersion extends VersionToGrade {
  readonly verdict: StoredVerdict;
  readonly isRehearsal: boolean;
}

/** Grades all versions of one model, or of all models. Timing models are not graded. */
export async function runValidation(
  context: CliContext,
  modelId: string | undefined,
  options: RunValidationOptions,
): Promise<CommandResult> {
  const database = await context.connections.preparedDatabase();
  const model = modelId === undefined ? undefined : await requireModel(new ModelStore(database), modelId);
  const graded = await gradeAll(context, database, { modelId, options });
  if (graded.some(({ isRehearsal }) => !isRehearsal)) {
    const of = model === undefined ? {} : { organisationId: model.organisation_id, target: model._id };
    const asOf = options.asOf === undefined ? {} : { as_of: options.asOf.toISOString() };
    await recordCommand(context, 'validation.run', { ...of, after: { versions: graded.length, ...asOf } });
  }
  return {
    document: { graded: graded.map(documentOf) },
    text: describe(context, { graded, model, asOf: options.asOf }),
  };
}

async function gradeAll(
  context: CliContext,
  database: Db,
  { modelId, options }: { readonly modelId: string | undefined; readonly options: RunValidationOptions },
): Promise<GradedVersion[]> {
  const { clock, connections, stderr } = context;
  const redis = await connections.redis().catch(() => undefined);
  const deps: GradingDeps = { database, clock, redis };
  const found = await versionsToGrade(database, modelId === undefined ? {} : { modelId });
  const versions = found.filter((version) => !isStillScoring(version));
  const progress =
    options.json === true || versions.length < 2
      ? undefined
      : new Progress({ stream: stderr, label: 'Grading', unit: 'versions' });
  progress?.start();
  const graded: GradedVersion[] = [];
  try {
    for (const version of versions) {
      const { verdict, isRehearsal } = await gradeAndPublish(deps, version, {
        ...(options.asOf === undefined ? {} : { asOfMs: options.asOf.getTime() }),
        rebuild: options.rebuild === true,
      });
      graded.push({ ...version, verdict, isRehearsal });
      progress?.update({ done: graded.length, fraction: graded.length / versions.length });
    }
  } finally {
    progress?.stop();
  }
  if (redis === undefined && graded.some((each) => !each.isRehearsal))
    stderr.write('Warning: Redis did not answer; running gateways use new verdicts within a minute.\n');
  return graded;
}

const documentOf = ({ model, version, verdict, isRehearsal }: GradedVersion): Record<string, unknown> => ({
  model_id: model._id,
  version,
  stored: !isRehearsal,
  validation: {
    state: verdict.state,
    failing_gate: verdict.failing_gate,
    summary: verdict.summary,
    ...(verdict.grade === undefined
      ? {}
      : {
          as_of: verdict.grade.as_of,
          graded_at: verdict.graded_at,
          gates: verdict.grade.gates,
          bands: verdict.grade.bands,
        }),
  },
});

function describe(
  context: CliContext,
  of: {
    readonly graded: readonly GradedVersion[];
    readonly model: Model | undefined;
    readonly asOf: Date | undefined;
  },
): string {
  const { graded, model, asOf } = of;
  const grades = describeGrades(context, { graded, model });
  const [first] = graded;
  if (asOf === undefined || first === undefined) return grades;
  return `${wrapText(describeAsOf(asOf, first), lineWidth(context.stdout))}\n\n${grades}`;
}

const describeAsOf = (asOf: Date, { isRehearsal }: GradedVersion): string =>
  isRehearsal
    ? `A rehearsal as of ${asOf.toISOString()}, which is in the future. It is shown but not stored. Callers and the deploy ` +
      'policy use the stored verdict; see "validation show".'
    : `As of ${asOf.toISOString()}, with the outcomes known today. It is stored: callers and the deploy policy use it ` +
      'until the next grade, which is due tonight.';

function describeGrades(
  context: CliContext,
  { graded, model }: { readonly graded: readonly GradedVersion[]; readonly model: Model | undefined },
): string {
  if (graded.length === 0)
    return model === undefined
      ? 'There is no model to grade. Timing models are not graded.'
      : `${model._id} is a timing model. The forward-cohort gates do not grade timing models.`;
  const columns: Columns<GradedVersion> = [
    ['Model', (each) => each.model._id, 'whole'],
    ['Version', ({ version }) => version],
    ['State', ({ verdict }) => verdict.state],
    ['Summary', ({ verdict }) => verdict.summary],
  ];
  const table = tableOf(graded, columns, { width: lineWidth(context.stdout) });
  const current = graded.find(({ version }) => version === model?.version);
  if (current === undefined || model === undefined) return table;
  const { state, failing_gate, summary, grade, graded_at } = current.verdict;
  return describeValidation(
    model,
    {
      ...{ state, failing_gate, summary },
      ...(grade === undefined
        ? {}
        : {
            as_of: grade.as_of.toISOString(),
            graded_at: graded_at.toISOString(),
            gates: grade.gates,
            bands: grade.bands,
          }),
    },
    lineWidth(context.stdout),
  );
}
