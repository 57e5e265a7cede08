import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../shared/process/project-root.js';
import { runProgram } from './support/run-program.js';

/** Files that break the rules of biome.json between the folders of the project, and files that only seem to. */
const files: Readonly<Record<string, string>> = {
  'api/a.ts': [
    "import { x } from '../shared/x.js';",
    "import type { B } from '../worker/deep/b.js';",
    "import api from 'api';",
    "// import { b } from '../worker/b.js';",
    "const text = `import { a } from '../worker/b.js'`;",
  ].join('\n'),
  'worker/deep/b.ts': "\nexport { a } from '../../api/a.js';\nimport { x } from '../../shared/x.js';",
  'shared/x.ts': [
    'import {',
    '  type A,',
    "} from '../api/a.js';",
    "const b = () => import('../worker/deep/b.js');",
    "import '../scripts/start.js';",
    "import '../test/a.test.js';",
  ].join('\n'),
  'scripts/a.ts': "import { a } from '../api/a.js';\nimport { b } from '../worker/b.js';",
  'api/cycle/a.ts': "import { b } from './b.js';\nimport { c } from './deep/c.js';",
  'api/cycle/b.ts': "import { c } from './deep/c.js';",
  'api/cycle/deep/c.ts': "import type { A } from '../a.js';",
  'api/cycle/none.ts': "import { a } from './a.js';\nimport koa from 'koa';",
  'api/console/app/a.tsx': [
    "import { b } from '../openapi.js';",
    "import type { c } from 'node:fs';",
    "import { useState } from 'preact/hooks';",
    "import { signInInput } from '../../../shared/admin/schemas/people.js';",
    "import { liftText } from '../../../shared/contract/figures.js';",
    "import { bandScores } from '../../../shared/contract/verdict.js';",
    "import { boundedNfkc } from '../../../shared/contract/texts.js';",
    "import { b } from './b.js';",
    "import { mayActAs } from '../../../shared/contract/roles.js';",
  ].join('\n'),
  'api/console/app/deep/b.ts': [
    "import { runAction } from '../../../../shared/admin/run-action.js';",
    "import type { d } from '../../openapi.js';",
    "import { signInInput } from '../../../../shared/admin/schemas/people.js';",
    "import { c } from '../openapi.js';",
    "import { bandScores } from '../../../../shared/contract/verdict.js';",
    "import { boundedNfkc } from '../../../../shared/contract/texts.js';",
    "import { mayActAs } from '../../../../shared/contract/roles.js';",
  ].join('\n'),
  'api/console/app/deep/er/c.tsx': [
    "import { ApiError } from '../../../../../shared/contract/errors.js';",
    "import { d } from '../../../main.js';",
    "import { liftText } from '../../../../../shared/contract/figures.js';",
    "import { bandScores } from '../../../../../shared/contract/verdict.js';",
    "import { boundedNfkc } from '../../../../../shared/contract/texts.js';",
    "import { a } from '../../openapi.js';",
    "import { mayActAs } from '../../../../../shared/contract/roles.js';",
  ].join('\n'),
  'api/console/main.ts': "import { runAction } from '../../shared/admin/run-action.js';",
  'api/env.ts': "const a = 1;\nconst port = process.env.PORT;\n// process.env\nconst b = 'process.env';",
  'shared/deep/config.ts': "const a = process?.env['A'];\nconst b = process.environment;",
  'shared/config/config.ts': 'const a = process.env.PORT;',
  'scripts/setup.mjs': 'const a = process.env.PATH;',
  'scripts/setup/find.mjs': 'const a = process.env.PATH;',
  'api/default.ts': 'const a = 1;\nexport default a;',
  'test/default.ts': "export { b as default };\nimport { default as koa } from 'koa';",
  'scripts/default.mjs': '// export default a\nexport default class C {}',
  'api/all.ts': "export * from './env.js';",
  'api/badName.ts': '',
  'worker/onnx.ts': "\nimport { Tensor } from 'onnxruntime-node';",
  'shared/onnx.ts': "import type { Tensor } from 'onnxruntime-node/types';",
  'scripts/onnx.ts': "const onnx = () => import('onnxruntime-node');\nconst name = 'onnxruntime-node';",
  'test/onnx.test.ts': "import { Tensor } from 'onnxruntime-node';",
};

const breaches: Readonly<Record<string, readonly string[]>> = {
  noRestrictedImports: [
    ...['api/a.ts:2', 'worker/deep/b.ts:2', 'shared/x.ts:3', 'shared/x.ts:4', 'shared/x.ts:5', 'shared/x.ts:6'],
    ...['api/console/app/a.tsx:1', 'api/console/app/a.tsx:2', 'api/console/app/deep/b.ts:1'],
    ...['api/console/app/deep/b.ts:2', 'api/console/app/deep/er/c.tsx:1', 'api/console/app/deep/er/c.tsx:2'],
    ...['worker/onnx.ts:2', 'shared/onnx.ts:1', 'scripts/onnx.ts:1'],
  ],
  noImportCycles: [
    ...['api/a.ts:1', 'api/a.ts:2', 'worker/deep/b.ts:2', 'worker/deep/b.ts:3', 'shared/x.ts:3', 'shared/x.ts:4'],
    ...['api/cycle/a.ts:1', 'api/cycle/a.ts:2', 'api/cycle/b.ts:1', 'api/cycle/deep/c.ts:1'],
  ],
  noProcessEnv: ['api/env.ts:2', 'shared/deep/config.ts:1'],
  noDefaultExport: ['api/default.ts:2', 'test/default.ts:1', 'scripts/default.mjs:2'],
  noReExportAll: ['api/all.ts:1'],
  useFilenamingConvention: ['api/badName.ts:2'],
};

describe('biome.json', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-lint-'));
    const settings = JSON.parse(await readFile(projectFile('biome.json'), 'utf8'));
    settings.vcs.enabled = false; // the folder is no repository
    for (const [path, text] of Object.entries({ ...files, 'biome.json': JSON.stringify(settings) })) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), `${text}\n`);
    }
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('reports each breach of borders, cycles, environment, exports and names by file and line, and no other', async function () {
    this.timeout(60_000);
    const biome = projectFile('node_modules/@biomejs/biome/bin/biome');
    const options = ['--reporter=github', '--max-diagnostics=none', '--diagnostic-level=error', '--colors=off'];
    const { output } = await runProgram(process.execPath, [biome, 'lint', ...options, '.'], {
      directory,
      limitMs: 60_000,
    });
    const found = [...output.matchAll(/^::error title=lint\/\w+\/(\w+),file=(.*?),line=(\d+),/gm)];
    for (const [rule, expected] of Object.entries(breaches)) {
      const reported = found.filter(([, name]) => name === rule).map(([, , path, line]) => `${path}:${line}`);
      expect(
        reported.map((at) => at.replace(`${directory}/`, '')),
        `${rule}\n${output}`,
      ).to.have.members([...expected]);
    }
  });
});
