import { readFileSync } from 'node:fs';
import { projectFile } from '../../../shared/project-root.js';

/** What scipy and statsmodels say: see scripts/validation/statistics_reference.py. */
export interface StatisticsReference {
  readonly normalUpperTail: readonly { readonly z: number; readonly p: number }[];
  readonly cochranArmitage: readonly {
    readonly bands: readonly (readonly [records: number, conversions: number])[];
    readonly z: number;
    readonly risingP: number;
    readonly fallingP: number;
  }[];
  readonly wilsonInterval: readonly {
    readonly conversions: number;
    readonly records: number;
    readonly low: number;
    readonly high: number;
  }[];
  readonly topBandLift: readonly {
    readonly top: readonly [conversions: number, records: number];
    readonly rest: readonly [conversions: number, records: number];
    readonly relativeRiskLowerBound: number;
    readonly lift: number;
    readonly lowerBound: number;
  }[];
  readonly poissonLowerTail: readonly { readonly count: number; readonly mean: number; readonly p: number }[];
  readonly requiredConversions: readonly {
    readonly topShare: number;
    readonly expectedLift: number;
    readonly conversions: number;
  }[];
}

/** Where the reference numbers are kept. */
const statisticsReferenceFile = (): string => projectFile('test/fixtures/statistics-reference.json');

/** The reference numbers that are kept with the tests. */
export const statisticsReference = (): StatisticsReference =>
  JSON.parse(readFileSync(statisticsReferenceFile(), 'utf8')) as StatisticsReference;
