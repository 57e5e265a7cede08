import { parseJson } from '../../../api/request/parse-json.js';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { compileModel, type LoadedModel } from '../../../worker/models/loaded-model.js';

interface FloorCall {
  readonly model_id: string;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/**
 * The minimum work of any scoring service, by the service's own code in this process:
 * - parse the JSON, pack the fields, write feature rows;
 * - run ONNX, compute scores, write the reply.
 *
 * HTTP, quota, queue, previous scores and records are left out.
 */
export class FloorScorer {
  private constructor(private readonly model: LoadedModel) {}

  /** @throws BundleError, ModelUnavailable */
  static async load(bundlePath: string): Promise<FloorScorer> {
    const { manifest, onnx } = checkBundle(await readBundle(bundlePath));
    return new FloorScorer(await compileModel(manifest, onnx));
  }

  /**
   * Answers the body of a `POST /v1/score`.
   * @param nowMs Unix ms that ages are counted to
   * @returns JSON of a V1ScoreResponse without usage and validation
   * @throws Error if a record cannot be featurized
   */
  async answer(body: string, nowMs: number): Promise<string> {
    const { model_id: modelId, records } = parseJson(body) as FloorCall;
    const { knownFields, featureRow, session, percentileScore, likelihood, recencyGuard } = this.model;
    const names = knownFields.sentNames();
    const cellsOf = records.map((record) => knownFields.pack(record, names));
    const out = new Float32Array(records.length * featureRow.width);
    for (const [index, cells] of cellsOf.entries()) {
      const problems = featureRow.write({ cells, nowMs, out, offset: index * featureRow.width });
      if (problems !== undefined) throw new Error(`record ${index} cannot be featurized`);
    }
    const raw = await session.run(out, records.length);
    const rows = cellsOf.map((cells, index) => {
      const probability = raw[index] ?? Number.NaN;
      const warning = recencyGuard(cells, nowMs);
      const crmId = JSON.stringify(records[index]?.crm_id ?? '');
      return (
        `{"score":${percentileScore(probability)},"conversion_likelihood":${likelihood(probability) / 10_000}` +
        `,"enriched":false,"crm_id":${crmId}` +
        `${warning === undefined ? '' : `,"warnings":${JSON.stringify([warning])}`}}`
      );
    });
    return `{"model_id":${JSON.stringify(modelId)},"records_scored":${rows.length},"scores":[${rows.join(',')}]}`;
  }
}
