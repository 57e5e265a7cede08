import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { readableDuration } from '../../cli/output/readable-numbers.js';
import { wrapText } from '../../cli/output/wrap-text.js';

export type ScreenStream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'hasColors'>>;

const width = 80;
const eraseLine = '\r\u001b[K';

/** Writes the tour, 80 columns wide. Colours and control characters go to a terminal only. */
export class Screen {
  /** @param signal after it is aborted, a step that is still running prints no outcome */
  constructor(
    readonly stream: ScreenStream,
    private readonly signal: AbortSignal,
  ) {}

  print(text = ''): void {
    this.stream.write(`${text}\n`);
  }

  heading(text: string): void {
    this.print(`\n${this.styled('bold', text)}\n`);
  }

  /** Lines, two columns to the right. */
  block(text: string): void {
    this.print(text.replace(/^(?=.)/gm, '  '));
  }

  paragraph(text: string): void {
    this.print(wrapText(text, width));
  }

  note(text: string): void {
    this.print(`\n${this.styled('dim', wrapText(text, width))}`);
  }

  /** Colours follow NO_COLOR and TERM, as Node reads them. */
  styled(style: 'bold' | 'dim' | 'green' | 'red' | 'cyan', text: string): string {
    if (this.stream.isTTY !== true || this.stream.hasColors?.() !== true) return text;
    return text.replace(/^.+$/gm, (line) => styleText(style, line));
  }

  /**
   * Does one step and prints its name, its outcome, and its duration when it took a second or more.
   * @param step.doing shown meanwhile, on a terminal
   */
  async step<Result>(
    name: string,
    step: { doing: string; work: () => Promise<Result>; outcome: (result: Result) => string },
  ): Promise<Result> {
    const label = `  ${name.padEnd(12)} `;
    const isTerminal = this.stream.isTTY === true;
    const startMs = performance.now();
    if (isTerminal) this.stream.write(`${label}${this.styled('dim', `${step.doing} …`)}`);
    try {
      const result = await step.work();
      this.signal.throwIfAborted();
      const tookMs = performance.now() - startMs;
      const took = tookMs < 1000 ? '' : ` (${readableDuration(tookMs)})`;
      const outcome = `${step.outcome(result)}${took}`.replaceAll('\n', `\n${' '.repeat(label.length)}`);
      this.print(`${isTerminal ? eraseLine : ''}${label}${outcome}`);
      return result;
    } catch (error) {
      if (isTerminal) this.stream.write('\n');
      throw error;
    }
  }
}

export const hiddenStream = (): ScreenStream => new Writable({ write: (_chunk, _encoding, done) => done() });
