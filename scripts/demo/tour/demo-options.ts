import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../../shared/errors.js';
import { projectFile } from '../../../shared/project-root.js';
import { DemoProblem } from './demo-problem.js';

/** What the demo was told on its command line. */
export interface DemoOptions {
  /** Leads that are made up and scored. */
  readonly records: number;
  /** The same seed gives the same leads, up to their dates. */
  readonly seed: number;
  /** Stay up after the tour, and leave the directory. */
  readonly keep: boolean;
  /** One JSON document in place of the tour's text. */
  readonly json: boolean;
  readonly help: boolean;
  /** Absolute path: data, logs and CSV files. */
  readonly directory: string;
}

const mostRecords = 100_000;

/** The model was trained on leads of seed 7: these are others. */
const defaultSeed = 2026;

/**
 * Reads the command line of the demo.
 * @param words the arguments, without node and the script
 * @throws DemoProblem (exit code 2) naming what cannot be used
 */
export function readDemoOptions(words: readonly string[]): DemoOptions {
  const values = parsed(words);
  return {
    records: wholeNumber('--records', values.records, { fallback: 4000, least: 1, most: mostRecords }),
    seed: wholeNumber('--seed', values.seed, { fallback: defaultSeed, least: 0, most: 2 ** 32 - 1 }),
    keep: values.keep,
    json: values.json,
    help: values.help,
    directory: values.directory === undefined ? projectFile('.local/demo') : resolve(values.directory),
  };
}

function parsed(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        records: { type: 'string' },
        seed: { type: 'string' },
        directory: { type: 'string' },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (cause) {
    const said = messageOf(cause).replace(/\. To specify a positional argument.*$/s, '');
    throw new DemoProblem(`${said}. Add --help to see what there is.`, { exitCode: 2, cause });
  }
}

function wholeNumber(
  name: string,
  text: string | undefined,
  { fallback, least, most }: { readonly fallback: number; readonly least: number; readonly most: number },
): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new DemoProblem(`${name} must be a whole number from ${least} to ${most}, but is "${text}".`, {
    exitCode: 2,
  });
}

/** What `--help` prints. */
export const demoHelp = `Usage: npm run demo -- [options]

Starts Leadscore on this machine with servers of its own, scores made-up leads
over HTTP twice, shows what came out, and stops and removes everything again.

Options:
  --keep           stay up after the tour until Ctrl-C, and leave the data
  --records N      leads to score, 1 to ${mostRecords} (default: 4000)
  --seed S         another seed, other leads (default: ${defaultSeed})
  --directory DIR  for data, logs and CSV files (default: .local/demo)
  --json           print one JSON document in place of the text. npm and the
                   set-up print lines of their own: for the document alone use
                   node dist/scripts/demo/main.js --json
  -h, --help       show help

Exit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted.`;
