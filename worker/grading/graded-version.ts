import type { ClientSession } from 'mongodb';
import type { Db } from '../../shared/store/connect.js';

/** The version of a model whose predictions are graded. */
export interface GradedVersion {
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
  /** Days after a prediction within which a conversion counts. */
  readonly horizonDays: number;
}

/** Reads that all see the database at one instant, so that what is counted in two ways can be compared. */
export interface Snapshot {
  readonly database: Db;
  readonly session: ClientSession;
}

/** What days and verdicts of a version are kept under: `<model>:<version>`. */
export const gradedKey = ({ modelId, version }: GradedVersion): string => `${modelId}:${version}`;
