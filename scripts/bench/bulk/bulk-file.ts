import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { generateLeads } from '../../leads/lead-generator.js';
import { leadsCsv } from '../../leads/lead-record.js';

/** Leads whose other columns repeat: making up each row would take longer than scoring it. */
const madeUpLeads = 20_000;
/** Redis knows half a million leads of an organisation, so the rows of larger files repeat their crm_ids. */
export const maxLeads = 400_000;
const rowsPerWrite = 5_000;

export const crmIdOf = (row: number): string => `BULK-${row % maxLeads}`;

/** Writes a CSV of 20 columns. @returns its bytes */
export async function writeBulkFile(path: string, rows: number): Promise<number> {
  const leads = generateLeads({ seed: 3, count: madeUpLeads, now: new Date() });
  const lines = leadsCsv(leads.map(({ record: { crm_id: _, ...record } }) => record)).split('\r\n');
  const [header = '', ...cells] = lines;
  const file = createWriteStream(path);
  file.write(`crm_id,${header}\r\n`);
  for (let from = 0; from < rows; from += rowsPerWrite) {
    let text = '';
    for (let row = from; row < Math.min(from + rowsPerWrite, rows); row += 1)
      text += `${crmIdOf(row)},${cells[row % madeUpLeads]}\r\n`;
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
  return file.bytesWritten;
}

/**
 * Checks downloaded results: a line for each row, in order, with a score.
 * @throws Error that names the first wrong line
 */
export class ResultCheck {
  private rest = '';
  private row = -1;

  take(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      // The header.
      if (this.row >= 0 && !line.startsWith(`${crmIdOf(this.row)},`)) throw new Error(`row ${this.row} is: ${line}`);
      if (this.row >= 0 && !/,\d{1,3},(0|0?\.\d+|1|0\.\d+),(true|false),/.test(line))
        throw new Error(`row ${this.row} has no score: ${line}`);
      this.row += 1;
    }
  }

  end(rows: number): void {
    if (this.rest !== '' || this.row !== rows) throw new Error(`the results have ${this.row} rows instead of ${rows}`);
  }
}
