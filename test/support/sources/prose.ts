import { readFileSync } from 'node:fs';
import { projectFile } from '../../../shared/process/project-root.js';
import type { Literal } from './blank-literals.js';
import { projectDocuments } from './project-documents.js';
import { projectPaths } from './project-sources.js';
import { SourceFile } from './source-file.js';

/** A paragraph of prose. */
export interface Prose {
  readonly path: string;
  readonly line: number;
  /** A title is the text of an `it` or a `describe`. */
  readonly kind: 'comment' | 'text' | 'title' | 'document';
  /** Without line breaks and comment marks, and with the word `Code` in place of code between backticks. */
  readonly text: string;
}

/** A stretch of a file before it is cut into paragraphs. */
interface Passage {
  readonly kind: Prose['kind'];
  readonly line: number;
  readonly text: string;
}

/** The prose of all sources, documents and settings. Fixtures are left out: they are data of other tools. */
export function projectProse(): Prose[] {
  const documents = projectDocuments().map(({ path }) => path);
  const paths = new Set([...projectPaths(), ...documents, '.env.example', 'docker-compose.yml']);
  return [...paths]
    .filter((path) => !path.startsWith('test/fixtures/'))
    .flatMap((path) => proseOf(path, readFileSync(projectFile(path), 'utf8')));
}

/** Reads the prose of a source or a document. Files of other types have none. */
export function proseOf(path: string, text: string): Prose[] {
  const ending = /[^./]*$/.exec(path)?.[0] ?? '';
  return passagesOf(path, text, ending).flatMap((passage) =>
    paragraphsOf(passage, ending).map((paragraph) => ({ path, ...paragraph })),
  );
}

function passagesOf(path: string, text: string, ending: string): Passage[] {
  if (/^(ts|mts|mjs)$/.test(ending)) return typeScriptPassages(new SourceFile(path, text));
  if (ending === 'md') return markdownPassages(text);
  const pattern = literalPatterns[ending];
  return pattern === undefined ? [] : scriptPassages(text, pattern);
}

/** A text of fewer words is data or a name. */
const minTextWords = 4;

function typeScriptPassages(source: SourceFile): Passage[] {
  const passages: Passage[] = [];
  let previous: Literal | undefined;
  for (const literal of source.literals) {
    const text = source.text.slice(literal.start, literal.end);
    const last = passages.at(-1);
    if (last !== undefined && previous !== undefined && continues(source, previous, literal))
      passages[passages.length - 1] = {
        ...last,
        text: last.text + (literal.kind === 'text' ? 'X' : '\n') + text,
      };
    else if (literal.kind !== 'pattern')
      passages.push({ kind: kindOf(source, literal), line: source.lineAt(literal.start), text });
    previous = literal;
  }
  return passages
    .map((passage) => (passage.kind === 'comment' ? passage : { ...passage, text: unescaped(passage.text) }))
    .filter(isLongEnough);
}

function kindOf(source: SourceFile, { kind, start }: Literal): Prose['kind'] {
  if (kind === 'comment') return kind;
  return /\b(it|describe)\(\s*['"`]$/.test(source.code.slice(0, start).slice(-40)) ? 'title' : 'text';
}

/** Whether a literal belongs to the passage before: the next part of a template, or the next line of a comment. */
function continues(source: SourceFile, previous: Literal, next: Literal): boolean {
  if (next.template !== undefined) return next.template === previous.template;
  if (previous.kind !== 'comment' || next.kind !== 'comment') return false;
  const isAlone = ({ start }: Literal): boolean => /(^|\n)[ \t]*$/.test(source.text.slice(0, start));
  const between = source.text.slice(previous.end, next.start);
  return /^\n[ \t]*$/.test(between) && source.text.startsWith('//', next.start) && isAlone(previous);
}

const isLongEnough = ({ kind, text }: Passage): boolean =>
  kind !== 'text' || text.trim().split(/\s+/).length >= minTextWords;

const unescaped = (text: string): string => text.replace(/\\(.)/gs, (_, char: string) => (char === 'n' ? '\n' : char));

/**
 * The comments and texts of the other languages, by the ending of the file's name. In .tsx also the text of elements.
 */
const literalPatterns: Readonly<Record<string, RegExp>> = {
  tsx: /\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*|(?<!=)>[^<>{}]+[<{]|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`/g,
  lua: /--[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g,
  py: /#[^\n]*|"""[\s\S]*?"""|'''[\s\S]*?'''|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g,
  yml: /(?<=^|\s)#[^\n]*/gm,
  example: /^# [^\n]*/gm, // without a blank it is a setting
};

function scriptPassages(text: string, pattern: RegExp): Passage[] {
  const passages: Passage[] = [];
  let end = 0;
  for (const { 0: literal, index } of text.matchAll(pattern)) {
    const last = passages.at(-1);
    const isComment = /^(#|--|"""|'''|\/[/*])/.test(literal);
    const nextLine = /^\n[ \t]*$/.test(text.slice(end, index)) && /^(#|--)/.test(literal);
    if (last?.kind === 'comment' && nextLine)
      passages[passages.length - 1] = { ...last, text: `${last.text}\n${literal}` };
    else {
      const line = text.slice(0, index).split('\n').length;
      passages.push({
        kind: isComment ? 'comment' : 'text',
        line,
        text: isComment ? literal.replace(/^"""|"""$|^'''|'''$/g, '') : unescaped(literal.slice(1, -1)),
      });
    }
    end = index + literal.length;
  }
  return passages.filter(isLongEnough);
}

/** Each heading and each table cell is a passage. Fenced code is left out. */
function markdownPassages(text: string): Passage[] {
  const withoutFences = text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''));
  const withoutTargets = withoutFences.replace(/\]\([^)]*\)/g, ']');
  const passages: Passage[] = [];
  let line = 1;
  for (const part of withoutTargets.split(/\n(?=#|[ \t]*\|)|(?<=^#.*)\n/m)) {
    const cells = /^\s*\|/.test(part) ? part.split(/(?<!\\)\|/) : [part];
    for (const cell of cells) passages.push({ kind: 'document', line, text: cell });
    line += part.split('\n').length;
  }
  return passages;
}

const commentMark = /^[ \t]*(\/\*\*?|\*\/|\*(?!\*)|\/\/|--|#+(?!\w))[ \t]?|\*\/$/g;
const headingMark = /^#+ /;
/** The beginning of a list item or of a JSDoc tag with its name. */
const item = /^\s*([-*•]|\d+\.)\s+|^\s*@(param\s+\S+|throws\s+\S+|\w+)\s*/;
/** In the head of a Lua script: a key, an argument, or a result code. */
const luaItem = /^\s*(KEYS|ARGV)\[|^\s*-?\d+\s|^returns\b/;

function paragraphsOf({ kind, line, text }: Passage, ending: string): Omit<Prose, 'path'>[] {
  const isLua = ending === 'lua';
  const markOf = { comment: commentMark, document: headingMark, text: undefined, title: undefined }[kind];
  const paragraphs: { kind: Prose['kind']; line: number; text: string }[] = [];
  let isOpen = false;
  let isInLuaItem = false;
  for (const [index, raw] of withoutCode(text).split('\n').entries()) {
    const stripped = markOf === undefined ? raw : raw.replace(markOf, '');
    // The heads of Lua scripts align several keys on a line, and indent the second line of an item.
    for (const part of isLua ? stripped.split(/ {3,}(?=\S)/) : [stripped]) {
      const isCommand = ending === 'yml' && /^ {2,}\S/.test(part);
      const content = isCommand ? '' : part.replace(item, '').trim();
      const last = paragraphs.at(-1);
      const isLuaItem = isLua && luaItem.test(part);
      const endsLuaItem: boolean = isInLuaItem && /^\S/.test(stripped);
      if (content === '') isOpen = false;
      else if (!isOpen || item.test(part) || isLuaItem || endsLuaItem || last === undefined)
        paragraphs.push({ kind, line: line + index, text: content });
      else last.text += ` ${content}`;
      if (content !== '') isOpen = true;
      isInLuaItem = isLuaItem || (isInLuaItem && !endsLuaItem && content !== '');
    }
  }
  return paragraphs;
}

/** Replaces code between backticks, or marked as code in a page, by a single word. Keeps line breaks. */
const withoutCode = (text: string): string =>
  text.replace(/(`+)[^`]+\1|<code>.*?<\/code>/g, (code) => `Code${code.replace(/[^\n]/g, '')}`);
