import { expect } from 'chai';
import { projectPaths, projectSources } from './support/sources/project-sources.js';
import { SourceFile } from './support/sources/source-file.js';
import {
  commentsAreNarrow,
  environmentStaysInProcess,
  filesAreShort,
  foldersAreSmall,
  importsRunDown,
  namesTellTheSubject,
  nothingHappensAtImport,
  oneFileNormalises,
  type StructureRule,
  skipsSayWhy,
} from './support/sources/structure-rules.js';

type Files = Readonly<Record<string, string>>;

/** A rule, sources that break it, the expected findings, and correct sources that resemble a breach. */
interface RuleCase {
  readonly title: string;
  readonly rule: StructureRule;
  readonly bad: Files;
  readonly findings: readonly string[];
  readonly good: Files;
}

const lines = (...texts: string[]): string => `${texts.join('\n')}\n`;

const cases: readonly RuleCase[] = [
  {
    title: 'has no index.ts, and no folder called utils, helpers, lib or common',
    rule: namesTellTheSubject,
    bad: {
      'api/routes/index.ts': 'export {};\n',
      ...{ 'api/utils/a.ts': '', 'test/helpers/b.ts': '', 'shared/lib/c.ts': '', 'worker/common/d.ts': '' },
    },
    findings: [
      'api/routes/index.ts',
      'api/utils/a.ts',
      'test/helpers/b.ts',
      'shared/lib/c.ts',
      'worker/common/d.ts',
    ].map((path) => `${path}:1 has a name that fits any content`),
    good: { 'api/routes/index-models.ts': '', 'api/library/a.ts': '', 'shared/common.ts': '' },
  },
  {
    title: 'has no folder in api or worker that imports itself through other folders',
    rule: importsRunDown,
    bad: {
      'api/main.ts': "import { a } from './low/a.js';\n",
      'api/low/a.ts': "import type { B } from '../high/b.js';\n",
      'api/high/b.ts': lines("import { c } from './c.js';", "import { d } from '../low/d.js';"),
      'api/high/c.ts': "import { e } from '../../shared/e.js';\n",
      'api/low/d.ts': '',
    },
    findings: ['api/high/b.ts:2 runs back up: api/low -> api/high -> api/low'],
    good: {
      'api/main.ts': "import { a } from './high/a.js';\n",
      'api/high/a.ts': "import { b } from '../low/b.js';\n",
      'api/low/b.ts': "import { e } from '../../shared/e.js';\n",
      'shared/e.ts': "import { f } from './f/f.js';\n",
      'shared/f/f.ts': "import { e } from '../e.js';\n",
    },
  },
  {
    title: 'has no line of a comment above 120 characters',
    rule: commentsAreNarrow,
    bad: {
      'api/a.ts': lines('', `// ${'a'.repeat(118)}`, `  /** ${'b '.repeat(60)}*/`),
      'test/deep/b.tsx': lines('/*', ` * ${'c'.repeat(118)}`, ' */'),
      'shared/b.lua': lines(`local text = '${'d'.repeat(120)}'`, `  -- ${'d'.repeat(116)}`),
    },
    findings: [
      'api/a.ts:2 has 121 characters in a line of a comment',
      'api/a.ts:3 has 128 characters in a line of a comment',
      'test/deep/b.tsx:2 has 121 characters in a line of a comment',
      'shared/b.lua:2 has 121 characters in a line of a comment',
    ],
    good: {
      'api/a.ts': lines(`// ${'a'.repeat(117)}`, `const text = '${'b'.repeat(120)}';`),
      'shared/b.lua': lines(`-- ${'a'.repeat(117)}`, `local text = '${'b'.repeat(120)}'`),
    },
  },
  {
    title: 'takes the environment out of process nowhere',
    rule: environmentStaysInProcess,
    bad: { 'test/b.ts': "import { env } from 'node:process';\n", 'scripts/c.mjs': 'const { env } = process;\n' },
    findings: ['test/b.ts:1', 'scripts/c.mjs:1'].map((at) => `${at} takes env out of process`),
    good: { 'shared/config/config.ts': 'const a = process.env.PORT;\n' },
  },
  {
    title: 'runs nothing at import time',
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
      'api/a.ts:3 runs code at import time: start(b).catch(() => undefined);',
      'worker/b.ts:4 runs code at import time: b();',
      'shared/c.ts:2 runs code at import time: if (a > 0) {',
      'shared/d.ts:1 awaits at import time',
      "scripts/e.ts:4 runs code at import time: process.on('    ', () => {",
      "test/support/f.ts:1 runs code at import time: describe('       ', () => {});",
      'scripts/setup/g.mjs:1 runs code at import time: new Server().listen();',
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
    title: 'skips tests only with a printed reason',
    rule: skipsSayWhy,
    bad: {
      'test/a.test.ts': lines("it('a', function () {", '  if (!b) this.skip();', '});'),
      'test/b.test.ts': lines("it.skip('b', () => {});", "xit('c', () => {});"),
    },
    findings: ['test/a.test.ts:2', 'test/b.test.ts:1', 'test/b.test.ts:2'].map(
      (at) => `${at} skips a test without \`leaveOut\``,
    ),
    good: {
      'test/support/leave-out.ts': 'context.skip();\n',
      'shared/store/a.ts': 'collection.find().skip(2);\n',
      'test/a.test.ts': lines("leaveOut(this, 'a', 'b');", '// it.skip()'),
    },
  },
  {
    title: 'has no product file above 300 lines, and no test file above 600',
    rule: filesAreShort,
    bad: {
      'api/a.ts': '\n'.repeat(301),
      'api/b.lua': `${'\n'.repeat(300)}return 1`,
      'test/a.test.ts': '\n'.repeat(601),
    },
    findings: [
      'api/a.ts:301 has 301 lines, more than 300',
      'api/b.lua:301 has 301 lines, more than 300',
      'test/a.test.ts:601 has 601 lines, more than 600',
    ],
    good: {
      'api/a.ts': '\n'.repeat(300),
      'api/b.lua': `${'\n'.repeat(299)}return 1`,
      'test/a.test.ts': '\n'.repeat(600),
    },
  },
  {
    title: 'normalises Unicode only in shared/contract/texts.ts',
    rule: oneFileNormalises,
    bad: { 'worker/a.ts': "const a = text.normalize('NFKC');\n", 'scripts/b.ts': lines('', 'text.normalize();') },
    findings: ['worker/a.ts:1', 'scripts/b.ts:2'].map((at) => `${at} calls normalize: use boundedNfkc`),
    good: {
      'shared/contract/texts.ts': "const a = text.normalize('NFKC');\n",
      'test/a.test.ts': "text.normalize('NFC');\n",
      'api/a.ts': '// text.normalize()\n',
    },
  },
];

const sourcesOf = (files: Files): SourceFile[] =>
  Object.entries(files).map(([path, text]) => new SourceFile(path, text));

describe('the structure of the project', () => {
  const sources = projectSources();

  it('is read completely: all folders, and no import of an unknown file', () => {
    const paths = sources.map((source) => source.path);
    expect(paths).to.include.members([
      'api/main.ts',
      'worker/main.ts',
      'shared/config/config.ts',
      'test/structure.test.ts',
    ]);
    expect(sources.length).to.be.above(100);
    const imported = sources.flatMap((source) => source.imports);
    const unknown = imported.filter(
      ({ target }) => target?.endsWith('.ts') && !paths.includes(target) && !paths.includes(`${target}x`),
    );
    expect(unknown, 'imports of missing files: SourceFile misreads imports').to.deep.equal([]);
  });

  for (const { title, rule, bad, findings, good } of cases) {
    it(title, () => {
      expect(rule(sources), 'breaches').to.deep.equal([]);
    });

    it(`reports each breach by file and line when it breaks "${title}"`, () => {
      expect(rule(sourcesOf(bad))).to.have.members(findings);
    });

    it(`reports no breach when it only seems to break "${title}"`, () => {
      expect(rule(sourcesOf(good))).to.deep.equal([]);
    });
  }

  it('has at most 12 files of any type in a folder', () => {
    expect(foldersAreSmall(projectPaths()), 'breaches').to.deep.equal([]);
  });

  const files = (folder: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${folder}/${index}.${index % 2 === 0 ? 'ts' : 'json'}`);

  it('reports a folder of 13 files by its name', () => {
    const paths = [...files('api/deep', 13), ...files('api', 12)];
    expect(foldersAreSmall(paths)).to.deep.equal(['api/deep has 13 files, more than 12']);
  });

  it('reports neither a folder of 12 files with subfolders nor fixtures', () => {
    const paths = [...files('api', 12), ...files('api/deep', 12), ...files('test/fixtures/tool', 13)];
    expect(foldersAreSmall(paths)).to.deep.equal([]);
  });
});
