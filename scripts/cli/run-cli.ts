import { type Command, CommanderError } from 'commander';
import { BundleError } from '../../shared/bundle/bundle-error.js';
import { ConfigError, type OperatorConfig } from '../../shared/config/config.js';
import { type Clock, machineClock } from '../../shared/contract/dates.js';
import { messageOf } from '../../shared/contract/errors.js';
import type { CliContext, CommandResult, OutputStream } from './context/cli-context.js';
import { CliError, exitCodes } from './context/cli-error.js';
import { Connections } from './context/connections.js';
import { askLine, confirm, type InputStream, readSecret } from './context/operator.js';
import { createProgram } from './program.js';

export interface CliProcess {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Source of answers to prompts. Without it no prompt is shown. */
  readonly stdin?: InputStream;
  /** @throws ConfigError when a setting is invalid */
  readonly readConfig: () => OperatorConfig;
}

/**
 * Runs one command line. Never throws.
 * @param words the arguments, without node and the script
 * @returns the exit code, one of `exitCodes`
 */
export async function runCli(
  words: readonly string[],
  { stdout, stderr, stdin, readConfig }: CliProcess,
): Promise<number> {
  const json = words.includes('--json');
  let connections: Connections | undefined;
  let exitCode: number = exitCodes.done;
  try {
    const config = readConfig();
    const clock: Clock = machineClock(config.clockOffsetMs);
    connections = new Connections(config);
    const present: CliContext['present'] = async (options, work) => {
      const result: CommandResult = await work;
      const text = options.json === true ? JSON.stringify(result.document) : result.text;
      if (result.silent !== true) stdout.write(`${text}\n`);
      exitCode = result.exitCode ?? exitCodes.done;
    };
    const confirmed: CliContext['confirm'] = (question) => confirm(question, { stdin, stderr, stdout });
    const ask: CliContext['ask'] = (question) => askLine(question, { stdin, stderr });
    const canAsk = stdin?.isTTY === true;
    const read: CliContext['readSecret'] = (question) => readSecret(question, { stdin, stderr });
    const streams = { stdout, stderr, present, canAsk, confirm: confirmed, ask, readSecret: read };
    const program = createProgram({ config, clock, connections, ...streams });
    await parse(program, words);
  } catch (error) {
    exitCode = reportFailure(error, { json, stderr });
  } finally {
    await connections?.close();
  }
  return exitCode;
}

/**
 * Runs the command that `words` name. With an unknown option, required options are not enforced: commander would report
 * the missing one (`--org`) instead of the misspelt one (`--ogr`).
 */
async function parse(program: Command, words: readonly string[]): Promise<void> {
  const { command, rest } = commandNamed(program, words);
  const { unknown } = command.parseOptions([...rest]);
  const asksForHelp = unknown.some((word) => word === '-h' || word === '--help');
  if (unknown.length > 0 && !asksForHelp) {
    for (const option of command.options) option.mandatory = false;
  }
  await program.parseAsync([...words], { from: 'user' });
}

function commandNamed(
  program: Command,
  words: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } {
  const command = program.commands.find((each) => each.name() === words[0]);
  return command === undefined ? { command: program, rest: words } : commandNamed(command, words.slice(1));
}

/** Writes the error to standard error and returns the exit code. */
function reportFailure(error: unknown, { json, stderr }: { json: boolean; stderr: OutputStream }): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.done;
    // When the command is missing, commander has already printed the help.
    if (error.code !== 'commander.help') {
      const text = error.message.replace(/^error: ./, (start) => start.slice('error: '.length).toUpperCase());
      report('usage', json ? text : `${text}\nAdd --help for usage.`);
    }
    return exitCodes.usage;
  }
  const { code, details, exitCode } = classified(error);
  report(code, messageOf(error), details);
  return exitCode;

  function report(errorCode: string, message: string, more: Readonly<Record<string, unknown>> = {}): void {
    const document = { error: { code: errorCode, message, ...more } };
    stderr.write(json ? `${JSON.stringify(document)}\n` : `Error: ${message}\n`);
  }
}

function classified(error: unknown): Pick<CliError, 'code' | 'details' | 'exitCode'> {
  if (error instanceof CliError) return error;
  if (error instanceof BundleError)
    return { code: 'bad_bundle', details: { member: error.member }, exitCode: exitCodes.failed };
  if (error instanceof ConfigError) return { code: 'bad_configuration', details: {}, exitCode: exitCodes.failed };
  return { code: 'failed', details: {}, exitCode: exitCodes.failed };
}
