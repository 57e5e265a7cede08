import { refuseIfAny } from './bundle-error.js';
import { GOLDEN_FILE, MANIFEST_FILE } from './bundle-files.js';
import { categoryProblems } from './check-categories.js';
import { columnProblems } from './check-columns.js';
import { curveProblems } from './check-curves.js';
import type { Manifest } from './manifest.js';
import { MANIFEST_SCHEMA } from './manifest-schema.js';
import { manifestShape } from './manifest-shape.js';
import { parseJson } from './text-members.js';

const ISO_8601 = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$/;

/**
 * Checks `manifest.json`: UTF-8, JSON, shape and types, then what its members say about one another.
 * @param bytes the file
 * @returns the manifest, and the unknown keys that were passed over
 * @throws BundleError with every problem found (of one stage: meaning is judged once the shape is right)
 */
export function checkManifest(bytes: Buffer): { manifest: Manifest; unknownKeys: string[] } {
  const verdict = manifestShape(parseJson(bytes, MANIFEST_FILE));
  if ('problems' in verdict) {
    refuseIfAny(MANIFEST_FILE, verdict.problems);
    throw new TypeError('a manifest was refused without a problem');
  }
  const { manifest } = verdict;
  refuseIfAny(MANIFEST_FILE, [
    ...dateProblems(manifest.trained_at),
    ...fileProblems(manifest),
    ...columnProblems(manifest),
    ...categoryProblems(manifest.features),
    ...curveProblems(manifest),
    ...explainProblems(manifest),
  ]);
  return { manifest, unknownKeys: unknownKeys(manifest) };
}

function dateProblems(trainedAt: string): string[] {
  const day = trainedAt.slice(0, 10);
  const minute = Date.parse(`${day}T${trainedAt.slice(11, 16) || '00:00'}Z`);
  // Date.parse takes the 30th of February for the 2nd of March: the day must come back as it went in.
  const exists = !Number.isNaN(minute) && new Date(minute).toISOString().startsWith(day);
  return ISO_8601.test(trainedAt) && exists
    ? []
    : [`trained_at is "${trainedAt}", not a date and time of ISO 8601`];
}

function fileProblems({ onnx, explain }: Manifest): string[] {
  const taken = [MANIFEST_FILE, GOLDEN_FILE];
  const problems = taken.includes(onnx.file) ? [`onnx.file cannot be "${onnx.file}"`] : [];
  if (explain?.kind === 'tree' && [...taken, onnx.file].includes(explain.covers)) {
    problems.push(`explain.covers cannot be "${explain.covers}"`);
  }
  return problems;
}

function explainProblems({ explain, width }: Manifest): string[] {
  if (explain === undefined || explain.kind === 'tree') return [];
  const [key, values] =
    explain.kind === 'linear' ? (['means', explain.means] as const) : (['values', explain.values] as const);
  if (values.length === width) return [];
  return [`explain.${key} has ${values.length} entries for ${width} input columns`];
}

function unknownKeys(manifest: Manifest): string[] {
  const known = Object.keys(MANIFEST_SCHEMA.properties);
  return Object.keys(manifest).filter((key) => !known.includes(key));
}
