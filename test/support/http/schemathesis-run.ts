import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleModelId } from '../../../api/openapi/examples.js';
import type { OpenApiDocument } from '../../../api/openapi/openapi-types.js';
import type { Schema } from '../../../shared/contract/schema.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { runProgram } from '../run-program.js';

export interface SchemathesisRun {
  /** Path of the Schemathesis program. */
  readonly program: string;
  /** An empty directory. */
  readonly directory: string;
  /** Address of the service. */
  readonly url: string;
  /** The document as served. */
  readonly document: string;
  /** A key with a practically unlimited rate and quota. */
  readonly secret: string;
  readonly modelId: string;
  /** Schemas of some fields of the model. */
  readonly knownFields: Readonly<Record<string, Schema>>;
  readonly commandLine: readonly string[];
  readonly limitMs: number;
}

export interface SchemathesisResult {
  readonly exitCode: number;
  /** The printed report: its findings, each with a curl command. */
  readonly output: string;
  /** The number of successful calls with valid data, by operation (such as `POST /v1/score`). */
  readonly accepted: ReadonlyMap<string, number>;
}

/**
 * Runs Schemathesis against a running service, on its document with existing ids filled in.
 * @throws Error when it does not end by itself within `limitMs`
 */
export async function runSchemathesis(run: SchemathesisRun): Promise<SchemathesisResult> {
  const { program, directory, url, limitMs } = run;
  const documentFile = join(directory, 'openapi.json');
  const reportFile = join(directory, 'report.json');
  await writeFile(documentFile, JSON.stringify(filledIn(run)));
  await writeFile(join(directory, 'schemathesis.toml'), settings(run));
  const { exitCode, output } = await runProgram(
    program,
    [
      ...['run', documentFile, '--url', url, '--no-color', '--output-sanitize', 'false'],
      ...['--generation-database', 'none', '--report', 'json', '--report-json-path', reportFile],
      ...run.commandLine,
    ],
    { directory, environment: { HYPOTHESIS_STORAGE_DIRECTORY: directory, COLUMNS: '200' }, limitMs },
  );
  // A run that was killed leaves half a report.
  if (exitCode === undefined) throw new Error(`Schemathesis did not end by itself:\n${output}`);
  return { exitCode, output, accepted: acceptedOf(await readFile(reportFile, 'utf8').catch(() => '{}')) };
}

/** The document with the model of the workspace in the examples, and its fields in the schemas of records. */
function filledIn({ document, modelId, knownFields }: SchemathesisRun): OpenApiDocument {
  const named = JSON.parse(document.replaceAll(exampleModelId, modelId)) as OpenApiDocument;
  const { InputRecord, FlatWebhook, ...others } = named.components.schemas;
  const withFields = (schema: Schema | undefined): Schema => {
    const properties = (schema?.properties ?? {}) as Readonly<Record<string, Schema>>;
    return { ...schema, properties: { ...properties, ...knownFields } };
  };
  const schemas = { ...others, InputRecord: withFields(InputRecord), FlatWebhook: withFields(FlatWebhook) };
  return { ...named, components: { ...named.components, schemas } };
}

/**
 * A valid call of these can be refused: a cursor is foreign, a range begins after the end, or a file has another
 * length.
 */
const operationsThatRefuse = [
  ...['getScoreHistory', 'listJobs', 'getResults', 'getErrors'],
  ...['uploadInput', 'continueUpload', 'getUploadOffset', 'getUploadOptions'],
];

/** Enables all checks but one: where a valid call may be refused, a hook replaces `positive_data_acceptance`. */
const settings = ({ secret, modelId }: SchemathesisRun): string => `
hooks = ${JSON.stringify(projectFile('test/support/http/schemathesis_checks.py'))}

[auth.openapi]
bearerKey = { bearer = ${JSON.stringify(secret)} }

[dictionaries.models]
values = [${JSON.stringify(modelId)}]

[parameters]
"body.model_id" = { dictionary = "models", probability = 0.8 }
"query.model_id" = { dictionary = "models", probability = 0.8 }
"path.model_id" = { dictionary = "models", probability = 0.5 }

[[operations]]
include-method = "POST"
checks.positive_data_acceptance.enabled = false

${operationsThatRefuse.map((id) => `[[operations]]\ninclude-operation-id = "${id}"\nchecks.positive_data_acceptance.enabled = false\n`).join('\n')}
# HTTP allows further headers, which the check takes for invalid where a header is required.
[[operations]]
include-operation-id = "continueUpload"
checks.negative_data_rejection.enabled = false
`;

function acceptedOf(report: string): Map<string, number> {
  const { valid_rates = {} } = JSON.parse(report) as {
    readonly valid_rates?: Readonly<Record<string, Readonly<Record<string, { readonly accepted: number }>>>>;
  };
  return new Map(
    Object.entries(valid_rates).map(([operation, phases]) => [
      operation,
      Object.values(phases).reduce((sum, { accepted }) => sum + accepted, 0),
    ]),
  );
}
