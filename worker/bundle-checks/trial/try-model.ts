import { BundleError } from '../../../shared/bundle/bundle-error.js';
import type { CheckedBundle } from '../../../shared/bundle/check-bundle.js';
import { trialLimits } from '../../../shared/bundle/limits.js';
import { type OnnxGraph, readOnnxModel } from '../../../shared/bundle/onnx/onnx-model.js';
import { goldenRows } from '../../drivers/check-rows.js';
import type { InputRows } from '../../drivers/contributions.js';
import type { Answers } from '../../models/inference-session.js';
import type { LoadedModel } from '../../models/loaded-model.js';
import { formProblem } from './answer-form.js';
import { drawnRecords } from './drawn-records.js';
import { engineProblem } from './engine-problem.js';
import { computesInHalf, mixingOperators } from './mixing-operators.js';
import { type Difference, differenceOf } from './same-answers.js';

/** Raw probabilities that differ less are one answer: `raw` is compared so far everywhere. */
const oneAnswer = trialLimits.probability;

/**
 * Tries a model on 32 drawn records and up to 32 golden ones. Each record must have one answer, in the form that the
 * manifest says. Golden records do not replace this, because their author may have made them with the same mistake.
 * @returns notes for the author; none in most cases
 * @throws BundleError naming the ONNX file
 */
export async function tryModel(model: LoadedModel, bundle: CheckedBundle): Promise<readonly string[]> {
  const { manifest, session } = model;
  const { file, output } = manifest.onnx;
  const { graph } = readOnnxModel(bundle.onnx, file);
  const records = triedRecords(model, { bundle, graph });
  const { rows, count, drawn } = records;
  const run = async (some: Float32Array, number: number): Promise<Answers> => {
    try {
      return await session.answers(some, number);
    } catch (cause) {
      const doing = `ONNX Runtime does not run ${number} ${number === 1 ? 'record' : 'records'} in one call`;
      throw new BundleError(file, engineProblem(doing, cause), { cause });
    }
  };
  const answers = await run(rows, count);
  const tolerance = computesInHalf(graph)
    ? { probability: trialLimits.halfProbability, logOdds: trialLimits.halfLogOdds }
    : { probability: trialLimits.probability, logOdds: trialLimits.logOdds };
  const raw = session.probabilities(answers);
  const runAgain = async (some: Float32Array, number: number) => session.probabilities(await run(some, number));
  const found = await differenceOf(runAgain, { ...records, raw }, tolerance);
  if (found !== undefined) throw new BundleError(file, differenceText(found, { drawn, graph }));
  const form = formProblem(answers, manifest);
  if (form !== undefined) throw new BundleError(file, `output "${output}" ${form}`);
  return oneAnswerNotes(raw, { drawn, model });
}

interface TriedRecords extends InputRows {
  /** How many come first and were drawn. Golden records follow. */
  readonly drawn: number;
}

function triedRecords(
  model: LoadedModel,
  { bundle, graph }: { bundle: CheckedBundle; graph: OnnxGraph },
): TriedRecords {
  const drawn = drawnRecords({ manifest: model.manifest, graph });
  const golden = goldenRows(model, bundle.golden);
  if (golden === undefined) return { ...drawn, drawn: drawn.count };
  const rows = new Float32Array(drawn.rows.length + golden.rows.length);
  rows.set(drawn.rows);
  rows.set(golden.rows, drawn.rows.length);
  return { rows, count: drawn.count + golden.count, drawn: drawn.count };
}

function differenceText(
  { record, one, other, between }: Difference,
  { drawn, graph }: { readonly drawn: number; readonly graph: OnnxGraph },
): string {
  const which = record < drawn ? `drawn row ${record + 1}` : `golden record ${record - drawn + 1}`;
  if (between === 'equal calls')
    return `the score of a record changes from call to call (${which}: ${short(one)}, then ${short(other)}): export the model for inference, without random numbers`;
  const operators = mixingOperators(graph);
  const named = operators === undefined ? '' : `; the graph has ${operators}`;
  return `the score of a record depends on the other records of the call (${which}: ${short(one)} alone, ${short(other)} with others${named}): compute each row by itself, for example with the mean of the training rows`;
}

/** A model, quantiles or a calibration without effect. They may be honest, so these are notes. */
function oneAnswerNotes(
  raw: Float64Array,
  { drawn, model }: { readonly drawn: number; readonly model: LoadedModel },
): readonly string[] {
  const numbers = raw.filter((probability) => !Number.isNaN(probability));
  const [first = Number.NaN] = numbers;
  const golden = raw.length - drawn;
  const tried = `All ${drawn} drawn records${golden > 0 ? ` and ${golden} golden ones` : ''}`;
  if (numbers.every((probability) => Math.abs(probability - first) <= oneAnswer))
    return [`${tried} get one answer (${short(first)}). Check that the model reads the columns of the features.`];
  const one = (figure: (probability: number) => number): number | undefined => {
    const figures = new Set(Array.from(numbers, figure));
    return figures.size === 1 ? [...figures][0] : undefined;
  };
  const score = one(model.percentileScore);
  const likelihood = one(model.likelihood);
  return [
    ...(score === undefined ? [] : [`${tried} score ${score}. Check that the quantiles belong to this model.`]),
    ...(likelihood === undefined
      ? []
      : [`${tried} have the likelihood ${likelihood / 10_000}. Check that the calibration belongs to this model.`]),
  ];
}

const short = (value: number): string => String(Number(value.toPrecision(4)));
