import { trialLimits } from '../../../shared/bundle/limits.js';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';
import type { Answers } from '../../models/inference-session.js';

const { beyondRange, rowSum, commonRate } = trialLimits;

/** A regression on 0 and 1 gives values a little outside. */
const nearRange = 1;

/**
 * Compares the outputs of a model for some records with the `onnx.kind` of its manifest.
 * @returns what the output looks like and what to do, to complete "output ...": undefined if it fits the kind
 */
export function formProblem({ values, classes }: Answers, { onnx, validation }: Manifest): string | undefined {
  const rows = Array.from({ length: values.length / classes }, (_, row) => [
    ...values.subarray(row * classes, (row + 1) * classes),
  ]).filter((row) => row.every((value) => !Number.isNaN(value)));
  if (rows.length === 0)
    return 'is no number for any of the records tried: give the features `impute`, or check the scaling of the model';
  if (onnx.kind === 'probability') return probabilityProblem(rows);
  return classes === 1 ? singleLogitProblem(rows, validation?.base_rate) : logitsProblem(rows);
}

type Rows = readonly (readonly number[])[];

function probabilityProblem(rows: Rows): string | undefined {
  const outside = rows.flat().find((value) => value < -beyondRange || value > 1 + beyondRange);
  if (outside === undefined) return undefined;
  return `has the value ${short(outside)}, but onnx.kind is "probability". ${likelyForm(rows)}`;
}

/** The kind that outputs look like which are no probabilities, and the remedy. */
function likelyForm(rows: Rows): string {
  const all = rows.flat();
  const lowest = all.reduce((least, value) => Math.min(least, value));
  const highest = all.reduce((most, value) => Math.max(most, value));
  const isEach = (holds: (row: readonly number[]) => boolean): boolean => rows.every(holds);
  if (highest <= beyondRange && (rows[0]?.length === 1 || isEach((row) => isNear(total(row.map(Math.exp)), 1))))
    return 'It looks like the logarithm of a probability: end the graph in Softmax, not LogSoftmax';
  if (
    lowest >= -beyondRange &&
    highest <= 100 * (1 + beyondRange) &&
    isEach((row) => row.length === 1 || isNear(total(row), 100))
  )
    return 'It looks like a percentage: divide it by 100 in the graph';
  if (lowest > -nearRange && highest < 1 + nearRange)
    return 'It looks like a regression: end the graph in Clip with the limits 0 and 1, or train a classifier';
  if (rows[0]?.length === 1 || isEach(isOpposite)) return 'It looks like a logit: set onnx.kind to "logit"';
  return 'It looks like a logit of each class: end the graph in Softmax';
}

function singleLogitProblem(rows: Rows, baseRate: number | undefined): string | undefined {
  const isInRange = rows.flat().every((value) => value >= -beyondRange && value <= 1 + beyondRange);
  // A logit of 0 or more means 50 % or more for every record.
  if (!isInRange || baseRate === undefined || baseRate >= commonRate) return undefined;
  return `is between 0 and 1 for every record tried, but onnx.kind is "logit". It looks like a probability: set onnx.kind to "probability"`;
}

function logitsProblem(rows: Rows): string | undefined {
  if (rows.every((row) => row.length === 2 && isOpposite(row))) return undefined;
  const isInRange = rows.flat().every((value) => value >= -beyondRange && value <= 1 + beyondRange);
  if (isInRange && rows.every((row) => isNear(total(row), 1)))
    return 'adds up to 1 for every record, but onnx.kind is "logit". It looks like probabilities: set onnx.kind to "probability"';
  return `has ${rows[0]?.length} columns that are not [-s, s], but onnx.kind is "logit". It looks like a logit of each class: end the graph in Softmax, with the onnx.kind "probability"`;
}

const total = (row: readonly number[]): number => row.reduce((sum, value) => sum + value, 0);

const isNear = (value: number, expected: number): boolean => Math.abs(value - expected) <= rowSum * expected;

/** Whether a row is [-s, s]. */
function isOpposite([one = 0, other = 0]: readonly number[]): boolean {
  if (one === -other) return true; // also if both are infinite
  return Math.abs(one + other) <= rowSum * Math.max(1, Math.abs(other));
}

const short = (value: number): string => String(Number(value.toPrecision(4)));
