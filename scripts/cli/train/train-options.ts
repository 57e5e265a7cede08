import { usageError } from '../context/cli-error.js';

/** Parsed options of `train`. Lists are as they were written: the training reads them. */
export interface TrainOptions {
  readonly converted?: string;
  readonly wonValues?: readonly string[];
  readonly lostValues?: readonly string[];
  readonly othersLost?: boolean;
  readonly at?: string;
  readonly convertedAt?: string;
  readonly horizon?: number;
  readonly since?: string;
  readonly until?: string;
  readonly id?: string;
  readonly group?: string;
  readonly skip?: readonly string[];
  readonly keep?: readonly string[];
  readonly missing?: readonly string[];
  readonly dateOrder?: string;
  readonly encoding?: string;
  readonly budget?: number;
  readonly out?: string;
  readonly replace?: boolean;
  readonly name?: string;
  readonly version?: string;
  readonly org?: string;
  readonly python?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** The options that the training itself reads, in the order of its help. */
const passedOptions = [
  ...([
    'converted',
    'wonValues',
    'lostValues',
    'othersLost',
    'at',
    'convertedAt',
    'horizon',
    'since',
    'until',
  ] as const),
  ...(['id', 'group', 'skip', 'keep', 'missing', 'dateOrder', 'encoding'] as const),
  ...(['budget', 'out', 'replace', 'name', 'version', 'yes'] as const),
];

/** The options of `python -m leadscore_export.train`. */
export function trainingWords(options: TrainOptions, { canAsk }: { readonly canAsk: boolean }): string[] {
  const words = passedOptions.flatMap((name) => {
    const value = options[name];
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === undefined || value === false) return [];
    if (value === true) return [option];
    // As one word: a column may begin with a hyphen.
    return (typeof value === 'object' ? value : [value]).map((each) => `${option}=${each}`);
  });
  return canAsk && options.yes !== true ? [...words, '--ask'] : words;
}

/** @throws CliError for options that do not go together */
export function checkFileOptions({ converted }: TrainOptions): void {
  if (converted === undefined)
    throw usageError('--converted is missing: the column that says whether a lead converted');
}
