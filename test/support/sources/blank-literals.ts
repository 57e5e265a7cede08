/** A stretch of a TypeScript source that is not code. */
export interface Literal {
  readonly kind: 'comment' | 'text' | 'pattern';
  /** Offsets in the source. A comment includes its marks; texts and patterns come without quotes. */
  readonly start: number;
  readonly end: number;
  /** Numbers the template that a text is a part of; a template with holes has several parts. */
  readonly template?: number;
}

/** A TypeScript source, split into code and literals. */
export interface SplitSource {
  /**
   * The source with the insides of its literals replaced by blanks. Every character keeps its position, so lines and
   * offsets are those of the source. Quotes stay.
   */
  readonly code: string;
  /** In the order of the source. */
  readonly literals: readonly Literal[];
}

/** Splits a source without compiling it. */
export function blankLiterals(source: string): SplitSource {
  return new Blanker(source).run();
}

/** After these a slash begins a regular expression; after a value it divides. */
const beforeRegularExpression = /(^|[(,=:[!&|?{};+\-*%<>~^\n]|\b(return|typeof|case|in|of|await|void|yield))\s*$/;

/** The `${` hole of a template. */
interface Hole {
  readonly template: number;
  /** Braces inside the hole that are not closed yet. */
  openBraces: number;
}

class Blanker {
  private code = '';
  private at = 0;
  private readonly literals: Literal[] = [];
  private templateCount = 0;
  /** Holes around the current character, innermost last. */
  private readonly holes: Hole[] = [];

  constructor(private readonly source: string) {}

  run(): SplitSource {
    while (this.at < this.source.length) this.step();
    return { code: this.code, literals: this.literals };
  }

  private step(): void {
    const { source } = this;
    const char = source.charAt(this.at);
    if (source.startsWith('//', this.at)) this.blankTo(endOf(source, '\n', this.at) - 1, 'comment');
    else if (source.startsWith('/*', this.at)) this.blankTo(endOf(source, '*/', this.at + 2), 'comment');
    else if (char === "'" || char === '"') this.blankText(char);
    else if (char === '`') this.blankTemplate(this.templateCount++);
    else if (char === '/' && beforeRegularExpression.test(this.code.slice(-40))) this.blankRegularExpression();
    else this.stepInHole(char);
  }

  /** Keeps a character of code. If it is the brace that ends a hole, the text of the template goes on after it. */
  private stepInHole(char: string): void {
    const hole = this.holes.at(-1);
    if (hole !== undefined && char === '}' && hole.openBraces === 0) {
      this.holes.pop();
      this.blankTemplate(hole.template);
      return;
    }
    if (hole !== undefined && char === '{') hole.openBraces += 1;
    if (hole !== undefined && char === '}') hole.openBraces -= 1;
    this.keep(1);
  }

  private blankText(quote: string): void {
    this.keep(1);
    let end = this.at;
    while (end < this.source.length && this.source[end] !== quote) end += this.source[end] === '\\' ? 2 : 1;
    this.blankTo(end, 'text');
    this.keep(1);
  }

  /** From a backtick or the end of a hole to the next backtick or hole. */
  private blankTemplate(template: number): void {
    this.keep(1);
    let end = this.at;
    while (end < this.source.length && this.source[end] !== '`' && !this.source.startsWith('${', end))
      end += this.source[end] === '\\' ? 2 : 1;
    this.blankTo(end, 'text', template);
    const isHole = this.source[this.at] === '$';
    if (isHole) this.holes.push({ template, openBraces: 0 });
    this.keep(isHole ? 2 : 1);
  }

  private blankRegularExpression(): void {
    this.keep(1);
    let end = this.at;
    let inClass = false;
    while (end < this.source.length && (inClass || this.source[end] !== '/')) {
      if (this.source[end] === '[') inClass = true;
      if (this.source[end] === ']') inClass = false;
      end += this.source[end] === '\\' ? 2 : 1;
    }
    this.blankTo(end, 'pattern');
    this.keep(1);
  }

  private keep(length: number): void {
    this.code += this.source.slice(this.at, this.at + length);
    this.at += length;
  }

  private blankTo(end: number, kind: Literal['kind'], template?: number): void {
    this.literals.push({ kind, start: this.at, end, ...(template === undefined ? {} : { template }) });
    this.code += this.source.slice(this.at, end).replace(/[^\n]/g, ' ');
    this.at = Math.max(end, this.at);
  }
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from);
  return at === -1 ? source.length + (mark === '\n' ? 1 : 0) : at + mark.length;
}
