import type { Explain, Manifest, OnnxReference } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { compileExplanation, type ExplainFiles, type Explanation } from '../../../worker/drivers/explainer.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';
import { InferenceSession } from '../../../worker/models/inference-session.js';
import { encodeOnnx, type SampleModel } from '../../support/models/sample-onnx.js';

export interface Compiled {
  readonly explanation: Explanation;
  readonly session: InferenceSession;
  /** Contributions of each row, one per column; each column is a field of its own. */
  readonly explain: (rows: readonly (readonly number[])[]) => Promise<number[][]>;
}

/** A manifest with one number feature per column (`c0`, `c1`, ...), without imputed values. */
export function numbersManifest(
  width: number,
  {
    kind = 'probability',
    positiveClass = 1,
    explain,
  }: {
    readonly kind?: OnnxReference['kind'];
    readonly positiveClass?: number;
    readonly explain?: Explain | undefined;
  } = {},
): Manifest {
  return {
    schema_version: 1,
    name: 'Test',
    version: '1',
    family: 'forward',
    trained_at: '2026-01-01',
    onnx: {
      file: 'model.onnx',
      sha256: '',
      input: 'input',
      output: 'output',
      kind,
      positive_class: positiveClass,
    },
    width,
    features: Array.from({ length: width }, (_, column) => ({
      field: `c${column}`,
      label: `Column ${column}`,
      type: 'number',
      columns: [column],
    })),
    calibration: { kind: 'identity' },
    quantiles: Array.from({ length: 101 }, (_, percentile) => percentile / 100),
    ...(explain === undefined ? {} : { explain }),
  };
}

/**
 * Loads a model into ONNX Runtime and compiles its explanation.
 * @param options `session`: wraps ONNX Runtime's session
 */
export async function compiled(
  model: SampleModel,
  manifest: Manifest,
  options: {
    readonly covers?: readonly number[] | undefined;
    readonly golden?: string;
    readonly session?: (real: InferenceSession) => Pick<InferenceSession, 'run'>;
  } = {},
): Promise<Compiled> {
  const onnx = encodeOnnx(model);
  const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
  const knownFields = compileKnownFields(manifest);
  const files: ExplainFiles = {
    onnx,
    ...(options.covers === undefined ? {} : { covers: Buffer.from(Float32Array.from(options.covers).buffer) }),
    ...(options.golden === undefined ? {} : { golden: Buffer.from(options.golden) }),
  };
  const explanation = await compileExplanation(
    {
      manifest,
      knownFields,
      featureRow: compileFeatureRow(manifest, knownFields),
      session: options.session?.(session) ?? session,
    },
    files,
  );
  const explain = async (rows: readonly (readonly number[])[]): Promise<number[][]> => {
    const found = await explanation.explainer.contributions({
      rows: Float32Array.from(rows.flat()),
      count: rows.length,
    });
    const fields = explanation.fields.fields.length;
    return rows.map((_, row) => Array.from(found.subarray(row * fields, (row + 1) * fields)));
  };
  return { explanation, session, explain };
}
