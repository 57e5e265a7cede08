import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { trialLimits } from '../../../shared/bundle/limits.js';
import { projectFile } from '../../../shared/process/project-root.js';

/** The names in the exporter of the limits that it checks too. */
const sharedLimits = {
  drawnRows: 'TRIED_ROWS',
  callRecords: 'CALL_RECORDS',
  probability: 'PROBABILITY',
  logOdds: 'LOG_ODDS',
  halfProbability: 'HALF_PROBABILITY',
  halfLogOdds: 'HALF_LOG_ODDS',
  beyondRange: 'BEYOND_RANGE',
  rowSum: 'ROW_SUM',
  commonRate: 'COMMON_RATE',
} as const satisfies Partial<Record<keyof typeof trialLimits, string>>;

describe('the limits of the trial of a model', () => {
  it('are those of the exporter', async () => {
    const source = await readFile(projectFile('scripts/export/leadscore_export/bundle/limits.py'), 'utf8');
    const inExporter = [...source.matchAll(/^([A-Z_]+) = (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]);
    const here = Object.entries(sharedLimits).map(([limit, name]) => [
      name,
      trialLimits[limit as keyof typeof sharedLimits],
    ]);
    expect(Object.fromEntries(inExporter)).to.deep.equal(Object.fromEntries(here));
  });
});
