import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { leaveOut } from '../leave-out.js';

/** One line of a `golden.jsonl`: a record with the results of the model's trainer. */
export interface GoldenRecord {
  readonly record: Readonly<Record<string, unknown>>;
  /** The input row before the cast to float32; null is NaN. */
  readonly x: readonly (number | null)[];
  readonly raw: number;
  readonly score: number;
  readonly conversion_likelihood: number;
  readonly contributions: Readonly<Record<string, number>>;
  readonly base: number;
  /** Time of the request, as ISO 8601 or Unix ms. Absent for models without dates. */
  readonly now?: string | number;
  /** Whether the record is valid but untidy. `mutations` names how. */
  readonly dirty?: boolean;
  readonly mutations?: readonly string[];
}

export interface GoldenBundle {
  readonly name: string;
  readonly directory: string;
  readonly manifest: Manifest;
  readonly records: readonly GoldenRecord[];
}

/** The bundle that ships with the project. */
export const demoBundleDirectory = (): string => projectFile('scripts/demo/bundle');

/** The reference models beside the project, none when their folder is absent. */
export function referenceBundleDirectories(): readonly string[] {
  const models = projectFile('../shared/models');
  if (!existsSync(models)) return [];
  const folders = readdirSync(models, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map((folder) => join(models, folder.name));
}

/** As `referenceBundleDirectories`. Skips the test when none exist. */
export function requireReferenceBundles(context: Mocha.Context): readonly string[] {
  const directories = referenceBundleDirectories();
  if (directories.length > 0) return directories;
  return leaveOut(
    context,
    'the reference models are not beside this project',
    'put them into ../shared/models, a folder each',
  );
}

/**
 * Reads a bundle with its golden records.
 * @throws Error when a file is missing or not JSON
 */
export function readGoldenBundle(directory: string): GoldenBundle {
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Manifest;
  const lines = readFileSync(join(directory, 'golden.jsonl'), 'utf8').split('\n').filter(Boolean);
  return {
    name: manifest.name,
    directory,
    manifest,
    records: lines.map((line) => JSON.parse(line) as GoldenRecord),
  };
}

/** Unix ms of a golden record's request. */
export function requestTimeMs({ now }: GoldenRecord, manifest: Manifest): number {
  return typeof now === 'number' ? now : Date.parse(now ?? manifest.trained_at);
}
