import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { readableDuration } from '../../terminal/readable-numbers.js';
import { wrappedText } from './wrapped-text.js';

/** Where the tour is shown. */
export type ScreenStream = NodeJS.WritableStream &
  Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'hasColors'>>;

type Style = 'bold' | 'dim' | 'green' | 'red' | 'cyan';

/** Steps that take less are told without their duration. */
const worthTellingMs = 1000;
const eraseLine = '\r\u001b[K';

/**
 * Writes the tour, 80 columns wide. Colours only on a terminal that has them (Node looks at NO_COLOR and TERM), and no
 * control character anywhere else.
 */
export class Screen {
  private readonly isTerminal: boolean;
  private readonly hasColours: boolean;

  /**
   * @param stream where it is shown
   * @param signal aborted when the tour is to stop: a step that is under way then says nothing any more
   */
  constructor(
    readonly stream: ScreenStream,
    private readonly signal: AbortSignal,
  ) {
    this.isTerminal = stream.isTTY === true;
    this.hasColours = this.isTerminal && stream.hasColors?.() === true;
  }

  /** One line or several. */
  print(text = ''): void {
    this.stream.write(`${text}\n`);
  }

  /** A line that stands above a part of the tour, after an empty one. */
  heading(text: string): void {
    this.print(`\n${this.styled('bold', text)}\n`);
  }

  /** Lines, two columns to the right. */
  block(text: string): void {
    this.print(text.replace(/^(?=.)/gm, '  '));
  }

  /** A paragraph, in lines of 80 columns. */
  paragraph(text: string): void {
    this.print(wrappedText(text));
  }

  /** A paragraph that is beside the point: darker where there are colours. */
  note(text: string): void {
    this.print(this.styled('dim', wrappedText(text)));
  }

  /** The text in a style, where there are colours. */
  styled(style: Style, text: string): string {
    if (!this.hasColours) return text;
    const eachLine = (line: string): string => (line === '' ? '' : styleText(style, line));
    return text.split('\n').map(eachLine).join('\n');
  }

  /**
   * Does one step and prints a line about it: its name, what there is now, and how long it took when that was a while.
   * @param name one word
   * @param options.doing shown meanwhile, on a terminal
   * @param options.work does it
   * @param options.outcome says what there is now
   * @returns what `work` gave
   */
  async step<Result>(
    name: string,
    options: {
      readonly doing: string;
      readonly work: () => Promise<Result>;
      readonly outcome: (result: Result) => string;
    },
  ): Promise<Result> {
    const label = `  ${name.padEnd(12)} `;
    const startMs = performance.now();
    if (this.isTerminal) this.stream.write(`${label}${this.styled('dim', `${options.doing} …`)}`);
    try {
      const result = await options.work();
      const tookMs = performance.now() - startMs;
      const took = tookMs < worthTellingMs ? '' : ` (${readableDuration(tookMs)})`;
      if (this.signal.aborted) return result;
      if (this.isTerminal) this.stream.write(eraseLine);
      const continued = ' '.repeat(label.length);
      this.print(label + `${options.outcome(result)}${took}`.replaceAll('\n', `\n${continued}`));
      return result;
    } catch (error) {
      if (this.isTerminal) this.stream.write('\n');
      throw error;
    }
  }
}

/** A stream that takes everything and shows nothing. */
export const nowhere = (): ScreenStream => new Writable({ write: (_chunk, _encoding, done) => done() });
