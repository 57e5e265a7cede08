import { usageError } from '../context/cli-error.js';

/** Parsed options of `train`. Lists are as they were written: the training reads them. */
export interface TrainOptions {
  readonly from?: string;
  readonly model?: string;
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

/** The options of a training on stored leads. The others say how a file is read. */
const ofStoredLeads = ['budget', 'out', 'replace', 'name', 'version', 'yes'] as const;

/** The descriptor of the pipe with stored leads. */
const storedDescriptor = 3;

/** The options of `python -m leadscore_export.train` for a file. */
export const trainingWords = (options: TrainOptions, asking: Asking): string[] =>
  wordsOf(passedOptions, options, asking);

/** The same for stored leads. */
export const storedWords = (options: TrainOptions, asking: Asking): string[] => [
  `--stored=${storedDescriptor}`,
  ...wordsOf(ofStoredLeads, { ...options, out: options.out ?? `${options.model}-model` }, asking),
];

interface Asking {
  readonly canAsk: boolean;
}

function wordsOf(
  names: readonly (typeof passedOptions)[number][],
  options: TrainOptions,
  { canAsk }: Asking,
): string[] {
  const words = names.flatMap((name) => {
    const value = options[name];
    const option = optionOf(name);
    if (value === undefined || value === false) return [];
    if (value === true) return [option];
    // As one word: a column may begin with a hyphen.
    return (typeof value === 'object' ? value : [value]).map((each) => `${option}=${each}`);
  });
  return canAsk && options.yes !== true ? [...words, '--ask'] : words;
}

/** @throws CliError for options that do not go together */
export function checkFileOptions({ converted, model }: TrainOptions): void {
  if (model !== undefined) throw usageError('--model needs --from: it trains on the stored leads of a model');
  if (converted === undefined)
    throw usageError('--converted is missing: the column that says whether a lead converted');
}

/** @throws CliError for options that do not go together */
export function checkStoredOptions(options: TrainOptions): { readonly from: string; readonly model: string } {
  const { from, model, org } = options;
  if (from === undefined) throw usageError('Give a file of past leads, or --from with the organisation of stored ones');
  if (model === undefined) throw usageError('--from needs --model: the model whose stored leads are trained on');
  if (org !== undefined) throw usageError('--org imports a new model, and --from trains a version of --model');
  const allowed: readonly string[] = [...ofStoredLeads, 'since', 'until', 'skip'];
  const wrong = passedOptions.find((name) => options[name] !== undefined && !allowed.includes(name));
  if (wrong !== undefined) throw usageError(`${optionOf(wrong)} is for a file, and --from reads stored leads`);
  return { from, model };
}

const optionOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
