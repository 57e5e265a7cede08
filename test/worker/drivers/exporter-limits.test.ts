import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { projectFile } from '../../../shared/process/project-root.js';
import { maxNumbers } from '../../../worker/drivers/trees/prepared-trees.js';
import { maxDepth, maxSplits } from '../../../worker/drivers/trees/split-tree.js';

describe('the limits of exact tree contributions', () => {
  it('are those of the exporter, which writes no contributions beyond them', async () => {
    const source = await readFile(projectFile('scripts/export/leadscore_export/convert/exact_limits.py'), 'utf8');
    const limitOf = (name: string): number =>
      Number(new RegExp(`^${name} = ([0-9_]+)$`, 'm').exec(source)?.[1]?.replaceAll('_', ''));
    expect({
      splits: limitOf('MAX_SPLITS'),
      numbers: limitOf('MAX_NUMBERS'),
      depth: limitOf('MAX_DEPTH'),
    }).to.deep.equal({ splits: maxSplits, numbers: maxNumbers, depth: maxDepth });
  });
});
