import { expect } from 'chai';
import { projectSources } from './support/sources/project-sources.js';
import {
  environmentIsReadInOnePlace,
  filesAreSmall,
  foldersSayWhatTheyHold,
  importsStayInTheirRooms,
  noDefaultExports,
  noImportCycles,
  noIndexFiles,
  nothingHappensAtImport,
  oneFileImportsOnnx,
  type RoomRule,
  skipsSayWhy,
} from './support/sources/room-rules.js';
import { SourceFile } from './support/sources/source-file.js';

type Files = Readonly<Record<string, string>>;

/** A rule, sources that break it, what must be said of them, and sources that look like it and are fine. */
interface RuleCase {
  readonly title: string;
  readonly rule: RoomRule;
  readonly bad: Files;
  readonly findings: readonly string[];
  readonly good: Files;
}

const lines = (...texts: string[]): string => `${texts.join('\n')}\n`;

const cases: readonly RuleCase[] = [
  {
    title: 'api and worker never import each other, and shared imports neither',
    rule: importsStayInTheirRooms,
    bad: {
      'api/a.ts': lines(
        "import { x } from '../shared/x.js';",
        "import type { B } from '../worker/deep/b.js';",
      ),
      'worker/deep/b.ts': lines('', '', "export { a } from '../../api/a.js';"),
      'shared/x.ts': lines(
        'import {',
        '  type A,',
        "} from '../api/a.js';",
        "const b = () => import('../worker/deep/b.js');",
        "import '../scripts/start.js';",
      ),
    },
    findings: [
      'api/a.ts:2 imports worker/deep/b.ts',
      'worker/deep/b.ts:3 imports api/a.ts',
      'shared/x.ts:3 imports api/a.ts',
      'shared/x.ts:4 imports worker/deep/b.ts',
      'shared/x.ts:5 imports scripts/start.ts',
    ],
    good: {
      'api/a.ts': lines("// import { b } from '../worker/b.js';", "import { x } from '../shared/x.js';"),
      'worker/b.ts': lines("const text = `import { a } from '../api/a.js'`;", "import api from 'api';"),
      'scripts/c.ts': lines("import { a } from '../api/a.js';", "import { b } from '../worker/b.js';"),
    },
  },
  {
    title: 'no import cycles, not even of types',
    rule: noImportCycles,
    bad: {
      'api/a.ts': lines("import { b } from './b.js';", "import { d } from './d.js';"),
      'api/b.ts': "import { c } from './deep/c.js';\n",
      'api/deep/c.ts': lines('// the way back', "import type { A } from '../a.js';"),
      'api/d.ts': "import { d } from './d.js';\n",
    },
    findings: [
      'api/deep/c.ts:2 closes the cycle api/a.ts -> api/b.ts -> api/deep/c.ts -> api/a.ts',
      'api/d.ts:1 closes the cycle api/d.ts -> api/d.ts',
    ],
    good: {
      'api/a.ts': lines("import { b } from './b.js';", "import { c } from './c.js';"),
      'api/b.ts': "import { c } from './c.js';\n",
      'api/c.ts': "import koa from 'koa';\n",
    },
  },
  {
    title: 'no index.ts',
    rule: noIndexFiles,
    bad: { 'api/routes/index.ts': 'export {};\n' },
    findings: ['api/routes/index.ts:1 is an index: import from the file that has it'],
    good: { 'api/routes/index-models.ts': '' },
  },
  {
    title: 'no folder called utils, helpers, lib or common',
    rule: foldersSayWhatTheyHold,
    bad: { 'api/utils/a.ts': '', 'test/helpers/b.ts': '', 'shared/lib/c.ts': '', 'worker/common/d.ts': '' },
    findings: ['api/utils/a.ts', 'test/helpers/b.ts', 'shared/lib/c.ts', 'worker/common/d.ts'].map(
      (path) => `${path}:1 is in a folder that could hold anything`,
    ),
    good: { 'api/library/a.ts': '', 'shared/common.ts': '' },
  },
  {
    title: 'the environment is read in shared/config/config.ts alone',
    rule: environmentIsReadInOnePlace,
    bad: {
      'api/a.ts': lines('const a = 1;', 'const port = process.env.PORT;'),
      'test/b.ts': "import { env } from 'node:process';\n",
      'scripts/c.mjs': 'const { env } = process;\n',
      'shared/deep/config.ts': "const a = process?.env['A'];\n",
    },
    findings: [
      'api/a.ts:2 reads process.env',
      'test/b.ts:1 takes env out of process',
      'scripts/c.mjs:1 takes env out of process',
      'shared/deep/config.ts:1 reads process.env',
    ],
    good: {
      'shared/config/config.ts': 'const a = process.env.PORT;\n',
      'scripts/setup.mjs': 'const a = process.env.PATH;\n',
      'scripts/setup/find.mjs': 'const a = process.env.PATH;\n',
      'api/a.ts': lines('// process.env', "const a = 'process.env';", 'const b = process.environment;'),
    },
  },
  {
    title: 'nothing happens at import time',
    rule: nothingHappensAtImport,
    bad: {
      'api/a.ts': lines("import { b } from './b.js';", '', '/* now */ start(b).catch(() => undefined);'),
      'worker/b.ts': lines('export function b(): { c: number } {', '  return { c: 1 };', '}', 'b();'),
      'shared/c.ts': lines('const a = 1;', 'if (a > 0) {', '  connect();', '}'),
      'shared/d.ts': "export const d = await import('./c.js');\n",
      'scripts/e.ts': lines('const e = `', `\${a}`, '`;', "process.on('exit', () => {", '  stop();', '});'),
      'test/support/f.ts': "describe('at once', () => {});\n",
      'scripts/setup/g.mjs': 'new Server().listen();\n',
    },
    findings: [
      'api/a.ts:3 does something when it is imported: start(b).catch(() => undefined);',
      'worker/b.ts:4 does something when it is imported: b();',
      'shared/c.ts:2 does something when it is imported: if (a > 0) {',
      'shared/d.ts:1 waits for something when it is imported',
      "scripts/e.ts:4 does something when it is imported: process.on('    ', () => {",
      "test/support/f.ts:1 does something when it is imported: describe('       ', () => {});",
      'scripts/setup/g.mjs:1 does something when it is imported: new Server().listen();',
    ],
    good: {
      'api/main.ts': 'start();\n',
      'worker/child.ts': 'start();\n',
      'scripts/bench/main.ts': 'await start();\n',
      'test/a.test.ts': "describe('a', () => {});\n",
      'api/a.ts': lines(
        "import { b } from './b.js';",
        "export type { C } from './c.js';",
        `const a = /[/;"]/.test(b) ? \`\${b(\`;\${b}\`)};\` : new Map([[1, { c: 1 }]]);`,
        'let started: Promise<void> | undefined;',
        'export const wait = async () => await b();',
        'export const hooks = { async after(): Promise<void> { await b(); } };',
        'export const later = async (): Promise<void> => {',
        '  await b();',
        '};',
        'export async function f(): Promise<{ c: number }> {',
        '  start();',
        '  return { c: a / 2 / 3 };',
        '}',
        'interface D {',
        '  e(): void;',
        '}',
        'type G = { h: string };',
        'export abstract class H<T extends { i: string }> {',
        '  static readonly j = f();',
        '}',
        'export { a, wait as w };',
      ),
    },
  },
  {
    title: 'no default exports',
    rule: noDefaultExports,
    bad: {
      'api/a.ts': lines('const a = 1;', 'export default a;'),
      'test/b.ts': 'export { b as default };\n',
      'scripts/c.mjs': 'export default class C {}\n',
    },
    findings: ['api/a.ts:2', 'test/b.ts:1', 'scripts/c.mjs:1'].map(
      (place) => `${place} has a default export`,
    ),
    good: {
      'api/a.ts': lines('// export default a', "import { default as koa } from 'koa';", 'export { a };'),
    },
  },
  {
    title: 'a test that is left out says why',
    rule: skipsSayWhy,
    bad: {
      'test/a.test.ts': lines("it('a', function () {", '  if (!b) this.skip();', '});'),
      'test/b.test.ts': lines("it.skip('b', () => {});", "xit('c', () => {});"),
    },
    findings: ['test/a.test.ts:2', 'test/b.test.ts:1', 'test/b.test.ts:2'].map(
      (place) => `${place} leaves a test out without \`leaveOut\``,
    ),
    good: {
      'test/support/leave-out.ts': 'context.skip();\n',
      'shared/store/a.ts': 'collection.find().skip(2);\n',
      'test/a.test.ts': lines("leaveOut(this, 'a', 'b');", '// it.skip()'),
    },
  },
  {
    title: 'no file above 300 lines',
    rule: filesAreSmall,
    bad: { 'api/a.ts': '\n'.repeat(301), 'api/b.lua': `${'\n'.repeat(300)}return 1` },
    findings: ['api/a.ts', 'api/b.lua'].map((path) => `${path}:301 has 301 lines, more than 300`),
    good: { 'api/a.ts': '\n'.repeat(300), 'api/b.lua': `${'\n'.repeat(299)}return 1` },
  },
  {
    title: 'onnxruntime-node is imported by worker/models/inference-session.ts alone',
    rule: oneFileImportsOnnx,
    bad: {
      'worker/a.ts': lines('', "import { Tensor } from 'onnxruntime-node';"),
      'shared/b.ts': "import type { Tensor } from 'onnxruntime-node/types';\n",
      'scripts/c.ts': "const onnx = () => import('onnxruntime-node');\n",
    },
    findings: ['worker/a.ts:2', 'shared/b.ts:1', 'scripts/c.ts:1'].map(
      (place) => `${place} imports onnxruntime-node`,
    ),
    good: {
      'worker/models/inference-session.ts': "import { Tensor } from 'onnxruntime-node';\n",
      'test/a.test.ts': "import { Tensor } from 'onnxruntime-node';\n",
      'api/a.ts': "const name = 'onnxruntime-node';\n",
    },
  },
];

const sourcesOf = (files: Files): SourceFile[] =>
  Object.entries(files).map(([path, text]) => new SourceFile(path, text));

describe('the rooms of docs/architecture.md', () => {
  const sources = projectSources();

  it('are all there to be looked through', () => {
    const paths = sources.map((source) => source.path);
    expect(paths).to.include.members([
      'api/main.ts',
      'worker/main.ts',
      'shared/config/config.ts',
      'test/rooms.test.ts',
    ]);
    expect(sources.length).to.be.above(100);
    const imported = sources.flatMap((source) => source.imports);
    const unknown = imported.filter(({ target }) => target?.endsWith('.ts') && !paths.includes(target));
    expect(unknown, 'imports of files that are not there: imports are misread').to.deep.equal([]);
  });

  for (const { title, rule, bad, findings, good } of cases) {
    describe(title, () => {
      it('holds', () => {
        expect(rule(sources), 'places where it does not').to.deep.equal([]);
      });

      it('is seen to be broken where it is, by file and line', () => {
        expect(rule(sourcesOf(bad))).to.have.members(findings);
      });

      it('is not seen to be broken where it is not', () => {
        expect(rule(sourcesOf(good))).to.deep.equal([]);
      });
    });
  }
});
