/**
 * A TypeScript source with the insides of its comments, texts and regular expressions blanked out, so that what is left
 * is code. Every character keeps its place: lines and offsets are those of the source. Quotes stay.
 */
export function blankLiterals(source: string): string {
  const blanker = new Blanker(source);
  return blanker.run();
}

/** After these a slash begins a regular expression; after a value it divides. */
const beforeRegularExpression =
  /(^|[(,=:[!&|?{};+\-*%<>~^\n]|\b(return|typeof|case|in|of|await|void|yield))\s*$/;

class Blanker {
  private code = '';
  private at = 0;
  /** Braces that are open inside each `${` of a template, innermost last. */
  private readonly templates: number[] = [];

  constructor(private readonly source: string) {}

  run(): string {
    while (this.at < this.source.length) this.step();
    return this.code;
  }

  private step(): void {
    const { source } = this;
    const char = source.charAt(this.at);
    if (source.startsWith('//', this.at)) this.blankTo(endOf(source, '\n', this.at) - 1);
    else if (source.startsWith('/*', this.at)) this.blankTo(endOf(source, '*/', this.at + 2));
    else if (char === "'" || char === '"') this.blankText(char);
    else if (char === '`') this.blankTemplate();
    else if (char === '/' && beforeRegularExpression.test(this.code.slice(-40)))
      this.blankRegularExpression();
    else if (this.closesTemplateHole(char)) this.blankTemplate();
    else this.keep(1);
  }

  /** Whether this brace ends a `${` hole, so that the template's text goes on. */
  private closesTemplateHole(char: string): boolean {
    const open = this.templates.at(-1);
    if (open === undefined || (char !== '{' && char !== '}')) return false;
    if (char === '}' && open === 0) {
      this.templates.pop();
      return true;
    }
    this.templates[this.templates.length - 1] = open + (char === '{' ? 1 : -1);
    return false;
  }

  private blankText(quote: string): void {
    this.keep(1);
    let end = this.at;
    while (end < this.source.length && this.source[end] !== quote) end += this.source[end] === '\\' ? 2 : 1;
    this.blankTo(end);
    this.keep(1);
  }

  /** From a backtick or the end of a hole to the next backtick or hole. */
  private blankTemplate(): void {
    this.keep(1);
    let end = this.at;
    while (end < this.source.length && this.source[end] !== '`' && !this.source.startsWith('${', end))
      end += this.source[end] === '\\' ? 2 : 1;
    this.blankTo(end);
    if (this.source[this.at] === '$') this.templates.push(0);
    this.keep(this.source[this.at] === '$' ? 2 : 1);
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
    this.blankTo(end);
    this.keep(1);
  }

  private keep(length: number): void {
    this.code += this.source.slice(this.at, this.at + length);
    this.at += length;
  }

  private blankTo(end: number): void {
    this.code += this.source.slice(this.at, end).replace(/[^\n]/g, ' ');
    this.at = Math.max(end, this.at);
  }
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from);
  return at === -1 ? source.length + (mark === '\n' ? 1 : 0) : at + mark.length;
}
