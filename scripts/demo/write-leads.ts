import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { generateLeads } from '../leads/lead-generator.js';
import { leadsCsv } from '../leads/lead-record.js';

/**
 * Writes a made-up lead table to train the demo model on. The last column, `converted`, is the truth, 0 or 1. `node
 * dist/scripts/demo/write-leads.js --seed 7 --count 12000 --now 2026-11-01T00:00:00Z --out leads.csv`
 */

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { seed: { ...text, default: '7' }, count: { ...text, default: '12000' }, now: text, out: text },
});
const seed = Number(values.seed);
const count = Number(values.count);
const now = new Date(values.now ?? Number.NaN);
if (!Number.isInteger(seed) || !Number.isInteger(count) || Number.isNaN(now.getTime()) || !values.out) {
  process.stderr.write('usage: write-leads --seed INTEGER --count INTEGER --now ISO-8601 --out FILE\n');
  process.exit(2);
}
const leads = generateLeads({ seed, count, now });
await writeFile(values.out, leadsCsv(leads.map(({ record, converted }) => ({ ...record, converted }))));
process.stdout.write(`${count} leads written to ${values.out}\n`);
