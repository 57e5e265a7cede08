import {
  listModels as listModelsAction,
  showModel as showModelAction,
} from '../../../../shared/admin/models/read-models.js';
import type { importModelOutput, modelSchema } from '../../../../shared/admin/schemas/models.js';
import { dateOrderText } from '../../../../shared/bundle/expected-values.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import type { Model, ModelStore } from '../../../../shared/store/models/models.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { notFound } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { countText, readableDate } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { coverageLine } from './show-coverage.js';

type ModelDocument = ShapeOf<typeof modelSchema>;

export async function listModels(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, listModelsAction, { org_id: organisationId });
  const none = `No models yet. Import one: npx leadscore model import BUNDLE --org ${organisationId}`;
  const columns: Columns<(typeof document.models)[number]> = [
    ['Model', (model) => model.model_id, 'whole'],
    ['Name', (model) => model.name],
    ['Version', (model) => model.version],
    ['Live', (model) => (model.live_api ? 'on' : 'off')],
    ['Validation', ({ validation, override }) => validation.state + (override === undefined ? '' : ', overridden')],
  ];
  return { document, text: tableOf(document.models, columns, { width: lineWidth(context.stdout), none }) };
}

/** Shows a model with its versions, verdict and fields. */
export async function showModel(context: CliContext, modelId: string): Promise<CommandResult> {
  const document = await perform(context, showModelAction, { model_id: modelId });
  const { fields } = document;
  const coverage = fields === undefined ? undefined : await coverageLine(context, modelId, document.version);
  const width = lineWidth(context.stdout);
  const table = fields === undefined ? '' : `\n\n${tableOf(fields, fieldColumns, { width })}`;
  return { document, text: describeModel(document, coverage) + table };
}

/** @throws CliError when the model does not exist or was deleted */
export async function requireModel(models: ModelStore, modelId: string): Promise<Model> {
  const model = await models.find(modelId);
  if (model !== undefined) return model;
  throw notFound(`model ${modelId}`, 'model list ORG');
}

/** Describes the override of a model, also one that was given for another version; undefined without one. */
export function overrideText(
  model: Pick<ShapeOf<typeof importModelOutput>, 'override' | 'other_override' | 'version'>,
): string | undefined {
  const override = model.override ?? model.other_override;
  if (override === undefined) return undefined;
  const given = `by ${override.by}, ${readableDate(new Date(override.at))} UTC: ${override.reason}`;
  if (model.override !== undefined) return given;
  return `none for ${model.version}. The one of version ${override.version} does not apply (${given})`;
}

const useOf = (model: ModelDocument, version: string): string => {
  const uses = [
    ...(version === model.version ? ['active'] : []),
    ...(version === model.candidate?.version ? ['candidate'] : []),
  ];
  return uses.length === 0 ? '' : ` (${uses.join(', ')})`;
};

/** When the service scores stored leads again by itself; undefined if never. */
function rescoringText({ rescore }: ModelDocument): string | undefined {
  if (rescore === undefined) return undefined;
  const { when, key_id: keyId, key_name: name, at_most: most, by, job_id: jobId, ended } = rescore;
  const occasion = when === 'nightly' ? 'each night (UTC)' : 'after another version has come to score calls';
  const setting = `at most ${countText(most)} stored leads ${occasion}, under ${keyId}${name === undefined ? '' : ` (${name})`}, by ${by}`;
  const last = jobId === undefined ? '' : `\nlast job: ${jobId}`;
  if (ended === undefined) return setting + last;
  return `ended ${readableDate(new Date(ended.at))} UTC. ${ended.reason} It was: ${setting}${last}`;
}

/** A model as text, without its fields. @param coverage what needs attention among the fields of its calls */
export function describeModel(model: ModelDocument, coverage?: string): string {
  const listed = model.versions.map(
    ({ version, imported_at }) =>
      `${version}${useOf(model, version)}, imported ${readableDate(new Date(imported_at))} UTC`,
  );
  return renderFields([
    ['Model', model.model_id],
    ['Name', model.name],
    ['Organisation', model.org_id],
    ['Family', model.family],
    ['Live API', model.live_api ? 'on' : 'off (calls get 403)'],
    ['Validation', model.validation.state],
    ['', model.validation.summary],
    ['Override', overrideText(model)],
    ['Candidate', model.candidate_run && `${model.candidate?.version}. ${model.candidate_run.summary}`],
    [
      'Previous',
      model.previous && `${model.previous.version}. Back to it: npx leadscore model rollback ${model.model_id}`,
    ],
    ['Rescoring', rescoringText(model)],
    ['Coverage', coverage],
    ['Versions', listed.join('\n')],
  ]);
}

const fieldColumns: Columns<NonNullable<ModelDocument['fields']>[number]> = [
  ['Field', ({ field }) => field],
  ['Label', ({ label }) => label],
  ['Type', ({ type, date_order: order }) => (order === undefined ? type : `${type} (${dateOrderText[order]})`)],
  ['Required', ({ required }) => (required ? 'yes' : '')],
];
