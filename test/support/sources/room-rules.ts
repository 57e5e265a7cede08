import type { SourceFile, SourceImport } from './source-file.js';

/** A place where a rule is broken, as `path:line what`. */
export type Finding = string;

/** Looks through all sources for breaches of one rule. */
export type RoomRule = (sources: readonly SourceFile[]) => Finding[];

const product = /^(api|worker|shared|scripts)\//;
const isTypeScript = (source: SourceFile): boolean => /\.(ts|mts|mjs)$/.test(source.path);
const roomOf = (path: string): string => path.slice(0, path.indexOf('/'));
const found = (source: SourceFile, line: number, what: string): Finding => `${source.path}:${line} ${what}`;

/** Which rooms the sources of a room may import from; those of other rooms may import anything. */
const allowedRooms: Readonly<Record<string, readonly string[]>> = {
  api: ['api', 'shared'],
  worker: ['worker', 'shared'],
  shared: ['shared'],
};

/** api and worker never import each other, shared imports neither, and none of them imports scripts or tests. */
export const importsStayInTheirRooms: RoomRule = (sources) =>
  sources.filter(isTypeScript).flatMap((source) => {
    const allowed = allowedRooms[roomOf(source.path)];
    if (allowed === undefined) return [];
    return source.imports
      .filter(({ target }) => target !== undefined && !allowed.includes(roomOf(target)))
      .map(({ line, target }) => found(source, line, `imports ${target}`));
  });

/** No file imports itself by way of others; imports of types count too. Each cycle is told once. */
export const noImportCycles: RoomRule = (sources) => {
  const byPath = new Map(sources.filter(isTypeScript).map((source) => [source.path, source]));
  const findings: Finding[] = [];
  const done = new Set<string>();
  const walk = (source: SourceFile, trail: readonly string[]): void => {
    for (const { target = '', line } of source.imports) {
      const next = byPath.get(target);
      const since = trail.indexOf(target);
      if (since !== -1) {
        const cycle = [...trail.slice(since), target].join(' -> ');
        findings.push(found(source, line, `closes the cycle ${cycle}`));
      } else if (next !== undefined && !done.has(target)) walk(next, [...trail, target]);
    }
    done.add(source.path);
  };
  for (const source of byPath.values()) if (!done.has(source.path)) walk(source, [source.path]);
  return findings;
};

/** No barrels. */
export const noIndexFiles: RoomRule = (sources) =>
  sources
    .filter((source) => /(^|\/)index\.(ts|mts|mjs)$/.test(source.path))
    .map((source) => found(source, 1, 'is an index: import from the file that has it'));

/** No folder whose name says nothing of what is in it. */
export const foldersSayWhatTheyHold: RoomRule = (sources) =>
  sources
    .filter((source) => /(^|\/)(utils?|helpers?|lib|libs|common|misc)\//i.test(source.path))
    .map((source) => found(source, 1, 'is in a folder that could hold anything'));

/**
 * The environment is read in shared/config/config.ts alone. The set-up is exempt: it runs before anything is compiled or
 * installed, on plain Node, and so cannot import it.
 */
export const environmentIsReadInOnePlace: RoomRule = (sources) =>
  sources
    .filter((source) => isTypeScript(source) && source.path !== 'shared/config/config.ts')
    .filter((source) => !/^scripts\/setup(\/[^/]+)?\.mjs$/.test(source.path))
    .flatMap((source) => [
      ...source
        .linesWith(/\bprocess\s*\??\.\s*env\b/)
        .map((line) => found(source, line, 'reads process.env')),
      ...source
        .linesWith(/\{[^}]*\benv\b[^}]*\}\s*(=\s*process\b|from\s*['"])/)
        .map((line) => found(source, line, 'takes env out of process')),
    ]);

/** Programs, and what Node loads before one; and test files, whose `describe` Mocha calls by importing them. */
const entryFiles = [
  /^(api|worker)\/main\.ts$/,
  /^worker\/child\.ts$/,
  /^worker\/drivers\/reading-thread\.ts$/,
  /^scripts\/(.+\/)?main\.ts$/,
  /^scripts\/chaos\/soak\.ts$/,
  /^scripts\/(start\.ts|setup\.mjs|setup\/download-mongod\.mjs|demo\/write-leads\.ts)$/,
  /^scripts\/bench\/(load\/measuring-child|profile\/preload|service\/bare-process)\.ts$/,
  /^test\/.+\.test\.ts$/,
];
const declares =
  /^(import|export|const|let|type|interface|class|abstract|function|async\s+function|enum|declare|namespace)\b/;

/** Nothing happens at import time: outside entry files there are declarations and nothing else, and none awaits. */
export const nothingHappensAtImport: RoomRule = (sources) =>
  sources
    .filter((source) => isTypeScript(source) && !entryFiles.some((entry) => entry.test(source.path)))
    .flatMap((source) =>
      source.statements.flatMap(({ code, line }) => {
        if (!declares.test(code) || /^import\s*\(/.test(code))
          return [
            found(source, line, `does something when it is imported: ${code.split('\n')[0]?.slice(0, 60)}`),
          ];
        const awaits = /^(export\s+)?(const|let)\b(?:(?!=>|\b(async|function)\b).)*\bawait\b/s.test(code);
        return awaits ? [found(source, line, 'waits for something when it is imported')] : [];
      }),
    );

/** Everything is exported by its name. */
export const noDefaultExports: RoomRule = (sources) =>
  sources
    .filter(isTypeScript)
    .flatMap((source) =>
      source
        .linesWith(/\bexport\s+default\b|\bexport\s*\{[^}]*\bas\s+default\b/)
        .map((line) => found(source, line, 'has a default export')),
    );

/** A test that is left out says why. */
export const skipsSayWhy: RoomRule = (sources) =>
  sources
    .filter((source) => source.path.startsWith('test/') && source.path !== 'test/support/leave-out.ts')
    .flatMap((source) =>
      source
        .linesWith(/\.\s*skip\s*\(|\b(xit|xdescribe)\s*\(/)
        .map((line) => found(source, line, 'leaves a test out without `leaveOut`')),
    );

const maxLines = 300;

/** No file is longer than 300 lines. */
export const filesAreSmall: RoomRule = (sources) =>
  sources
    .filter((source) => source.lineCount > maxLines)
    .map((source) => found(source, maxLines + 1, `has ${source.lineCount} lines, more than ${maxLines}`));

/** The product reaches ONNX through one file. */
export const oneFileImportsOnnx: RoomRule = (sources) => {
  const isOnnx = ({ specifier }: SourceImport): boolean => /^onnxruntime-node(\/|$)/.test(specifier);
  return sources
    .filter((source) => isTypeScript(source) && product.test(source.path))
    .filter((source) => source.path !== 'worker/models/inference-session.ts')
    .flatMap((source) =>
      source.imports.filter(isOnnx).map(({ line }) => found(source, line, 'imports onnxruntime-node')),
    );
};
