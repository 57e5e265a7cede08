import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';

/** The name on PyPI of an imported package, where it differs. */
const packageOf: Readonly<Record<string, string>> = { sklearn: 'scikit-learn' };
/** Comes with `pip install ./scripts/export`, or with Python. */
const installed = ['leadscore_export', 'numpy', '__future__', 'sys'];

describe('the requirements of the examples of the exporter', () => {
  const read = (path: string): Promise<string> => readFile(projectFile(path), 'utf8');
  const requirementsOf = async (path: string): Promise<string[]> =>
    (await read(path)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

  it('name every package that the examples import', async () => {
    const packages = (await requirementsOf('scripts/export/examples/requirements.txt')).map(
      (line) => line.split('==')[0],
    );
    expect(packages, 'LightGBM trains classifiers only with it').to.include('scikit-learn');
    for (const path of ['scripts/export/examples/train_and_export.py', 'docs/models.md', 'scripts/export/README.md']) {
      const imports = [...(await read(path)).matchAll(/^(?:import|from) (\w+)/gm)].map(([, name = '']) => name);
      expect(imports, path).to.include('leadscore_export');
      for (const name of imports.filter((each) => !installed.includes(each)))
        expect(packages, `${path} imports ${name}`).to.include(packageOf[name] ?? name);
    }
  });

  it('have the versions of the tests of the exporter', async () => {
    const tested = await requirementsOf('scripts/export/requirements.txt');
    expect(tested).to.include.members(await requirementsOf('scripts/export/examples/requirements.txt'));
    expect(tested).to.include.members(await requirementsOf('scripts/export/requirements-train.txt'));
  });
});

describe('the requirements of a training', () => {
  it('name every package that it imports, and no pandas', async () => {
    const folder = projectFile('scripts/export/leadscore_export');
    const files = (await readdir(join(folder, 'train'), { recursive: true })).filter((path) => path.endsWith('.py'));
    expect(files).to.have.length.of.at.least(10);
    const text = (await Promise.all(files.map((path) => readFile(join(folder, 'train', path), 'utf8')))).join('\n');
    const imported = [...text.matchAll(/^ *(?:import|from) (lightgbm|sklearn|scipy|numpy|pandas)\b/gm)];
    const names = [...new Set(imported.map(([, name = '']) => packageOf[name] ?? name))];
    const packages = (await readFile(projectFile('scripts/export/requirements-train.txt'), 'utf8'))
      .split('\n')
      .map((line) => line.split('==')[0]);
    expect(names).to.include.members(['lightgbm', 'scikit-learn', 'scipy', 'numpy']);
    expect(packages).to.include.members([...names, 'onnx', 'onnxruntime']);
    expect(packages).not.to.include('pandas');
  });
});
