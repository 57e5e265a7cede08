import type { Command } from 'commander';

/** What the help of a command says. */
export interface CommandHelp {
  /** Name and arguments, such as `show <org>`. */
  readonly usage: string;
  readonly description: string;
  /** Command lines without `npx leadscore`, at least one. */
  readonly examples: readonly [string, ...string[]];
  /** Further paragraphs. */
  readonly notes?: string;
}

/** Adds a command with `--json` and examples in its help. Options, arguments and the action are the caller's. */
export function defineCommand(
  parent: Command,
  { usage, description, examples, notes }: CommandHelp,
): Command {
  const lines = examples.map((example) => `  npx leadscore ${example}`).join('\n');
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', `${notes === undefined ? '' : `\n${notes}\n`}\nExample:\n${lines}`);
}

/** The option that every command has. */
export interface JsonOption {
  readonly json?: boolean;
}
