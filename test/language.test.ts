import { expect } from 'chai';
import {
  type LanguageRule,
  noBannedWords,
  noInvertedOpenings,
  sentencesAreShort,
  titlesStandAlone,
} from './support/sources/language-rules.js';
import { type Prose, projectProse, proseOf } from './support/sources/prose.js';

type Files = Readonly<Record<string, string>>;

/** A rule, prose that breaks it, the expected findings without the quoted sentence, and prose that keeps it. */
interface RuleCase {
  readonly title: string;
  readonly rule: LanguageRule;
  readonly bad: Files;
  readonly findings: readonly string[];
  readonly good: Files;
}

const lines = (...texts: string[]): string => `${texts.join('\n')}\n`;
const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index}`).join(' ');

const cases: readonly RuleCase[] = [
  {
    title: 'has no word of the ban list',
    rule: noBannedWords,
    bad: {
      'api/a.ts': lines(
        'const a = 1; // nobody reads it',
        '/**',
        ' * The first line.',
        ' * Begins',
        ' * anew.',
        ' */',
        "const b = 'the gateway gives back what it holds';",
        `const c = \`the \${name} came \${a} times in vain\`;`,
      ),
      'api/a.test.ts': "it('waits as long as there is none', () => {});\n",
      'scripts/b.mjs': '// The worker is told\n// when it ends.\n',
      'shared/c.lua': lines('-- c.lua: takes down a counter.', "return redis.error_reply('there is none of it')"),
      'scripts/d.py': lines('"""Reads models', 'as a rule."""', 'x = 1  # whoever asks'),
      'docs/e.md': lines('# Title', '', 'Text.', '', '| a | b |', '|---|---|', '| one | no one |', '- of late, more'),
      'docker-compose.yml': 'a: b # nobody needs it\n',
      '.env.example': '# Nobody needs it.\n',
    },
    findings: [
      'api/a.ts:1 says "nobody"',
      'api/a.ts:3 says "anew"',
      'api/a.ts:7 says "gives back what"',
      'api/a.ts:8 says "in vain"',
      'api/a.test.ts:1 says "there is none"',
      'scripts/b.mjs:1 says "is told"',
      'shared/c.lua:1 says "takes down"',
      'shared/c.lua:2 says "there is none"',
      'scripts/d.py:1 says "as a rule"',
      'scripts/d.py:3 says "whoever"',
      'docs/e.md:7 says "no one"',
      'docs/e.md:8 says "of late"',
      'docker-compose.yml:1 says "nobody"',
      '.env.example:1 says "Nobody"',
    ],
    good: {
      'api/a.ts': lines(
        'const nobody = anew(whoever);',
        '// The user `nobody` reads it. Voids of late calls.',
        "const b = ['nobody', 'in vain'];",
        '// The scores are all the same.',
        'const c = /there is none of it/.test(d);',
        "const e = 'the user `nobody` has no rights';",
      ),
      'shared/b.lua': 'local nobody = 1\n',
      'docs/c.md': lines('Anewsletter.', '```sh', 'sudo -u nobody whoever', '```', 'See [this](nobody.md).'),
      '.env.example': '#USER=nobody\n',
      'test/d.json': '["nobody is told"]\n',
    },
  },
  {
    title: 'has no sentence that begins with What, That, Whoever, Of or Those',
    rule: noInvertedOpenings,
    bad: {
      'api/a.ts': lines(
        '/** What a call holds. */',
        'const a = 1;',
        '// The gateway waits. That it waits is known.',
        "const b = 'Of the calls, two failed';",
        '/** @returns What was sent */',
      ),
      'shared/b.lua': lines('-- b.lua: counts.', '--', '-- KEYS[1] list   KEYS[2] hash', '-- Those that end go.'),
      'scripts/c.py': '"""Whoever calls waits."""\n',
      'docs/d.md': lines('Text.', '', '- One item.', '- **What** the second is', '  "Of course" goes on.'),
    },
    findings: [
      'api/a.ts:1 begins a sentence with "What"',
      'api/a.ts:3 begins a sentence with "That"',
      'api/a.ts:4 begins a sentence with "Of"',
      'api/a.ts:5 begins a sentence with "What"',
      'shared/b.lua:4 begins a sentence with "Those"',
      'scripts/c.py:1 begins a sentence with "Whoever"',
      'docs/d.md:4 begins a sentence with "What"',
    ],
    good: {
      'api/a.ts': lines(
        '/**',
        ' * The calls of a key, and those',
        ' * That file holds. Whatever the key, it is `Of`. Offers, e.g. That one.',
        ' */',
        "const a = 'What';",
      ),
      'docs/b.md': lines('The gateway does', 'What it must. `That` is code.'),
    },
  },
  {
    title: 'has no test title that begins with what, that, whoever, of or those',
    rule: titlesStandAlone,
    bad: {
      'test/a.test.ts': lines(
        "describe('what a call holds', () => {",
        "  it('of a live key is counted', () => {});",
        '  it(',
        '    `that ended is kept`,',
        '    () => {},',
        '  );',
        '});',
      ),
    },
    findings: ['test/a.test.ts:1', 'test/a.test.ts:2', 'test/a.test.ts:4'].map(
      (at) => `${at} has a title without a subject`,
    ),
    good: {
      'test/a.test.ts': lines(
        "it('counts what a call holds', () => {});",
        "expect(a, 'of a live key').to.equal(submit('that of a live key'));",
        '// of a live key, or that of a test',
      ),
    },
  },
  {
    title: 'has no sentence of more than 25 words',
    rule: sentencesAreShort,
    bad: {
      'api/a.ts': lines(
        '/**',
        ` * Short. The ${words(19)}`,
        ` * ${words(6)}.`,
        ' */',
        `const a = 'The ${words(25)}.';`,
        `// ${words(13)}`,
        `// ${words(13)}`,
      ),
      'test/a.test.ts': `it('${words(26)}', () => {});\n`,
      'shared/b.lua': `-- b.lua: ${words(25)}\n`,
      'docs/c.md': lines('Short.', '', `${words(24)} [a link](to/c.md) \`some code\``),
    },
    findings: [
      'api/a.ts:2 has 26 words in a sentence',
      'api/a.ts:5 has 26 words in a sentence',
      'api/a.ts:6 has 26 words in a sentence',
      'test/a.test.ts:1 has 26 words in a sentence',
      'shared/b.lua:1 has 26 words in a sentence',
      'docs/c.md:3 has 27 words in a sentence',
    ],
    good: {
      'api/a.ts': lines(
        '/**',
        ` * ${words(25)}. Second ${words(22)}, e.g. \`x.y\`.`,
        ' *',
        ` * - ${words(20)}`,
        ` * - ${words(20)}`,
        ` * @param one ${words(20)}`,
        ` * @returns ${words(20)} \`some code in one word\``,
        ' */',
        `const a = '${words(30)}';`,
        `const b = \`SELECT {${words(30)}}.\`;`,
        `f(); // ${words(20)}`,
        `// ${words(20)}`,
      ),
      'shared/b.lua': lines(
        `-- ${words(20)}`,
        `-- KEYS[1] ${words(20)}   KEYS[2] ${words(20)}`,
        `-- ARGV[1] ${words(20)}`,
        '--',
        `-- returns ${words(20)}`,
        `--   -1 ${words(20)}`,
      ),
      'docker-compose.yml': lines(`# ${words(20)}`, `#   ${words(20)}`),
      'docs/c.md': lines(`# ${words(20)}`, words(20), '', `| ${words(20)} | ${words(20)} |`, `1. ${words(20)}`),
    },
  },
];

const proseIn = (files: Files): Prose[] => Object.entries(files).flatMap(([path, text]) => proseOf(path, text));
const withoutSentence = (finding: string): string => finding.replace(/: .*/s, '');

describe('the language of the project', () => {
  // The texts of these files list the words and the breaches.
  const ruleFiles = ['test/language.test.ts', 'test/support/sources/language-rules.ts'];
  const prose = projectProse().filter(({ path, kind }) => kind === 'comment' || !ruleFiles.includes(path));

  it('is read from sources of all languages, documents and settings', () => {
    expect(prose.length).to.be.above(5_000);
    const kinds = new Set(prose.map(({ path, kind }) => `${kind} of .${path.split('.').at(-1)}`));
    expect([...kinds]).to.include.members([
      ...['comment of .ts', 'text of .ts', 'title of .ts', 'comment of .mjs', 'comment of .lua'],
      ...['comment of .tsx', 'text of .tsx'],
      ...['comment of .py', 'text of .py', 'document of .md', 'comment of .yml', 'comment of .example'],
    ]);
  });

  for (const { title, rule, bad, findings, good } of cases) {
    it(title, () => {
      expect(rule(prose), 'breaches').to.deep.equal([]);
    });

    it(`reports each breach by file and line when it breaks "${title}"`, () => {
      expect(rule(proseIn(bad)).map(withoutSentence)).to.have.members(findings);
    });

    it(`reports no breach when it only seems to break "${title}"`, () => {
      expect(rule(proseIn(good))).to.deep.equal([]);
    });
  }
});
