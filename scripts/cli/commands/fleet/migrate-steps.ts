import { messageOf } from '../../../../shared/contract/errors.js';
import type { Db } from '../../../../shared/store/connection/connect.js';
import type { SchemaRun } from '../../../../shared/store/schema/schema-state.js';
import type { CliContext } from '../../context/cli-context.js';
import { CliError } from '../../context/cli-error.js';
import { countText, readableBytes } from '../../output/readable-numbers.js';
import type { JsonOption } from '../define-command.js';

/** A step of either kind. */
interface Step {
  readonly level: number;
  readonly name: string;
  readonly reads: readonly string[];
}

/**
 * The steps that a run would make, and how much each may read. Nothing is changed.
 * @returns no text without steps
 */
export async function announcedSteps(database: Db, steps: readonly Step[]) {
  const sizes = await Promise.all(steps.map((step) => sizeOf(database, step.reads)));
  const shown = steps.map(({ level, name }, index) => ({ level, name, ...(sizes[index] ?? noSize) }));
  const lines = shown.map(
    ({ level, name, documents, bytes }) =>
      `Step ${level}: ${name}. It reads at most ${countText(documents)} documents of ${readableBytes(bytes)}.`,
  );
  return { steps: shown, text: shown.length === 0 ? undefined : [...lines, 'Nothing was changed.'].join('\n') };
}

const noSize = { documents: 0, bytes: 0 };

async function sizeOf(database: Db, collections: readonly string[]): Promise<typeof noSize> {
  const existing = new Set((await database.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  const total = { ...noSize };
  for (const name of collections.filter((each) => existing.has(each))) {
    const stats = { $collStats: { storageStats: { scale: 1 } } };
    for (const { storageStats } of await database.collection(name).aggregate([stats]).toArray()) {
      total.documents += Number(storageStats.count);
      total.bytes += Number(storageStats.size);
    }
  }
  return total;
}

/** Told of a run. */
interface Seen {
  readonly onStep: (step: Pick<Step, 'level' | 'name'>) => void;
  readonly onWait: (other: SchemaRun) => void;
}

const remindEveryMs = 10_000;

/**
 * Does a run, and names on stderr the step that runs.
 * @param options.last the level of the last step
 * @param options.command repeats the run
 * @throws CliError that says why the database was not changed whole
 */
export async function noting<Result>(
  { stderr }: CliContext,
  { json, last, command }: JsonOption & { readonly last: number; readonly command: string },
  run: (seen: Seen) => Promise<Result>,
): Promise<Result> {
  const { missingRights } = await import('../../../../shared/store/connection/connect.js');
  const say = (line: string): void => {
    if (json !== true) stderr.write(`${line}\n`);
  };
  const startMs = performance.now();
  const secondsText = () => `${Math.round((performance.now() - startMs) / 1_000)} s`;
  let now: string | undefined;
  const reminder = setInterval(() => {
    if (now !== undefined) say(`${now}: runs since ${secondsText()}.`);
  }, remindEveryMs);
  try {
    return await run({
      onStep: ({ level, name }) => {
        now = `Step ${level} of ${last}`;
        say(`${now}: ${name}.`);
      },
      onWait: ({ by, step }) => {
        say(`Waits for another run (${by})${step === undefined ? '' : `, which is at: ${step}`}.`);
      },
    });
  } catch (cause) {
    const why = missingRights(cause) ?? messageOf(cause);
    throw new CliError(`The database was not changed whole: ${why}. Mend that, and run \`${command}\` again.`, {
      code: 'migrate_failed',
      cause,
    });
  } finally {
    clearInterval(reminder);
  }
}
