import type { ExplainMethod } from '../../shared/score-job.js';

/** Input rows: `count` rows of the model's width, one after the other, as ONNX gets them. */
export interface InputRows {
  readonly rows: Float32Array;
  readonly count: number;
  /** Ends the work early: it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Works out what each field adds to the log-odds of a record. */
export interface Explainer {
  readonly method: ExplainMethod;
  /**
   * @param fields of the model, see `driverFields`
   * @returns for each row one number a field
   */
  contributions(input: InputRows): Promise<Float64Array>;
}

/** An explainer whose contributions are additive: with `base` they sum to the log-odds. */
export interface ExactExplainer extends Explainer {
  /** The log-odds that contributions start from. */
  readonly base: number;
}
