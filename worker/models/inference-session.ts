// biome-ignore lint/style/noRestrictedImports: the one file that imports ONNX Runtime
import { InferenceSession as OnnxSession, Tensor } from 'onnxruntime-node';
import type { OnnxReference } from '../../shared/bundle/manifest/manifest.js';
import { silenceOnnxRuntime } from '../../shared/config/config.js';

/** Wraps native code, which may crash the process or never return. */
export type RunGuard = <Result>(run: () => Promise<Result>) => Promise<Result>;

export interface SessionOptions {
  readonly reference: OnnxReference;
  /** Number of input columns. */
  readonly width: number;
  readonly guard?: RunGuard | undefined;
}

/** The output of a model for some records. */
export interface Answers {
  readonly values: Float32Array;
  /** Numbers for each record. */
  readonly classes: number;
}

/**
 * One ONNX model ready to run; the only importer of onnxruntime. It uses one thread without spinning: a pool has a
 * process for each core, and a spinning thread takes the core from the next process.
 */
export class InferenceSession {
  private readonly reference: OnnxReference;
  private readonly width: number;
  private readonly guard: RunGuard;

  private constructor(
    private readonly session: OnnxSession,
    { reference, width, guard = (run) => run() }: SessionOptions,
  ) {
    this.reference = reference;
    this.width = width;
    this.guard = guard;
  }

  /**
   * Loads a model and runs one row of zeros through it.
   * @param onnx the file's bytes
   * @throws Error when ONNX cannot load or run it, or when its output is not of the form in the manifest
   */
  static async load(onnx: Uint8Array, options: SessionOptions): Promise<InferenceSession> {
    silenceOnnxRuntime();
    const create = () =>
      OnnxSession.create(onnx, {
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: 4, // an error is thrown with its reason, so a second copy on standard error is noise
        extra: { session: { intra_op: { allow_spinning: '0' }, inter_op: { allow_spinning: '0' } } },
      });
    const session = await (options.guard === undefined ? create() : options.guard(create));
    const loaded = new InferenceSession(session, options);
    await loaded.run(new Float32Array(options.width), 1);
    return loaded;
  }

  /**
   * Computes the raw probability of the positive class (the sigmoid of a model's logit). Blocks the thread.
   * @param rows `count` rows of `width` columns, row-major
   */
  async run(rows: Float32Array, count: number): Promise<Float64Array> {
    return this.probabilities(await this.answers(rows, count));
  }

  /** The raw probability of the positive class, in float64, of each record. */
  probabilities({ values, classes }: Answers): Float64Array {
    const count = values.length / classes;
    const column = classes === 1 ? 0 : this.reference.positive_class;
    const isLogit = this.reference.kind === 'logit';
    const raw = new Float64Array(count);
    for (let row = 0; row < count; row += 1) {
      const value = values[row * classes + column] ?? Number.NaN;
      // The leaf weights of a forest may add up to 1.0000001 in float32.
      raw[row] = isLogit ? 1 / (1 + Math.exp(-value)) : Math.min(Math.max(value, 0), 1);
    }
    return raw;
  }

  /**
   * Computes the output as it is: `classes` numbers for each record, row-major. Blocks the thread.
   * @throws Error when ONNX cannot run the rows, or when the output has no number for each
   */
  async answers(rows: Float32Array, count: number): Promise<Answers> {
    const { input: inputName, output: name, positive_class: positive } = this.reference;
    const input = new Tensor('float32', rows, [count, this.width]);
    const outputs = await this.guard(() => this.session.run({ [inputName]: input }, [name]));
    const output = outputs[name];
    if (output === undefined || !(output.data instanceof Float32Array))
      throw new Error(`the output "${name}" is not a float32 tensor`);
    const values = output.data;
    const classes = values.length / count;
    if (!Number.isInteger(classes) || classes === 0 || (classes > 1 && positive >= classes))
      throw new Error(`the output "${name}" has ${values.length} values for ${count} rows`);
    return { values, classes };
  }

  /** Frees the native memory; the session cannot run afterwards. */
  async release(): Promise<void> {
    await this.session.release();
  }
}
