import { posix } from 'node:path';
import { blankLiterals, type Literal } from './blank-literals.js';

/** An import of any kind: static, type-only, re-export, or dynamic. */
export interface SourceImport {
  /** As written. */
  readonly specifier: string;
  /** The path of the imported project file, from the project's root; undefined for packages. */
  readonly target: string | undefined;
  readonly line: number;
}

export interface SourceStatement {
  /** With blanks in place of comments, texts and regular expressions. */
  readonly code: string;
  readonly line: number;
}

const importFrom = /\b(?:import|export)\b[^;'"]*?\bfrom\s*(['"])(.*?)\1/gs;
const importBare = /\bimport\s*\(?\s*(['"])(.*?)\1/g;
const blockDeclaration =
  /^(export\s+)?(default\s+)?(declare\s+)?(abstract\s+)?(async\s+)?(function|class|interface|enum|namespace)\b/;

/** One source of the project, read without compiling it. It relies on the form that the formatter produces. */
export class SourceFile {
  /** With blanks in place of comments, texts and regular expressions. Meaningful for TypeScript and JavaScript only. */
  readonly code: string;
  /** The comments, texts and regular expressions. Meaningful for TypeScript and JavaScript only. */
  readonly literals: readonly Literal[];
  readonly lineCount: number;

  /** @param path from the project's root, with forward slashes */
  constructor(
    readonly path: string,
    readonly text: string,
  ) {
    const { code, literals } = blankLiterals(text);
    this.code = code;
    this.literals = literals;
    this.lineCount = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  }

  get imports(): SourceImport[] {
    return [importFrom, importBare].flatMap((pattern) =>
      [...this.code.matchAll(pattern)].map((match) => {
        const end = match.index + match[0].length - 1;
        const specifier = this.text.slice(end - (match[2] ?? '').length, end);
        return { specifier, target: this.targetOf(specifier), line: this.lineAt(end) };
      }),
    );
  }

  /** The statements outside every function, class and block. */
  get statements(): SourceStatement[] {
    const statements: SourceStatement[] = [];
    for (let at = 0; at < this.code.length; ) {
      const start = at + (/^[\s;]*/.exec(this.code.slice(at))?.[0].length ?? 0);
      if (start >= this.code.length) break;
      at = this.statementEnd(start);
      statements.push({ code: this.code.slice(start, at), line: this.lineAt(start) });
    }
    return statements;
  }

  /** The line number, from 1, of an offset. */
  lineAt(offset: number): number {
    return this.text.slice(0, offset).split('\n').length;
  }

  /** The lines on which a pattern occurs in the code. */
  linesWith(pattern: RegExp): number[] {
    return [...this.code.matchAll(new RegExp(pattern, 'g'))].map((match) => this.lineAt(match.index));
  }

  private statementEnd(start: number): number {
    const endsWithBlock = blockDeclaration.test(this.code.slice(start, start + 200));
    let depth = 0;
    for (let at = start; at < this.code.length; at += 1) {
      const char = this.code.charAt(at);
      if ('([{'.includes(char)) depth += 1;
      if (')]}'.includes(char)) depth -= 1;
      if (depth > 0) continue;
      if (char === ';') return at + 1;
      const endsLine = /^[ \t]*(\n|$)/.test(this.code.slice(at + 1, at + 200));
      if (char === '}' && endsWithBlock && endsLine) return at + 1;
    }
    return this.code.length;
  }

  private targetOf(specifier: string): string | undefined {
    if (!specifier.startsWith('.')) return undefined;
    const path = posix.normalize(posix.join(posix.dirname(this.path), specifier));
    return path.replace(/\.js$/, '.ts').replace(/\.mjs$/, '.mjs');
  }
}
