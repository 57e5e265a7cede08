import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { defineCommand } from '../define-command.js';
import { nonBlank, wholeNumber } from '../option-values.js';
import type { ScoreOptions } from './score-action.js';

/** Adds `score`. */
export function addScoreCommand(program: Command, context: CliContext): void {
  const { baseUrl, port } = context.config;
  defineCommand(program, {
    usage: 'score <file>',
    description: 'Score a CSV or JSONL file (.gz too) through the API, in order, into another file',
    examples: [
      'score leads.csv --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --crm-id "Lead ID"',
      'score leads.jsonl.gz --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --out scored.jsonl --explain',
    ],
    notes: notes.trim(),
  })
    .requiredOption('--model <model>', 'the model to score with', nonBlank)
    .requiredOption('--key <key>', 'the API key; @FILE reads it from a file')
    .option('--url <url>', 'where the service is', baseUrl ?? `http://127.0.0.1:${port}`)
    .option('--out <file>', 'a .csv or .jsonl file, or - for standard output (default: FILE.scored.csv)')
    .option('--crm-id <column>', 'column that identifies a record (default: crm_id, when there is one)')
    .option('--explain', 'ask for reasons: top_reason_1 to 3, in JSONL the drivers too')
    .option('--concurrency <calls>', 'calls under way at once', wholeNumber({ least: 1, most: 64 }), 4)
    .option('--restart', 'forget what an earlier run has done, and write over its output')
    .action(async (path: string, options: ScoreOptions) => {
      const { score } = await import('./score-action.js');
      await score(context, path, options);
    });
}

const notes = `
A CSV begins with a line of column names; comma, semicolon and tab are told
apart. Empty cells are left out of the record, so that for a record that was
scored before they are filled in from then; in JSONL, null is sent as it is and
means missing. Columns without a name are left out, rows without a value passed
over. CSV output has crm_id, row (1 is the first record), score,
conversion_likelihood, enriched, previous_score, delta and warnings.

Fields that the model knows and the file does not have are named before anything
is sent and again at the end, and so are columns that the model does not know (of
JSONL at the end only). Names match without regard to case, spaces, _ and -.
Without a crm_id, scores can be neither found again nor graded.

Stopped (Ctrl-C, a lost connection, an exhausted quota), it goes on when the same
command is given again: FILE.resume.json beside the output says from where.
Records that were sent but not written are not counted twice (within 24 hours).`;
