import type { SourceFile } from './source-file.js';

/** A breach of a rule, as `path:line description`. */
export type Finding = string;

/** Finds the breaches of one rule in all sources. */
export type StructureRule = (sources: readonly SourceFile[]) => Finding[];

const product = /^(api|worker|shared|scripts)\//;
const isTypeScript = (source: SourceFile): boolean => /\.(ts|mts|mjs)$/.test(source.path);
const isProduct = (source: SourceFile): boolean => product.test(source.path);
const found = (source: SourceFile, line: number, breach: string): Finding => `${source.path}:${line} ${breach}`;

/** Files and folders are named for their subject. An index (barrel) has none: its names belong to the defining file. */
export const namesTellTheSubject: StructureRule = (sources) =>
  sources
    .filter(({ path }) => /(^|\/)((utils?|helpers?|lib|libs|common|misc)\/|index\.(ts|mts|mjs)$)/i.test(path))
    .map((source) => found(source, 1, 'has a name that fits any content'));

/** Nothing takes the environment out of `process`. Biome finds the other ways to read it. */
export const environmentStaysInProcess: StructureRule = (sources) =>
  sources
    .filter(isTypeScript)
    .flatMap((source) =>
      source
        .linesWith(/\{[^}]*\benv\b[^}]*\}\s*(=\s*process\b|from\s*['"])/)
        .map((line) => found(source, line, 'takes env out of process')),
    );

/** Programs, modules that Node preloads, and test files, whose `describe` runs when Mocha imports them. */
const entryFiles = [
  /^(api|api\/console|api\/bulk|worker)\/main\.ts$/,
  /^worker\/(child|bundle-checks\/check-process)\.ts$/,
  /^api\/large-calls-thread\.ts$/,
  /^worker\/drivers\/reading-thread\.ts$/,
  /^scripts\/(.+\/)?main\.ts$/,
  /^scripts\/chaos\/soak\.ts$/,
  /^scripts\/(start\.ts|setup\.mjs|build-console\.mjs|bundle-programs\.mjs|take-screenshots\.mjs|setup\/download-mongod\.mjs|demo\/write-leads\.ts)$/,
  /^scripts\/bench\/(load\/measuring-child|service\/bare-process)\.ts$/,
  /^test\/.+\.test\.ts$/,
];
const declares =
  /^(import|export|const|let|type|interface|class|abstract|function|async\s+function|enum|declare|namespace)\b/;

/** Nothing happens at import time: outside entry files, all statements are declarations without `await`. */
export const nothingHappensAtImport: StructureRule = (sources) =>
  sources
    .filter((source) => isTypeScript(source) && !entryFiles.some((entry) => entry.test(source.path)))
    .flatMap((source) =>
      source.statements.flatMap(({ code, line }) => {
        if (!declares.test(code) || /^import\s*\(/.test(code))
          return [found(source, line, `runs code at import time: ${code.split('\n')[0]?.slice(0, 60)}`)];
        const awaits = /^(export\s+)?(const|let)\b(?:(?!=>|\b(async|function)\b).)*\bawait\b/s.test(code);
        return awaits ? [found(source, line, 'awaits at import time')] : [];
      }),
    );

/** A skipped test prints its reason. */
export const skipsSayWhy: StructureRule = (sources) =>
  sources
    .filter((source) => source.path.startsWith('test/') && source.path !== 'test/support/leave-out.ts')
    .flatMap((source) =>
      source
        .linesWith(/\.\s*skip\s*\(|\b(xit|xdescribe)\s*\(/)
        .map((line) => found(source, line, 'skips a test without `leaveOut`')),
    );

const maxProductLines = 300; // a file is read in one sitting
const maxTestLines = 600; // a test file is looked up by title, not read from top to bottom
const maxLinesOf = (source: SourceFile): number => (isProduct(source) ? maxProductLines : maxTestLines);

/** No product file is longer than 300 lines, and no test file is longer than 600. */
export const filesAreShort: StructureRule = (sources) =>
  sources
    .filter((source) => source.lineCount > maxLinesOf(source))
    .map((source) => {
      const max = maxLinesOf(source);
      return found(source, max + 1, `has ${source.lineCount} lines, more than ${max}`);
    });

const maxCommentWidth = 120; // the formatter keeps code within it, and does not touch comments

/** No line of a comment in TypeScript or Lua is longer than 120 characters. */
export const commentsAreNarrow: StructureRule = (sources) =>
  sources
    .filter((source) => /\.(tsx?|mts|mjs|lua)$/.test(source.path))
    .flatMap((source) =>
      source.text.split('\n').flatMap((text, index) => {
        const isWide = text.length > maxCommentWidth && /^\s*(\/\/|\/?\*|--)/.test(text);
        return isWide ? [found(source, index + 1, `has ${text.length} characters in a line of a comment`)] : [];
      }),
    );

/** A folder of api or of worker, or a file beside such folders. */
const roomOf = (path: string): string | undefined => /^(api|worker)\/[^/]+/.exec(path)?.[0];

/** In api and worker, no folder imports itself through others. So each import runs down. */
export const importsRunDown: StructureRule = (sources) => {
  const findings: Finding[] = [];
  const done = new Set<string>();
  const visit = (room: string, trail: readonly string[]): void => {
    for (const source of sources.filter(({ path }) => roomOf(path) === room))
      for (const { target = '', line } of source.imports) {
        const next = roomOf(target);
        if (next === undefined || next === room) continue;
        const cycle = [...trail.slice(trail.indexOf(next)), next];
        if (trail.includes(next)) findings.push(found(source, line, `runs back up: ${cycle.join(' -> ')}`));
        else if (!done.has(next)) visit(next, [...trail, next]);
      }
    done.add(room);
  };
  for (const { path } of sources) {
    const room = roomOf(path);
    if (room !== undefined && !done.has(room)) visit(room, [room]);
  }
  return findings;
};

const maxFiles = 12; // one screen of `ls`, without scrolling

/** No folder has more than 12 files of any type beside each other. Fixtures are exempt: they are data. */
export function foldersAreSmall(paths: readonly string[]): Finding[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = path.slice(0, path.lastIndexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > maxFiles && !/(^|\/)fixtures(\/|$)/.test(folder))
    .map(([folder, count]) => `${folder} has ${count} files, more than ${maxFiles}`);
}

/** One product file normalises Unicode: `normalize` takes quadratic time for a letter with many marks. */
export const oneFileNormalises: StructureRule = (sources) =>
  sources
    .filter((source) => isTypeScript(source) && isProduct(source) && source.path !== 'shared/contract/texts.ts')
    .flatMap((source) =>
      source.linesWith(/\.normalize\(/).map((line) => found(source, line, 'calls normalize: use boundedNfkc')),
    );
