import type { CliContext } from '../context/cli-context.js';
import { lineWidth } from '../context/cli-context.js';
import { Progress } from '../output/progress.js';
import { tableOf } from '../output/table.js';
import type { TrainingListener } from './run-training.js';
import type { RankedField } from './training-messages.js';

/** A person reads so many lines; training.json has all fields. */
const shownFields = 20;

/** Shows how far a training is, and asks its questions. With `--json` it shows nothing but questions. */
export class TrainingScreen implements TrainingListener {
  private readonly bar: Progress | undefined;

  constructor(
    private readonly context: Pick<CliContext, 'stderr' | 'confirm'>,
    isJson: boolean,
  ) {
    if (!isJson) this.bar = new Progress({ stream: context.stderr, label: 'Training' });
  }

  /** Says a sentence before the training begins. */
  say(text: string): void {
    this.bar?.say(text);
  }

  start(): void {
    this.bar?.start({ done: 0, fraction: 0 });
  }

  stop(): void {
    this.bar?.stop();
  }

  progress({ text, share, leftMs }: Parameters<TrainingListener['progress']>[0]): void {
    this.bar?.update({ done: 0, fraction: share, detail: text, ...(leftMs === undefined ? {} : { leftMs }) });
  }

  note(text: string): void {
    this.bar?.say(`Note: ${text}`);
  }

  fields(fields: readonly RankedField[]): void {
    this.bar?.say(`\n${this.fieldsText(fields)}\n`);
  }

  async ask(question: string): Promise<boolean> {
    this.bar?.stop();
    const answer = await this.context.confirm(question);
    this.start();
    return answer;
  }

  private fieldsText(fields: readonly RankedField[]): string {
    const suspects = fields.filter(({ suspect }) => suspect !== null);
    const listed = [...new Set([...fields.slice(0, shownFields), ...suspects])];
    const share = (value: number): string => `${Math.round(100 * value)} %`;
    const table = tableOf(
      listed,
      [
        ['Field', ({ field }) => field],
        ['AUC', ({ auc }) => auc.toFixed(2), 'right'],
        ['R2', ({ r2 }) => r2.toFixed(2), 'right'],
        ['Filled, won', ({ filled_won: won }) => share(won), 'right'],
        ['Filled, lost', ({ filled_lost: lost }) => share(lost), 'right'],
        ['Suspect', ({ suspect }) => suspect ?? ''],
      ],
      { width: lineWidth(this.context.stderr) },
    );
    const more = fields.length > listed.length ? `\n… and ${fields.length - listed.length} more` : '';
    return `Each field alone. Was each known when the leads were scored?\n${table}${more}`;
  }
}
