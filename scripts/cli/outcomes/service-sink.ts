import { Readable } from 'node:stream';
import type { OutcomeSink, ScoredCounts } from '../../../shared/admin/outcomes/import-outcomes.js';
import type { ReadOutcome } from '../../../shared/admin/outcomes/outcome-rows.js';
import { csvCell, spreadsheetCell } from '../../../shared/files/spreadsheet-cell.js';
import { type ApiFailure, failureOf, member, parse } from '../calls/api-reply.js';
import { connectionFailure } from '../calls/connection-failure.js';
import { type HttpSend, readWholeReply } from '../calls/http-connections.js';
import { mayPass, Patience, type WaitMeans } from '../calls/patience.js';
import { CliError, refusal } from '../context/cli-error.js';

/** Rows of a call, and characters of their text. The service takes 50,000 rows and 8 MiB, which last longer. */
const maxRows = 10_000;
const maxCharacters = 2 * 1024 * 1024;
/** A call without success for this long ends the import. */
const maxSilenceMs = 45_000;

export interface ServiceSinkOptions extends WaitMeans {
  /** Address of the service, without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly correctsDates: boolean;
  readonly send: HttpSend;
}

/** The reply of `POST /v1/outcomes` to a file. */
interface FileReply {
  readonly refused: number;
  readonly problems: readonly { readonly problem: string }[];
  readonly known?: number;
  readonly unknown?: number;
  readonly unknown_example?: string;
  readonly scored_example?: string;
  readonly test?: true;
}

/** Sends the outcomes of a file to the service in files of its own, whose rows have all been read. */
export class ServiceSink implements OutcomeSink {
  readonly batchRows = maxRows;
  /** Whether the key is a test key: the service stores nothing. */
  isTest = false;
  private scoredExample: string | undefined;

  constructor(private readonly options: ServiceSinkOptions) {}

  /** @throws CliError when the service refuses the call or does not answer */
  async record(rows: readonly ReadOutcome[], newLeads: ReadonlyMap<string, string>): Promise<ScoredCounts> {
    const left = new Set(newLeads.keys());
    let counts: ScoredCounts = { known: 0, unknown: 0 };
    for (const some of cut(rows)) {
      // The service counts the leads of each call. Leads that an earlier call has counted go in a call of their own.
      const fresh = new Set(some.map(({ outcome }) => outcome.crmId).filter((crmId) => left.delete(crmId)));
      const isFresh = ({ outcome }: ReadOutcome): boolean => fresh.has(outcome.crmId);
      counts = plus(counts, await this.send(some.filter(isFresh)));
      await this.send(some.filter((row) => !isFresh(row)));
    }
    return counts;
  }

  async scoredNear(): Promise<string | undefined> {
    return this.scoredExample;
  }

  private async send(rows: readonly ReadOutcome[]): Promise<ScoredCounts> {
    if (rows.length === 0) return { known: 0, unknown: 0 };
    const reply = await this.post(`converted,crm_id,at\n${rows.map(lineOf).join('')}`);
    const [problem] = reply.problems;
    if (problem !== undefined)
      throw new CliError(
        `The service refuses rows that this command has read: ${problem.problem}. Use one release of both`,
        { code: 'not_imported' },
      );
    this.isTest ||= reply.test === true;
    if (reply.unknown_example !== undefined) this.scoredExample ??= reply.scored_example;
    return { known: reply.known ?? 0, unknown: reply.unknown ?? 0, unknownExample: reply.unknown_example };
  }

  private async post(body: string): Promise<FileReply> {
    const patience = new Patience(this.options, maxSilenceMs);
    for (;;) {
      const answer = await this.attempt(body);
      if ('reply' in answer) return answer.reply;
      const { failure } = answer;
      if (!mayPass(failure) || !(await patience.failed(failure))) throw refusal(failure);
    }
  }

  private async attempt(text: string): Promise<{ readonly reply: FileReply } | { readonly failure: ApiFailure }> {
    const { baseUrl, apiKey, correctsDates, send, signal } = this.options;
    const url = new URL(`${baseUrl.replace(/\/+$/, '')}/v1/outcomes${correctsDates ? '?correct_dates=true' : ''}`);
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'text/csv; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
    };
    try {
      const reply = await readWholeReply(
        await send(url, { method: 'POST', headers, body: Readable.from([text]), signal }),
      );
      const body = parse(reply.body);
      return reply.status === 200 && isFileReply(body) ? { reply: body } : { failure: failureOf(reply) };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return { failure: connectionFailure(error, url, false) };
    }
  }
}

const isFileReply = (body: unknown): body is FileReply => Array.isArray(member(body, 'problems'));

/** Cuts rows into parts that one call may have. */
function* cut(rows: readonly ReadOutcome[]): Generator<readonly ReadOutcome[]> {
  let [from, characters] = [0, 0];
  for (const [index, row] of rows.entries()) {
    const length = lineOf(row).length;
    if (index > from && (characters + length > maxCharacters || index - from === maxRows)) {
      yield rows.slice(from, index);
      [from, characters] = [index, 0];
    }
    characters += length;
  }
  yield rows.slice(from);
}

/** A row as the service reads it. The id comes second: in the first column, a lead called Total is perhaps a total. */
function lineOf({ outcome, sentId }: ReadOutcome): string {
  const { converted, at, isUndated } = outcome;
  const date = isUndated === true ? '' : at.toISOString();
  return `${converted ? 1 : 0},${csvCell(spreadsheetCell(sentId))},${date}\n`;
}

const plus = (one: ScoredCounts, other: ScoredCounts): ScoredCounts => ({
  known: one.known + other.known,
  unknown: one.unknown + other.unknown,
  unknownExample: one.unknownExample ?? other.unknownExample,
});
